"""What methods there are: those with a guarantee, and those without."""

from __future__ import annotations

import dataclasses
from typing import Any

from sklar.lab.baselines.registry import BASELINES
from sklar.methods.registry import DEFAULT_METHOD, METHODS


def methods() -> list[dict[str, Any]]:
    """Every method as plain data: those with a guarantee first."""
    return [*private_methods(), *baseline_methods()]


def private_methods() -> list[dict[str, Any]]:
    """The DP methods as plain data."""
    return [
        {
            "name": method.name,
            "default": method.name == DEFAULT_METHOD,
            "summary": method.summary,
            "guarantee": "differential privacy",
            "neighbours": method.neighbours,
            "pure_epsilon": not method.needs_delta,
            "options": _options(method.options),
        }
        for method in METHODS.values()
    ]


def baseline_methods() -> list[dict[str, Any]]:
    """The methods without a guarantee as plain data."""
    return [
        {
            "name": method.name,
            "default": False,
            "summary": method.summary,
            "guarantee": None,
            "options": _options(method.options),
        }
        for method in BASELINES.values()
    ]


def _options(options: type) -> dict[str, Any]:
    fields = dataclasses.fields(options)
    return {field.name: None if field.default is dataclasses.MISSING else field.default for field in fields}

"""List the methods with and without a guarantee, and check one against a schema."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Any

from sklar.lab.baselines.registry import BASELINES
from sklar.methods.registry import DEFAULT_METHOD, METHODS, find_method
from sklar.schema.table import Schema


def list_methods() -> list[dict[str, Any]]:
    """List every method as plain data: those with a guarantee first."""
    return [*private_methods(), *baseline_methods()]


def private_methods() -> list[dict[str, Any]]:
    """List the DP methods as plain data."""
    return [
        _describe(one, guarantee="differential privacy", neighbours=one.neighbours, pure_epsilon=not one.needs_delta)
        for one in METHODS.values()
    ]


def baseline_methods() -> list[dict[str, Any]]:
    """List the methods without a guarantee as plain data."""
    return [_describe(one, guarantee=None) for one in BASELINES.values()]


def check_method(schema: Schema, name: str, options: Mapping[str, Any], target: str | None = None) -> str:
    """Check that a method can be fitted with this schema, options and target; return its name."""
    method = BASELINES[name] if name in BASELINES else find_method(name)
    method.fitting(schema, options, target)
    return name


def describe_options(name: str) -> list[tuple[str, Any, str]]:
    """List the options of a method: name, default and meaning, as its docstrings have it."""
    method: Any = BASELINES[name] if name in BASELINES else find_method(name)
    meanings: dict[str, str] = {}
    for one in reversed(method.options.__mro__[:-1]):
        _, _, attributes = (inspect.getdoc(one) or "").partition("Attributes:\n")
        entries = re.split(r"^ {4}(\w+): ", attributes, flags=re.MULTILINE)[1:]
        meanings |= {entry: " ".join(text.split()) for entry, text in zip(entries[::2], entries[1::2], strict=True)}
    return [(option, default, meanings[option]) for option, default in _describe(method)["options"].items()]


def _describe(method: Any, **promised: Any) -> dict[str, Any]:
    fields = dataclasses.fields(method.options)
    options = {field.name: None if field.default is dataclasses.MISSING else field.default for field in fields}
    default = method.name == DEFAULT_METHOD
    return {"name": method.name, "default": default, "summary": method.summary, **promised, "options": options}

"""Marks for parametrized tests of which only some cases belong to the fast tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

BOTH_RELATIONS = ["add-remove", pytest.param("replace", marks=pytest.mark.slow)]
"""Both neighbour relations; the fast tier takes only the first."""


def slow_unless(is_fast: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """Returns the cases as parameters, marked slow where `is_fast` is false; a tuple is a case of several arguments."""
    return [
        case if is_fast(case) else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]


def first_per_method(cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Returns cases that begin with a method's name, marked slow after the first of each method."""
    seen: set[str] = set()
    return slow_unless(lambda case: case[0] not in seen and not seen.add(case[0]), cases)

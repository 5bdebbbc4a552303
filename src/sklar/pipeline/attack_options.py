"""Options of attacks are looked at before any work is done: unknown ones, and values of the wrong kind, are refused."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

from sklar.errors import UsageError

Check = tuple[Callable[[Any], bool], str]
"""Whether a value will do, and what is asked for, in words."""
ON_METHODS = frozenset(
    ["levels", "settings", "profile", "changes", "state", "workers", "random_targets", "features", "classifier"]
)
"""Options that only attacks on a method have."""


def refuse_unknown_options(
    kind: str, run: Callable[..., Any], options: Mapping[str, Any], fixed: Sequence[str]
) -> None:
    """Options that the attack does not have are refused by name, and values that no attack could take."""
    known = {p.name: p.default for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY}
    listed = [name for name in known if name not in fixed]
    for name, value in options.items():
        if name not in listed:
            hint = " It belongs to attacks on a method: see attack_method." if name in ON_METHODS else ""
            raise UsageError(f"the attack '{kind}' has no option '{name}'; its options are: {', '.join(listed)}.{hint}")
        if value is None and known[name] is None:
            continue
        require_option(name, value, on_method="profile" in known, kind=kind)


def require_option(name: str, value: Any, *, on_method: bool, kind: str) -> None:
    """Refuse a value of the wrong kind."""
    check = (
        (METHOD_CHECKS if on_method else TABLE_CHECKS).get(name) or KIND_CHECKS.get((kind, name)) or CHECKS.get(name)
    )
    if check is not None and not check[0](value):
        raise UsageError(f"{name} must be {check[1]}; found {value!r}.")


def require_seed(seed: Any) -> None:
    """Refuse what cannot fix random numbers."""
    require_option("seed", seed, on_method=False, kind="")


def _whole(least: int) -> Check:
    return lambda value: _is_whole(value, least), f"a whole number of at least {least}"


def _number(low: float, high: float, words: str) -> Check:
    return lambda value: _is_number(value) and low < float(value) < high, words


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))


def _listed(inside: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Iterable) and not isinstance(value, str | Mapping) and all(map(inside, value))
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_names(value: Any) -> bool:
    return _is_text(value) or _listed(_is_text)(value)


TEXT: Check = (_is_text, "a word")
NAMES: Check = (_is_names, "a name or a list of names")
CHECKS: dict[str, Check] = {
    "seed": _whole(0), "iterations": _whole(1), "cells": _whole(2), "guesses": _whole(1), "bootstraps": _whole(2),
    "random_targets": _whole(0), "workers": _whole(1), "distance": TEXT, "profile": TEXT, "classifier": TEXT,
    "sensitive": NAMES, "features": NAMES,
    "tolerance": _number(0.0, 1.0, "a number between 0 and 1"),
    "epsilon": _number(0.0, math.inf, "a number above 0"),
    "changes": (lambda value: isinstance(value, Mapping), "parameters of the profile by name, as {'iterations': 5}"),
    "settings": (lambda value: isinstance(value, Mapping), "settings of the method by name, as {'epsilon': 1.0}"),
    "levels": (_listed(lambda x: _is_whole(x, 1)), "a list of truncation levels, as [1, 5, 10]"),
    "state": (lambda value: isinstance(value, str | PathLike), "the path of a folder"),
}  # fmt: skip
METHOD_CHECKS: dict[str, Check] = {"targets": (_listed(lambda x: _is_whole(x, 0)), "a list of rows, as [3, 17]")}
TABLE_CHECKS: dict[str, Check] = {"targets": _whole(1)}
KIND_CHECKS: dict[tuple[str, str], Check] = {
    ("singling-out", "columns"): _whole(1),
    ("linkability", "columns"): (
        lambda value: _listed(_listed(_is_text))(value) and len(list(value)) == 2, "two lists of columns"
    ),
}  # fmt: skip

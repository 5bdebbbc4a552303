"""What an attack on a method needs: something that is fitted on a sample of rows and then draws tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from sklar.errors import UsageError
from sklar.lab.metrics.copies import row_keys
from sklar.lab.tables.table import ExactTable, coarse_codes, coarse_grid, ordered_values

ONLY = ""
"""The name of the level of a generator that has only one."""


class FittedGenerator(Protocol):
    """A generator after its fit."""

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Independent synthetic rows of one level, as anything that can be read as a table."""
        ...


class Generator(Protocol):
    """A way to synthesize; `levels` are names of variants that one fit gives, such as truncation levels."""

    @property
    def levels(self) -> tuple[str, ...]: ...

    def fit(self, table: Any, seed: int) -> FittedGenerator:
        """Learn from an Arrow table."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionGenerator:
    """A function (table, rows, seed) -> table as a generator: fitted anew for each call."""

    function: Callable[[Any, int, int], Any]
    levels: tuple[str, ...] = (ONLY,)

    def fit(self, table: Any, seed: int) -> FittedGenerator:
        """Keep the rows until a table is asked for."""
        return _Kept(self.function, table)


@dataclass(frozen=True, slots=True)
class _Kept:
    function: Callable[[Any, int, int], Any]
    table: Any

    def generate(self, level: str, rows: int, seed: int) -> Any:
        return self.function(self.table, rows, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowProfile:
    """Parameters of membership inference by shadow models (Griesbauer et al. 2025, table 1, in brackets).

    Attributes:
        iterations: Games (nIter).
        reference: Real rows that the attacker has to train on (sizeRawA).
        shadows: Shadow models without the target, and as many with it (nShadows).
        tables: Synthetic tables drawn from each shadow model (nSynA).
        size: Rows that each model is fitted on (sizeRawT).
        synthetic: Rows of each synthetic table (sizeSynT).
        test_tables: Synthetic tables with, and without, the target that the attacker has to judge (nSynT).
    """

    iterations: int = 10
    reference: int = 500
    shadows: int = 10
    tables: int = 10
    size: int = 400
    synthetic: int = 400
    test_tables: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeProfile:
    """Parameters of attribute inference from fits (Griesbauer et al. 2025, table 1, in brackets).

    Attributes:
        iterations: Games (nIter).
        reference: Real rows that the method is fitted on (sizeRawT).
        size: Rows of each synthetic table and each bootstrap (sizeSynT, bootstrapSize).
        tables: Synthetic tables and bootstraps of a game (nSynT).
    """

    iterations: int = 10
    reference: int = 500
    size: int = 500
    tables: int = 50


SHADOW_PROFILES: dict[str, ShadowProfile] = {
    "paper": ShadowProfile(),
    "quick": ShadowProfile(iterations=4, reference=250, shadows=4, tables=5, size=200, synthetic=200, test_tables=20),
}
ATTRIBUTE_PROFILES: dict[str, AttributeProfile] = {
    "paper": AttributeProfile(),
    "quick": AttributeProfile(iterations=4, reference=250, size=250, tables=10),
}


def find_profile(profiles: dict[str, Any], name: str, changes: dict[str, Any]) -> Any:
    """The profile of this name, with some parameters changed."""
    if name not in profiles:
        raise UsageError(f"there is no profile '{name}'; the profiles are: {', '.join(profiles)}.")
    profile = profiles[name]
    for key, value in changes.items():
        if key not in asdict(profile):
            raise UsageError(f"a profile has no parameter '{key}'; it has: {', '.join(asdict(profile))}.")
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            raise UsageError(f"{key} must be a whole number of at least 2; found {value!r}.")
    return replace(profile, **changes)


QUANTILES = (0.01, 0.025, 0.975, 0.99)
RANDOM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One person: place in the table (from 0), why it was chosen, and how many rows equal it."""

    row: int
    group: str
    about: str
    twins: int


def choose_targets(
    real: ExactTable,
    rng: np.random.Generator,
    *,
    sensitive: Sequence[str] = (),
    rows: Sequence[int] | None = None,
    random: int = RANDOM,
) -> tuple[Target, ...]:
    """Given rows; else rows at outlying quantiles of each sensitive column (without one, the least likely rows).

    Rows drawn at random come besides.
    """
    keys, where, counts = np.unique(row_keys(real), return_inverse=True, return_counts=True)
    del keys
    if rows is not None:
        picked = [(row, "chosen", "chosen by hand") for row in _checked(rows, real.rows)]
    else:
        picked = _outlying(real, sensitive)
        taken = [row for row, _, _ in picked]
        free = np.setdiff1d(np.arange(real.rows), taken)
        picked += [(int(r), "random", "random") for r in rng.choice(free, min(random, len(free)), replace=False)]
    return tuple(Target(row=r, group=g, about=a, twins=int(counts[where[r]]) - 1) for r, g, a in picked)


def _checked(rows: Sequence[int], total: int) -> list[int]:
    wrong = [row for row in rows if isinstance(row, bool) or not isinstance(row, Integral) or not 0 <= row < total]
    if wrong or not len(rows):
        raise UsageError(
            f"targets are places of rows in the real table, from 0 to {total - 1:,}; "
            f"{'none was given' if not len(rows) else f'{wrong[0]!r} is not in the table'}."
        )
    return list(dict.fromkeys(int(row) for row in rows))


def _outlying(real: ExactTable, sensitive: Sequence[str]) -> list[tuple[int, str, str]]:
    picked: dict[int, tuple[int, str, str]] = {}
    for name in sensitive:
        if not real.schema[name].ordered:
            continue
        values = ordered_values(real, name)
        order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
        for quantile in QUANTILES if len(order) else ():
            row = int(order[round(quantile * (len(order) - 1))])
            picked.setdefault(row, (row, "outlying", f"{name} at quantile {quantile:g}"))
    if not picked:
        for row in np.argsort(_log_likelihood(real), kind="stable")[: len(QUANTILES)]:
            picked[int(row)] = (int(row), "outlying", "among the least likely rows")
    return list(picked.values())


def _log_likelihood(real: ExactTable) -> np.ndarray:
    """Of each row, if columns were independent."""
    codes = coarse_codes(real, coarse_grid(real.schema))
    return np.sum([np.log(np.bincount(column)[column] / real.rows) for column in codes], axis=0)

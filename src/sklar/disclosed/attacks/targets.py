"""Whom an attack on a method is about: rows that stand out, and rows drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from sklar.disclosed.metrics.copies import row_keys
from sklar.disclosed.metrics.grid import coarse_codes, coarse_grid
from sklar.disclosed.metrics.table import ExactTable, ordered_values
from sklar.errors import UsageError

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

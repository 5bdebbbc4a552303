"""Copies: does the synthetic table repeat real rows more often than a fresh real sample would?

Rows are compared on the full public grid. The share of synthetic rows that equal a real row stands beside its floor,
the share of real rows that equal another real row: what repeats by nature. Besides, real rows that occur only once
are looked for in the synthetic table, and those of one random half of the real table in the other half: a copy has
them, a fresh sample has few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable
from sklar.rows.persons.choice import mixed

ABOUT = About(
    name="copies",
    title="Repeated rows: share of synthetic rows that equal a real row",
    says="Rows that are the same in both tables; the floor is how often fresh real rows do so.",
    reference="Exact match on the public grid",
    lower=0.0, upper=1.0, better="lower", good=0.02, fair=0.10,
)  # fmt: skip
EXCESS = 0.05
"""Shares of repeated rows that exceed the expected one by this, and by five standard errors, are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """What was found.

    Attributes:
        score: Share of synthetic rows that equal a real row, with the share expected of fresh real rows as its floor.
        lone: Share of the real rows without an equal among the real ones that are in the synthetic table.
        lone_expected: The same for a fresh real sample.
        warning: What to tell the custodian, if anything.
    """

    score: Score
    lone: float
    lone_expected: float
    warning: str | None


def copies(real: ExactTable, synthetic: ExactTable, fresh: tuple[ExactTable, ExactTable]) -> Copies:
    """Look for copies; `fresh` are two disjoint samples of real rows."""
    hits, lone, expected = _hits(real, synthetic)
    _, lone_expected, _ = _hits(*fresh)
    rows = min(real.rows, synthetic.rows)
    warning = _warning(hits, expected, lone, lone_expected, rows)
    score = Score(about=ABOUT, value=hits, floor=expected, rows=rows)
    return Copies(score=score, lone=lone, lone_expected=lone_expected, warning=warning)


def _warning(hits: float, expected: float, lone: float, lone_expected: float, rows: int) -> str | None:
    error = math.sqrt(max(expected * (1 - expected), 0.25 / rows) * 2 / rows)
    if hits > 0.9 and lone > 0.5 and lone > lone_expected + 0.25:
        return (
            f"the synthetic table looks like a copy of the real one: {hits:.0%} of its rows equal a real row, where "
            f"fresh real rows would do so in {expected:.0%} of the cases. Were the same rows given twice?"
        )
    if hits > expected + max(EXCESS, 5 * error):
        return (
            f"{hits:.1%} of the synthetic rows equal a real row, where fresh real rows would do so in {expected:.1%} "
            "of the cases: the method may have copied rows."
        )
    return None


def _hits(real: ExactTable, other: ExactTable) -> tuple[float, float, float]:
    """Shares of: other rows that equal a real row; lone real rows among the other rows; real rows that are not lone."""
    keys, counts = np.unique(row_keys(real), return_counts=True)
    others, lone = row_keys(other), keys[counts == 1]
    found = float(np.isin(lone, others).mean()) if len(lone) else 0.0
    return float(np.isin(others, keys).mean()), found, 1.0 - len(lone) / real.rows


def row_keys(
    table: ExactTable, names: Sequence[str] | None = None, lookups: Mapping[str, Ints] | None = None
) -> npt.NDArray[Any]:
    """A 64-bit hash of the codes of each row; two different rows collide with a chance of about 1e-19.

    Of all columns or the named ones; on a coarser grid if there are lookups to it.
    """
    key = np.full(table.rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in table.names if names is None else names:
        codes = table.codes[name] if lookups is None else lookups[name][table.codes[name]]
        key = mixed(key ^ (codes.astype(np.uint64) + np.uint64(0x632BE59BD9B4E019)))
    return key

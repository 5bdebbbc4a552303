"""Copies: does the synthetic table repeat real rows more often than a fresh real sample would?

Rows are compared on the full public grid. The floor of the share of synthetic rows that equal a real row is the share
of real rows that equal another real row. In addition, real rows that occur only once are searched in the synthetic
table, and those of one random half of the real table in the other half: a copy has them, a fresh sample has few.
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
from sklar.rows.persons.choice import mix_bits

ABOUT = About(
    name="copies",
    title="Repeated rows: share of synthetic rows that equal a real row",
    says="Rows that are equal in both tables; the floor is the share for fresh real rows.",
    reference="Exact match on the public grid", good=0.02, fair=0.10,
)  # fmt: skip
MIN_EXCESS = 0.05
"""A share of repeated rows that exceeds the expected one by this, and by five standard errors, is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Shares of repeated rows.

    Attributes:
        score: Share of synthetic rows that equal a real row, with the share expected of fresh real rows as its floor.
        lone: Share of the real rows that occur once and are in the synthetic table.
        lone_expected: This share for a fresh real sample.
        warning: A warning for the custodian, if needed.
    """

    score: Score
    lone: float
    lone_expected: float
    warning: str | None


def measure_copies(real: ExactTable, synthetic: ExactTable, fresh: tuple[ExactTable, ExactTable]) -> Copies:
    """Search for copies; `fresh` are two disjoint samples of real rows."""
    hits, lone, expected = _copy_shares(real, synthetic)
    _, lone_expected, _ = _copy_shares(*fresh)
    rows = min(real.rows, synthetic.rows)
    warning = _describe_warning(hits, expected, lone, lone_expected, rows)
    score = Score(about=ABOUT, value=hits, floor=expected, rows=rows)
    return Copies(score=score, lone=lone, lone_expected=lone_expected, warning=warning)


def _describe_warning(hits: float, expected: float, lone: float, lone_expected: float, rows: int) -> str | None:
    error = math.sqrt(max(expected * (1 - expected), 0.25 / rows) * 2 / rows)
    if hits > 0.9 and lone > 0.5 and lone > lone_expected + 0.25:
        return (
            f"the synthetic table looks like a copy of the real one: {hits:.0%} of its rows equal a real row, compared "
            f"with {expected:.0%} of fresh real rows. Were the same rows given twice?"
        )
    if hits > expected + max(MIN_EXCESS, 5 * error):
        return (
            f"{hits:.1%} of the synthetic rows equal a real row, compared with {expected:.1%} of fresh real rows: the "
            "method may have copied rows."
        )
    return None


def _copy_shares(real: ExactTable, other: ExactTable) -> tuple[float, float, float]:
    """Return shares of other rows that equal a real row, of single real rows that were found, and of repeated ones."""
    keys, counts = np.unique(row_keys(real), return_counts=True)
    others, lone = row_keys(other), keys[counts == 1]
    found = float(np.isin(lone, others).mean()) if len(lone) else 0.0
    return float(np.isin(others, keys).mean()), found, 1.0 - len(lone) / real.rows


def row_keys(
    table: ExactTable, names: Sequence[str] | None = None, lookups: Mapping[str, Ints] | None = None
) -> npt.NDArray[Any]:
    """Hash the codes of each row to 64 bits; two different rows collide with a probability of about 1e-19.

    All columns are used, or the named ones; `lookups` map them to a coarser grid.
    """
    key = np.full(table.rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in table.names if names is None else names:
        codes = table.codes[name] if lookups is None else lookups[name][table.codes[name]]
        key = mix_bits(key ^ (codes.astype(np.uint64) + np.uint64(0x632BE59BD9B4E019)))
    return key

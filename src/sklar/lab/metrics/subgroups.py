"""How well the rows of each value of a named column are reproduced: a table may be right in all and wrong in some."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sklar.lab.metrics.bench import Bench
from sklar.lab.metrics.moments import summarise
from sklar.lab.metrics.score import Part
from sklar.lab.metrics.tvd import margin_distance
from sklar.lab.scales import number_text
from sklar.lab.tables.table import ExactTable, numeric_names
from sklar.sample.binary import cell_text

ROWS = 50_000
"""Rows of each table that are used."""
GROUPS = 20
"""Values with a line of their own: the most frequent ones of the real table."""
Mask = npt.NDArray[np.bool_]
QUARTERS = 4
"""Groups of a column of numbers, of about equally many real rows."""
UNKNOWN = (0.0, 0.0)
FEW = 10
"""Rows of both tables that a group needs: fewer tell about chance alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgroup:
    """The rows with one value. Distances are means over the other columns, None where a table has too few rows.

    Attributes:
        value: The value, or the range of numbers.
        rows: Real and synthetic rows.
        shares: The same as shares of all rows.
        tvd1, tvd2: Total variation distance of single columns and of pairs.
        tvd1_floor, tvd2_floor: Those of a fresh real sample.
        means: Shift of the mean in real standard deviations of the group, mean over the columns of numbers.
        means_floor: What is expected of a fresh sample of these sizes: sqrt(2 / pi) sqrt(1 / n + 1 / m).
        furthest: The mean that is furthest off, in words.
    """

    value: str
    rows: tuple[int, int]
    shares: tuple[float, float]
    tvd1: float | None = None
    tvd1_floor: float | None = None
    tvd2: float | None = None
    tvd2_floor: float | None = None
    means: float | None = None
    means_floor: float | None = None
    furthest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgroups:
    """The groups of a column, the largest first (of numbers in their order), and how many more values it has."""

    by: str
    groups: tuple[Subgroup, ...]
    more: int


def subgroups(bench: Bench, by: str) -> Subgroups:
    """The table of a column."""
    rng = bench.stream(f"subgroups {by}")
    real, synthetic = bench.sample((bench.real, bench.synthetic), ROWS, rng)
    labelled = list(_groups(real, synthetic, by))
    shown = labelled if real.schema[by].numeric else sorted(labelled, key=lambda one: -one[1].sum())[:GROUPS]
    found = [_subgroup(bench, by, value, real.take(np.flatnonzero(a)), synthetic.take(np.flatnonzero(b)), rng)
             for value, a, b in shown]  # fmt: skip
    whole = (real.rows, synthetic.rows)
    shared = [replace(one, shares=(one.rows[0] / whole[0], one.rows[1] / whole[1])) for one in found]
    return Subgroups(by=by, groups=tuple(shared), more=len(labelled) - len(shown))


def _groups(real: ExactTable, synthetic: ExactTable, by: str) -> Iterator[tuple[str, Mask, Mask]]:
    """Each value with its rows in both tables, as masks; values that neither has are left out."""
    column = real.schema[by]
    if not column.numeric:
        for code in range(column.size):
            masks = [table.codes[by] == code for table in (real, synthetic)]
            if any(mask.any() for mask in masks):
                yield cell_text(column, code, code + 1), masks[0], masks[1]
        return
    values = [table.numbers[by] for table in (real, synthetic)]
    known = values[0][~np.isnan(values[0])]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, QUARTERS + 1)[1:-1])) if len(known) else np.empty(0)
    ends = [-math.inf, *edges.tolist(), math.inf]
    for low, high in pairwise(ends):
        start = "" if low == -math.inf else f"from {number_text(column, low)} "
        end = "" if high == math.inf else f"below {number_text(column, high)}"
        words = f"{start}{end}".strip() or "all values"
        masks = [(part >= low) & (part < high) for part in values]
        yield words, masks[0], masks[1]
    nulls = [np.isnan(part) for part in values]
    if any(null.any() for null in nulls):
        yield "null", nulls[0], nulls[1]


def _subgroup(
    bench: Bench, by: str, value: str, real: ExactTable, synthetic: ExactTable, rng: np.random.Generator
) -> Subgroup:
    rows = (real.rows, synthetic.rows)
    if min(rows) < FEW:
        return Subgroup(value=value, rows=rows, shares=UNKNOWN)
    halves = real.halves(rng)
    one, two = (_mean(margin_distance(real, synthetic, bench.grid, ways, rng, halves).parts, by) for ways in (1, 2))
    others = [name for name in numeric_names(real.schema) if name != by]
    moved = [found for found in (summarise(real, synthetic, name) for name in others) if found.real.mean is not None]
    shifts = [found.shifts[0] for found in moved]
    far = moved[int(np.argmax(shifts))] if shifts else None
    told = "" if far is None else f"{far.column} {far.text(far.synthetic.mean)} against {far.text(far.real.mean)}"
    return Subgroup(
        value=value, rows=rows, shares=UNKNOWN, tvd1=one[0], tvd1_floor=one[1], tvd2=two[0], tvd2_floor=two[1],
        means=float(np.mean(shifts)) if shifts else None,
        means_floor=math.sqrt(2 / math.pi * (1 / rows[0] + 1 / rows[1])) if shifts else None,
        furthest=told,
    )  # fmt: skip


def _mean(parts: tuple[Part, ...], by: str) -> tuple[float | None, float | None]:
    """Mean value and floor of the sets without the column that makes the groups."""
    kept = [part for part in parts if by not in part.columns]
    if not kept:
        return None, None
    return float(np.mean([part.value for part in kept])), float(np.mean([part.floor or 0.0 for part in kept]))

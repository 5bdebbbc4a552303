"""Errors by the values of a column: a table may be accurate as a whole and wrong in a subgroup."""

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

MAX_SUBGROUP_ROWS = 50_000
"""Maximum number of rows of each table."""
MAX_SUBGROUPS = 20
"""Maximum number of values that are reported: the most frequent ones of the real table."""
Mask = npt.NDArray[np.bool_]
NUMERIC_SUBGROUPS = 4
"""Groups of a numeric column, with about equal numbers of real rows."""
NO_SHARES = (0.0, 0.0)
MIN_SUBGROUP_ROWS = 10
"""Minimum number of rows of a group in both tables: with fewer, errors are mostly chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgroup:
    """The rows with one value. Distances are means over the other columns, None if a table has too few rows.

    Attributes:
        value: The value, or the range of numbers.
        rows: Numbers of real and synthetic rows.
        shares: These as shares of all rows.
        tvd1, tvd2: Total variation distance of single columns and of pairs.
        tvd1_floor, tvd2_floor: Those of a fresh real sample.
        means: Shift of the mean in real standard deviations of the group, averaged over numeric columns.
        means_floor: The expected shift of a fresh sample of these sizes: sqrt(2 / pi) sqrt(1 / n + 1 / m).
        furthest: The mean with the largest shift, in words.
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
    """The groups of a column, the largest first (numbers in their order), and the number of further values."""

    by: str
    groups: tuple[Subgroup, ...]
    more: int


def measure_subgroups(bench: Bench, by: str) -> Subgroups:
    """Compute the errors by the values of a column."""
    rng = bench.stream(f"subgroups {by}")
    real, synthetic = bench.sample((bench.real, bench.synthetic), MAX_SUBGROUP_ROWS, rng)
    labelled = list(_split_groups(real, synthetic, by))
    shown = labelled if real.schema[by].numeric else sorted(labelled, key=lambda one: -one[1].sum())[:MAX_SUBGROUPS]
    found = [_measure_group(bench, by, value, real.take(np.flatnonzero(a)), synthetic.take(np.flatnonzero(b)), rng)
             for value, a, b in shown]  # fmt: skip
    whole = (real.rows, synthetic.rows)
    shared = [replace(one, shares=(one.rows[0] / whole[0], one.rows[1] / whole[1])) for one in found]
    return Subgroups(by=by, groups=tuple(shared), more=len(labelled) - len(shown))


def _split_groups(real: ExactTable, synthetic: ExactTable, by: str) -> Iterator[tuple[str, Mask, Mask]]:
    """Yield each value with masks of its rows in both tables; values without rows are left out."""
    column = real.schema[by]
    if not column.numeric:
        for code in range(column.size):
            masks = [table.codes[by] == code for table in (real, synthetic)]
            if any(mask.any() for mask in masks):
                yield cell_text(column, code, code + 1), masks[0], masks[1]
        return
    values = [table.numbers[by] for table in (real, synthetic)]
    known = values[0][~np.isnan(values[0])]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, NUMERIC_SUBGROUPS + 1)[1:-1])) if len(known) else np.empty(0)
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


def _measure_group(
    bench: Bench, by: str, value: str, real: ExactTable, synthetic: ExactTable, rng: np.random.Generator
) -> Subgroup:
    rows = (real.rows, synthetic.rows)
    if min(rows) < MIN_SUBGROUP_ROWS:
        return Subgroup(value=value, rows=rows, shares=NO_SHARES)
    halves = real.halves(rng)
    one, two = (
        _mean_without(margin_distance(real, synthetic, bench.grid, ways, rng, halves).parts, by) for ways in (1, 2)
    )
    others = [name for name in numeric_names(real.schema) if name != by]
    moved = [found for found in (summarise(real, synthetic, name) for name in others) if found.real.mean is not None]
    shifts = [found.shifts[0] for found in moved]
    far = moved[int(np.argmax(shifts))] if shifts else None
    text = "" if far is None else f"{far.column} {far.text(far.synthetic.mean)} against {far.text(far.real.mean)}"
    return Subgroup(
        value=value, rows=rows, shares=NO_SHARES, tvd1=one[0], tvd1_floor=one[1], tvd2=two[0], tvd2_floor=two[1],
        means=float(np.mean(shifts)) if shifts else None,
        means_floor=math.sqrt(2 / math.pi * (1 / rows[0] + 1 / rows[1])) if shifts else None,
        furthest=text,
    )  # fmt: skip


def _mean_without(parts: tuple[Part, ...], by: str) -> tuple[float | None, float | None]:
    """Return the mean value and floor of the sets without the grouping column."""
    kept = [part for part in parts if by not in part.columns]
    if not kept:
        return None, None
    return float(np.mean([part.value for part in kept])), float(np.mean([part.floor or 0.0 for part in kept]))

"""Compare mean, standard deviation, quantiles and share of nulls of each column in both tables.

The distance of a column is the largest of four numbers, each a shift on the scale of the real column and at most 1:
|mean' - mean| / sd; |log(sd' / sd)|; the mean of |q' - q| / sd over the listed quantiles; and for the shares of nulls
p' and p with mean m, |p' - p| / sqrt(m (1 - m)). A margin may be right on a coarse grid and in its ranks although a
thin long tail doubles its standard deviation; this metric detects that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.score import About, Part, Score, mean_score
from sklar.lab.scales import number_text
from sklar.lab.tables.table import ExactTable
from sklar.schema import Column, Datetime
from sklar.schema.grid import RESOLUTIONS

ABOUT = About(
    name="moments",
    title="Single columns: mean, spread, quantiles, nulls",
    says="Largest shift of a column's mean, standard deviation, quantiles or share of nulls, in real standard "
    "deviations, averaged over columns.",
    reference="see docs/evaluate.md", good=0.05, fair=0.15,
)  # fmt: skip
REPORTED_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The median, the quartiles, and both tails that a thousand rows support."""
SHIFTS = ("mean", "standard deviation", "quantiles", "nulls")
"""The names of the four numbers of a distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMoments:
    """One column of one table: its share of nulls and, for numbers, times and booleans, statistics of its values.

    Times are in ticks. Without any value, the statistics are missing.
    """

    null: float
    mean: float | None = None
    sd: float | None = None
    quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """One column of both tables with their shifts (see `SHIFTS`) and the floor of their distance."""

    column: str
    facts: Column
    real: ColumnMoments
    synthetic: ColumnMoments
    shifts: tuple[float, ...]
    floor: float | None = None

    levels: ClassVar[tuple[float, ...]] = REPORTED_QUANTILES

    @property
    def distance(self) -> float:
        """Return the largest shift."""
        return max(self.shifts)

    @property
    def largest(self) -> str:
        """Describe the largest shift, as "standard deviation 177 against 86"."""
        what = SHIFTS[int(np.argmax(self.shifts))]
        if what == "nulls":
            return f"null in {self.synthetic.null:.1%} against {self.real.null:.1%}"
        if what == "quantiles":
            at = int(np.argmax(np.abs(np.subtract(self.synthetic.quantiles, self.real.quantiles))))
            return f"{REPORTED_QUANTILES[at]:.0%} quantile " + self._compare(lambda one: one.quantiles[at])
        if what == "mean":
            return "mean " + self._compare(lambda one: one.mean)
        return f"{what} " + self._compare(lambda one: one.sd, length=True)

    def _compare(self, number: Any, *, length: bool = False) -> str:
        return " against ".join(self.text(number(one), length=length) for one in (self.synthetic, self.real))

    def text(self, number: float | None, *, length: bool = False) -> str:
        """Format a number of this column: times as dates, durations in days."""
        if number is None:
            return "-"
        if isinstance(self.facts, Datetime) and length:
            return f"{number * RESOLUTIONS[self.facts.resolution] / RESOLUTIONS['day']:.4g} days"
        return number_text(self.facts, number)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; mean and quantiles of a datetime are texts, its standard deviation is in days."""
        return {
            "distance": self.distance, "floor": self.floor, "shifts": dict(zip(SHIFTS, self.shifts, strict=True)),
            "real": self._to_plain(self.real), "synthetic": self._to_plain(self.synthetic),
        }  # fmt: skip

    def _to_plain(self, one: ColumnMoments) -> dict[str, Any]:
        dates = isinstance(self.facts, Datetime)
        days = RESOLUTIONS[self.facts.resolution] / RESOLUTIONS["day"] if isinstance(self.facts, Datetime) else 1.0
        return {
            "null": one.null,
            "mean": self.text(one.mean) if dates and one.mean is not None else one.mean,
            "sd": None if one.sd is None else one.sd * days,
            "quantiles": {
                f"{q:g}": self.text(x) if dates else x for q, x in zip(REPORTED_QUANTILES, one.quantiles, strict=False)
            },
        }


def compare_moments(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the mean distance over the columns, without columns of labels without nulls."""
    found = tuple(summarise(real, synthetic, name) for name in real.names)
    parts = [Part(columns=(one.column,), value=one.distance) for one in found if _is_comparable(one)]
    why = "no column has numbers or nulls."
    score = mean_score(ABOUT, parts, rows=min(real.rows, synthetic.rows), why_none=why)
    return replace(score, behind=found)


def summarise(real: ExactTable, synthetic: ExactTable, name: str) -> ColumnSummary:
    """Compare one column of both tables."""
    one, two = (_measure_moments(table, name) for table in (real, synthetic))
    return ColumnSummary(
        column=name, facts=real.schema[name], real=one, synthetic=two, shifts=tuple(_compute_shifts(one, two))
    )


def _is_comparable(found: ColumnSummary) -> bool:
    return found.real.mean is not None or found.synthetic.mean is not None or found.real.null + found.synthetic.null > 0


def _measure_moments(table: ExactTable, name: str) -> ColumnMoments:
    column, codes = table.schema[name], table.codes[name]
    null = 0.0 if column.null_code is None else float((codes == column.null_code).mean())
    values = _values(table, name)
    if not len(values):
        return ColumnMoments(null=null)
    scale = float(np.abs(values).max()) or 1.0  # squares of huge numbers would overflow
    mean, sd = (scale * float(x) for x in ((values / scale).mean(), (values / scale).std()))
    quantiles = np.quantile(values, REPORTED_QUANTILES).tolist() if column.numeric else ()
    return ColumnMoments(null=null, mean=mean, sd=sd, quantiles=tuple(quantiles))


def _values(table: ExactTable, name: str) -> Floats:
    """Return the known values of a column of numbers, times or booleans; none of labels."""
    if name in table.numbers:
        values = table.numbers[name]
        return values[~np.isnan(values)]
    codes = table.codes[name]
    return codes[codes < 2].astype(np.float64) if table.schema[name].kind == "boolean" else np.empty(0)


def _compute_shifts(real: ColumnMoments, synthetic: ColumnMoments) -> Iterator[float]:
    middle = (real.null + synthetic.null) / 2
    nulls = _shift(synthetic.null - real.null, math.sqrt(middle * (1 - middle)))
    if real.mean is None or real.sd is None or synthetic.mean is None or synthetic.sd is None:
        lost = float((real.mean is None) != (synthetic.mean is None))
        yield from (lost, lost, lost, nulls)
        return
    yield _shift(synthetic.mean - real.mean, real.sd)
    wide, narrow = max(real.sd, synthetic.sd), min(real.sd, synthetic.sd)
    yield 0.0 if wide == narrow else min(math.log(wide / narrow), 1.0) if narrow > 0 else 1.0
    shifts = [_shift(b - a, real.sd) for a, b in zip(real.quantiles, synthetic.quantiles, strict=True)]
    yield math.fsum(shifts) / len(shifts) if shifts else 0.0
    yield nulls


def _shift(difference: float, scale: float) -> float:
    """Return a difference in units of a scale, at most 1; on a scale of 0, any difference is 1."""
    if difference == 0:
        return 0.0
    return min(abs(difference) / scale, 1.0) if scale > 0 else 1.0

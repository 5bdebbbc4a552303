"""What a reader checks first in a column: its mean, standard deviation, quantiles and share of nulls, in both tables.

The distance of a column is the largest of four numbers, each a shift on the scale of the real column and at most 1:
|mean' - mean| / sd; |log(sd' / sd)|; the mean of |q' - q| / sd over the listed quantiles; and the same shift of means
for the column that tells nulls, |p' - p| / sqrt(m (1 - m)) with m the mean of both shares. A margin may be right on a
coarse grid and in its ranks while a thin far tail doubles its standard deviation; this is where it shows.
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
    reference="see docs/evaluate.md",
    lower=0.0, upper=1.0, better="lower", good=0.05, fair=0.15,
)  # fmt: skip
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The quantiles that are told: the middle, the quarters, and both tails as far as a thousand rows bear."""
SHIFTS = ("mean", "standard deviation", "quantiles", "nulls")
"""What the four numbers of a distance speak of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMoments:
    """One column of one table: its share of nulls and, of numbers, moments and booleans, what its values are like.

    Numbers of a datetime are ticks. What has no value at all has no mean either.
    """

    null: float
    mean: float | None = None
    sd: float | None = None
    quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """One column of both tables, and how far apart they are (see `SHIFTS`); the floor is that of their distance."""

    column: str
    facts: Column
    real: ColumnMoments
    synthetic: ColumnMoments
    shifts: tuple[float, ...]
    floor: float | None = None

    levels: ClassVar[tuple[float, ...]] = QUANTILES

    @property
    def distance(self) -> float:
        """The largest of the shifts."""
        return max(self.shifts)

    @property
    def largest(self) -> str:
        """The largest shift in words, as "standard deviation 177 against 86"."""
        what = SHIFTS[int(np.argmax(self.shifts))]
        if what == "nulls":
            return f"null in {self.synthetic.null:.1%} against {self.real.null:.1%}"
        if what == "quantiles":
            gaps = np.abs(np.subtract(self.synthetic.quantiles, self.real.quantiles))
            at = int(np.argmax(gaps))
            return f"{QUANTILES[at]:.0%} quantile " + self._both(lambda one: one.quantiles[at])
        if what == "mean":
            return "mean " + self._both(lambda one: one.mean)
        return f"{what} " + self._both(lambda one: one.sd, length=True)

    def _both(self, number: Any, *, length: bool = False) -> str:
        return " against ".join(self.text(number(one), length=length) for one in (self.synthetic, self.real))

    def text(self, number: float | None, *, length: bool = False) -> str:
        """A number of this column as people write it: moments as dates, their lengths in days."""
        if number is None:
            return "-"
        if isinstance(self.facts, Datetime) and length:
            return f"{number * RESOLUTIONS[self.facts.resolution] / RESOLUTIONS['day']:.4g} days"
        return number_text(self.facts, number)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the mean and the quantiles of a datetime are texts, its standard deviation is in days."""
        return {
            "distance": self.distance,
            "floor": self.floor,
            "shifts": dict(zip(SHIFTS, self.shifts, strict=True)),
            **{side: self._plain(getattr(self, side)) for side in ("real", "synthetic")},
        }

    def _plain(self, one: ColumnMoments) -> dict[str, Any]:
        dates = isinstance(self.facts, Datetime)
        days = RESOLUTIONS[self.facts.resolution] / RESOLUTIONS["day"] if isinstance(self.facts, Datetime) else 1.0
        return {
            "null": one.null,
            "mean": self.text(one.mean) if dates and one.mean is not None else one.mean,
            "sd": None if one.sd is None else one.sd * days,
            "quantiles": {
                f"{q:g}": self.text(x) if dates else x for q, x in zip(QUANTILES, one.quantiles, strict=False)
            },
        }


def moments(real: ExactTable, synthetic: ExactTable) -> Score:
    """Mean distance over the columns; those of labels without nulls say nothing and are left out."""
    found = tuple(summarise(real, synthetic, name) for name in real.names)
    parts = [Part(columns=(one.column,), value=one.distance) for one in found if _tells(one)]
    why = "no column has numbers or nulls."
    score = mean_score(ABOUT, parts, rows=min(real.rows, synthetic.rows), why_none=why)
    return replace(score, behind=found)


def summarise(real: ExactTable, synthetic: ExactTable, name: str) -> ColumnSummary:
    """One column of both tables."""
    one, two = (_moments(table, name) for table in (real, synthetic))
    return ColumnSummary(column=name, facts=real.schema[name], real=one, synthetic=two, shifts=tuple(_shifts(one, two)))


def _tells(found: ColumnSummary) -> bool:
    """Whether there is anything to compare."""
    return found.real.mean is not None or found.synthetic.mean is not None or found.real.null + found.synthetic.null > 0


def _moments(table: ExactTable, name: str) -> ColumnMoments:
    column, codes = table.schema[name], table.codes[name]
    null = 0.0 if column.null_code is None else float((codes == column.null_code).mean())
    values = _values(table, name)
    if not len(values):
        return ColumnMoments(null=null)
    scale = float(np.abs(values).max()) or 1.0  # squares of huge numbers are none
    mean, sd = (scale * float(x) for x in ((values / scale).mean(), (values / scale).std()))
    quantiles = np.quantile(values, QUANTILES).tolist() if column.numeric else ()
    return ColumnMoments(null=null, mean=mean, sd=sd, quantiles=tuple(quantiles))


def _values(table: ExactTable, name: str) -> Floats:
    """The values of a column of numbers, moments or booleans that are not null; none of labels."""
    if name in table.numbers:
        values = table.numbers[name]
        return values[~np.isnan(values)]
    codes = table.codes[name]
    return codes[codes < 2].astype(np.float64) if table.schema[name].kind == "boolean" else np.empty(0)


def _shifts(real: ColumnMoments, synthetic: ColumnMoments) -> Iterator[float]:
    middle = (real.null + synthetic.null) / 2
    nulls = _shift(synthetic.null - real.null, math.sqrt(middle * (1 - middle)))
    if real.mean is None or real.sd is None or synthetic.mean is None or synthetic.sd is None:
        lost = float((real.mean is None) != (synthetic.mean is None))
        yield from (lost, lost, lost, nulls)
        return
    yield _shift(synthetic.mean - real.mean, real.sd)
    wide, narrow = max(real.sd, synthetic.sd), min(real.sd, synthetic.sd)
    yield 0.0 if wide == narrow else min(math.log(wide / narrow), 1.0) if narrow > 0 else 1.0
    gaps = [_shift(b - a, real.sd) for a, b in zip(real.quantiles, synthetic.quantiles, strict=True)]
    yield math.fsum(gaps) / len(gaps) if gaps else 0.0
    yield nulls


def _shift(difference: float, scale: float) -> float:
    """A difference in units of a scale, at most 1; of a scale of 0, any difference is 1."""
    if difference == 0:
        return 0.0
    return min(abs(difference) / scale, 1.0) if scale > 0 else 1.0

"""Heaping at round numbers: how large a part of the numbers are multiples of 100, of 500, ..., and margins with them.

A number is taken to be rounded to some unit, with a probability that is the same everywhere; given the unit, it is any
multiple, as a smooth density has it. So the mass of a multiple is the density there times its unit, and that of a cell
what its multiples have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sklar.arrays import Floats
from sklar.model.margins.bins import weigh_numbers
from sklar.model.margins.margin import Margin
from sklar.model.margins.units import UnitSearch, base_unit, digits_of
from sklar.model.significance import critical_deviations
from sklar.schema.grid import Grid
from sklar.schema.numbers import Integer, Real

MIN_UNIT_SHARE = 0.02
"""Smallest part of the numbers that gets a unit."""
MAX_HEAPING_UNITS = 4
"""Units kept, those that explain most first."""
RELATIVE_MODEL_ERROR = 0.01
"""Relative error of what a smooth margin expects of a class: where noise is small, chance is not known any better."""
MIN_REST_SHARE = 1e-9
"""With a smaller part left over, all numbers are multiples."""
MIN_CELL_WEIGHT = 1e-300
"""Cells that weigh less hold no number; those of a single real weigh next to nothing."""
FIT_ROUNDS = 8
"""Rounds of the fit, whose equations are linear but for the cells that hold few multiples."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Expected:
    """What each unit would bring to the classes, given the cells of a margin.

    Attributes:
        mass: Probability of each cell of the margin.
        weight: Multiples of each unit in each cell (row), times the unit.
        inside: The same by class (of every cell, class and unit).
    """

    mass: Floats
    weight: Floats
    inside: Floats

    def counts(self, parts: Floats, rows: float) -> Floats:
        """Return rows that a part of one, of each unit (column), brings to each class, if the parts are about so."""
        whole = self.weight @ parts
        per = np.where(whole > MIN_CELL_WEIGHT, self.mass / np.maximum(whole, MIN_CELL_WEIGHT), 0.0)
        return rows * np.tensordot(per, self.inside, axes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """How the numbers of a column are rounded.

    Attributes:
        base: What those are multiples of that are on no heap; None for any real.
        decimals: Digits after the point that were found; None if they were declared, or not found.
        heaping: Units that parts of the numbers are multiples of, and these parts.
    """

    base: Fraction | None
    decimals: int | None
    heaping: dict[Fraction, float]

    @property
    def differs(self) -> bool:
        """Whether some numbers are rounder than others."""
        return any(part < 1.0 for part in self.heaping.values())

    def weights(self, grid: Grid) -> Floats:
        """Return what each cell of the column's grid stands for: the masses of cells are a smooth density times
        these."""
        rest = max(1.0 - sum(self.heaping.values()), 0.0)
        return weigh_numbers(grid, {**({self.base: rest} if rest > MIN_REST_SHARE else {}), **self.heaping})

    def without_heaping(self) -> Rounding:
        """Return the same with all numbers multiples of the base alone."""
        whole = {unit: 1.0 for unit in self.heaping if unit == self.base}
        return replace(self, heaping=whole)

    def misfit(self, margin: Margin, grid: Grid, seen: tuple[UnitSearch, Floats, float], rows: float) -> float:
        """Return the chi-square of what was counted by units, of a margin that was fitted with these weights."""
        search, counts, sigma = seen
        rest = {} if self.base in self.heaping else {self.base: max(1.0 - sum(self.heaping.values()), 0.0)}
        units = {**rest, **self.heaping}
        parts, counted = np.array(list(units.values())), np.asarray(counts[: search.classes], dtype=np.float64)
        expected = _expect_by_class(margin, grid, list(units), search).counts(parts, rows) @ parts
        off = (expected - counted) / _deviations(counted, sigma)
        return float(off @ off)

    def on(self, margin: Margin) -> Margin:
        """Return a margin that was fitted with these weights, which says how numbers inside its cells are rounded."""
        heaping = tuple((float(unit), part) for unit, part in self.heaping.items() if part > 0)
        return replace(margin, decimals=self.decimals, heaping=heaping)


def find_rounding(
    margin: Margin, column: Integer | Real, found: Fraction | None, seen: tuple[UnitSearch, Floats, float], rows: float
) -> Rounding:
    """Return the unit of a column's numbers, which was found before, and the significant heaping.

    Args:
        margin: A smooth margin.
        column: Its column.
        found: Unit of nearly all numbers, or None.
        seen: What was counted by units, the noisy counts and their standard deviation.
        rows: The (noisy) number of rows.
    """
    base = base_unit(column) if found is None else found
    heaping = find_heaping(margin, column.grid, base, seen, rows)
    digits = digits_of(found) if found is not None and isinstance(column, Real) and column.unit is None else None
    if found is not None and found != _to_decimal_unit(digits):
        heaping = {found: 1.0 - sum(heaping.values()), **heaping}
    return Rounding(base=base, decimals=digits, heaping=heaping)


def _to_decimal_unit(digits: int | None) -> Fraction | None:
    return None if digits is None else Fraction(1, 10**digits)


def find_heaping(
    margin: Margin, grid: Grid, base: Fraction | None, seen: tuple[UnitSearch, Floats, float], rows: float
) -> dict[Fraction, float]:
    """Return units that parts of the numbers are multiples of, and these parts, where they are significant.

    Units join one by one, the one that explains most first.
    """
    search, counts, sigma = seen
    units = [unit for unit in search.units if base is None or (unit > base and (unit / base).denominator == 1)]
    expected = _expect_by_class(margin, grid, [base, *units], search)
    counted = np.asarray(counts[: search.classes], dtype=np.float64)
    spread = _deviations(counted, sigma)
    chosen, (left, parts) = [0], _fit(expected, [0], counted, spread, rows)
    gain = critical_deviations(len(units)) ** 2  # chi-square of one more part, which cannot be negative
    while len(chosen) <= MAX_HEAPING_UNITS:
        tried = {
            place: _fit(expected, [*chosen, place], counted, spread, rows)
            for place in range(1, len(units) + 1)
            if place not in chosen
        }
        tried = {place: fit for place, fit in tried.items() if fit[1][-1] >= MIN_UNIT_SHARE}
        best = min(tried, key=lambda place: tried[place][0], default=None)
        if best is None or left - tried[best][0] < gain:
            break
        chosen, (left, parts) = [*chosen, best], tried[best]
    return dict(sorted((units[place - 1], float(part)) for place, part in zip(chosen, parts, strict=True) if place))


def _deviations(counted: Floats, sigma: float) -> Floats:
    return np.sqrt(sigma**2 + np.maximum(counted, 0.0) + (RELATIVE_MODEL_ERROR * counted) ** 2)


def _expect_by_class(margin: Margin, grid: Grid, units: list[Fraction | None], search: UnitSearch) -> _Expected:
    cell = np.repeat(np.arange(len(margin.starts)), margin.widths())[: grid.cells]
    classes = search.classes + 1
    place, cells = cell * classes + search.lookup[: grid.cells], len(margin.starts)
    inside = np.stack(
        [np.bincount(place, weigh_numbers(grid, {unit: 1.0}), minlength=cells * classes) for unit in units], axis=1
    ).astype(np.float64)
    inside = inside.reshape(cells, classes, len(units))
    return _Expected(mass=margin.mass, weight=inside.sum(axis=1), inside=inside[:, : search.classes])


def _fit(expected: _Expected, chosen: list[int], counts: Floats, spread: Floats, rows: float) -> tuple[float, Floats]:
    """Return (chi-square, parts) of the chosen units that explain the counts best."""
    from scipy.optimize import nnls  # not at import time: scipy.optimize is slow to load

    some = replace(expected, weight=expected.weight[:, chosen], inside=expected.inside[:, :, chosen])
    parts = np.full(len(chosen), 1.0 / len(chosen))
    for _ in range(FIT_ROUNDS if len(chosen) > 1 else 0):
        found = nnls(some.counts(parts, rows) / spread[:, None], counts / spread)[0]
        if not found.sum() > 0:
            break
        parts = found / found.sum()
    off = (some.counts(parts, rows) @ parts - counts) / spread
    return float(off @ off), parts

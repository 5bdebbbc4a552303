"""What a column's numbers are multiples of: a small public table of round numbers, and the unit that counts show."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, log10

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.significance import critical_deviations
from sklar.schema.columns import Column
from sklar.schema.grid import Grid, has_multiples
from sklar.schema.numbers import Integer, Real

MIN_CELLS = 64
"""Columns with at most this many cells are counted cell by cell, which shows their round numbers already."""
MAX_DIGITS = 6
"""Numbers with more digits after the point than this are taken for continuous."""
UNIT_MANTISSAS = (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(5))
"""Times powers of ten, the units that are sought: those that people and forms round to."""
MAX_MULTIPLE_SHARE = 0.5
"""A unit is sought only if at most this part of the cells holds a multiple of it: else all columns look the same."""
LEAST_MULTIPLES, LEAST_IN_CELLS = 10, 100
"""Multiples of a unit that must lie between the bounds, and this many if it is to be that of all numbers where
cells hold several: else they may lie in few cells by chance. (Whole numbers and digits are sought in any case.)"""
MAX_EXACT_FLOAT = 2.0**53
"""Numbers beyond this are not searched: float64 has no units left."""
MIN_MULTIPLES_RATIO = 3.0
"""Multiples of the unit found must exceed what could hide in the noise by this factor. A larger factor finds
fewer units: of loans in hundreds (5,960 rows at epsilon 1, noise of a count 90) 3 finds all and 5 half."""
MAX_OTHER_SHARE = 0.01
"""So few other numbers, for one that is a multiple, are disregarded."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitSearch:
    """What to count to find the unit of a column's numbers and where they heap; a function of the schema alone.

    Whole numbers are often declared as reals, and amounts come in hundreds. On a grid finer than their unit they fill
    few of the cells, which a histogram of few bins shows: one for each set of units of which a cell can hold a
    multiple. Once the unit is known every cell stands for the nearest multiple: bins are cut between numbers, never
    through one, and no mass is lost to cells where there can be no value.

    Attributes:
        units: Those that can be distinguished from finer ones, ascending.
        common: Whether each may be the unit of all numbers, rather than one that part of them is rounded to.
        lookup: Class of every base code, then one class for what says nothing (zero, bounds, declared values, null).
        holds: Whether the cells of a class (row) hold a multiple of a unit (column).
    """

    units: tuple[Fraction, ...]
    common: tuple[bool, ...]
    lookup: Ints
    holds: Mask

    @property
    def classes(self) -> int:
        """Number of informative classes; the one after them is not."""
        return len(self.holds)

    def find_unit(self, counts: Floats, sigma: float) -> Fraction | None:
        """Return the largest unit that nearly all numbers are multiples of, by noisy counts of the classes; None if
        none is.

        Other numbers must be so few that noise alone, or one number in a hundred, explains their count; and the
        multiples that all the noise could hide is a small part of them.
        """
        counted, limit = counts[: self.classes], critical_deviations(len(self.units))
        for unit, common, inside in reversed(list(zip(self.units, self.common, self.holds.T, strict=True))):
            multiples, others = float(counted[inside].sum()), float(counted[~inside].sum())
            doubt, hidden = (limit * sigma * float(np.sqrt(np.sum(bins))) for bins in (inside, ~inside))
            if (
                common
                and multiples - doubt > MIN_MULTIPLES_RATIO * hidden
                and others < hidden + MAX_OTHER_SHARE * multiples
            ):
                return unit
        return None


@lru_cache(maxsize=256)
def units_to_seek(column: Column) -> UnitSearch | None:
    """Return the search for a column of numbers, if its cells are many, and fine enough to show any unit."""
    if not isinstance(column, Integer | Real) or column.value_cells <= MIN_CELLS:
        return None
    if max(abs(column.lower), abs(column.upper)) >= MAX_EXACT_FLOAT:
        return None
    grid = column.grid
    free = ~_says_nothing(column, grid)
    fits = {
        unit: cells
        for unit in _candidates(column, base_unit(column))
        if is_few(cells := has_multiples(grid, unit) & free, free)
    }
    fits = {unit: cells for unit, cells in fits.items() if cells.any()}
    if not fits:
        return None
    patterns, classes = np.unique(np.stack(list(fits.values()), axis=1)[free], axis=0, return_inverse=True)
    lookup = np.full(column.size, len(patterns), dtype=np.int64)
    lookup[np.flatnonzero(free)] = classes.ravel()
    common = tuple(_may_be_common(column, grid, unit) for unit in fits)
    return UnitSearch(units=tuple(fits), common=common, lookup=lookup, holds=patterns)


def base_unit(column: Integer | Real) -> Fraction | None:
    """Return what all numbers are declared to be multiples of; None for reals of any digits."""
    return Fraction(1, 10**column.unit) if isinstance(column.unit, int) else column.unit


def digits_of(unit: Fraction) -> int | None:
    """Return the fewest digits after the point that all multiples of a unit have; None if they are not decimal
    fractions."""
    return next((digits for digits in range(MAX_DIGITS + 2) if 10**digits % unit.denominator == 0), None)


def is_few(cells: Mask, free: Mask) -> bool:
    """Return whether so few of the free cells hold a number that it shows."""
    return int(cells.sum()) <= MAX_MULTIPLE_SHARE * int(free.sum())


def _candidates(column: Integer | Real, base: Fraction | None) -> list[Fraction]:
    """Round units above the base unit, and of its multiples, that have multiples enough between the bounds."""
    span = Fraction(column.upper) - Fraction(column.lower)
    finest = max(-MAX_DIGITS, floor(log10(span / column.grid.cells)) - 1)
    powers = [Fraction(10) ** k for k in range(finest, floor(log10(span)) + 1)]
    return [
        unit
        for unit in sorted(first * power for power in powers for first in UNIT_MANTISSAS)
        if (unit <= span / LEAST_MULTIPLES or (base is None and _is_digit(unit)))
        and (base is None or (unit > base and (unit / base).denominator == 1))
    ]


def _is_digit(unit: Fraction) -> bool:
    """Return whether a unit is 1, 0.1, 0.01, ..."""
    return unit <= 1 and unit == Fraction(1, 10 ** (digits_of(unit) or 0))


def _may_be_common(column: Integer | Real, grid: Grid, unit: Fraction) -> bool:
    single = bool(grid.step and np.allclose(grid.widths, grid.step, rtol=1e-9))
    return single or _is_digit(unit) or unit <= (Fraction(column.upper) - Fraction(column.lower)) / LEAST_IN_CELLS


def _says_nothing(column: Integer | Real, grid: Grid) -> Mask:
    """Return cells where numbers are round by nature: that of zero, which is a multiple of every unit, and those of
    single values on the bounds, where clipped values land, and of declared values.

    Where numbers crowd around zero, its cell would look like a heap at all units.
    """
    single = grid.is_atom | (np.isclose(grid.widths, grid.step, rtol=1e-9) if grid.step else False)
    named = np.zeros(grid.cells, dtype=bool)
    named[grid.code(np.array([column.lower, column.upper, *column.atoms], dtype=grid.starts.dtype))] = True
    named &= single
    if column.lower <= 0 <= column.upper:
        named[grid.code(np.array([0], dtype=grid.starts.dtype))] = True
    return named

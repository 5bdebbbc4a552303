"""How many digits after the point the numbers of a real column have: what to count, what the counts say, what follows.

Whole numbers are often declared as reals. On a grid much finer than they are they fill few of the cells, which a
histogram of two or three bins shows. Once their digits are known, every cell stands for the nearest such number: bins
are cut between numbers, never through one, and no mass is lost to cells where there can be no value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.schema.columns import Column
from sklar.schema.decimals import held, into_span, multiples, nearest
from sklar.schema.numbers import Real

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DIGITS = 6
MOST_HELD = 0.5
"""Digits are sought only if at most this part of the cells holds a number of so few: else all columns look alike."""
SURE = 3.0
"""Counts within this many standard deviations of the noise may be nothing."""
CLEAR = 5.0
"""Numbers with the digits found must be this many times as many as what could hide in the noise."""
RARE = 0.01
"""So few numbers with more digits, for one without, are disregarded."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DigitSearch:
    """What to count to find the digits of a column; a function of the schema alone.

    Attributes:
        choices: Digits that can be told from more digits, ascending.
        lookup: Bin of every base code: the first of the choices that a number in the cell can have, then one bin for
            more digits, then one for what says nothing (the bounds, declared values, null).
    """

    choices: tuple[int, ...]
    lookup: Ints

    def found(self, counts: Floats, sigma: float) -> int | None:
        """The fewest digits that nearly all numbers have, by noisy counts of the bins; None if none can be told.

        Numbers with more digits must be so few that noise alone, or one number in a hundred, explains their count;
        and the others so many that even all that noise could hide is a small part of them.
        """
        told = counts[: len(self.choices) + 1]
        for i, digits in enumerate(self.choices):
            fewer, more = float(told[: i + 1].sum()), float(told[i + 1 :].sum())
            hidden = SURE * sigma * float(np.sqrt(len(told) - i - 1))
            if fewer > CLEAR * hidden and more < hidden + RARE * fewer:
                return digits
        return None


def digits_to_seek(column: Column) -> DigitSearch | None:
    """The search for a real column that declares no digits, if its cells are fine enough to show any."""
    if not isinstance(column, Real) or column.decimals is not None:
        return None
    grid = column.grid
    free = ~grid.is_atom
    fits: dict[int, NDArray[np.bool_]] = {}
    for digits in range(MOST_DIGITS + 1):
        cells = held(grid, digits) & free
        if not _few(cells, free):
            break
        if cells.any():
            fits[digits] = cells
    if not fits:
        return None
    lookup = np.full(column.size, len(fits) + 1, dtype=np.int64)
    lookup[: grid.cells][free] = len(fits)
    for i, cells in reversed(list(enumerate(fits.values()))):
        lookup[: grid.cells][cells] = i
    return DigitSearch(choices=tuple(fits), lookup=lookup)


def anchors(column: Column, digits: int | None) -> tuple[Ints, NDArray[np.bool_]]:
    """The value code that each value code is counted with, and which codes can hold no number at all.

    With digits, a code goes with the one that holds the number nearest to its middle. Where that number is a declared
    value or a bound, which is a code of its own, the code holds nothing and goes with the next one that does.
    """
    own = np.arange(column.value_cells, dtype=np.int64)
    nothing = np.zeros(column.value_cells, dtype=bool)
    if not isinstance(column, Real) or digits is None:
        return own, nothing
    grid = column.grid
    free = ~grid.is_atom
    if not _few(held(grid, digits) & free, free):
        return own, nothing
    first, stop = grid.starts, np.append(grid.starts[1:], grid.stop)
    start, count = multiples(first, stop, digits)
    number = np.where(count > 0, start / 10.0**digits, nearest(first, stop, digits))
    code = grid.code(into_span(number, column.lower, column.upper, digits))
    nothing = free & grid.is_atom[code]
    holders = np.flatnonzero(free & ~nothing)
    if not len(holders):
        return own, np.zeros_like(nothing)
    return np.where(nothing, code[_nearest_of(holders, own)], np.where(free, code, own)).astype(np.int64), nothing


def _few(cells: NDArray[np.bool_], free: NDArray[np.bool_]) -> bool:
    """Whether so few of the free cells hold a number that it shows."""
    return int(cells.sum()) <= MOST_HELD * int(free.sum())


def _nearest_of(some: Ints, codes: Ints) -> Ints:
    """For each code the nearest of some ascending codes."""
    after = np.minimum(np.searchsorted(some, codes), len(some) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(codes - some[before] < some[after] - codes, some[before], some[after])

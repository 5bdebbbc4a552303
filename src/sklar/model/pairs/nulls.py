"""Nulls of two columns that come together: how many more rows miss both than chance would give.

A table with a group of nulls on both axes measures it in one number, the multiple of one direction: more in the corner
of both nulls, less in the rest of its row and column, so that no margin moves. Denoising the table as a whole would
lose it: one cell weighs little among a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import Tops

CHANCE, WHOLLY = 0.5, 0.25
"""Prior probabilities that nulls of two columns are independent, and that all of one come with the other; else every
number up to that is as likely. Forms are often filled in, or left, in blocks."""
_GRID_POINTS = 200
"""Points of the grid between no and all nulls together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NullExcess:
    """Rows that miss both values beyond chance.

    Attributes:
        rows: Their noisy number.
        variance: That of its noise.
        least: What the number can be at the least.
        most: What it can be at the most.
    """

    rows: float
    variance: float
    least: float
    most: float

    @property
    def expected(self) -> float:
        """The posterior mean: 0 where chance explains it."""
        held = np.linspace(self.least, self.most, _GRID_POINTS)
        log = -0.5 * (self.rows - np.concatenate([[0.0], [self.most], held])) ** 2 / self.variance
        prior = np.concatenate([[CHANCE], [WHOLLY], np.full(_GRID_POINTS, (1 - CHANCE - WHOLLY) / _GRID_POINTS)])
        weight = prior * np.exp(log - log.max())
        return float(weight @ np.concatenate([[0.0], [self.most], held]) / weight.sum())

    def pooled(self, other: NullExcess) -> NullExcess:
        """Both numbers by inverse variance."""
        trust = self.variance / (self.variance + other.variance)
        return replace(self, rows=self.rows + trust * (other.rows - self.rows), variance=trust * other.variance)


def null_direction(mass1: Floats, mass2: Floats) -> Floats:
    """Return the change of a table by one more row in the corner of both nulls, the last groups, that moves no
    margin."""
    first, second = (np.append(-mass[:-1] / mass[:-1].sum(), 1.0) for mass in (mass1, mass2))
    return np.outer(first, second)


def read_null_excess(
    counts: Floats, sigma: float, rows: float, masses: tuple[Floats, Floats], tops: Tops
) -> NullExcess | None:
    """Return what a noisy table measures; None where nulls are no group of their own on both axes (`tops` of 1)."""
    if max(tops) >= 1.0 or min(len(mass) for mass in masses) < 2:
        return None
    # Along a direction that is even over the values, a table without an excess in its margins shows that of the corner
    # alone, however its values depend on each other and on the other column's nulls.
    direction = null_direction(*(np.ones(len(mass)) for mass in masses))
    size, chance = float(np.vdot(direction, direction)), masses[0][-1] * masses[1][-1]
    # The last groups are nulls alone, so their masses are all that the number can be.
    own = float(np.vdot(direction, counts - rows * np.outer(*masses))) / size
    most = rows * (min(masses[0][-1], masses[1][-1]) - chance)
    return NullExcess(rows=own, variance=sigma**2 / size, least=-rows * chance, most=most)


def nulls_together(excess: NullExcess | None, masses: tuple[Floats, Floats]) -> Floats:
    """Return the expected change of a table's counts by nulls that come together; none if nothing is known of them."""
    if excess is None:
        return np.zeros((len(masses[0]), len(masses[1])))
    return excess.expected * null_direction(*masses)

"""An amount of privacy loss that adds up, and the noise it buys."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from sklar.accounting.budget import ROUNDING, checked_count, checked_delta, checked_positive
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError

Measure = Literal["rho", "epsilon"]
COARSE = 64.0
"""Vectors of sums are on lattices at least this many times finer than their noise, where that matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a fit, or a part of it, may spend: rho (zCDP, Gaussian noise) or pure epsilon (Laplace noise).

    Amounts of one measure add up over adaptively chosen measurements, so an allowance may be cut into parts at will.

    Attributes:
        delta: What discoveries of labels may spend besides; it adds up too, and is cut along. Only with rho.
        dither: If above 0, amounts are half squared shifts as `composition.adaptive` adds them up, for which noise
            counts only as far as its variance exceeds the square of this, in units of its lattice. Only with rho.
    """

    measure: Measure
    amount: float
    delta: float = 0.0
    dither: float = 0.0

    def __post_init__(self) -> None:
        if self.measure not in ("rho", "epsilon"):
            raise BudgetError(f'an allowance is measured in "rho" or "epsilon", not {self.measure!r}.')
        object.__setattr__(self, "amount", checked_positive(self.amount, f"an allowance of {self.measure}"))
        object.__setattr__(self, "delta", checked_delta(self.delta, "the delta of an allowance"))
        if self.delta and self.measure == "epsilon":
            raise BudgetError("an allowance of pure epsilon has no delta for discoveries.")
        if self.dither and (self.measure == "epsilon" or self.delta or not 0 < self.dither < COARSE):
            raise BudgetError("only an allowance for Gaussian noise alone, without discoveries, has a dither.")

    @property
    def spendable(self) -> Allowance:
        """What noise is made for: all but the room for rounding (see `budget.ROUNDING`)."""
        return self.part(1 - ROUNDING / 2)

    def part(self, fraction: float) -> Allowance:
        """This fraction, in (0, 1], of the allowance."""
        share = checked_positive(fraction, "a fraction of an allowance")
        if share > 1 + 1e-12:
            raise BudgetError(f"a part of an allowance is at most the whole; the fraction {share:g} was given.")
        return replace(self, amount=self.amount * share, delta=self.delta * min(share, 1.0))

    def noise(self, unit: Unit, tables: int = 1) -> Noise:
        """Noise for each cell of `tables` tables of counts that together spend this allowance.

        rho: sigma^2 = l2^2 / (2 rho / tables) + dither^2, in parts of a vote where counts are. epsilon: scale = l1 /
        (epsilon / tables).
        """
        share = self.spendable.amount / checked_count(tables, "the number of tables")
        noise = _noise_for(self.measure, share, unit.l1, unit.l2)
        return replace(noise, scale=math.hypot(noise.scale, self.dither * unit.resolution)) if self.dither else noise

    def sum_noise(self, *, l1: float, l2: float, resolution: float | None = None) -> Noise:
        """Noise for one vector that a person moves by at most `l1` and `l2`, spending this whole allowance.

        Sums are whole multiples of `resolution`; without it, of something far smaller than the noise.
        """
        moved = checked_positive(l1, "an L1 bound"), checked_positive(l2, "an L2 bound")
        noise = _noise_for(self.measure, self.spendable.amount, *moved)
        if self.dither and resolution is not None:
            return replace(noise, scale=math.hypot(noise.scale, self.dither * resolution))
        return replace(noise, scale=noise.scale / math.sqrt(1 - (self.dither / COARSE) ** 2)) if self.dither else noise

    def choice_epsilon(self) -> float:
        """Epsilon of one exponential mechanism that spends this allowance: sqrt(8 rho), or epsilon itself."""
        if self.dither:
            raise BudgetError("this allowance is for Gaussian noise alone; a choice is none of it.")
        amount = self.spendable.amount
        return math.sqrt(8 * amount) if self.measure == "rho" else amount


def _noise_for(measure: Measure, amount: float, l1: float, l2: float) -> Noise:
    if measure == "rho":
        return Noise(kind="gaussian", scale=l2 / math.sqrt(2 * amount))
    return Noise(kind="laplace", scale=l1 / amount)

"""An amount of privacy loss that adds up, and the noise that spends it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from sklar.accounting.budget import ROUNDING, validate_count, validate_delta, validate_positive
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError

Measure = Literal["rho", "epsilon"]
MIN_LATTICE_RATIO = 64.0
"""Assumed ratio of noise to lattice step for vectors of sums whose resolution is not stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The privacy loss that a fit, or a part of it, may spend: rho (zCDP, Gaussian noise) or pure epsilon (Laplace
    noise).

    Amounts of one measure add up over adaptively chosen measurements, so an allowance may be cut into parts at will.

    Attributes:
        delta: The delta for discoveries of labels; it adds up too, and is divided along. Only with rho.
        dither: If above 0, amounts are half squared shifts as `composition.adaptive` adds them up, for which noise
            counts only by the part of its variance that exceeds the square of this, in units of its lattice. Only with
            rho.
    """

    measure: Measure
    amount: float
    delta: float = 0.0
    dither: float = 0.0

    def __post_init__(self) -> None:
        if self.measure not in ("rho", "epsilon"):
            raise BudgetError(f'an allowance is measured in "rho" or "epsilon", not {self.measure!r}.')
        object.__setattr__(self, "amount", validate_positive(self.amount, f"an allowance of {self.measure}"))
        object.__setattr__(self, "delta", validate_delta(self.delta, "the delta of an allowance"))
        if self.delta and self.measure == "epsilon":
            raise BudgetError("an allowance of pure epsilon has no delta for discoveries.")
        if self.dither and (self.measure == "epsilon" or not 0 < self.dither < MIN_LATTICE_RATIO):
            raise BudgetError("only an allowance for Gaussian noise alone has a dither.")

    @property
    def spendable(self) -> Allowance:
        """The amount that noise is calibrated to: all but the tolerance for rounding (see `budget.ROUNDING`)."""
        return self.part(1 - ROUNDING / 2)

    def part(self, fraction: float) -> Allowance:
        """Return this fraction, in (0, 1], of the allowance."""
        share = validate_positive(fraction, "a fraction of an allowance")
        if share > 1 + 1e-12:
            raise BudgetError(f"a part of an allowance is at most the whole; the fraction {share:g} was given.")
        return replace(self, amount=self.amount * share, delta=self.delta * min(share, 1.0))

    def noise(self, unit: Unit, tables: int = 1, resolution: float | None = None) -> Noise:
        """Return the noise for each cell of `tables` tables of counts that together spend this allowance.

        rho: sigma^2 = l2^2 / (2 rho / tables) + dither^2, in units of `resolution`, by default parts of a vote where
        counts are. epsilon: scale = l1 / (epsilon / tables).
        """
        share = self.spendable.amount / validate_count(tables, "the number of tables")
        noise = _make_noise(self.measure, share, unit.l1, unit.l2)
        if not self.dither:
            return noise
        step = unit.resolution if resolution is None else resolution
        return replace(noise, scale=math.hypot(noise.scale, self.dither * step))

    def sum_noise(self, *, l1: float, l2: float, resolution: float | None = None) -> Noise:
        """Return the noise for one vector that a person moves by at most `l1` and `l2`, spending this whole allowance.

        Sums are whole multiples of `resolution`; without it, of a unit far smaller than the noise.
        """
        moved = validate_positive(l1, "an L1 bound"), validate_positive(l2, "an L2 bound")
        noise = _make_noise(self.measure, self.spendable.amount, *moved)
        if self.dither and resolution is not None:
            return replace(noise, scale=math.hypot(noise.scale, self.dither * resolution))
        # Without a dither the factor is exactly 1.
        return replace(noise, scale=noise.scale / math.sqrt(1 - (self.dither / MIN_LATTICE_RATIO) ** 2))

    def choice_epsilon(self) -> float:
        """Return the epsilon of one exponential mechanism that spends this allowance: sqrt(8 rho), or epsilon."""
        if self.dither:
            raise BudgetError("this allowance is for Gaussian noise alone and cannot pay for a choice.")
        amount = self.spendable.amount
        return math.sqrt(8 * amount) if self.measure == "rho" else amount


def _make_noise(measure: Measure, amount: float, l1: float, l2: float) -> Noise:
    if measure == "rho":
        return Noise(kind="gaussian", scale=l2 / math.sqrt(2 * amount))
    return Noise(kind="laplace", scale=l1 / amount)

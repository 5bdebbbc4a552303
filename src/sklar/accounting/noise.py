"""Noise on integers, or on multiples of a real number: its kind, scale and variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sklar.accounting.budget import validate_positive
from sklar.errors import BudgetError

NoiseKind = Literal["gaussian", "laplace"]
MIN_VARIANCE = 1e-18
"""Lower limit of a stated variance: estimates divide by it, and Laplace noise of a tiny scale would have variance 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Integer noise: discrete Gaussian, P(x) ~ exp(-x^2 / (2 scale^2)), or discrete Laplace, P(x) ~ exp(-|x| / scale).

    Reference: Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy".
    """

    kind: NoiseKind
    scale: float

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "laplace"):
            raise BudgetError(f'the kind of noise must be "gaussian" or "laplace"; {self.kind!r} was given.')
        object.__setattr__(self, "scale", validate_positive(self.scale, "the noise scale"))

    @property
    def variance(self) -> float:
        """Variance of one draw.

        Laplace: 2 q / (1 - q)^2 with q = exp(-1/scale), exact down to MIN_VARIANCE. Gaussian: scale^2, which the
        true variance never exceeds (shown in the reference) and meets to twelve digits once scale is above 1.5.
        """
        if self.kind == "gaussian":
            return self.scale**2
        return max(2 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2, MIN_VARIANCE)

    @property
    def std(self) -> float:
        """Standard deviation of one draw, the root of `variance`."""
        return math.sqrt(self.variance)

    def std_on(self, resolution: float) -> float:
        """Return the standard deviation of one draw of noise of this scale on the multiples of `resolution`, a real
        number.

        Sums are released on such a lattice. A lattice of steps wider than the noise hides it: on integers, Laplace
        noise of scale 0.01 is 0 nearly always, on the multiples of 0.0001 it is not.
        """
        return resolution * Noise(kind=self.kind, scale=self.scale / resolution).std

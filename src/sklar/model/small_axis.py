"""Axes on which a skewed density looks smooth: linear, shifted logarithms from below, and one from above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A monotone map of [0, 1] onto itself: t -> log(1 + t/shift) / log(1 + 1/shift), or t itself without a shift.

    Attributes:
        shift: Where the logarithm starts to bend; None for the linear axis.
        mirrored: Measure from the upper end.
    """

    shift: float | None = None
    mirrored: bool = False

    def forward(self, t: Floats) -> Floats:
        """Position on the axis."""
        if self.shift is None:
            return t
        if self.mirrored:
            return 1.0 - np.log1p((1.0 - t) / self.shift) / np.log1p(1.0 / self.shift)
        return np.log1p(t / self.shift) / np.log1p(1.0 / self.shift)

    def inverse(self, s: Floats) -> Floats:
        """Where on [0, 1] a position on the axis lies."""
        if self.shift is None:
            return s
        if self.mirrored:
            return 1.0 - self.shift * np.expm1((1.0 - s) * np.log1p(1.0 / self.shift))
        return self.shift * np.expm1(s * np.log1p(1.0 / self.shift))


AXES = (Axis(), Axis(shift=0.1), Axis(shift=0.02), Axis(shift=0.004), Axis(shift=0.1, mirrored=True))

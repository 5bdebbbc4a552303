"""Axes are increasing maps of [0, 1] onto itself."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.prior import DensityAxis


@pytest.mark.parametrize("shift", [None, 0.05, 0.005])
def test_ends_and_order(shift: float | None):
    t = np.linspace(0, 1, 101)
    s = DensityAxis(shift=shift).forward(t)
    assert s[0] == pytest.approx(0) and s[-1] == pytest.approx(1)
    assert np.all(np.diff(s) > 0)
    assert np.all(s >= t - 1e-12)  # small values get room

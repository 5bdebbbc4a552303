"""Axes are increasing maps of [0, 1] onto itself."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.prior import AXES, DensityAxis


@pytest.mark.parametrize("axis", AXES)
def test_round_trip_ends_and_order(axis):
    t = np.linspace(0, 1, 101)
    s = axis.forward(t)
    assert s[0] == pytest.approx(0) and s[-1] == pytest.approx(1)
    assert np.all(np.diff(s) > 0)
    np.testing.assert_allclose(axis.inverse(s), t, atol=1e-12)


def test_the_mirrored_axis_is_the_mirror_image():
    t = np.linspace(0, 1, 11)
    up, down = DensityAxis(shift=0.1), DensityAxis(shift=0.1, mirrored=True)
    np.testing.assert_allclose(down.forward(t), 1 - up.forward(1 - t))

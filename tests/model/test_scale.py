"""The u axis: base codes to intervals and back."""

import numpy as np
import pytest

from sklar.model.axis import cells_at, code_edges, codes_at, lay_out


@pytest.fixture(params=[False, True])
def scale(request):
    return lay_out(np.array([0, 1, 5, 6]), np.array([0.1, 0.5, 0.0, 0.4]), 9, nominal=request.param)


def test_round_trip_of_codes_with_mass(scale):
    codes = np.array([0, 1, 2, 3, 4, 6, 7, 8])
    low, high = (ends[codes] for ends in code_edges(scale))
    for jitter in (1e-6, 0.5, 0.999999):
        assert np.array_equal(codes_at(scale, low + jitter * (high - low)), codes)


def test_empty_cell_is_never_drawn(scale):
    u = np.linspace(1e-9, 1 - 1e-9, 100_001)
    assert 5 not in codes_at(scale, u)
    assert np.allclose(np.bincount(cells_at(scale, u), minlength=4) / len(u), [0.1, 0.5, 0.0, 0.4], atol=1e-4)


def test_nominal_axis_is_laid_out_by_mass():
    scale = lay_out(np.arange(3), np.array([0.2, 0.5, 0.3]), 3, nominal=True)
    assert scale.order.tolist() == [1, 2, 0]
    assert np.allclose(scale.mass, [0.2, 0.5, 0.3])


def test_code_edges_cover_the_axis(scale):
    low, high = code_edges(scale)
    assert np.isclose((high - low).sum(), 1.0)
    assert np.allclose((high - low)[1:5], 0.125)
    middle = (low + high) / 2
    seen = high > low
    assert np.array_equal(codes_at(scale, middle[seen]), np.flatnonzero(seen))


def test_a_margin_without_mass_becomes_uniform():
    assert np.allclose(lay_out(np.arange(4), np.zeros(4), 4, nominal=False).mass, 0.25)

"""Bounds on sums of noise."""

import numpy as np
import pytest

from sklar.model.vine.intervals import half_width


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("terms", [1, 7, 60])
@pytest.mark.parametrize("coverage", [0.8, 0.99])
def test_coverage_is_kept_and_not_wasted(kind, terms, coverage):
    rng = np.random.default_rng(0)
    scale = 6.0
    if kind == "gaussian":
        draws = np.round(rng.normal(0, scale, (20_000, terms)))
        std = scale
    else:
        q = np.exp(-1 / scale)
        draws = rng.geometric(1 - q, (20_000, terms)) - rng.geometric(1 - q, (20_000, terms))
        std = np.sqrt(2) * scale
    width = half_width(kind, std, terms, coverage)
    held = np.mean(np.abs(draws.sum(axis=1)) <= width)
    assert held >= coverage - 5 * np.sqrt(coverage * (1 - coverage) / 20_000)
    assert width < 2.6 * np.quantile(np.abs(draws.sum(axis=1)), coverage)


def test_wider_for_more_terms_and_more_coverage():
    for kind in ("gaussian", "laplace"):
        assert half_width(kind, 3.0, 4, 0.9) < half_width(kind, 3.0, 9, 0.9) < half_width(kind, 3.0, 9, 0.99)

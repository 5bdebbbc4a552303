"""One level for all decisions: noise alone passes any test of a family as seldom as stated."""

import numpy as np
import pytest
from scipy.stats import norm

from sklar.model.significance import FALSE_ALARM_RATE, critical_deviations


@pytest.mark.parametrize("tests", [1, 8, 500])
def test_noise_alone_passes_any_test_of_a_family_as_often_as_stated(tests: int) -> None:
    largest = np.random.default_rng(tests).normal(size=(20_000, tests)).max(axis=1)
    assert np.mean(largest > critical_deviations(tests)) == pytest.approx(FALSE_ALARM_RATE, abs=0.002)


def test_limits_are_those_of_the_normal_distribution_and_rise_with_the_number_of_tests() -> None:
    assert critical_deviations() == pytest.approx(norm.isf(FALSE_ALARM_RATE))
    assert critical_deviations(0) == critical_deviations(1) < critical_deviations(2) < critical_deviations(10**6) < 6.0

"""The expected number of missing values: what was counted where it is clear, never 0, and right on average."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import sklar
from sklar.model.margins.bins import lay_out_column
from sklar.model.margins.density import fit_density
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Observation
from sklar.model.margins.nulls import expected_missing


@pytest.mark.parametrize("count", [-150.0, -20.0, 0.0, 35.0, 113.0, 250.0])
def test_it_is_the_posterior_mean(count: float):
    def density(x: float) -> float:
        return x**-0.5 * np.exp(-0.5 * ((count - x) / 35.0) ** 2)

    weight, moment = quad(density, 0, 700, limit=400)[0], quad(lambda x: x * density(x), 0, 700, limit=400)[0]
    assert expected_missing(count, 35.0, 6_000.0) == pytest.approx(moment / weight, rel=0.02)


def test_it_rises_with_the_count_and_ends_at_it():
    found = [expected_missing(count, 35.0, 6_000.0) for count in np.linspace(-300, 400, 141)]
    assert min(found) > 0 and np.all(np.diff(found) > 0)
    assert expected_missing(1_000.0, 35.0, 6_000.0) == 1_000.0
    assert expected_missing(7_000.0, 35.0, 6_000.0) == 6_000.0
    assert expected_missing(0.0, np.inf, 6_000.0) == 0.0


@pytest.mark.parametrize("chained", [True, False])
def test_values_share_what_nulls_leave(chained: bool):
    counts = np.array([500.0, 400.0, 300.0, 200.0, 25.0])
    support = CellSupport(width=np.ones(5), position=np.arange(5.0), chained=np.array([chained] * 4 + [False]))
    seen = Observation(parent=np.arange(5), counts=counts, sigma=np.full(5, 10.0))
    fitted = fit_density(support, [seen], KnownTotal(rows=1_425, sigma=5.0), null=4).mass
    assert fitted.sum() == pytest.approx(1.0)
    assert fitted[4] == pytest.approx(expected_missing(25.0, 10.0, 1_425.0) / 1_425, rel=1e-9)
    np.testing.assert_allclose(fitted[:4], counts[:4] / 1_425, atol=0.02)


def test_a_column_of_nulls_alone_and_one_of_a_single_value():
    seen = Observation(parent=np.arange(2), counts=np.array([0.0, 1_000.0]), sigma=np.full(2, 5.0))
    support = CellSupport(width=np.ones(2), position=np.arange(2.0), chained=np.zeros(2, bool))
    assert fit_density(support, [seen], KnownTotal(rows=1_000, sigma=5.0), null=1).mass[1] > 0.99
    one = CellSupport(width=np.ones(1), position=np.zeros(1), chained=np.zeros(1, bool))
    assert fit_density(one, [], KnownTotal(rows=10, sigma=1.0), null=0).mass.tolist() == [1.0]


def test_a_column_that_nobody_described_has_no_nulls_unless_they_show() -> None:
    def doubted(count: float) -> float:
        return expected_missing(count, 35.0, 6_000.0, 0.5)

    assert expected_missing(0.0, 35.0, 6_000.0) > 15.0 > 2.0 > doubted(0.0) > doubted(-70.0) > 0.0
    assert doubted(5 * 35.0) == pytest.approx(expected_missing(5 * 35.0, 35.0, 6_000.0), rel=0.01)
    prior = np.append(0.5 / np.sqrt(6_000.0 * np.arange(0.5, 6_000)), 0.0)  # brute force over whole numbers
    likelihood = np.exp(-0.5 * ((60.0 - np.append(np.arange(0.5, 6_000), 0.0)) / 35.0) ** 2)
    posterior = np.append(0.5 * prior[:-1], 0.5) * likelihood
    mean = posterior @ np.append(np.arange(0.5, 6_000), 0.0) / posterior.sum()
    assert doubted(60.0) == pytest.approx(mean, rel=0.02)


def test_only_kinds_that_were_found_doubt_their_nulls() -> None:
    stated = sklar.Category(["a", "b"], nullable=True)
    found = sklar.Category(["a", "b"], nullable=True, source={"kind": "measured"})
    assert lay_out_column(stated).absent == 0.0 < lay_out_column(found).absent

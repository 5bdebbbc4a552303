"""`published=True`: the noise, the margins, the correlations and the cut of Asghar et al. (2020), by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.unit import Unit
from sklar.errors import SklarError
from sklar.methods.dpc.fit import DpcOptions, gaussian_noise, laplace_noise, resolve_gauss, resolve_laplace

PAPER_DELTA = 2.0**-30
FACTS = sklar.Schema({"area": sklar.Category(list("nes")), "smoker": sklar.Boolean(), "old": sklar.Boolean()})


def people(rows: int = 4_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    area = rng.choice(list("nes"), rows, p=[0.5, 0.3, 0.2])
    smoker = rng.random(rows) < np.where(area == "s", 0.7, 0.3)
    return pd.DataFrame({"area": area, "smoker": smoker, "old": rng.random(rows) < np.where(smoker, 0.6, 0.4)})


@pytest.mark.parametrize(("m", "sigma", "share"), [(14, 94.90, 0.014782), (27, 180.07, 0.007791), (9, 62.13, 0.022579)])
def test_the_noise_is_that_of_section_4_2(m: int, sigma: float, share: float) -> None:
    """Epsilon' as printed, and sigma by equation 2.1 with the sensitivity sqrt(2 m'), m' = m + C(m, 2)."""
    facts, unit = sklar.Schema({f"x{j}": sklar.Boolean() for j in range(m)}), Unit(neighbours="replace")
    allowance, switch = Allowance(measure="rho", amount=1.0), DpcOptions(published=True)
    tables = m + math.comb(m, 2)
    gauss = resolve_gauss(switch, Budget(epsilon=0.99, delta=PAPER_DELTA))
    formula = math.sqrt(2 * tables) / 0.99 * math.sqrt(2 * math.log(1.25 / PAPER_DELTA))
    assert gaussian_noise(facts, gauss, allowance, unit).scale == pytest.approx(formula)
    assert formula == pytest.approx(sigma, rel=1e-3)
    laplace = resolve_laplace(switch, Budget(epsilon=1.0, delta=PAPER_DELTA))
    assert math.floor(1e6 * 2 / laplace_noise(facts, laplace, allowance, unit).scale) == round(1e6 * share)
    pure = resolve_laplace(switch, Budget(epsilon=1.0, delta=0.0))
    assert laplace_noise(facts, pure, allowance, unit).scale == pytest.approx(2 * tables)


def latent(first: float, second: float, both: float) -> float:
    """Equations 3.7 and 3.8: the correlation of normals whose upper quadrant has the probability `both`."""
    cuts = ndtri([first, second])

    def gap(corr: float) -> float:
        return float(multivariate_normal.cdf(cuts, cov=[[1, corr], [corr, 1]], allow_singular=True)) - both

    low, high = -1 + 1e-9, 1 - 1e-9
    return low if gap(low) >= 0 else high if gap(high) <= 0 else float(brentq(gap, low, high, xtol=1e-10))


def higham(matrix: np.ndarray, rounds: int = 3_000) -> np.ndarray:
    """Algorithm 3."""
    shift, y = np.zeros_like(matrix), matrix.copy()
    for _ in range(rounds):
        r = y - shift
        values, vectors = np.linalg.eigh(r)
        x = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
        shift = x - r
        y = x.copy()
        np.fill_diagonal(y, 1.0)
    return y


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("dpc-gauss", {"epsilon": 0.9}),
        ("dpc-laplace", {"epsilon": 0.9}),
        ("dpc-laplace", {"epsilon": 0.9, "delta": 0.0}),
    ],
)
def test_margins_correlations_and_cuts_are_those_of_section_3(method: str, settings: dict[str, Any]) -> None:
    rows = 4_000
    model = sklar.fit(people(rows), FACTS, method=method, published=True, neighbours="replace", **settings)
    released = {step.label: step.releases for step in model.releases}
    histograms = [release.values.astype(float) for release in released["histograms"]]
    (pairs,) = released["tables of pairs"]
    # Algorithm 1 with footnote 7 (n is public): mean = count / n, cut to [0, 1].
    mean = [np.clip(histogram / rows, 1e-9, 1 - 1e-9) for histogram in histograms]
    # Algorithm 2 with appendix D: E{X_i X_j} = count of both / n. Values of one column never occur together.
    area_smoker, area_old, smoker_old = np.split(pairs.values / rows, [8, 16])
    both = {(0, 1): area_smoker.reshape(4, 2), (0, 2): area_old.reshape(4, 2), (1, 2): smoker_old.reshape(2, 2)}
    # A score a value; of a column of two values the second has it, and the first is its complement.
    scores = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (2, 1)]
    p = np.array([mean[j][v] for j, v in scores])
    matrix = np.eye(6)
    for a in range(6):
        for b in range(a + 1, 6):
            (j, v), (k, w) = scores[a], scores[b]
            tells = min(p[a], p[b]) > 1e-9
            joint = 0.0 if j == k else max(both[j, k][v, w], 0.0)
            matrix[a, b] = matrix[b, a] = latent(p[a], p[b], joint) if tells else 0.0
    record: Any = model.table_model
    np.testing.assert_allclose(record.thresholds, ndtri(1 - p), atol=1e-9)
    np.testing.assert_allclose(record.corr, higham(matrix), atol=2e-3)
    # Equation 3.6: X_i = 1 where Phi(Y_i) exceeds F_i(0) = 1 - mean. Six standard deviations of 20,000 rows.
    bits = model.sample(20_000, seed=1, binary=True).to_pandas()
    for name, share in zip([f"area={x}" for x in ("n", "e", "s", "other")], mean[0], strict=True):
        assert bits[name].mean() == pytest.approx(share, abs=6 * math.sqrt(share / 20_000) + 1e-3)


def test_one_switch_stands_for_all_of_it() -> None:
    table, options = people(500), {"margins": "raw", "shrink": 0, "rounds": 0, "projection": "plain"}
    one = sklar.fit(table, FACTS, method="dpc-gauss", epsilon=0.9, published=True).fit_facts["options"]
    four = sklar.fit(table, FACTS, method="dpc-gauss", epsilon=0.9, accounting="classic", **options).fit_facts[
        "options"
    ]
    assert one == {**four, "published": True}


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        ("dpc-gauss", {"margins": "pooled", "shrink": 2.0}, "shrink"),
        ("dpc-laplace", {"rounds": 5}, "rounds"),
        ("dpc-laplace", {"accounting": "basic"}, "accounting"),
        ("dpc-gauss", {"epsilon": 1.5}, "below 1"),
        ("dpc-gauss", {"published": "yes"}, "true or false"),
    ],
)
def test_what_contradicts_the_switch_is_refused(method: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SklarError, match=said):
        sklar.fit(people(50), FACTS, method=method, **{"epsilon": 0.9, "published": True, **settings})

"""The vine engine: what it fits is what it stores, samples and truncates."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.lab.vines.fit import fit_rvine
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.rvine.vine import RegularVine


def normal_ranks(rows: int, corr: np.ndarray, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).multivariate_normal(np.zeros(len(corr)), corr, size=rows)
    return (x.argsort(axis=0).argsort(axis=0) + 1) / (rows + 1)


CORR = 0.6 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))


@pytest.fixture(scope="module")
def u() -> np.ndarray:
    return normal_ranks(600, CORR, 1)


@pytest.mark.parametrize("structure", ["dissmann", "star", "cvine"])
@pytest.mark.parametrize("truncation", [None, 2])
def test_what_is_stored_is_what_was_fitted(u: np.ndarray, structure: str, truncation: int | None) -> None:
    vine = fit_rvine(
        u, families="one-parameter", truncation=truncation, structure=structure, order=[3, 1, 0, 4, 2], threads=1
    )
    pool = ArrayPool(distinct=True)
    again: RegularVine = decode(encode(vine, pool.keep), pool.arrays)
    assert again.levels == vine.levels == (truncation or 4)
    assert again.to_vinecop().loglik(np.asfortranarray(u)) == pytest.approx(vine.loglik, rel=1e-9)
    w = np.random.default_rng(2).random((50, 5))
    assert np.array_equal(again.from_independent(w), vine.from_independent(w))
    assert np.allclose(vine.from_independent(vine.to_independent(w)), w, atol=1e-6)


def test_a_star_hangs_from_its_root(u: np.ndarray) -> None:
    for structure in ("star", "cvine"):
        vine = fit_rvine(u, families="gaussian", structure=structure, order=[0, 1, 2, 4, 3], threads=1)
        assert all("d" in (edge["first"], edge["second"]) for edge in vine.describe("abcde")[0]["edges"])
    roots = [set.intersection(*({e["first"], e["second"]} for e in t["edges"])) for t in vine.describe("abcde")[:3]]
    assert roots == [{"d"}, {"e"}, {"c"}]


def test_truncation_drops_trees_and_keeps_the_rest(u: np.ndarray) -> None:
    vine = fit_rvine(u, families="one-parameter", structure="cvine", order=range(5), threads=1)
    for level in range(1, 5):
        shorter = vine.truncate(level)
        assert shorter.levels == level
        assert shorter.describe("abcde") == vine.describe("abcde")[:level]
    assert vine.truncate(9) is vine
    assert np.array_equal(vine.truncate(0).from_independent(u), u)


def test_discrete_columns_keep_their_dependence(u: np.ndarray) -> None:
    high = u[:, 2] > 0.6
    upper, lower = u.copy(), u.copy()
    upper[:, 2], lower[:, 2] = np.where(high, 1.0, 0.6), np.where(high, 0.6, 0.0)
    vine = fit_rvine(upper, lower=lower, discrete=[False, False, True, False, False], structure="cvine",
                     order=[0, 4, 1, 3, 2], families="gaussian", threads=1)  # fmt: skip
    drawn = vine.simulate(20_000, np.random.default_rng(3))
    seen = [np.corrcoef(u[:, j], high)[0, 1] for j in (1, 3)]
    made = [np.corrcoef(drawn[:, j], drawn[:, 2] > 0.6)[0, 1] for j in (1, 3)]
    assert np.allclose(seen, made, atol=0.04)


def test_bad_settings_are_refused(u: np.ndarray) -> None:
    for wrong in (
        {"families": "nice"},
        {"criterion": "nice"},
        {"selection": "nice"},
        {"truncation": "nice"},
        {"structure": "nice", "order": range(5)},
        {"structure": "cvine", "order": [0, 0, 1, 2, 3]},
        {"discrete": [True] * 5},
    ):
        with pytest.raises(UsageError):
            fit_rvine(u, **wrong)
    with pytest.raises(UsageError):
        fit_rvine(u * 2)

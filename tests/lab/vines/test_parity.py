"""The vine engine beside pyvinecopulib, the reference: likelihoods, taus, drawn pairs and trees, to stated tolerances.

The reference maximizes the likelihood of every family row by row. The engine may end a little short of that (it stops
its search at a hundredth of log-likelihood), or take another family of nearly the same AIC. Where columns are discrete
it screens families on ranks spread over their steps and may miss the best one.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import pyvinecopulib as pv
from pyvinecopulib.utils import wdm

from benchmarks.vine_engine import loglik, pair_taus, table
from sklar.lab.vines import CRITERIA, FAMILY_SETS, SELECTIONS, STRUCTURES, fit_rvine
from sklar.model.rvine.vine import FAMILIES, FamilyMember, RegularVine, from_vinecop

SETTINGS: dict[str, Any] = {"families": "two-parameter", "criterion": "tau", "threads": 1}
LIKELIHOOD = {0: 0.005, 2: 0.03}
"""Log-likelihoods agree within this share, by the number of discrete columns among four."""
PAIRS = {0: 0.03, 2: 0.06}
"""Kendall's taus of all pairs of 20,000 drawn rows agree within this much; the same points are drawn from both."""


def fits(rows: int, columns: int, discrete: int, **more: Any) -> tuple[RegularVine, RegularVine, tuple]:
    data = upper, lower, kinds = table(rows, columns, discrete, seed=4)
    given = {**SETTINGS, "lower": lower, "discrete": kinds, **more}
    return fit_rvine(upper, **given), fit_rvine(upper, **given, engine="pyvinecopulib"), data


@pytest.mark.slow
@pytest.mark.parametrize(("structure", "discrete"), [("dissmann", 0), ("star", 0), ("cvine", 0), ("dissmann", 2)])
def test_likelihood_and_drawn_pairs(structure: str, discrete: int) -> None:
    fast, slow, data = fits(400, 4, discrete, structure=structure, order=[3, 0, 2, 1])
    one, two = (loglik(vine, *data) for vine in (fast, slow))
    assert one == pytest.approx(two, rel=LIKELIHOOD[discrete]) and fast.free_parameters <= slow.free_parameters + 2
    # What the engine says of its own fit is what the reference says of it.
    assert fast.loglik == pytest.approx(one, rel=1e-3)
    w = np.asfortranarray(np.random.default_rng(5).random((20_000, 4)))
    drawn = [pair_taus(vine.from_independent(w)) for vine in (fast, slow)]
    assert np.abs(drawn[0] - drawn[1]).max() < PAIRS[discrete]


@pytest.mark.parametrize("rows", [500, 12_000])
@pytest.mark.parametrize("criterion", ["tau", "spearman", "hoeffd"])
def test_dissmanns_first_tree_is_the_references(rows: int, criterion: str) -> None:
    """The criterion is computed from at most 5,000 rows, so trees of more may differ where two pairs are as strong."""
    upper = table(rows, 6, 0, seed=7)[0]
    given = {**SETTINGS, "criterion": criterion, "families": "gaussian", "truncation": 1}
    fast, slow = (fit_rvine(upper, **given, engine=engine) for engine in ("fast", "pyvinecopulib"))
    trees = [set(map(frozenset, zip(vine.first, vine.second, strict=True))) for vine in (fast, slow)]
    weight = {frozenset(pair): abs(_association(upper, pair, criterion)) for pair in combinations(range(6), 2)}
    ours, theirs = (sum(weight[edge] for edge in tree) for tree in trees)
    assert trees[0] == trees[1] if rows == 500 else ours == pytest.approx(theirs, abs=0.02)


def _association(u: np.ndarray, pair: tuple[int, int], criterion: str) -> float:
    first, second = (np.ascontiguousarray(u[:, column]) for column in pair)
    return float(wdm(first, second, CRITERIA[criterion]))


@pytest.mark.parametrize("family", [name for name in FAMILY_SETS["two-parameter"] if name != "indep"])
def test_taus_of_every_family(family: str) -> None:
    """Rows of a known member: both engines find its tau within four standard errors, and nearly the same likelihood."""
    parameters = {"gaussian": [0.6], "student": [0.5, 4], "clayton": [1.5], "gumbel": [1.7], "frank": [5], "joe": [2],
                  "bb1": [0.6, 1.4], "bb6": [1.4, 1.4], "bb7": [1.6, 0.8], "bb8": [3, 0.8]}[family]  # fmt: skip
    truth = FamilyMember(family=family, parameters=np.array(parameters, dtype=float)).bicop()
    u = truth.sample(2_000, seeds=[1, 2, 3])
    fast, slow = (fit_rvine(u, families=family, engine=engine) for engine in ("fast", "pyvinecopulib"))
    assert fast.tau[0] == pytest.approx(slow.tau[0], abs=0.005)
    assert fast.tau[0] == pytest.approx(truth.tau, abs=4 * np.sqrt(2 / (2_000 - 1) / 2))
    assert fast.loglik == pytest.approx(slow.loglik, abs=0.5)


@pytest.mark.slow
def test_a_vine_goes_to_the_reference_and_back() -> None:
    vine = fits(400, 4, 0)[0]
    again = from_vinecop(vine.to_vinecop(), vine.discrete, vine.loglik, vine.rows)
    w = np.random.default_rng(1).random((200, 4))
    assert np.allclose(again.from_independent(w), vine.from_independent(w), atol=1e-9)
    assert sorted(np.abs(again.tau)) == pytest.approx(sorted(np.abs(vine.tau)))


def test_the_face_names_what_the_reference_has() -> None:
    assert set(FAMILIES) == set(FAMILY_SETS["all"]) <= {family.name for family in pv.families.all}
    assert set(CRITERIA.values()) <= {"tau", "rho", "hoeffd", "mcor"}
    for selection in SELECTIONS:
        assert pv.FitControlsVinecop(selection_criterion=selection).selection_criterion == selection
    assert STRUCTURES == ("dissmann", "star", "cvine")

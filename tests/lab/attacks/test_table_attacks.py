"""Attacks on tables: a copying generator is caught by each, fresh real rows and shuffled columns by none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.attacks.closeness import LOG_OFFSET, privacy_score
from sklar.lab.attacks.regression import regress, standardize_columns
from sklar.lab.attacks.release import TABLE_ATTACKS
from tests.lab.attacks.people import SCHEMA, copies, people, shuffled

REAL, HOLDOUT, FRESH = people(600, 0), people(600, 1), people(1500, 2)
COPIES, INDEPENDENT = copies(REAL, 4000, 0.01, 3), shuffled(FRESH, 4000, 4)
OPTIONS: dict[str, dict[str, Any]] = {
    "membership": {"targets": 200, "iterations": 10},
    "attribute": {"sensitive": ["weight"]},
}


def run(
    kind: str, synthetic: pd.DataFrame, holdout: pd.DataFrame | None = HOLDOUT, **options: Any
) -> sklar.results.Attack:
    return sklar.attack(kind, REAL, synthetic, SCHEMA, holdout, **{**OPTIONS.get(kind, {}), **options})


def test_every_attack_is_tried_here() -> None:
    assert set(TABLE_ATTACKS) == {"membership", "copies", "singling-out", "linkability", "attribute"}


@pytest.mark.parametrize("kind", TABLE_ATTACKS)
def test_a_copying_generator_is_caught(kind: str) -> None:
    found = run(kind, COPIES)
    assert any(number.alarming for number in found.numbers)
    assert all("a lower bound on risk: an attack that fails proves nothing" in line for line in found.verdict)


@pytest.mark.parametrize("kind", TABLE_ATTACKS)
@pytest.mark.parametrize("release", [FRESH, INDEPENDENT], ids=["fresh", "independent"])
def test_an_honest_release_is_not(kind: str, release: pd.DataFrame) -> None:
    found = run(kind, release)
    assert not any(number.alarming for number in found.numbers)
    for number in found.numbers:
        assert number.attack.low <= number.attack.value <= number.attack.high
        assert number.baseline is not None
    json.dumps(found.to_dict(), allow_nan=False)


def test_membership_scores() -> None:
    caught, honest = run("membership", COPIES), run("membership", INDEPENDENT)
    for name in ("hamming_log", "hamming_count", "euclidean_log", "euclidean_count"):
        assert caught[name].attack.low > 0.9
        assert honest[name].attack.contains(0.5) and honest[name].control is not None


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, two, other = (run("membership", FRESH, distance="hamming", seed=seed).to_dict() for seed in (5, 5, 6))
    assert one == two and one["numbers"] != other["numbers"]


def test_the_hamming_score_agrees_with_its_formula() -> None:
    """One game over all rows, so that targets are known; labels only, so that the grid is."""
    names = ["sex", "region", "smoker"]
    schema = sklar.Schema({name: SCHEMA[name] for name in names})
    real, held, release = REAL[:40], HOLDOUT[:40], FRESH[:25]
    codes = [np.stack([pd.Categorical(f[n]).codes if n != "region" else f[n].str[1:].astype(int) for n in names], 1)
             for f in (real, held, release)]  # fmt: skip
    d = [(c[:, None, :] != codes[2][None]).mean(axis=2) for c in codes[:2]]
    radius = np.median(np.concatenate([x.min(axis=1) for x in d]))
    scores = [((x <= radius) * -np.log(x + LOG_OFFSET)).sum(axis=1) for x in d]
    order = [np.median([privacy_score(scores[0], scores[1], np.random.default_rng(s)) for s in range(200)])]
    found = [
        sklar.attack("membership", real, release, schema, held, targets=40, iterations=1, distance="hamming", seed=s)
        for s in range(30)
    ]
    # Ties are broken at random, so the two agree on average only.
    assert np.mean([f["hamming_log"].attack.value for f in found]) == pytest.approx(order[0], abs=0.03)


def test_exact_copies_are_counted() -> None:
    half = pd.concat([REAL[:300], FRESH[:300]])
    found = run("copies", half)
    assert found["exact_copies"].attack.value == pytest.approx(0.5, abs=0.02)
    assert found["lone_copies"].control is not None and found["lone_copies"].control.value < 0.01
    quantiles = found.details["closest_distance_quantiles"]
    assert quantiles["real"][3] == 0.0 < quantiles["holdout"][3]


def test_a_linear_attacker_sees_the_coefficient() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 1))
    y = 0.6 * x[:, 0] + 0.8 * rng.normal(size=500)
    fit = regress(standardize_columns(x), standardize_columns(y))
    assert fit.coefficients[0] == pytest.approx(np.corrcoef(x[:, 0], y)[0, 1])
    assert fit.r2 == pytest.approx(np.corrcoef(x[:, 0], y)[0, 1] ** 2)
    assert 1 - (1 - fit.r2) * 499 / 498 == pytest.approx(fit.adjusted)


def test_constant_and_collinear_columns_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 1))
    wide = standardize_columns(np.column_stack([x, x, np.full(100, 0.1)]))
    fit = regress(wide, standardize_columns(x[:, 0]))
    assert fit.coefficients == pytest.approx([0.5, 0.5, 0.0]) and fit.r2 == pytest.approx(1.0)


@pytest.mark.slow
def test_attribute_numbers() -> None:
    found = run("attribute", FRESH, sensitive=["weight", "sex"])
    weight, blind = found["weight.mr2"], run("attribute", INDEPENDENT)["weight.mr2"]
    assert weight.attack.value > 0.2 and abs(blind.attack.value) < 0.05
    assert weight.control is not None and abs(weight.attack.value - weight.control.value) < 0.15
    assert found["weight.mse"].attack.value < 0.9 < run("attribute", INDEPENDENT)["weight.mse"].attack.value
    assert found["sex.accuracy"].attack.value > 0.65 > 0.55
    # Without the release the gain is Adv(real); a release of fresh rows gives away no more.
    assert found["sex.gain"].attack.high >= found["sex.gain"].baseline.value  # type: ignore[union-attr]
    assert "real_bootstraps" in found.details["weight"]


@pytest.mark.parametrize("kind", ["copies", "singling-out", "linkability", "attribute"])
def test_without_a_holdout_it_is_said_what_cannot_be_measured(kind: str) -> None:
    found = run(kind, FRESH, None)
    assert all(number.control is None for number in found.numbers)
    assert found.missing and all("Without a hold-out" in line for line in found.missing)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("membership", {"holdout": None}, "needs a hold-out table"),
        ("membership", {"targets": 5000}, "needs at least 5,000 rows"),
        ("membership", {"targets": 3}, "at least 20 targets"),
        ("membership", {"distance": "cosine"}, "hamming, euclidean or both"),
        ("membership", {"turbo": 1}, "has no option 'turbo'; its options are: targets"),
        ("attribute", {"sensitive": None}, "name the sensitive column"),
        ("attribute", {"sensitive": "person"}, "identifier or ignored"),
        ("attribute", {"sensitive": "salary"}, "not in the schema"),
        ("linkability", {"columns": [["age"], ["age"]]}, "different columns"),
        ("linkability", {"columns": [["age"], ["person"]]}, "not a modelled column"),
        ("singling-out", {"guesses": 0}, "at least 1"),
        ("magic", {}, "there is no attack 'magic'; the attacks are: membership"),
        ("membership", {"iterations": "5"}, "iterations must be a whole number of at least 1; found '5'"),
        ("membership", {"iterations": True}, "iterations must be a whole number"),
        ("membership", {"cells": 2.5}, "cells must be a whole number of at least 2"),
        ("membership", {"distance": 3}, "distance must be a word"),
        ("copies", {"targets": [3]}, "targets must be a whole number of at least 1"),
        ("copies", {"levels": [1]}, "no option 'levels'.*belongs to attacks on a method"),
        ("singling-out", {"columns": ["age"]}, "columns must be a whole number"),
        ("linkability", {"columns": ["age", "sex"]}, "columns must be two lists of columns"),
        ("attribute", {"sensitive": 3}, "sensitive must be a name or a list of names"),
        ("attribute", {"sensitive": "weight", "tolerance": "a"}, "tolerance must be a number between 0 and 1"),
        ("attribute", {"sensitive": "weight", "profile": "quick"}, "has no option 'profile'"),
    ],
)
def test_bad_input_is_told(kind: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(kind, FRESH, **options)


@pytest.mark.parametrize("value", [50.0, None])
def test_a_constant_column_is_nothing_to_guess(value: float | None) -> None:
    flat = REAL.assign(weight=value)
    facts = sklar.Schema({**{n: SCHEMA[n] for n in SCHEMA.names}, "weight": sklar.Real(0, 200, nullable=True)})
    with pytest.raises(UsageError, match="'weight' has one value in all rows"):
        sklar.attack("attribute", flat, FRESH, facts, HOLDOUT, sensitive="weight")


def test_a_sensitive_column_named_twice_is_attacked_once() -> None:
    found = run("attribute", FRESH, sensitive=["weight", "weight"], bootstraps=2)
    names = [number.name for number in found.numbers]
    assert len(names) == len(set(names)) > 0


@pytest.mark.slow
def test_attacks_have_a_section_in_the_report_of_an_evaluation(tmp_path: Path) -> None:
    found = sklar.evaluate(REAL, COPIES, SCHEMA, holdout=HOLDOUT, attacks=["copies", "attribute"], sensitive=["weight"])
    assert set(found.to_dict()["attacks"]) == {"copies", "attribute"}
    found.html(tmp_path / "r.custodian.html")
    page = (tmp_path / "r.custodian.html").read_text()
    assert "<h2>Attacks</h2>" in page and "an attack that fails proves nothing" in page
    with pytest.raises(UsageError, match="needs a hold-out table"):
        sklar.evaluate(REAL, COPIES, SCHEMA, attacks=["membership"])
    with pytest.raises(UsageError, match="no attack 'magic'"):
        sklar.evaluate(REAL, COPIES, SCHEMA, attacks=["magic"])

"""Metrics of whole rows: support, copies, detection, learning; on copies, fresh samples and degenerate tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sklar.lab.learning.transfer import measure_transfer
from sklar.lab.metrics.copies import measure_copies
from sklar.lab.metrics.detection import detect_boosting, detect_linear
from sklar.lab.metrics.support import embed, find_nearest, measure_authenticity, measure_support
from tests.lab.pairs import mixed, mixed_frame, read

REAL, FRESH = mixed(600, 1), mixed(600, 2)
CONSTANT = read(mixed_frame(1, 3).sample(600, replace=True))
UNRELATED = mixed(600, 4, strength=0.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_nearest_by_brute_force() -> None:
    one, two = embed(REAL, REAL, FRESH)
    gaps = np.linalg.norm(one[:, None] - two[None], axis=2)
    distance, place = find_nearest(one, two)
    assert np.allclose(distance, gaps.min(axis=1))
    assert np.allclose(gaps[np.arange(len(place)), place], distance)
    assert find_nearest(one, one)[0].max() == 0.0
    assert find_nearest(one, one, own=np.arange(len(one)))[0].min() > 0.0


def test_support_of_a_fresh_sample_is_near_the_ideal() -> None:
    found = measure_support(REAL, FRESH)
    assert found.precision.value > 0.9
    assert 0.35 < found.recall.value < 0.75
    assert measure_authenticity(REAL, FRESH, rng()).value == pytest.approx(0.5, abs=0.12)
    assert np.all(np.diff(found.precision_curve) >= 0)


def test_support_tells_copies_and_constants() -> None:
    copy, flat = measure_support(REAL, REAL), measure_support(REAL, CONSTANT)
    assert copy.precision.value == pytest.approx(1.0, abs=0.01)
    assert measure_authenticity(REAL, REAL, rng()).value < 0.05
    assert flat.precision.value < 0.6
    assert flat.recall.value < 0.1


def test_a_copy_is_flagged_and_a_fresh_sample_is_not() -> None:
    fresh = REAL.halves(rng())
    found = measure_copies(REAL, REAL, fresh)
    assert found.score.value == 1.0
    assert found.warning is not None
    assert "copy" in found.warning
    assert measure_copies(REAL, FRESH, fresh).warning is None
    half_copied = read(pd.concat([mixed_frame(600, 1).head(200), mixed_frame(400, 9)], ignore_index=True))
    assert "copied" in (measure_copies(REAL, half_copied, fresh).warning or "")


def test_tables_with_few_kinds_of_rows_are_not_called_copies() -> None:
    one, two = (read(mixed_frame(900, s)[["age"]].assign(age=20 + s % 2), _tiny()) for s in (2, 4))
    found = measure_copies(one, two, one.halves(rng()))
    assert found.score.value == 1.0
    assert found.score.floor == 1.0
    assert found.warning is None


def _tiny():
    import sklar

    return sklar.Schema({"age": sklar.Integer(0, 100)})


def test_detection_sees_a_constant_and_not_a_fresh_sample() -> None:
    assert detect_linear(REAL, FRESH, rng()).value < 0.58
    assert detect_linear(REAL, CONSTANT, rng()).value > 0.95
    assert detect_boosting(REAL, UNRELATED, rng()).value > 0.65


@pytest.mark.parametrize(("target", "measure"), [("smoker", "auc"), ("income", "r2")])
def test_learning_from_fresh_rows_is_as_good_and_from_unrelated_rows_is_not(target: str, measure: str) -> None:
    scores = {}
    for name, table in (("fresh", FRESH), ("unrelated", UNRELATED), ("constant", CONSTANT)):
        found = measure_transfer(REAL, table, target, ["linear"], rng(), folds=2)
        scores[name] = next(r for r in found.results if r.measure == measure)
        if name == "fresh":
            assert found.score.value < 0.05
    assert scores["fresh"].synthetic > scores["unrelated"].synthetic + 0.1
    assert scores["constant"].synthetic == pytest.approx(0.5, abs=0.01) if measure == "auc" else True


@pytest.mark.parametrize("learner", ["boosting", "forest", "linear", "svc", "tree", "xgboost"])
@pytest.mark.parametrize("target", ["city", "age"])
def test_every_learner_learns_several_classes_and_numbers(learner: str, target: str) -> None:
    """Rome never occurs in the synthetic table, and the test rows still have it."""
    table = read(mixed_frame(600, 7).replace({"city": {"Rome": "Oslo"}}))
    found = measure_transfer(REAL.take(np.arange(300)), table, target, [learner], rng(), holdout=FRESH)
    best = {r.measure: r.synthetic for r in found.results}
    assert (best["auc"] > 0.55) if target == "city" else (best["r2"] > 0.1)


def test_a_target_without_variety_says_why() -> None:
    found = measure_transfer(CONSTANT, REAL, "smoker", ["linear"], rng())
    assert found.score.value is None
    assert "smoker" in (found.score.reason or "")

"""What the page's program draws and computes is what Python does: formulas to 1e-12, rows to the byte."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import chi2_contingency

from sklar.accounting.composition.gaussian import analytic_gaussian_epsilon
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.model.axis import codes_at
from sklar.model.pairs.copula import Checkerboard, GaussianPair, tabulate
from sklar.model.vine.calibration import log_weights
from sklar.model.vine.model import VineModel
from sklar.model.vine.sampling import simulate_vine
from sklar.pipeline.model import Model
from sklar.sample.rng import generator
from tests.page.releases import draw_by_node, draw_by_python, fit_odd, fit_people, fit_ruled, fit_skipped, run_node

pytestmark = pytest.mark.slow

TOLERANCE = 1e-12
FALSE_ALARM = 1e-7


@pytest.fixture(scope="module")
def people() -> Model:
    return fit_people()


MODELS: dict[str, Callable[[], Model]] = {
    "odd columns": lambda: fit_odd("vine"),
    "independent": lambda: fit_odd("independent"),
    "with rules": fit_ruled,
    "with columns that are skipped": fit_skipped,
    "with a target": lambda: fit_people(target="smoker"),
}


def test_formulas_are_those_of_python(people: Model, tmp_path: Path) -> None:
    model = people.table_model
    assert isinstance(model, VineModel)
    rng = np.random.default_rng(2)
    u, v = np.clip(rng.random((2, 500)), 1e-9, 1 - 1e-9)
    particles = simulate_vine(model.vine, 500, rng)
    people.save(tmp_path / "people.sklar")
    shifts = [0.05, 0.3, 1.0, 4.0]
    asked = {"model": str(tmp_path / "people.sklar"), "u": u.tolist(), "v": v.tolist(), "seed": "12345678901234567890",
             "tables": 5, "particles": particles.T.tolist(), "shifts": shifts}  # fmt: skip
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    found = json.loads(run_node("vectors.mjs", str(tmp_path / "asked.json")))
    boards = [e.copula for tree in model.vine.trees for e in tree if isinstance(e.copula, Checkerboard)][:5]
    minus, plus = GaussianPair(corr=-0.7), GaussianPair(corr=0.4)
    expected: dict[str, Any] = {
        "ndtr": ndtr(8 * u - 4),
        "ndtri": ndtri(u),
        "gaussian": np.stack([minus.hfunc2(u, v), plus.hinv2(u, v)], axis=1),
        "boards": [
            np.stack([t.hfunc2(u, v), t.hfunc1(v, u), t.hinv2(u, v), t.hinv1(v, u)], axis=1)
            for t in map(tabulate, boards)
        ],
        "logs": log_weights(model.calibration, model.scales, particles),
        "random": generator(12345678901234567890).random(500),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
    both = [(analytic_gaussian_epsilon(1 / shift, 1e-9), rho_to_epsilon(shift, 1e-9)) for shift in shifts]
    np.testing.assert_allclose(found["epsilons"], both, rtol=1e-9)  # Python rounds them up
    codes = [codes_at(scale, particles[:, j]) for j, scale in enumerate(model.scales)]
    np.testing.assert_array_equal(found["codes"], codes)
    np.testing.assert_array_equal(found["margins"], [margin.ppf(u) for margin in model.margins])
    assert np.ptp(expected["logs"]) > 0.1 and len(boards) == 5


def test_the_same_seed_gives_the_same_rows(people: Model, tmp_path: Path) -> None:
    rows = 70_000  # more than a block of a stream
    drawn = draw_by_node(people, tmp_path, rows, 7)
    assert drawn == draw_by_python(people, rows, 7)
    assert drawn != draw_by_node(people, tmp_path, rows, 8)


@pytest.mark.parametrize("kind", MODELS)
def test_other_models_give_the_same_rows(kind: str, tmp_path: Path) -> None:
    model = MODELS[kind]()
    assert draw_by_node(model, tmp_path, 3_000, 3) == draw_by_python(model, 3_000, 3)


def test_conditional_rows_follow_the_distribution_of_python(people: Model, tmp_path: Path) -> None:
    """Chi-square of two samples under the same condition, and of samples under two conditions, which must differ."""
    rows = 3_000
    conditions = [{"name": "age", "low": 30, "high": 45}, {"name": "sex", "labels": ["F"]},
                  {"name": "smoker", "labels": [1], "missing": True}]  # fmt: skip
    drawn = list(csv.DictReader(io.StringIO(draw_by_node(people, tmp_path, rows, 1, conditions))))
    assert {row["sex"] for row in drawn} == {"F"} and {row["smoker"] for row in drawn} == {"true", ""}
    assert min(int(row["age"]) for row in drawn) == 30 and max(int(row["age"]) for row in drawn) == 45
    given = {"age": (30, 45), "sex": "F", "smoker": [True, None]}
    same, other = (people.sample(rows, seed=2, given=one, iid=True).to_pydict() for one in (given, {"age": (60, 90)}))
    for name in ("occupation", "education", "diagnosis", "region"):
        ours = [row[name] for row in drawn]
        assert compare_counts(ours, [value or "" for value in same[name]]) > FALSE_ALARM, name
    assert compare_counts([row["occupation"] for row in drawn], other["occupation"]) < FALSE_ALARM


def compare_counts(one: list[str], other: list[str]) -> float:
    """The p-value of a chi-square test that two samples of labels have one distribution."""
    labels = [label for label in sorted({*one, *other}) if one.count(label) + other.count(label) >= 10]
    return float(chi2_contingency([[side.count(label) for label in labels] for side in (one, other)]).pvalue)

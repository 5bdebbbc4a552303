"""Tables held back are found again from the model, were never seen by it, and tell its error."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.inference.checks.held_out import auc, score_held_out
from sklar.inference.tables import all_tables
from sklar.methods.held_back import LABEL, RANGES, TRIPLES
from sklar.pipeline.bundle.bundle import stored_of
from sklar.release.measurements import collect_measurements
from sklar.sample.rng import generator
from tests.contracts.tables import people, schema

NAMES = ("age", "gain", "sex", "region")
FEW = sklar.Schema({name: schema()[name] for name in NAMES})


@pytest.mark.slow
def test_what_was_held_back_is_the_last_step_and_counts_all_rows() -> None:
    model = sklar.fit(people(500), FEW, epsilon=200.0, check_share=0.3, target="sex")
    assert [step.label for step in model.releases].count(LABEL) == 1 and model.releases[-1].label == LABEL
    fitted = stored_of(model).fitted
    assert fitted.held is not None and LABEL not in {step.label for step in fitted.recorded}
    tables = all_tables(collect_measurements([fitted.held]))
    assert len(tables) == 4 + RANGES + 1 <= TRIPLES + RANGES + 1
    for table in tables:
        spread = table.sigma * np.sqrt(table.values.size)
        assert table.values.sum() == pytest.approx(500, abs=8 * spread + 1)
    assert tables[-1].query.columns[-1] == "sex"
    found = score_held_out(fitted, 2_000, generator(1))
    assert found.auc is not None and 0 <= found.auc.value <= 1 and found.auc.columns[-1] == "sex"


def test_a_model_without_dependence_is_found_out_and_a_true_one_is_not() -> None:
    """Three equal columns: the independent model is off by far more than noise, the vine is not."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, 5_000)
    rows = {"a": first, "b": first, "c": first}
    facts = sklar.Schema({name: sklar.Integer(0, 3) for name in rows})
    off, near = (
        score_held_out(
            stored_of(sklar.fit(rows, facts, method=m, epsilon=50.0, check_share=0.1)).fitted, 5_000, generator(2)
        )
        for m in ("independent", "vine")
    )
    assert off.contradicted and off.together.low > 0.02 > 2 * near.together.high


def test_auc_is_the_share_of_pairs_in_order() -> None:
    rng = generator(3)
    points, counts = rng.integers(0, 4, 9).astype(float), rng.integers(1, 9, (9, 2)).astype(float)
    pairs = [(np.sign(points[i] - points[j]) + 1) / 2 * counts[i, 1] * counts[j, 0] for i in range(9) for j in range(9)]
    assert auc(points, counts) == pytest.approx(sum(pairs) / counts.sum(axis=0).prod())
    assert auc(points, 0 * counts) == 0.5

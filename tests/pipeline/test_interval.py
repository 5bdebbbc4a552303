"""Error bars from a fitted model: promised where a released table answers, labelled where the model must."""

from __future__ import annotations

import pytest

import sklar
from sklar.errors import UsageError
from tests.contracts.tables import people, schema


def test_a_released_margin_is_answered_with_promised_coverage() -> None:
    table = people(3000)
    model = sklar.fit(table, schema(), epsilon=8.0)
    answer = model.interval({"sex": "F"}, coverage=0.9999999)
    assert answer.label == "promised"
    assert answer.low <= int((table["sex"] == "F").sum()) <= answer.high
    assert answer.low < answer.estimate < answer.high
    wide = model.interval({"sex": "F", "region": "north", "smoker": True}, seed=1)
    assert "model error not included" in wide.label


def test_models_without_error_bars_say_so() -> None:
    model = sklar.fit(people(200), schema(), method="independent", epsilon=1.0)
    with pytest.raises(UsageError, match="vine"):
        model.interval({"sex": "F"})


def test_a_method_without_a_proof_for_a_relation_refuses_it() -> None:
    with pytest.raises(UsageError, match="needs neighbours='replace'"):
        sklar.fit(people(100), schema(), method="dpcopula-kendall", epsilon=1.0, neighbours="add-remove")

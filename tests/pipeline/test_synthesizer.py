"""The synthesizer as scikit-learn and SDV would use one."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import sklar
from sklar.errors import BudgetError, PaidRangesWarning, UsageError

SCHEMA = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
FRAME = pd.DataFrame({"sex": pd.Categorical(["F", "M", "SECRET"] * 40), "age": np.array([20, 30, 40] * 40, "int8")})


def made(**changes: Any) -> sklar.adapters.SklarSynthesizer:
    return sklar.adapters.SklarSynthesizer(
        SCHEMA, **{"epsilon": 1.0, "method": "independent", "random_state": 3, **changes}
    )


def test_scikit_learn_clones_it_and_settings_are_read_and_changed() -> None:
    first = made(options={"neighbours": "replace"}).fit(FRAME)
    copy = clone(first)
    assert copy.get_params() == first.get_params()
    with pytest.raises(UsageError, match="not fitted"):
        copy.sample(3)
    assert copy.set_params(epsilon=0.5) is copy and copy.epsilon == 0.5
    with pytest.raises(UsageError, match="no setting 'depth'"):
        copy.set_params(depth=3)
    assert first.model_.claim.neighbours == "replace"


def test_samples_are_like_the_frame_and_keep_none_of_its_labels() -> None:
    fitted = made().fit(FRAME)
    sample = fitted.sample(50)
    assert list(sample) == list(FRAME) and sample["age"].dtype == "int64" and len(sample) == 50
    assert sample.equals(fitted.sample(num_rows=50)) and not sample.equals(fitted.sample(50, seed=4))
    assert set(fitted.sample(20, given={"sex": "F"})["sex"]) == {"F"}
    assert b"SECRET" not in pickle.dumps(fitted._fitted.like)  # type: ignore[union-attr]


def test_epsilon_has_no_default() -> None:
    with pytest.raises(BudgetError, match="no default"):
        made(epsilon=None).fit(FRAME)


def test_metadata_of_sdv_tell_kinds_and_the_rest_is_paid_for(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": range(4000), "age": rng.integers(20, 60, 4000), "city": rng.choice(["a", "b"], 4000)})
    document = {
        "primary_key": "id",
        "columns": {"id": {"sdtype": "id"}, "age": {"sdtype": "numerical"}, "city": {"sdtype": "categorical"}},
    }

    class Metadata:
        def to_dict(self) -> dict[str, Any]:
            return document

    fitted = sklar.adapters.SklarSynthesizer(metadata=Metadata(), epsilon=5.0, method="independent").fit(frame)
    claim = fitted.model_.claim
    assert {"age.lower", "age.upper", "city.values"} <= set(claim.measured) and claim.epsilon == pytest.approx(5.0)
    sample = fitted.sample(200)
    assert set(sample["city"].dropna()) <= {"a", "b", "other"} and sample["id"].is_unique
    with pytest.raises(UsageError, match="not both"):
        sklar.adapters.SklarSynthesizer(SCHEMA, metadata=document, epsilon=1.0).fit(frame)
    first = sklar.adapters.SklarSynthesizer(Metadata(), epsilon=5.0, method="independent")  # as SDV's take it
    (tmp_path / "people.JSON").write_text(json.dumps(document))  # a file of metadata, as SDV saves it
    assert sklar.adapters.SklarSynthesizer(tmp_path / "people.JSON")._choose_schema() == first._choose_schema()  # pyright: ignore[reportPrivateUsage]
    whole = first.fit(frame.astype({"age": "Int16"})).sample(20)  # metadata say a number, the frame a whole one
    assert whole["age"].dtype == "Int16" and whole["age"].between(0, 100).all()


def test_ranges_of_metadata_are_paid_for_with_a_word_or_taken_as_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 4000), "rate": rng.integers(1, 4, 4000)})
    document = {
        "columns": {
            "age": {"sdtype": "numerical", "range_min": 16, "range_max": 99, "decimal_places": 0},
            "rate": {"sdtype": "ordinal", "range_values": [3, 1, 2], "range_is_nullable": False},
        }
    }
    settings: dict[str, Any] = {"epsilon": 5.0, "method": "independent"}
    with pytest.warns(PaidRangesWarning, match="ranges='public'"):
        paid = sklar.adapters.SklarSynthesizer(document, **settings).fit(frame)
    assert {"age.lower", "age.upper", "rate.lower"} <= set(paid.model_.claim.measured)
    known = sklar.adapters.SklarSynthesizer(document, ranges="public", **settings).fit(frame)
    assert known.model_.claim.measured == () and known.model_.schema["rate"].values == (1, 2, 3)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="ranges must be"):
        sklar.adapters.SklarSynthesizer(document, ranges="mine", **settings).fit(frame)  # type: ignore[arg-type]

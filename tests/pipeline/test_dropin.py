"""Sklar in the shape of SDV, SmartNoise and SDGym: scripts of theirs, and the packages themselves (slow)."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.adapters.smartnoise import schema_of
from sklar.errors import UsageError
from tests.environments import python_with, run_there
from tests.schema.test_sdv_package import TABLE, VERSIONS

ROWS = 3000
SCHEMA = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})


@pytest.fixture
def frame(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.integers(20, 60, ROWS), "sex": rng.choice(["F", "M"], ROWS)})


def test_a_script_of_smartnoise_runs(frame: pd.DataFrame) -> None:
    synth = sklar.adapters.Synthesizer.create("mst", epsilon=5.0, verbose=True)
    synth.method = "independent"  # quicker
    synth.fit(frame, preprocessor_eps=2.0, categorical_columns=["sex"], ordinal_columns=["age"])
    made = synth.sample(200)
    assert isinstance(made, pd.DataFrame) and list(made) == ["age", "sex"] and len(made) == 200
    assert set(made["sex"].dropna()) <= {"F", "M", "other"} and made["age"].between(0, 100).all()
    claim = synth.model_.claim
    assert claim.epsilon == pytest.approx(5.0) and {"age.lower", "sex.values"} <= set(claim.measured)


def test_kinds_that_nobody_stated_are_measured_and_no_type_of_the_frame_is_believed(frame: pd.DataFrame) -> None:
    odd = pd.concat([frame.astype(object), pd.DataFrame({"age": ["?"], "sex": [None]})], ignore_index=True)
    for one in (frame, odd):
        schema = schema_of(one, ["sex"], [], [])
        assert {name: column.kind for name, column in schema.items()} == {"age": "unknown", "sex": "category"}
    made = sklar.adapters.Synthesizer(20.0, method="independent").fit(odd, categorical_columns=["sex"])
    assert made.model_.schema["age"].kind in ("integer", "real")


def test_a_schema_stands_in_for_the_transformer(frame: pd.DataFrame) -> None:
    made = sklar.adapters.Synthesizer.create("independent", 5.0).fit_sample(frame, transformer=SCHEMA)
    assert abs(len(made) - ROWS) < 200


@pytest.mark.parametrize(
    ("make", "fit", "says"),
    [
        ({}, {}, "epsilon has no default"),
        ({"epsilon": 1.0}, {"preprocessor_eps": 1.0}, "below 1"),
        ({"epsilon": 1.0}, {"transformer": object()}, "sklar.Schema"),
        ({"epsilon": 1.0}, {"categorical_columns": ["town"]}, "no column 'town'"),
        ({"epsilon": 1.0, "synth": "tvine"}, {}, "has no guarantee"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(frame: Any, make: Any, fit: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        sklar.adapters.Synthesizer.create(**make).fit(frame, **fit)


def test_conditions_of_sdv(frame: pd.DataFrame) -> None:
    fitted = sklar.adapters.SklarSynthesizer(SCHEMA, epsilon=5.0, method="independent", random_state=3).fit(frame)
    women = SimpleNamespace(num_rows=30, column_values={"sex": "F"})
    men = SimpleNamespace(num_rows=10, column_values={"sex": "M"})
    made = fitted.sample_from_conditions([women, men])
    assert list(made["sex"]) == ["F"] * 30 + ["M"] * 10
    rows = SimpleNamespace(dataframe=pd.DataFrame({"sex": ["M", "F"]}))
    assert list(fitted.sample_from_conditions([rows])["sex"]) == ["M", "F"]
    done = fitted.sample_remaining_columns(pd.DataFrame({"sex": ["M", "F", "M"]}))
    assert list(done["sex"]) == ["M", "F", "M"] and done["age"].between(0, 99).all()
    with pytest.raises(UsageError, match="num_rows and column_values"):
        fitted.sample_from_conditions([3])


def test_it_is_saved_and_loaded_as_sdv_does(frame: pd.DataFrame, tmp_path: Any) -> None:
    fitted = sklar.adapters.SklarSynthesizer(SCHEMA, epsilon=5.0, method="independent").fit(frame)
    fitted.save(tmp_path / "s.sklar")
    loaded = sklar.adapters.SklarSynthesizer.load(tmp_path / "s.sklar")
    assert loaded.sample(7).num_rows == 7 and loaded.model_.claim == fitted.model_.claim
    assert fitted.get_parameters()["epsilon"] == 5.0
    assert fitted.get_metadata()["METADATA_SPEC_VERSION"] == "V2"


SDV = """
from sklar.adapters import SklarSynthesizer
from sdv.sampling import Condition, DataFrameCondition
from sdv.single_table.base import BaseSingleTableSynthesizer
import inspect
metadata = Metadata.detect_from_dataframes({"t": frame})
synthesizer = SklarSynthesizer(metadata, epsilon=8.0, method="independent", random_state=1)
synthesizer.fit(frame)
made = synthesizer.sample(num_rows=100)
metadata.validate()
print(sorted(made) == sorted(frame), len(made), synthesizer.get_metadata() is metadata)
some = synthesizer.sample_from_conditions([Condition(num_rows=5, column_values={"sex": "F"})])
more = synthesizer.sample_from_conditions([DataFrameCondition(pd.DataFrame({"sex": ["M"] * 3}))])
print(set(some["sex"]), set(more["sex"]), len(synthesizer.sample_remaining_columns(pd.DataFrame({"sex": ["F", "M"]}))))
NAMES = "fit sample sample_from_conditions sample_remaining_columns save get_parameters get_metadata"
for name in NAMES.split():
    theirs = [p for p in inspect.signature(getattr(BaseSingleTableSynthesizer, name)).parameters.values()]
    ours = inspect.signature(getattr(SklarSynthesizer, name)).parameters
    print(name, len(ours) >= 1 and hasattr(SklarSynthesizer, name), theirs[1].name if len(theirs) > 1 else "")
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_a_script_of_sdv_runs_with_the_package_itself(version: str) -> None:
    alone, packages = VERSIONS[version]
    said = run_there(python_with(*packages, alone=alone), TABLE + SDV).splitlines()
    assert said[0] == "True 100 True" and said[1] == "{'F'} {'M'} 2"
    methods = {line.split()[0]: line.split()[2:] for line in said[2:]}
    for name, theirs in methods.items():  # what their base class calls its first argument, ours takes by that name
        ours = list(inspect.signature(getattr(sklar.adapters.SklarSynthesizer, name)).parameters)
        assert not theirs or name == "save" or theirs[0] in ours, (name, theirs, ours)


def test_the_functions_of_sdgym(frame: pd.DataFrame) -> None:
    """As its `create_single_table_synthesizer` calls them; the package itself is not installed here."""
    train, sample = sklar.adapters.sdgym_functions(epsilon=8.0, method="independent")
    columns = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}
    assert len(sample(train(frame, {"columns": columns}), 50)) == 50

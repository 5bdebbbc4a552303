"""A sample as the frame that went in: library, types and order of columns; filled columns; nothing from its cells."""

from __future__ import annotations

from datetime import date
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError

ROWS = 300
SCHEMA = sklar.Schema(
    {
        "key": sklar.Id(),
        "small": sklar.Integer(0, 99),
        "wide": sklar.Integer(0, 70_000),
        "gaps": sklar.Integer(0, 9, nullable=True),
        "part": sklar.Real(0, 1, decimals=2),
        "size": sklar.Ordinal(["s", "m", "l"], nullable=True),
        "town": sklar.Category(["oslo", "rome"]),
        "flag": sklar.Boolean(),
        "maybe": sklar.Boolean(nullable=True),
        "bad": sklar.Boolean(spelling=[0, 1]),
        "said": sklar.Boolean(spelling=["no", "yes"]),
        "day": sklar.Datetime("2020-01-01", "2020-12-31"),
        "moment": sklar.Datetime("2020-01-01T00:00:00", "2020-12-31T00:00:00"),
        "secret": sklar.Ignore(),
    }
)


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    moments = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 8000, ROWS), unit="h")
    return pd.DataFrame(
        {
            "moment": pd.Series(moments).dt.tz_localize("UTC").dt.tz_convert("Europe/Oslo"),
            "day": pd.Series(moments).dt.floor("D").dt.as_unit("s"),
            "said": pd.Series(rng.choice(["no", "yes"], ROWS), dtype="string"),
            "bad": rng.integers(0, 2, ROWS).astype("int8"),
            "maybe": pd.array(rng.choice([True, False, None], ROWS), dtype="boolean"),
            "flag": rng.random(ROWS) < 0.5,
            "town": pd.Categorical(rng.choice(["rome", "oslo"], ROWS), categories=["rome", "oslo", "SECRETVILLE"]),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], ROWS), categories=["s", "m", "l"], ordered=True),
            "part": rng.random(ROWS).astype("float32"),
            "gaps": pd.array(rng.choice([1, 2, None], ROWS), dtype="Int8"),
            "wide": rng.integers(0, 70_000, ROWS).astype("uint8"),
            "small": rng.integers(0, 99, ROWS).astype("int16"),
            "secret": ["SECRET"] * ROWS,
            "key": [f"K{i}" for i in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(frame(), SCHEMA, method="independent", epsilon=1.0)


def test_types_and_order_of_the_pandas_frame_that_went_in(model: sklar.Model) -> None:
    real, made = frame(), model.sample(200, seed=1, like=frame())
    assert isinstance(made, pd.DataFrame)
    assert list(made) == [name for name in real if name != "secret"]
    different = {name for name in made if made[name].dtype != real[name].dtype}
    assert different == {"town", "wide", "small", "bad"}  # labels, and plain integers, are those of the schema
    assert set(made["town"].cat.categories) <= {"oslo", "rome", "other"} and not made["town"].cat.ordered
    assert list(made["size"].cat.categories)[:3] == ["s", "m", "l"] and made["size"].cat.ordered
    assert made["wide"].max() > 255 and set(made["bad"]) == {0, 1} and set(made["said"]) == {"no", "yes"}
    assert made["moment"].dt.tz is not None and made["moment"].dt.tz_convert("UTC").dt.year.eq(2020).all()
    assert "SECRET" not in made.to_csv()


def test_types_that_are_stated_are_kept(model: sklar.Model) -> None:
    """Also small integers, and floats that hold whole numbers; what does not fit keeps its own type."""
    real = frame().astype({"small": "float64"})
    made = model.sample(200, seed=1, like=real.dtypes)
    different = {name for name in made if made[name].dtype != real[name].dtype}
    assert different == {"town", "wide"} and made["bad"].dtype == "int8" and made["small"].dtype == "float64"
    assert made["wide"].max() > 255
    assert model.sample(5, seed=1, like={"bad": "Int16"})["bad"].dtype == "Int16"
    with pytest.raises(UsageError, match="pandas types by column"):
        model.sample(5, like={"bad": "whole"})


def test_the_index_keeps_its_name(model: sklar.Model) -> None:
    made = model.sample(20, seed=1, like=frame().rename_axis("pid"))
    assert made.index.name == "pid" and list(made.index) == list(range(20))


def test_a_missing_value_of_one_row_changes_no_type(model: sklar.Model) -> None:
    """pandas makes floats of integers, and objects of truth values, that have a gap."""
    real = frame().drop(columns=["secret", "key"])
    gap = pd.concat([real, real.iloc[:1].assign(small=None, wide=None, flag=None, bad=None)], ignore_index=True)
    assert gap["small"].dtype != real["small"].dtype and gap["flag"].dtype != real["flag"].dtype
    one, other = (model.sample(50, seed=1, like=like) for like in (real, gap))
    assert one.dtypes.equals(other.dtypes) and one.equals(other)


def test_the_same_rows_in_every_form(model: sklar.Model) -> None:
    table = model.sample(50, seed=2)
    assert isinstance(table, pa.Table) and model.sample(50, seed=2, to="arrow").equals(table)
    pandas, polars, duck = (model.sample(50, seed=2, to=to) for to in ("pandas", "polars", "duckdb"))
    assert pl.from_pandas(pandas[["small", "town"]]).equals(polars[["small", "town"]])
    assert duck.to_arrow_table().select(["small", "day"]).equals(table.select(["small", "day"]).cast(
        duck.to_arrow_table().select(["small", "day"]).schema))  # fmt: skip
    assert pandas["gaps"].dtype == "Int64" and pandas["maybe"].dtype == "boolean"
    assert pandas["day"].dt.year.eq(2020).all()


def test_types_of_a_polars_frame(model: sklar.Model) -> None:
    real = pl.DataFrame(
        {
            "town": pl.Series(["oslo"], dtype=pl.Enum(["SECRETVILLE", "oslo"])),
            "size": pl.Series(["s"], dtype=pl.Categorical),
            "small": pl.Series([1], dtype=pl.UInt8),
            "moment": pl.Series([date(2020, 1, 1)]).cast(pl.Datetime("ms", "UTC")),
        }
    )
    made = model.sample(60, seed=1, like=real)
    assert made.columns[:4] == real.columns
    assert [made.schema[name] for name in ("size", "small", "moment")] == [
        real.schema[name] for name in ("size", "small", "moment")
    ]
    assert isinstance(made.schema["town"], pl.Enum) and "SECRETVILLE" not in made.schema["town"].categories.to_list()


def test_types_of_an_arrow_table_and_a_duckdb_relation(model: sklar.Model) -> None:
    kinds = pa.schema([("small", pa.int8()), ("town", pa.dictionary(pa.int8(), pa.string())), ("said", pa.bool_()),
                       ("flag", pa.int8()), ("day", pa.string())])  # fmt: skip
    made = model.sample(40, seed=1, like=kinds.empty_table())
    assert made.column_names[:5] == kinds.names and made.schema.field("small").type == pa.int8()
    assert pa.types.is_dictionary(made.schema.field("town").type)
    assert made.schema.field("said").type == pa.bool_() and set(made["flag"].to_pylist()) == {0, 1}
    assert made["day"][0].as_py().startswith("2020-")
    relation = duckdb.sql("SELECT 1::TINYINT AS small, 'x' AS key")
    made = model.sample(40, seed=1, like=relation)
    assert [str(kind) for kind in made.types[:2]] == ["TINYINT", "VARCHAR"]


def test_left_out_columns_are_filled_on_request(model: sklar.Model) -> None:
    made = model.sample(500, seed=1, like=frame(), fill={"secret": r"[a-z]{4}@x\.(org|net)", "key": "K[0-9]{4}"})
    assert list(made) == list(frame())
    assert made["secret"].str.fullmatch(r"[a-z]{4}@x\.(org|net)").all() and made["secret"].nunique() > 400
    assert made["key"].is_unique and made["key"].str.fullmatch("K[0-9]{4}").all()
    again = model.sample(500, seed=1, like=frame(), fill={"secret": r"[a-z]{4}@x\.(org|net)", "key": "K[0-9]{4}"})
    assert made["secret"].equals(again["secret"])
    assert model.sample(9, seed=1, fill="null")["secret"].null_count == 9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"to": "excel"}, "to must be one of"),
        ({"like": [1, 2]}, "like must be a data frame"),
        ({"fill": "x"}, 'fill must be "null"'),
        ({"fill": {"small": "x"}}, "not a column that is left out"),
        ({"fill": {"key": "[0-9]"}}, "too few different texts"),
    ],
)
def test_what_cannot_be_had_is_refused(model: sklar.Model, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        model.sample(50, **options)


@pytest.mark.parametrize("wanted", [1, True, "1", "yes", "TRUE", np.int64(1), 1.0])
def test_a_condition_on_true_or_false_in_any_spelling(model: sklar.Model, wanted: Any) -> None:
    for name, true in (("bad", 1), ("said", "yes"), ("flag", True)):
        assert set(model.sample(20, seed=1, given={name: wanted})[name].to_pylist()) == {true}


def test_a_condition_on_labels_that_are_words_for_true_and_false() -> None:
    rows = {"a": ["no", "yes"] * 50, "b": ["0", "1"] * 50, "c": [0, 1] * 50}
    schema = sklar.Schema({n: sklar.Category(sorted(set(v)), nullable=False) for n, v in rows.items()})
    model = sklar.fit(rows, schema, method="independent", epsilon=5.0)
    for name, true in (("a", "yes"), ("b", "1"), ("c", 1)):
        assert set(model.sample(9, seed=1, given={name: 1})[name].to_pylist()) == {true}
        assert set(model.sample(9, seed=1, given={name: True})[name].to_pylist()) == {true}
    with pytest.raises(UsageError, match="not a value"):
        model.sample(9, given={"a": 2})


def test_a_model_without_a_guarantee_says_so_in_the_frame() -> None:
    model = sklar.fit({"a": [1, 2] * 50}, sklar.Schema({"a": sklar.Integer(0, 9)}), method="plain-gaussian",
                      no_guarantee=True)  # fmt: skip
    assert "NO DP GUARANTEE" in model.sample(5, to="pandas").attrs["sklar.guarantee"]

"""Completed tables: given cells stay, the rest is drawn given them, rules hold, and what cannot be met is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app

ROWS = 4_000


def table(rows: int, seed: int = 0) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 50, rows)
    stay = rng.geometric(0.2, rows)
    base, bonus = rng.integers(10, 60, rows), rng.integers(0, 20, rows)
    town = rng.choice(["Rome", "Milan", "Paris"], rows)
    sick = rng.random(rows) < np.where(town == "Paris", 0.9, 0.1)
    return {
        "key": [f"p{i}" for i in range(rows)],
        "start": start.tolist(),
        "end": np.minimum(start + stay, 99).tolist(),
        "base": base.tolist(),
        "bonus": bonus.tolist(),
        "pay": (base + bonus).tolist(),
        "town": town.tolist(),
        "country": np.where(town == "Paris", "FR", "IT").tolist(),
        "sick": sick.tolist(),
        "score": [None if x < 0.2 else float(x) for x in rng.random(rows).round(3)],
    }


SCHEMA = sklar.Schema(
    {
        "start": sklar.Integer(0, 99),
        "end": sklar.Integer(0, 99),
        "base": sklar.Integer(0, 60),
        "bonus": sklar.Integer(0, 20),
        "pay": sklar.Integer(0, 80),
        "town": sklar.Category(["Rome", "Milan", "Paris"]),
        "country": sklar.Category(["IT", "FR"]),
        "sick": sklar.Boolean(),
        "score": sklar.Real(0, 1, decimals=3, nullable=True),
    },
    rules=[
        sklar.rules.AtMost(low="start", high="end"),
        sklar.rules.Sum(total="pay", parts=["base", "bonus"]),
        sklar.rules.Function(column="country", of="town", table={"Rome": "IT", "Milan": "IT", "Paris": "FR"}),
    ],
)


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(pa.table(table(ROWS)), SCHEMA, epsilon=50.0, delta=1e-9)


def obeys(done: pa.Table) -> bool:
    columns = {name: np.array(done.column(name).to_pylist(), dtype=object) for name in done.column_names}
    country = np.where(columns["town"] == "Paris", "FR", "IT")
    sums = columns["base"] + columns["bonus"] == columns["pay"]
    return bool((columns["start"] <= columns["end"]).all() and sums.all() and (columns["country"] == country).all())


def test_given_cells_stay_and_the_rest_obeys_the_rules(model: sklar.Model) -> None:
    given = pa.table(table(500, seed=1)).select(["key", "town", "start", "base"])
    done = model.complete(given, seed=3)
    assert done.column_names == ["key", "town", "start", "base", "end", "bonus", "pay", "country", "sick", "score"]
    for name in given.column_names:
        assert done.column(name).to_pylist() == given.column(name).to_pylist()
    assert obeys(done)
    assert done.equals(model.complete(given, seed=3)) and not done.equals(model.complete(given, seed=4))
    assert b"no privacy is promised" in done.schema.metadata[b"sklar.completed"]


def test_what_is_known_moves_what_is_drawn(model: sklar.Model) -> None:
    done = model.complete(pa.table({"town": ["Paris", "Rome"] * 1_500}), seed=5)
    sick = np.array(done.column("sick").to_pylist())
    assert sick[::2].mean() > 0.7 and sick[1::2].mean() < 0.3


def test_values_that_only_other_columns_tell_are_met(model: sklar.Model) -> None:
    """A country tells towns, a sum its parts and an end its start, though the model knows none of them by itself."""
    for name, values in {"country": ["FR", "IT"], "pay": [60, 25], "end": [40, 20]}.items():
        done = model.complete(pa.table({name: values * 100}), seed=6)
        assert obeys(done) and done.column(name).to_pylist() == values * 100
        if name == "country":
            assert {*done.column("town").to_pylist()[::2]} == {"Paris"}
            assert np.mean(done.column("sick").to_pylist()[::2]) > 0.6


def test_the_form_of_the_table_is_kept(model: sklar.Model) -> None:
    given = pa.table(table(20)).select(["town", "pay"])
    for frame in (given.to_pandas(), pl.from_arrow(given), given):
        done = model.complete(frame, seed=1)
        assert type(done) is type(frame) and len(done) == 20
    assert isinstance(model.complete({"town": ["Paris"]}, seed=1), pa.Table)
    assert isinstance(model.complete(given, seed=1, to="pandas"), pd.DataFrame)


def test_empty_cells_are_drawn_or_kept(model: sklar.Model) -> None:
    given = pa.table({"score": pa.array([None, 0.5] * 300), "town": pa.array([None, "Rome"] * 300)})
    drawn, kept = (model.complete(given, seed=7, nulls=nulls) for nulls in ("draw", "keep"))
    assert 0 < sum(x is None for x in drawn.column("score").to_pylist()[::2]) < 200
    assert kept.column("score").to_pylist() == given.column("score").to_pylist()
    assert None not in kept.column("town").to_pylist()  # no null by the schema
    assert {*kept.column("town").to_pylist()[1::2]} == {"Rome"}


def test_rows_that_no_rule_allows_are_named_and_the_others_are_whole(model: sklar.Model) -> None:
    given = pa.table({"start": [10, 50, 10], "end": [12, 20, 30], "town": ["Rome", "Rome", "Paris"]})
    with pytest.warns(sklar.errors.SklarWarning, match=r"1 of 3 rows .*\(rows 2\)"):
        done = model.complete(given, seed=8)
    assert done.schema.metadata[b"sklar.unmet_rows"] == b"2"
    assert obeys(done.take([0, 2])) and done.column("end").to_pylist() == [12, 20, 30]


@pytest.mark.filterwarnings("ignore::sklar.errors.SklarWarning")  # no row of the model need be so far out
def test_cells_outside_the_schema_follow_its_value_rules(model: sklar.Model) -> None:
    done = model.complete(pa.table({"base": [-5, 1_000], "sick": ["yes", "no"], "x": ["kept", None]}), seed=9)
    assert done.column("base").to_pylist() == [0, 60] and done.column("sick").to_pylist() == [True, False]
    assert done.column("x").to_pylist() == ["kept", None]


def test_a_table_without_rows_stays_without(model: sklar.Model) -> None:
    for some in (pa.table({"town": pa.array([], pa.string())}), pd.DataFrame({"town": []})):
        done = model.complete(some)
        assert len(done) == 0
        assert set(done if isinstance(done, pd.DataFrame) else done.column_names) == set(model.schema.modelled)


def test_tables_that_cannot_be_completed_are_refused(model: sklar.Model) -> None:
    with pytest.raises(sklar.errors.UsageError, match="no column of the model"):
        model.complete(pa.table({"x": [1]}))
    with pytest.raises(sklar.errors.UsageError, match="draw"):
        model.complete(pa.table({"town": ["Rome"]}), nulls="drop")  # type: ignore[arg-type]


def test_the_command_completes_a_file(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    (tmp_path / "some.csv").write_text("id,town,score\na,Paris,\nb,,0.25\n")
    out = tmp_path / "whole.csv"
    ended = CliRunner().invoke(
        app, ["complete", str(tmp_path / "m.sklar"), str(tmp_path / "some.csv"), "-o", str(out), "--seed", "1"]
    )
    assert ended.exit_code == 0, ended.output
    lines = out.read_text().splitlines()
    assert lines[0] == "id,town,score,start,end,base,bonus,pay,country,sick"
    assert lines[1].startswith("a,Paris,") and lines[2].startswith("b,") and ",0.25," in lines[2]
    assert out.stat().st_mode & 0o077 == 0
    frame = model.complete(tmp_path / "some.csv", seed=1, to="pandas")
    assert list(frame["id"]) == ["a", "b"] and frame["town"].notna().all()

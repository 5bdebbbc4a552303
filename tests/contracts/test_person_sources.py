"""Persons from every source, with every method, under both relations, from streams and when a fit is resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.accounting.ledger import read_ledger
from sklar.methods.registry import METHODS
from sklar.private.recorder import Recorder
from sklar.rows import exact_counts, open_rows
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons.keys import Secret
from tests.tiers import BOTH_RELATIONS

COLUMNS = {"year": sklar.Integer(2000, 2005), "sex": sklar.Category(["F", "M"]), "ward": sklar.Integer(0, 3)}
VOTES = sklar.Schema(COLUMNS, person=sklar.Person(key="id", rows=3, order="year", linked=False))
LINKED = sklar.Schema(COLUMNS, person=sklar.Person(key="id", rows=3, order="year", static=["sex"]))
REFUSING = {name for name, method in METHODS.items() if method.why_no_votes}
OPTIONS: dict[str, dict[str, Any]] = {
    "dpc-gauss": {"bins": 4, "rounds": 0},
    "dpc-laplace": {"bins": 4, "rounds": 0},
    "dpcopula-hybrid": {"small": 4, "ranks": 2},
}


def made(persons: int = 80) -> pa.Table:
    """Persons of 1 to 6 rows in random order, the keys of which have spaces, zeros and gaps."""
    rng = np.random.default_rng(2)
    of = np.repeat(np.arange(persons), rng.integers(1, 7, persons))
    rows = {"id": [None if k == 0 else f"0{k}" for k in of], "year": rng.integers(2000, 2006, len(of))}
    table = pa.table({**rows, "sex": rng.choice(["F", "M"], len(of)), "ward": rng.integers(0, 4, len(of))})
    return table.take(rng.permutation(len(of)))


def in_folder(table: pa.Table, place: Path) -> Path:
    """The rows of a person lie in files of three kinds."""
    (place / "folder").mkdir()
    pyarrow.csv.write_csv(table[:90], place / "folder" / "a.csv")
    pq.write_table(table[90:180], place / "folder" / "b.parquet", row_group_size=20)
    pyarrow.feather.write_feather(table[180:], place / "folder" / "c.feather")
    return place / "folder"


def in_database(table: pa.Table, place: Path) -> str:
    with duckdb.connect(place / "t.duckdb") as connection:
        connection.register("view", table)
        connection.execute("create table visits as select * from view")
    return f"duckdb:///{place / 't.duckdb'}?table=visits"


def written(write: Callable[[pa.Table, Path], Any], name: str) -> Callable[[pa.Table, Path], Path]:
    def make(table: pa.Table, place: Path) -> Path:
        write(table, place / name)
        return place / name

    return make


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "csv": written(pyarrow.csv.write_csv, "t.csv"),
    "parquet": written(lambda table, path: pq.write_table(table, path, row_group_size=30), "t.parquet"),
    "folder": in_folder,
    "database": in_database,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "relation": lambda table, _: duckdb.from_arrow(table),
    "stream": lambda table, _: table.to_reader(max_chunksize=7),
}


@pytest.mark.parametrize("schema", [VOTES, LINKED], ids=["votes", "linked"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_integers(
    source: str, schema: sklar.Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_rows, "Secret", lambda: Secret(words=(1, 2, 3, 4, 5)))
    here, there = open_rows(made(), schema), open_rows(SOURCES[source](made(), tmp_path), schema)
    specs: list[Any] = [((name,), None) for name in here.schema.modelled]
    for name, one, other in zip(specs, exact_counts_of(here, specs), exact_counts_of(there, specs), strict=True):
        assert np.array_equal(one, other), name
    assert here.exact_persons == there.exact_persons == 79  # rows without a key are left out


def exact_counts_of(rows: Any, specs: list[Any]) -> list[Any]:
    """Table by table: those of first rows and of steps do not meet."""
    return [exact_counts(rows, [spec])[0] for spec in specs]


@pytest.mark.parametrize("relation", BOTH_RELATIONS)
@pytest.mark.parametrize("method", sorted({*METHODS} - REFUSING))
def test_every_method_resumes_and_takes_streams(
    method: str, relation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = in_folder(made(), tmp_path)
    asked: dict[str, Any] = {"method": method, "epsilon": 3.0, "neighbours": relation, **OPTIONS.get(method, {})}
    booked = {"ledger": tmp_path / "l.ledger", "new_ledger": True}
    real = Recorder.record

    def cut_short(self: Recorder, *given: Any) -> None:
        real(self, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.warns(sklar.errors.SklarWarning):
        patch.setattr(Recorder, "record", cut_short)
        with pytest.raises(KeyboardInterrupt):
            sklar.fit(data, VOTES, **asked, **booked)
    with pytest.warns(sklar.errors.SklarWarning):
        resumed = sklar.fit(data, VOTES, **asked, **booked)
    (fit,) = read_ledger(tmp_path / "l.ledger").fits
    assert fit.closed and len(fit.steps) == len(resumed.releases)  # the first one was not charged again
    streamed = sklar.fit(made().to_reader(max_chunksize=50), VOTES, **asked)
    for model in (resumed, streamed):
        assert "any one person, with any number of rows" in str(model.claim)
        assert model.claim.epsilon <= 3.0 * (1 + 1e-9)
        assert model.sample(20, seed=1).num_rows == 20


@pytest.mark.parametrize("method", sorted(REFUSING))
def test_methods_of_whole_rows_say_why(method: str) -> None:
    why = METHODS[method].why_no_votes
    with pytest.raises(sklar.errors.UsageError, match=why) as caught:
        sklar.fit(made(), VOTES, method=method, epsilon=1.0)
    assert "rows=1" in str(caught.value) and "'vine'" in str(caught.value)

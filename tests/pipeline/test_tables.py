"""Two tables with a key between them: counted by parents, drawn with valid keys; bad tables are refused by name."""

from __future__ import annotations

import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest

import sklar
from sklar.errors import ModelFileError, OutputError, SchemaError, SourceError, StreamedWarning, UsageError
from sklar.export.databases import write_tables_to_database
from sklar.rows import exact_counts, hold_source, open_rows
from sklar.schema.address import file_address
from tests.golden.cases import scripted_fit
from tests.hostile.test_model_file import members_of, packed

VOTE = 1 << 20
PARENTS = {"id": sklar.Id(), "kind": sklar.Category(["a", "b"])}
ROWS = {"of": sklar.Id(), "day": sklar.Integer(0, 9), "ward": sklar.Category(["x", "y"])}


def tables(rows: int = 3, order: str | None = "day", **more: Any) -> sklar.Tables:
    child = sklar.Schema(ROWS, person=sklar.Person(key="of", rows=rows, order=order, linked=None, **more))
    return sklar.Tables({"p": sklar.Schema(PARENTS), "c": child}, keys={"c": ("of", "p")}, person="p")


def made(parents: int = 1_500, seed: int = 2) -> dict[str, pa.Table]:
    """Wards depend on the kind of the parent; about a third of the parents have no rows."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, parents)
    rows = [(f"secret-{p}", int(rng.integers(10)), "xy"[int(rng.random() < (0.9 if kind[p] else 0.1))])
            for p in range(parents) for _ in range(rng.integers(0, 4))]  # fmt: skip
    rows = [rows[at] for at in rng.permutation(len(rows))]
    return {
        "p": pa.table({"id": [f"secret-{p}" for p in range(parents)], "kind": ["ab"[k] for k in kind.tolist()]}),
        "c": pa.table({name: [row[at] for row in rows] for at, name in enumerate(ROWS)}),
    }


def counts(data: Any, *columns: str, facts: sklar.Tables | None = None) -> np.ndarray:
    rows = open_rows(data, (facts or tables()).schema)
    (found,) = exact_counts(rows, [(columns, None)])
    rows.close()
    return found


def small(*children: tuple[Any, int, str], parents: tuple[tuple[Any, str], ...] = ((1, "a"), (2, "b"))) -> Any:
    return {
        "p": pa.table({"id": [p for p, _ in parents], "kind": [k for _, k in parents]}),
        "c": pa.table({name: [row[at] for row in children] for at, name in enumerate(ROWS)}),
    }


def test_parents_first_rows_and_steps_are_counted_as_by_hand() -> None:
    data = small((1, 5, "y"), (1, 2, "x"), (1, 9, "y"), (1, 9, "y"))
    assert counts(data, "parent: kind", "parent: rows of the person").tolist()[0] == [0, 0, 0, VOTE]
    assert counts(data, "parent: kind", "parent: rows of the person").tolist()[1] == [VOTE, 0, 0, 0]
    assert counts(data, "first row: kind", "first row: ward").tolist()[0] == [VOTE, 0, 0]
    assert counts(data, "next row: previous ward", "next row: ward")[:2, :2].tolist() == [
        [0, VOTE // 2],
        [0, VOTE // 2],
    ]


def test_rows_without_a_parent_are_left_out_and_of_parents_with_one_key_one_is_used() -> None:
    base = small((1, 5, "y"))
    orphan, twice = small((1, 5, "y"), (7, 3, "x")), small((1, 5, "y"), parents=((1, "a"), (2, "b"), (2, "b")))
    for columns in (("parent: kind",), ("first row: ward",), ("next row: ward",)):
        assert (counts(orphan, *columns) == counts(base, *columns)).all()
        assert (counts(twice, *columns) == counts(base, *columns)).all()


def test_a_parent_with_all_its_rows_moves_no_table_by_more_than_a_vote() -> None:
    data = made(60)
    extreme = small(*[(999, day, "x") for day in range(10)], parents=((999, "b"),))
    both = {name: pa.concat_tables([table, _as(extreme[name], table)]) for name, table in data.items()}
    for columns in (("parent: kind", "parent: rows of the person"), ("first row: kind", "first row: ward"),
                    ("next row: previous ward", "next row: ward")):  # fmt: skip
        change = counts(both, *columns) - counts(data, *columns)
        assert change.min() >= 0
        assert change.sum() <= VOTE


def _as(table: pa.Table, like: pa.Table) -> pa.Table:
    return table.cast(like.schema)


def scripted(epsilon: float) -> sklar.Model:
    """A fit with scripted noise: what is measured on it is the same in every run."""
    with pytest.MonkeyPatch.context() as patch:
        return scripted_fit(made(), tables().schema, {"epsilon": epsilon}, patch)


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    """With scripted noise: what is measured below is the same in every run."""
    with pytest.MonkeyPatch.context() as patch:
        return scripted_fit(made(), tables().schema, {"epsilon": 9.0}, patch)


@pytest.mark.slow
def test_samples_are_both_tables_with_valid_keys(model: sklar.Model) -> None:
    found = model.sample_persons(800, seed=1)
    parents, rows = found["p"].to_pylist(), found["c"].to_pylist()
    assert [row["id"] for row in parents] == list(range(1, 801))
    assert {row["of"] for row in rows} <= {row["id"] for row in parents}
    number = np.bincount([row["of"] for row in rows], minlength=801)[1:]
    assert number.max() <= 3
    assert 0.1 < (number == 0).mean() < 0.45
    assert all(b["day"] >= a["day"] for a, b in itertools.pairwise(rows) if a["of"] == b["of"])
    assert set(found["p"].column_names) == set(PARENTS)
    assert set(found["c"].column_names) == set(ROWS)


@pytest.mark.slow
def test_rows_depend_on_their_parents(model: sklar.Model) -> None:
    """Of real rows 90% are as their parent says, of independent ones a half."""
    found = model.sample_persons(1_000, seed=2)
    kind = {row["id"]: row["kind"] for row in found["p"].to_pylist()}
    agree = [(kind[row["of"]] == "b") == (row["ward"] == "y") for row in found["c"].to_pylist()]
    assert np.mean(agree) > 0.7


@pytest.mark.slow
def test_evaluation_tells_how_rows_depend_on_their_parents(model: sklar.Model) -> None:
    """The real tables are no distance from themselves, and a sample is nearer than rows given to any parent."""
    from sklar.lab.families import evaluate_tables

    real = made()
    same, found = (evaluate_tables(real, other, tables()) for other in (real, model.sample_persons(seed=4)))
    assert (same.cross_tvd2, same.rows, same.orphans, found.orphans) == (0.0, 0.0, 0, 0)
    assert found.cross["kind", "ward"] < 0.2 < found.independent * 2
    assert set(found.to_dict()["tables"]) == {"p", "c"}


def test_a_model_of_two_tables_is_verified_and_tells_no_key(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok
    assert b"secret" not in (tmp_path / "m.sklar").read_bytes()
    again = sklar.load(tmp_path / "m.sklar").sample_persons(50, seed=3)
    assert all(again[name].equals(table) for name, table in model.sample_persons(50, seed=3).items())


@pytest.mark.slow
def test_the_commands_go_from_a_folder_to_a_folder(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sklar.cli.main import app

    data, place = made(100), tmp_path / "in"
    place.mkdir()
    for name, table in data.items():
        csv.write_csv(table, place / f"{name}.csv")
    tables().write(tmp_path / "t.toml")
    model, out = str(tmp_path / "m.sklar"), tmp_path / "out"
    fitted = CliRunner().invoke(app, ["fit", str(place), "-s", str(tmp_path / "t.toml"), "-e", "9", "-o", model])
    assert fitted.exit_code == 0, fitted.output
    drawn = CliRunner().invoke(app, ["sample", model, "-n", "30", "-o", f"{out}/", "--seed", "7"])
    assert drawn.exit_code == 0, drawn.output
    assert csv.read_csv(out / "p.csv").num_rows == 30
    assert set(csv.read_csv(out / "c.csv")["of"].to_pylist()) <= set(range(1, 31))
    assert "secret-" not in fitted.output + drawn.output


def test_both_tables_go_to_a_database_or_none(model: sklar.Model, tmp_path: Path) -> None:
    import duckdb

    base = tmp_path / "both.duckdb"
    rows = model.write_rows(base, 40, seed=7)
    expected = model.sample_persons(40, seed=7)
    assert rows == sum(table.num_rows for table in expected.values())
    with duckdb.connect(str(base)) as connection:
        for name, table in expected.items():
            assert connection.execute(f"select * from {name}").fetchall() == [
                tuple(r.values()) for r in table.to_pylist()
            ]
        connection.execute("drop table p")
    with pytest.raises(OutputError, match="already contains rows"):
        model.write_rows(base, 40, seed=7)
    with duckdb.connect(str(base)) as connection:
        assert connection.execute("select table_name from duckdb_tables()").fetchall() == [("c",)]


def test_a_fault_in_the_second_table_undoes_the_first(tmp_path: Path) -> None:
    """What was checked may have changed since: the transaction holds all the same."""
    import duckdb

    base = tmp_path / "both.duckdb"
    with duckdb.connect(str(base)) as connection:
        connection.execute("create table c as select 1 as of")
    address = file_address(str(base))
    assert address is not None
    with pytest.raises(OutputError, match="already contains rows"):
        write_tables_to_database(made(5), address)
    with duckdb.connect(str(base)) as connection:
        assert connection.execute("select table_name from duckdb_tables()").fetchall() == [("c",)]


@pytest.mark.parametrize(
    ("place", "more", "says"),
    [
        ("out.csv", {}, "write them to FOLDER/"),
        ("out.duckdb", {"given": {"ward": "x"}}, "changes from row to row"),
        ("duckdb:///tmp/out.duckdb?table=p", {}, "under their own names"),
    ],
)
def test_what_does_not_go_with_two_tables_is_refused(
    model: sklar.Model, tmp_path: Path, place: str, more: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        model.write_rows(place if "://" in place else tmp_path / place, 10, **more)
    assert not any(tmp_path.iterdir())


def test_rows_alone_are_not_drawn(model: sklar.Model) -> None:
    with pytest.raises(UsageError, match="two tables"):
        model.sample(10, seed=1)


def test_files_of_a_folder_and_tables_of_a_database_are_read(tmp_path: Path) -> None:
    import duckdb

    data = made(40)
    csv.write_csv(data["p"], tmp_path / "p.csv")
    parquet.write_table(data["c"], tmp_path / "c.parquet")
    base = tmp_path / "both.duckdb"
    with duckdb.connect(str(base)) as connection:
        for name, table in data.items():
            connection.register("t", table)
            connection.execute(f"create table {name} as select * from t")
            connection.unregister("t")
    columns = ("parent: kind", "parent: rows of the person")
    for source in (tmp_path, str(base)):
        assert (counts(source, *columns) == counts(data, *columns)).all()


@pytest.mark.slow
def test_tables_of_a_server_are_read_at_one_moment(postgres: Any, tmp_path: Path) -> None:
    from adbc_driver_postgresql import dbapi

    data, columns = made(40), ("parent: kind", "parent: rows of the person")
    with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA clinic")
        for name, table in data.items():
            cursor.adbc_ingest(name, table, mode="create", db_schema_name="clinic")
        address = f"{postgres.get_uri()}&schema=clinic"
        held = hold_source(address, sklar.ReadOptions())
        try:
            cursor.execute("DELETE FROM clinic.c")
            assert (counts(held, *columns) == counts(data, *columns)).all()
        finally:
            held.close()
        assert not (counts(address, *columns) == counts(data, *columns)).all()
    given: dict[str, Any] = {"epsilon": 2.0, "new_ledger": True}
    assert sklar.fit(address, tables(), ledger=tmp_path / "l", **given).claim.guarantee
    with pytest.raises(SourceError, match="omit the table from the address"):
        sklar.fit(f"{address}&table=p", tables(), ledger=tmp_path / "m", **given)


@pytest.mark.slow
def test_a_release_holds_both_tables_and_is_verified(model: sklar.Model, tmp_path: Path) -> None:
    place = sklar.bundle(model, tmp_path / "clinic.release.zip", rows=60, seed=3)
    found = sklar.verify(place)
    assert all(check.ok is not False for check in found.checks) and "All 60 persons" in found["rows"].says
    with zipfile.ZipFile(place) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    drawn = model.sample_persons(60, seed=3)
    for name in ("p", "c"):
        assert parquet.read_table(pa.BufferReader(members[f"synthetic.{name}.parquet"])).equals(drawn[name])
        assert csv.read_csv(pa.BufferReader(members[f"synthetic.{name}.csv"])).num_rows == drawn[name].num_rows
    told = json.loads(members["croissant.json"])
    assert [one["@id"] for one in told["recordSet"]] == ["p", "c"]
    assert [one["name"] for one in told["recordSet"][0]["field"]] == ["id", "kind"]
    assert sklar.bundle(model, tmp_path / "usual.zip").exists()
    other = sklar.bundle(model, tmp_path / "other.zip", rows=60, seed=4)
    with zipfile.ZipFile(other) as archive:
        members["synthetic.c.csv"] = archive.read("synthetic.c.csv")
    with zipfile.ZipFile(tmp_path / "bent.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert not sklar.verify(tmp_path / "bent.zip").ok


def test_counts_of_two_tables_in_a_database_are_streamed_in_words() -> None:
    with pytest.warns(StreamedWarning, match="share one vote"):
        open_rows(made(5), tables().schema, counts="database").close()


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no table 'c'"):
        counts({"p": made(5)["p"]}, "parent: kind")
    with pytest.raises(SourceError, match="exactly one file called p"):
        counts(tmp_path, "parent: kind")


def test_the_text_of_the_tables_tells_all_of_them(tmp_path: Path) -> None:
    tables().write(tmp_path / "t.toml")
    assert sklar.Tables.read(tmp_path / "t.toml") == tables()


def test_without_a_person_ten_rows_are_used() -> None:
    plain = sklar.Tables({"p": sklar.Schema(PARENTS), "c": sklar.Schema(ROWS)}, keys={"c": ("of", "p")}, person="p")
    assert plain.schema.person is not None
    assert plain.schema.person.rows == 10


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"person": "c"}, "is the table of persons"),
        ({"person": "q"}, "must be one of the tables"),
        ({"keys": {"c": ("of", "c")}}, "points to its own table"),
        ({"keys": {"c": ("of", "q")}}, "from one of the tables to the other"),
        ({"keys": {"c": "of"}}, "is a pair"),
        ({"keys": {}}, "joined by one key"),
        ({"tables": {"p": sklar.Schema(PARENTS)}}, "joined by one key"),
        ({"tables": {"p": sklar.Schema({"kind": PARENTS["kind"]}), "c": sklar.Schema(ROWS)}}, "which is their key"),
        ({"tables": {"p": sklar.Schema({**PARENTS, "day": ROWS["day"]}), "c": sklar.Schema(ROWS)}}, "both tables"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_tables_is_said(change: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"tables": {"p": sklar.Schema(PARENTS), "c": sklar.Schema(ROWS)},
                             "keys": {"c": ("of", "p")}, "person": "p"}  # fmt: skip
    with pytest.raises(SchemaError, match=says):
        sklar.Tables(**{**given, **change})


WAYS_OUT = ["../../EVIL", "/tmp/EVIL", "a/b", "a\\b", "..", ".", "", " ", "a\0b"]


@pytest.mark.parametrize("name", WAYS_OUT)
def test_names_of_tables_lead_out_of_no_folder(name: str) -> None:
    columns = {"p": sklar.Schema(PARENTS), "c": sklar.Schema(ROWS)}
    for p, c in ((name, "c"), ("p", name)):
        with pytest.raises(SchemaError, match="name"):
            sklar.Tables({p: columns["p"], c: columns["c"]}, keys={c: ("of", p)}, person=p)


@pytest.mark.parametrize("name", [*WAYS_OUT, "p"])
def test_a_forged_model_leads_out_of_no_folder(model: sklar.Model, tmp_path: Path, name: str) -> None:
    """Checksums fit, so that the name alone is what is refused; a name of another kind loads."""
    model.save(tmp_path / "m.sklar")
    members, entry = members_of((tmp_path / "m.sklar").read_bytes()), 'rows = "c"'
    schema = members["schema.toml"].decode()
    assert schema.count(entry) == 1
    for said in (name, "km per h"):
        forged = schema.replace(entry, f"rows = {json.dumps(said)}").encode()
        (tmp_path / "forged.sklar").write_bytes(packed({**members, "schema.toml": forged}))
        if said == name:
            with pytest.raises(ModelFileError):
                sklar.load(tmp_path / "forged.sklar")
        else:
            assert list(sklar.load(tmp_path / "forged.sklar").sample_persons(5, seed=1)) == ["p", said]


@pytest.mark.slow
def test_a_report_compares_each_table_with_its_own_persons(model: sklar.Model) -> None:
    """Votes of parents, first rows and steps are of other numbers of persons: by rows all tables would be off."""
    found = model.report()
    assert not [one.columns for one in found.checked if one.residual.contradicts]
    sums = [float(np.sum(column.released)) for column in found.columns if len(column.released) > 1]
    assert sums and all(abs(total - 1) < 0.25 for total in sums)

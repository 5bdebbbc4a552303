"""A fit that cannot succeed is refused before anything is charged: every refusal leaves the ledger as it was."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.ledger import create_ledger, read_ledger
from sklar.errors import DoorError, NewLedgerWarning, NoSignalWarning, SklarError
from sklar.methods.registry import METHODS
from sklar.pipeline.fit.pay import pay
from sklar.schema.coordinates import coordinates
from tests.hostile.checks import run

ROWS = 60
WORDS = ["u", "v", "w"]
SCHEMA = sklar.Schema({"a": sklar.Integer(0, 99), "b": sklar.Real(0, 1), "c": sklar.Category(WORDS)})
PAYING = sklar.Schema({"a": sklar.Integer(0, 99, source={"lower": "pay", "upper": "pay"}), "b": sklar.Real(0, 1)})
WIDE = sklar.Schema({f"x{j}": sklar.Category(list("abcdefgh")) for j in range(6)})
LONG = sklar.Schema({"a": sklar.Category([f"l{j}" for j in range(12_000)]), "b": sklar.Real(0, 1)})
MANY = sklar.Schema({f"y{j}": sklar.Boolean() for j in range(41)})
HUGE = sklar.Schema(
    {f"x{j}": sklar.Category(list("abcd")) for j in range(7)} | {f"z{j}": sklar.Integer(0, 9_999) for j in range(9)}
)
VISITS = sklar.Schema({"a": sklar.Integer(0, 99), "c": sklar.Category(WORDS)}, person=sklar.Person(key="who", rows=3))
GUESSED = sklar.Schema({"a": sklar.Integer(0, 99, source="from-rows")})
CLEAN: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9}

ANY_METHOD: dict[str, dict[str, Any]] = {
    "no epsilon": {"epsilon": None},
    "epsilon 0": {"epsilon": 0},
    "epsilon and rho": {"rho": 0.5},
    "delta 1": {"delta": 1.0},
    "a seed": {"seed": 1},
    "no_guarantee": {"no_guarantee": True},
    "an unknown option": {"nonsense": 1},
    "rows_per_person 0": {"rows_per_person": 0},
    "unknown neighbours": {"neighbours": "sideways"},
    "check_share 1": {"check_share": 1.0},
    "criteria without check_share": {"accept": {"typical_error": 0.1}},
    "auc_gap without a target": {"accept": {"auc_gap": 0.1}, "check_share": 0.1},
    "criteria of no name": {"accept": {"nonsense": 0.1}, "check_share": 0.1},
    "facts that nobody confirmed": {"schema": GUESSED},
    "no schema and no delta": {"schema": None, "delta": 0.0},
    "more than the cap": {"epsilon": 50.0},
    "a prior that is the table": {"prior": "people.csv"},
    "a prior without its columns": {"prior": pd.DataFrame({"q": [1, 2]})},
    "a prior without rows": {"prior": pd.DataFrame({"a": [1]})[:0]},
    "a column that is not there": {"schema": sklar.Schema({"nowhere": sklar.Boolean()})},
    "a file that is not there": {"data": "nowhere.csv"},
    "a file that is no table": {"data": "broken.parquet"},
    "a target that is no column": {"target": "nowhere"},
    "a target that is no name": {"target": ["c"]},
    "criteria that are no criteria": {"accept": 5, "check_share": 0.1},
    "pay_share 1": {"schema": PAYING, "pay_share": 1.0},
    "facts and fit beyond the cap": {"schema": PAYING, "epsilon": 9.9},
    "facts and an option of no use": {"schema": PAYING, "nonsense": 1},
    "facts and a prior without rows": {"schema": PAYING, "prior": pd.DataFrame({"a": [1]})[:0]},
    "labels at delta 0": {"schema": sklar.Schema({"c": sklar.Category(["u"], source="pay")}), "delta": 0.0},
}
STAGED: dict[str, dict[str, Any]] = {
    "margins of no name": {"margins": "nonsense"},
    "noise of no name": {"noise": "nonsense"},
    "repair of no name": {"repair": "nonsense"},
    "k 0": {"k": 0},
    "Gaussian noise at delta 0": {"noise": "gaussian", "delta": 0.0},
    "Gaussian margins at delta 0": {"margins": "gaussian", "delta": 0.0},
    "published with a delta": {"published": True},
    "published with other margins": {"published": True, "margins": "laplace", "delta": 0.0},
    "persons with votes": {"schema": VISITS},
}
DPC: dict[str, dict[str, Any]] = {
    "bins 1": {"bins": 1},
    "most_values 0": {"most_values": 0},
    "rounds -1": {"rounds": -1},
    "shrink -1": {"shrink": -1},
    "margins of no name": {"margins": "nonsense"},
    "projection of no name": {"projection": "nonsense"},
    "accounting of no name": {"accounting": "nonsense"},
    "a budget of one number": {"budget": 1.0},
    "published and rounds": {"published": True, "rounds": 5},
    "too many values": {"schema": LONG, "most_values": 10_000},
}
OF_METHOD: dict[str, dict[str, dict[str, Any]]] = {
    "vine": {
        "shares of two numbers": {"shares": (1.0, 2.0)},
        "shares of texts": {"shares": ("a", "b", "c")},
        "depth 0": {"depth": 0},
        "depth of text": {"depth": "deep"},
        "groups 1": {"groups": (1, 10)},
        "groups beyond any table": {"groups": (64, 10**6)},
        "sums 1": {"sums": 1.0},
        "a workload at delta 0": {"workload": ["* *"], "delta": 0.0},
        "a workload and a target": {"workload": ["* *"], "target": "c"},
        "a workload of many columns": {"workload": ["* *"], "schema": MANY},
        "calibration of no kind": {"calibration": "often"},
    },
    "independent": {
        "noise of no name": {"noise": "nonsense"},
        "repair of no name": {"repair": "nonsense"},
        "histogram of no name": {"histogram": "nonsense"},
        "a histogram and noise": {"histogram": "efpa", "noise": "laplace"},
        "Gaussian noise at delta 0": {"noise": "gaussian", "delta": 0.0},
        "a target": {"target": "c"},
    },
    "dpcopula-kendall": {
        **STAGED,
        "the paper's sample with a delta": {"sample": True},
        "a sample of one row": {"sample": 1},
        "rows that come and go": {"neighbours": "add-remove"},
        "order of no name": {"order": "nonsense"},
        "ties of no name": {"ties": "nonsense"},
        "facts and the paper's sample": {"schema": PAYING, "sample": True},
    },
    "dpcopula-mle": {
        **STAGED,
        "too few rows": {},
        "too few rows at delta 0": {"delta": 0.0},
        "too few rows for the paper": {"published": True, "delta": 0.0},
        "too few rows beside a check": {"check_share": 0.1},
        "facts and too few rows": {"schema": PAYING},
        "estimate of no name": {"estimate": "nonsense"},
        "block_rows 1": {"block_rows": 1},
    },
    "dpcopula-hybrid": {
        "too many cells": {"schema": WIDE},
        "too large tables of cells": {"schema": HUGE, "bins": 4096},
        "small 0": {"small": 0},
        "ranks 1": {"ranks": 1},
        "bins 1": {"bins": 1},
        "k 0": {"k": 0},
        "unlisted of no name": {"unlisted": "nonsense"},
        "repair of no name": {"repair": "nonsense"},
        "published with a delta": {"published": True},
    },
    "dpc-gauss": {
        **DPC,
        "delta 0": {"delta": 0.0},
        "the classic formula beyond epsilon 1": {"accounting": "classic", "epsilon": 2.0},
        "an accounting of the other method": {"accounting": "basic"},
    },
    "dpc-laplace": {
        **DPC,
        "an accounting of the other method": {"accounting": "classic"},
        "basic with a delta": {"accounting": "basic"},
        "advanced at delta 0": {"accounting": "advanced", "delta": 0.0},
    },
}  # fmt: skip
CASES = [
    pytest.param(method, given, id=f"{method}: {name}")
    for method in METHODS
    for name, given in {**ANY_METHOD, **OF_METHOD[method]}.items()
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 99, ROWS), "b": rng.random(ROWS), "c": rng.choice(WORDS, ROWS)})
    more: dict[str, Any] = {name: "0" for schema in (WIDE, MANY, HUGE) for name in schema if name not in frame}
    frame.assign(who=np.arange(ROWS) // 2, **more).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "broken.parquet").write_text("no table")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(place: Path, ledger: Path | None, **given: Any) -> str:
    """The words of the refusal, after a check that nothing was written beside the table."""
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    asked = {**CLEAN, **given}
    with pytest.raises(SklarError) as error:
        sklar.fit(asked.pop("data", "people.csv"), asked.pop("schema", SCHEMA), ledger=ledger, **asked)
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()} == before
    return str(error.value)


@pytest.mark.parametrize(("method", "given"), CASES)
def test_a_refused_fit_leaves_the_ledger_as_it_was(place: Path, method: str, given: dict[str, Any]) -> None:
    neighbours = METHODS[method].neighbours
    create_ledger("capped.ledger", "people", epsilon=5, delta=1e-6, neighbours=neighbours)
    refused(place, place / "capped.ledger", method=method, **given)


@pytest.mark.parametrize("given", [{"rows_per_person": 0}, {"method": "dpcopula-mle"}, {"data": "broken.parquet"}])
def test_a_refused_fit_makes_no_ledger(place: Path, given: dict[str, Any]) -> None:
    refused(place, None, **given)


def test_every_option_of_every_method_has_a_refusal() -> None:
    free = {"target", "calibration", "order", "ties"}
    for name, method in METHODS.items():
        options = {field.name for field in dataclasses.fields(method.options)}
        tried = {key for given in {**ANY_METHOD, **OF_METHOD[name]}.values() for key in given}
        assert options - tried <= free, (name, options - tried)


@pytest.mark.parametrize(
    "given",
    [
        {"schema": SCHEMA},
        {"epsilon": None},
        {"epsilon": 50.0},
        {"schema": sklar.Schema({"c": sklar.Category(["u"], source="pay")}), "delta": 0.0},
        {"rows_per_person": 0},
        {"data": "broken.parquet"},
        {"neighbours": "replace"},
    ],
)
def test_facts_that_cannot_be_measured_cost_nothing(place: Path, given: dict[str, Any]) -> None:
    create_ledger("capped.ledger", "people", epsilon=5, delta=1e-6)
    before = (place / "capped.ledger").read_bytes()
    asked = {**CLEAN, "data": "people.csv", "schema": PAYING, **given}
    with pytest.raises(SklarError):
        pay(asked.pop("data"), asked.pop("schema"), ledger="capped.ledger", **asked)
    assert (place / "capped.ledger").read_bytes() == before


def test_a_refusal_after_facts_says_that_only_these_were_charged(tmp_path: Path) -> None:
    """Six columns of eight labels each make too many cells, which is known only once the labels are found."""
    rng = np.random.default_rng(1)
    data, ledger = tmp_path / "wide.csv", tmp_path / "wide.csv.ledger"
    pd.DataFrame({name: rng.choice(list("abcdefgh"), 3_000) for name in WIDE}).to_csv(data, index=False)
    schema = sklar.Schema({name: sklar.Category(["a"], source="pay") for name in WIDE})
    asked: dict[str, Any] = {"method": "dpcopula-hybrid", "epsilon": 9.0, "delta": 1e-3, "pay_share": 0.5}
    with pytest.raises(sklar.errors.UsageError, match=r"cells.*Only the measurement of the schema's facts was charged"):
        sklar.fit(data, schema, **asked)
    assert [fit.method for fit in read_ledger(ledger).fits] == ["facts"]
    spent = ledger.read_bytes()
    with pytest.raises(sklar.errors.UsageError, match="small"):
        sklar.fit(data, schema, **asked)
    assert ledger.read_bytes() == spent  # the facts are taken up again, not measured again


def test_mle_asks_for_nothing_more_where_a_noisy_number_of_rows_is_too_small(place: Path) -> None:
    with pytest.warns(NoSignalWarning, match="independent.*noisy number.*margins were charged"):
        model = sklar.fit(
            pd.read_csv("people.csv"), SCHEMA, method="dpcopula-mle", neighbours="add-remove", epsilon=1.0
        )
    assert np.array_equal(model._stored.model.corr, np.eye(3))
    assert not any("correlations" in step.label for step in model._stored.recorded)


@pytest.mark.parametrize(
    ("rows", "epsilon", "given"),
    [(ROWS, 1e4, {}), pytest.param(ROWS, 1e6, {}, marks=pytest.mark.slow), (1, 1e3, {"target": "d"})],
)
def test_a_vine_with_next_to_no_laplace_noise(rows: int, epsilon: float, given: dict[str, Any]) -> None:
    """Noise of standard deviation 0 in floating point, and classes without rows: both were divided by, once charged."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 10, rows), "b": rng.normal(size=rows), "c": rng.choice(WORDS, rows)})
    columns = {"a": sklar.Integer(0, 10), "b": sklar.Real(-3, 3), "c": sklar.Category(WORDS)}
    schema = sklar.Schema({**columns, "d": sklar.Boolean(nullable=True)})
    frame["d"] = rng.random(rows) < 0.3
    with pytest.warns(sklar.errors.WeakPromiseWarning):
        model = sklar.fit(frame, schema, epsilon=epsilon, delta=0.0, **given)
    assert model.rows_estimate == rows


def in_database(place: Path, table: str, column: str) -> str:
    """A DuckDB file with one table; numbers in a hundred cells are looked up in a table of constants."""
    with duckdb.connect(str(place / "rows.duckdb")) as connection:
        frame = pd.read_csv("people.csv")[["a", "b"]].rename(columns={"a": column})
        connection.register("given", frame)
        connection.execute(f'CREATE TABLE "{table}" AS SELECT * FROM given')
    return f'SELECT * FROM "{table}"'


@pytest.mark.parametrize(("table", "column"), [("people", "a{0}"), ("people", "{}"), ("t0", "a"), ("t1", "a")])
def test_odd_names_are_counted_in_the_database(place: Path, table: str, column: str) -> None:
    schema = sklar.Schema({column: sklar.Integer(0, 99, bins=37), "b": sklar.Real(0, 1)})
    read = {"sql": in_database(place, table, column), "counts": "database"}
    with pytest.warns(NewLedgerWarning):
        model = sklar.fit(place / "rows.duckdb", schema, method="independent", epsilon=1.0, read=read)
    assert model.schema.modelled == (column, "b")


def test_a_query_that_fails_in_the_database_costs_nothing(place: Path) -> None:
    """That a value cannot be cast is known only when the query runs."""
    sql = in_database(place, "people", "a").replace("*", "a, error('no')::VARCHAR AS b")
    schema = sklar.Schema({"a": sklar.Integer(0, 99), "b": sklar.Category(WORDS)})
    create_ledger("capped.ledger", "people", epsilon=5, delta=1e-6)
    read = {"sql": sql, "counts": "database", "rows_are_rows": True}
    refused(place, place / "capped.ledger", data=str(place / "rows.duckdb"), schema=schema, read=read)


def test_a_request_over_two_tables_of_persons_is_refused_at_the_door() -> None:
    from sklar.accounting.noise import Noise
    from sklar.private.requests import check_requests
    from sklar.release.counts import Counts
    from sklar.release.measurements import Request

    person = sklar.Person(key="who", rows=3, order="year")
    schema = sklar.Schema({"year": sklar.Integer(2000, 2005), "a": sklar.Integer(0, 9)}, person=person)
    by = coordinates(schema).schema
    first, other = (next(name for name in by.modelled if name.startswith(view.name)) for view in by.views[:2])
    noise = Noise(kind="laplace", scale=1.0)

    def request(*columns: str) -> Request:
        partitions = tuple(np.arange(by.size(name), dtype=np.int32) for name in columns)
        return Request(query=Counts(columns=columns, partitions=partitions), noise=noise)

    check_requests([request(first)], by, None)
    for asked in ([(first, other)], [(first,), (other,)]):
        with pytest.raises(DoorError, match="separate tables"):
            check_requests([request(*columns) for columns in asked], by, None)


def test_what_is_there_is_not_overwritten_and_nothing_is_charged(place: Path) -> None:
    """In Python and at the command line, for every output of a fit."""
    create_ledger("capped.ledger", "people", epsilon=50, delta=1e-6)
    SCHEMA.write("people.toml")
    model = sklar.fit("people.csv", SCHEMA, method="independent", ledger="capped.ledger", **CLEAN)
    model.save("m.sklar")
    model.write_rows("out.csv", 10, seed=1)
    for name in ("old.custodian.html", "new.public.html", "paid.toml"):
        (place / name).write_text("checked by somebody")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    words = ["people.csv", "-s", "people.toml", "-e", "1", "-m", "independent", "--ledger", "capped.ledger", "-o"]
    for command in (
        ["fit", *words, "m.sklar"],
        ["synth", *words, "out.csv"],
        ["synth", *words, "new.csv"],  # its public report
        ["synth", *words, "other.csv", "--model", "m.sklar"],
        ["synth", *words, "other.csv", "--report", "old.custodian.html"],
        ["schema", "pay", "people.toml", "people.csv", "-e", "1", "--ledger", "capped.ledger", "-o", "paid.toml"],
        ["sample", "m.sklar", "-o", "out.csv"],
        ["complete", "m.sklar", "people.csv", "-o", "out.csv"],
    ):
        ended = run(*command)
        assert ended.code in (1, 2) and "already exists" in " ".join(ended.err.split()), (command, ended.err)
    asked: dict[str, Any] = {**CLEAN, "method": "independent", "ledger": "capped.ledger"}
    for call in (
        lambda: model.save("m.sklar"),
        lambda: model.write_rows("out.csv", 10),
        lambda: sklar.synth("people.csv", SCHEMA, "out.csv", **asked),
        lambda: sklar.synth("people.csv", SCHEMA, "other.csv", model="m.sklar", **asked),
    ):
        with pytest.raises(sklar.errors.OutputError, match=r"already exists; force=True"):
            call()
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_what_is_read_or_charged_is_never_overwritten(place: Path) -> None:
    """Not even by force: the rows, the schema and above all the ledger, which would forget what was spent."""
    create_ledger("capped.ledger", "capped", epsilon=50, delta=1e-6)
    SCHEMA.write("people.toml")
    PAYING.write("paying.toml")
    (place / "link.csv").symlink_to(place / "people.csv")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    words = ["people.csv", "-s", "people.toml", "-e", "1", "-m", "independent", "--ledger", "capped.ledger", "--force"]
    pay_words = ["paying.toml", "people.csv", "-e", "1", "--ledger", "capped.ledger", "--force"]
    for command in (
        *(["fit", *words, "-o", name] for name in ("people.csv", "link.csv", "people.toml", "capped.ledger")),
        *(["synth", *words, "-o", "new.csv", "--model", name] for name in ("people.csv", "people.toml", "new.csv")),
        ["synth", *words, "-o", "people.csv"],
        ["synth", *words, "-o", "new.csv", "--model", "capped.ledger"],
        *(["schema", "pay", *pay_words, "-o", name] for name in ("people.csv", "capped.ledger")),
    ):
        ended = run(*command)
        assert ended.code == 1 and "is never overwritten" in " ".join(ended.err.split()), (command, ended.err)
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before, command
    with pytest.raises(sklar.errors.OutputError, match="is never overwritten"):
        sklar.synth("people.csv", SCHEMA, "people.csv", force=True, ledger="capped.ledger", **CLEAN)


def test_a_name_that_no_file_can_have_is_refused_before_anything_is_charged(place: Path) -> None:
    create_ledger("capped.ledger", "capped", epsilon=50, delta=1e-6)
    SCHEMA.write("people.toml")
    before = (place / "capped.ledger").read_bytes()
    words = ["people.csv", "-s", "people.toml", "-e", "1", "-m", "independent", "--ledger", "capped.ledger", "-o"]
    for command in (["fit", *words, "m" * 300], ["synth", *words, "m" * 300 + ".csv"]):
        ended = run(*command)
        assert ended.code == 1 and "too long" in " ".join(ended.err.split()), ended.err
    assert (place / "capped.ledger").read_bytes() == before


def test_what_is_there_is_overwritten_by_force(place: Path) -> None:
    SCHEMA.write("people.toml")
    words = ["people.csv", "-s", "people.toml", "-e", "1", "-m", "independent", "-o", "m.sklar"]
    assert run("fit", *words).code == 0
    first = (place / "m.sklar").read_bytes()
    assert run("fit", *words, "--force").code == 0 and (place / "m.sklar").read_bytes() != first
    model = sklar.load("m.sklar")
    model.save("m.sklar", force=True)
    for _ in range(2):
        model.write_rows("out.csv", 10, seed=1, force=True)

"""Promises about persons by one key are not those by another: no total, price or model file mixes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.errors import LedgerError, SchemaError
from sklar.pipeline.fit.claim import _make_person_fact
from sklar.pipeline.model import Model

COLUMNS = {"pid": sklar.Id(), "hid": sklar.Id(), "x": sklar.Category(["a", "b"]), "n": sklar.Integer(0, 9)}
BY_ROW = None
BY_PID = sklar.Person(key="pid", rows=1)
VOTES, HOUSE = sklar.Person(key="pid", rows=3), sklar.Person(key="hid", rows=3)
ROWS = sklar.Person(key="pid", rows=3, weights="rows")


def rows() -> pa.Table:
    at = range(300)
    return pa.table({"pid": [f"p{i // 2}" for i in at], "hid": [f"h{i // 9}" for i in at],
                     "x": ["ab"[i % 2] for i in at], "n": [i % 10 for i in at]})  # fmt: skip


def fit(person: sklar.Person | None, ledger: Path, **more: Any) -> sklar.Model:
    return sklar.fit(rows(), sklar.Schema(COLUMNS, person=person), method="independent", epsilon=1.0,
                     ledger=ledger, new_ledger=not ledger.exists(), **more)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "each"),
    [(BY_ROW, BY_PID, 1), (VOTES, HOUSE, 1), (BY_PID, replace(BY_PID, key="hid"), 1), (BY_ROW, ROWS, 3)],
)
def test_a_ledger_is_of_one_kind_of_person(tmp_path: Path, first: Any, second: Any, each: int) -> None:
    ledger = tmp_path / "l.ledger"
    fit(first, ledger, rows_per_person=each)
    before = ledger.read_bytes()
    with pytest.raises(LedgerError, match="identified by"):
        fit(second, ledger)
    assert ledger.read_bytes() == before
    fit(first, ledger, rows_per_person=each)


def test_facts_that_were_paid_for_another_person_are_refused(tmp_path: Path) -> None:
    columns = {**COLUMNS, "n": sklar.Integer(0, 9, source={"lower": "pay", "upper": "pay"})}
    paid = sklar.pay(rows(), sklar.Schema(columns), epsilon=2.0, ledger=tmp_path / "pay.ledger", new_ledger=True).schema
    assert paid.prices[0].person is None
    with pytest.raises(SchemaError, match="cannot be added"):
        sklar.fit(rows(), paid.with_person(BY_PID), method="independent", epsilon=1.0, ledger=tmp_path / "pay.ledger")
    text = sklar.Schema(columns, person=VOTES)
    by_vote = sklar.pay(rows(), text, epsilon=2.0, ledger=tmp_path / "votes.ledger", new_ledger=True).schema
    by_vote.write(tmp_path / "paid.toml")
    again = sklar.Schema.read(tmp_path / "paid.toml")
    assert again.prices[0].person == "pid"
    with pytest.raises(SchemaError, match="cannot be added"):
        sklar.fit(rows(), again.with_person(HOUSE), method="independent", epsilon=1.0, ledger=tmp_path / "votes.ledger")


@pytest.mark.parametrize(
    ("fitted", "told", "each"),
    [
        (BY_ROW, BY_PID, 1),
        (BY_ROW, replace(ROWS, rows=900), 1),
        (BY_ROW, ROWS, 3),
        (ROWS, replace(ROWS, rows=900), 1),
        (VOTES, replace(VOTES, rows=2), 1),
        (VOTES, HOUSE, 1),
        (BY_PID, None, 1),
        (BY_PID, replace(BY_PID, order="n"), 1),
    ],
)
def test_a_model_that_tells_of_other_persons_is_not_verified(tmp_path: Path, fitted: Any, told: Any, each: int) -> None:
    ledger = tmp_path / "l.ledger"
    model = fit(fitted, ledger, rows_per_person=each)
    model.save(tmp_path / "true.sklar")
    assert sklar.verify(tmp_path / "true.sklar", ledger=ledger).ok
    stored = model._stored
    assumed = tuple(fact for fact in stored.claim.assumed if fact != "rows_per_person")
    person = None if told is None else _make_person_fact(told)
    claim = replace(stored.claim, person=person, assumed=assumed if told else ("rows_per_person", *assumed))
    forged = replace(stored, schema=stored.schema.with_person(told), claim=claim)
    Model(forged).save(tmp_path / "forged.sklar")
    assert not sklar.verify(tmp_path / "forged.sklar").ok


@pytest.mark.slow
def test_verify_knows_the_rules_across_rows_of_a_fit_that_paid_for_facts(tmp_path: Path) -> None:
    columns = {**COLUMNS, "n": sklar.Integer(0, 9, source={"lower": "pay", "upper": "pay"}), "t": sklar.Integer(0, 1)}
    step = sklar.rules.Expression("`n` + `previous n` <= 18")
    person = sklar.Person(key="pid", rows=2, order="t", steps=[step])
    table = rows().append_column("t", pa.array([i % 2 for i in range(300)]))
    ledger = tmp_path / "l.ledger"
    model = sklar.fit(table, sklar.Schema(columns, person=person), epsilon=20.0, ledger=ledger, new_ledger=True)
    model.save(tmp_path / "true.sklar")
    assert sklar.verify(tmp_path / "true.sklar", ledger=ledger).ok
    stored = model._stored
    schema = stored.schema.with_person(replace(stored.schema.person, steps=()))
    Model(replace(stored, schema=schema, claim=replace(stored.claim, rules=()))).save(tmp_path / "forged.sklar")
    assert not sklar.verify(tmp_path / "forged.sklar").ok


def test_texts_that_stand_for_no_key_belong_to_the_unit(tmp_path: Path) -> None:
    """Whoever is a person in one fit may be nobody in another, so that their amounts do not add up."""
    table = {"id": ["a", "a", "-9", "b"] * 50, "n": [0, 1, 2, 3] * 50}
    schema = sklar.Schema({"id": sklar.Id(), "n": sklar.Integer(0, 9)}, person=sklar.Person(key="id", rows=2))
    ledger = sklar.Ledger.create(tmp_path / "l.ledger", name="panel", epsilon=5, delta=1e-9)
    read, options = {"null_values": ["-9", "?"]}, {"method": "independent", "epsilon": 1.0, "ledger": ledger.path}
    model = sklar.fit(table, schema, read=read, **options)
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar", ledger=tmp_path / "l.ledger").ok
    charged = (tmp_path / "l.ledger").read_bytes()
    for other in ({}, {"null_values": ["-9"]}):
        with pytest.raises(LedgerError, match=r"identified by 'id without '-9', '\?''"):
            sklar.fit(table, schema, read=other, **options)
    assert (tmp_path / "l.ledger").read_bytes() == charged
    sklar.fit(table, schema, read={"null_values": ["?", "-9"]}, **options)


def test_a_ledger_knows_the_facts_of_a_fit(tmp_path: Path) -> None:
    """What was assumed cannot be called public afterwards, nor a rule that shaped nothing be left out."""
    ledger, rule = tmp_path / "l.ledger", sklar.rules.Expression("`n` <= 9")
    schema = sklar.Schema(COLUMNS, rules=[rule])
    options = {"method": "independent", "epsilon": 1.0, "read": sklar.ReadOptions(null_values=["?"])}
    model = sklar.fit(rows().to_pandas(), schema, ledger=ledger, new_ledger=True, **options)
    model.save(tmp_path / "true.sklar")
    assert sklar.verify(tmp_path / "true.sklar", ledger=ledger).ok
    stored, claim = model._stored, model.claim
    public = sklar.Schema({name: replace(column, source="public") for name, column in COLUMNS.items()}, rules=[rule])
    known = tuple(fact for fact in claim.assumed if "." in fact)
    forged = [
        replace(stored, schema=public, claim=replace(claim, public=known, assumed=("rows_per_person",))),
        replace(stored, schema=sklar.Schema(COLUMNS), claim=replace(claim, rules=())),
        replace(stored, claim=replace(claim, reading=()), fit={k: v for k, v in stored.fit.items() if k != "reading"}),
    ]
    for number, one in enumerate(forged):
        Model(one).save(tmp_path / f"{number}.sklar")
        found = sklar.verify(tmp_path / f"{number}.sklar", ledger=ledger)
        assert [check.part for check in found.checks if check.ok is False] == ["ledger"], number


def test_a_ledger_knows_options_however_they_were_written(tmp_path: Path) -> None:
    ledger = tmp_path / "l.ledger"
    for number, options in enumerate([{"shares": [2, 4, 1], "groups": [8, 8]}, {"sums": 0, "depth": 2}]):
        model = sklar.fit(rows(), sklar.Schema(COLUMNS), epsilon=np.int64(3), ledger=ledger,
                          new_ledger=not ledger.exists(), **options)  # fmt: skip
        model.save(tmp_path / f"{number}.sklar")
        assert sklar.verify(tmp_path / f"{number}.sklar", ledger=ledger).ok


def test_who_confirmed_the_person_stands_in_the_claim(tmp_path: Path) -> None:
    schema = sklar.Schema(COLUMNS, person=replace(VOTES, source="from-rows")).confirm("person", by="A. Keller")
    claim = sklar.fit(rows(), schema, method="independent", epsilon=1.0).claim
    assert {"person.key", "person.rows"} <= set(claim.assumed)
    assert claim.confirmed == (("A. Keller", ("person.key", "person.rows")),)
    assert "Facts of person confirmed by A. Keller." in str(claim)

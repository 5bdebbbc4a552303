"""The words of a claim: what is promised, to whom, and what it rests on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sklar
from sklar.accounting.claim import Claim, FactPrice, LedgerTotal, claim_from_dict

ROOT = Path(sklar.__file__).parents[2]
FRAME = pd.DataFrame({"key": range(60), "age": [20, 30, 40] * 20, "sex": ["F", "M", "M"] * 20, "code": [1, 2, 1] * 20})
SCHEMA = sklar.Schema(
    {
        "key": sklar.Id(source="public"),
        "age": sklar.Integer(0, 99, missing_value=1),
        "sex": sklar.Category(["F", "M"], nullable=True),
        "code": sklar.Category([1, 2]),
        "gone": sklar.Ignore(),
    }
)


def claim(**options: Any) -> Claim:
    return sklar.fit(FRAME, SCHEMA, **{"method": "independent", "epsilon": 1.0, **options}).claim


def test_delta_is_added_and_is_no_probability_of_failure() -> None:
    text = str(claim(delta=1e-7))
    assert "exp(1) times as likely, plus at most 1e-07, with as without any single person" in text
    assert "plus at most" not in str(claim(delta=0.0))


def test_under_replace_somebody_else_stands_there() -> None:
    text = str(claim(neighbours="replace"))
    assert "whoever stands in any one person's place" in text and "without any single person" not in text


def test_the_first_sentence_names_the_change_that_is_protected() -> None:
    for relation, words in (
        ("add-remove", "for adding or removing one person"),
        ("replace", "for replacing one person"),
    ):
        made = claim(neighbours=relation)
        assert words in made.first_sentence and str(made).startswith(made.first_sentence + " ")


def test_nobody_says_that_a_bound_fails_with_probability_delta() -> None:
    pages = [*ROOT.glob("docs/*.md"), ROOT / "README.md", *ROOT.glob("src/sklar/cli/*.py"), *ROOT.glob("src/**/fit.py")]
    wrong = re.compile(r"except\s+(>\s+)?with\s+probability|may fail", re.IGNORECASE)
    assert len(pages) > 25
    assert [page.name for page in pages if wrong.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(("rows", "words"), [(1, "more than 1 row in"), (3, "more than 3 rows in")])
def test_who_is_a_person_is_a_fact_to_vouch_for(rows: int, words: str) -> None:
    made = claim(rows_per_person=rows)
    assert "rows_per_person" in made.assumed
    assert f"Taken as known without looking at the rows: that no person has {words} the table" in str(made)


def test_kinds_and_what_cannot_be_measured_are_listed() -> None:
    made = claim()
    listed = {"age.kind", "age.missing_value", "sex.other", "code.integer_labels", "gone.kind", "sex.nullable"}
    assert listed <= set(made.assumed) and "key.kind" in made.public
    assert "sex.integer_labels" not in made.assumed
    assert "age (kind, lower, upper, missing_value)" in str(made) and "Taken as public: key (kind)" in str(made)
    alike = sklar.fit(FRAME, sklar.Schema({"age": SCHEMA["age"], "key": sklar.Id()}), method="independent", epsilon=1)
    text = str(alike.claim)
    assert "the kind of every column; which columns may have missing values; age (lower, upper, missing_value)" in text


def test_how_the_rows_were_read_is_listed(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    query = "SELECT *\n FROM data WHERE try_cast(age AS int) > 3"
    reader = {"sql": query, "null_values": ["NA", "?"]}
    made = sklar.fit(tmp_path / "p.csv", SCHEMA, method="independent", epsilon=1.0, read=reader).claim
    assert "that the table is what this query gives: SELECT * FROM data WHERE try_cast(age AS int) > 3;" in str(made)
    assert "that 'NA', '?' stand for a missing value" in str(made)
    assert ("sql", query) in made.reading and "rows_are_rows" not in str(made)
    told = replace(made, reading=(*made.reading, ("rows_are_rows", "true")))
    assert "no rows of its result but that person's own (rows_are_rows)" in str(told)


@pytest.mark.parametrize("cap", [None, (3.0, 1e-8)])
def test_a_crash_is_told_with_what_the_bound_then_rests_on(cap: tuple[float, float] | None) -> None:
    total = LedgerTotal(name="people", fits=1, epsilon=1.2, delta=1e-9, cap=cap)
    made = replace(claim(), ledger=total)
    assert "crash" not in str(made)
    text = str(replace(made, repeated=True))
    assert "rests on the crash, and on the choice to go on, not having depended on the rows" in text
    assert ("the cap holds in any case" in text) == (cap is not None)


def test_the_record_holds_all_of_it() -> None:
    price = FactPrice(fit="a", ledger="people", epsilon=1.0, delta=0.0, charged_here=True)
    full = replace(claim(), prices=(price,), unpriced=("age.lower",), reading=(("null_value", "?"),), repeated=True)
    assert claim_from_dict(json.loads(json.dumps(full.to_dict()))) == full


def test_a_record_that_knows_no_prices_does_not_pass_for_complete() -> None:
    record = replace(claim(), measured=("age.lower",)).to_dict()
    for name in ("own", "prices", "unpriced", "reading", "repeated", "complete"):
        del record[name]
    assert not claim_from_dict(record).complete
    assert claim_from_dict({**record, "measured": []}).complete


@pytest.mark.parametrize("epsilon", [1.0, 0.1 + 0.2, 1.23456149, 2 / 3, 0.99999949, 12.3456712])
def test_what_is_printed_never_promises_more_than_what_was_proved(epsilon: float) -> None:
    text = str(replace(claim(), epsilon=epsilon, delta=1.0000004e-9))
    shown = float(re.search(r"with epsilon = (\S+) and", text)[1])
    assert epsilon * (1 - 1e-12) <= shown <= epsilon * (1 + 1e-5)
    assert "delta = 1.00001e-9" in text

"""Questions about what was read off rows, and the answers: what they change, and who gave them."""

from __future__ import annotations

import stat
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sklar
import sklar.schema.columns
from sklar.errors import SchemaError, UnconfirmedFactError, UsageError
from sklar.schema import AtMost, Boolean, Category, Datetime, Id, Ignore, Integer, Never, Ordinal, Real, Schema
from sklar.schema.confirming import Confirmation, parse_fact
from sklar.schema.table import schema_from_toml, schema_to_toml
from sklar.schema.toml import KINDS

ROWS = "from-rows"
NOTES = {"": ("read me",), "age": ("whole numbers from 1 to 90. Is that its range?", 'a "quoted" note # two')}


def draft() -> Schema:
    return Schema(
        {
            "key": Id(source=ROWS),
            "age": Integer(1, 90, edges=(1, 10, 91), missing_value=5, source=ROWS),
            "fee": Real(0, 9.5, decimals=1, atoms=(0, 5), source=ROWS),
            "sex": Category(["F", "M"], source=ROWS),
            "mood": Ordinal(["low", "high"], source=ROWS),
            "day": Datetime("2020-01-01", "2020-12-31", source=ROWS),
            "smoker": Boolean(source=ROWS),
            "a.b c": Integer(0, 3, source={"upper": ROWS, "lower": "public"}),
            "known": Integer(0, 3),
        },
        notes=NOTES,
    )


def test_there_is_a_question_for_each_column_that_nobody_confirmed() -> None:
    asked = {question.column: question for question in draft().questions()}
    assert list(asked) == [name for name in draft() if name != "known"]
    assert asked["age"].notes == NOTES["age"] and "Is that its range?" in str(asked["age"])
    assert asked["a.b c"].facts == ("upper",)
    payable = {name: question.payable for name, question in asked.items()}
    assert payable["key"] == payable["mood"] == payable["smoker"] == ()
    assert payable["age"] == payable["day"] == ("lower", "upper", "nullable")
    assert payable["sex"] == ("values", "nullable")


def test_every_question_can_be_answered_and_then_a_fit_is_not_refused() -> None:
    schema = draft()
    for question in draft().questions():
        schema = schema.confirm(question.column, by="Ada")
    schema.require_confirmed()
    assert not schema.questions() and not schema.notes.get("") and not schema.notes.get("age")
    assert {fact for one in schema.confirmed for fact in one.facts} >= {"age.lower", "a.b c.upper", "key.kind"}
    assert "a.b c.lower" not in schema.confirmed[0].facts  # it was public before
    assert schema["age"] == Integer(1, 90, edges=(1, 10, 91), missing_value=5)


def test_new_bounds_drop_what_they_make_wrong() -> None:
    schema = draft().confirm("age", lower=10, upper=120, by="Ada").confirm("fee", upper=4.0).confirm("age", "fee")
    assert schema["age"] == Integer(10, 120)
    assert schema["fee"] == Real(0, 4.0, decimals=1, atoms=(0,))
    assert schema.confirmed == (Confirmation(by="Ada", facts=("age.lower", "age.upper")),)


def test_a_fact_that_is_named_is_confirmed_alone() -> None:
    schema = draft().confirm("age", lower=10, by="Ada")
    asked = {question.column: question for question in schema.questions()}
    assert asked["age"].facts[:2] == ("kind", "upper") and asked["age"].notes == NOTES["age"]
    with pytest.raises(UnconfirmedFactError, match="column 'age': kind, upper"):
        schema.require_confirmed()


def ruled() -> Schema:
    rules = [
        AtMost(low="age", high="child", source=ROWS), Never(values={"sex": "M", "age": 7}),
        Never(values={"sex": "F", "age": 8}, source=ROWS),
    ]  # fmt: skip
    return Schema({"age": Integer(0, 90), "child": Integer(0, 90), "sex": Category(["F", "M"])}, rules)


def test_a_rule_that_was_read_off_rows_is_asked_about_and_refused(tmp_path: Path) -> None:
    schema = ruled()
    assert [(q.column, q.kind, q.payable) for q in schema.questions()] == [
        ("rule 1", "at-most", ()),
        ("rule 3", "never", ()),
    ]
    with pytest.raises(UnconfirmedFactError, match="rule 1: age is at most child"):
        schema.require_confirmed()
    rows = {"age": [1, 2] * 40, "child": [3, 4] * 40, "sex": ["F", "M"] * 40}
    with pytest.raises(UnconfirmedFactError, match="rule 1"):
        sklar.fit(rows, schema, method="independent", epsilon=1.0)
    schema.write(tmp_path / "s.toml")
    assert Schema.read(tmp_path / "s.toml") == schema and stat.S_IMODE((tmp_path / "s.toml").stat().st_mode) == 0o600
    kept = schema.confirm("rule 1", by="Ada", source="public")
    assert kept.rules[0] == AtMost(low="age", high="child", source="public")
    assert kept.confirmed == (Confirmation(by="Ada", facts=("rules.age is at most child",)),)
    done = kept.confirm("rule 3", kind="ignore")
    done.require_confirmed()
    assert done.rules == (kept.rules[0], schema.rules[1]) and not done.questions()
    claim = sklar.fit(rows, done, method="independent", epsilon=1.0).claim
    assert claim.confirmed == (("Ada", ("rules.age is at most child",)),)
    assert "The rule 'age is at most child' confirmed by Ada." in str(claim)
    both = done.confirm("age", lower=0, upper=80, by="Ada")
    said = str(sklar.fit(rows, both, method="independent", epsilon=1.0).claim)
    assert "Facts of age and the rule 'age is at most child' confirmed by Ada." in said, said


def test_a_schema_is_told_a_line_a_column_and_a_rule() -> None:
    told = str(ruled()).splitlines()
    assert len(told) == len(ruled()) + len(ruled().rules) and told[0].startswith(f"{ruled().names[0]}: ")
    assert "rule 1: age is at most child (not confirmed)" in told
    assert "(not confirmed)" not in str(ruled().confirm("rule 1")).splitlines()[len(ruled())]


def test_many_open_facts_are_told_briefly() -> None:
    names = [f"x{i}" for i in range(30)]
    with pytest.raises(UnconfirmedFactError) as caught:
        Schema({name: Integer(0, 9, source="from-rows") for name in names}).require_confirmed()
    assert len(caught.value.faults) == 30 and "x7" in str(caught.value) and "; and 22 more" in str(caught.value)
    assert len(str(caught.value)) < 800


def test_a_column_that_is_called_rules_is_no_rule() -> None:
    schema = Schema({"rules": Integer(0, 9)}).confirm("rules", upper=8, by="Ada")
    claim = sklar.fit({"rules": [1, 2] * 40}, schema, method="independent", epsilon=1.0).claim
    assert claim.confirmed == (("Ada", ("rules.upper",)),) and "the rule" not in str(claim).lower()
    assert "Facts of rules" in str(claim)


def test_a_rule_is_confirmed_as_it_stands_or_not_at_all() -> None:
    for answer in ({"pay": True}, {"low": "sex"}):
        with pytest.raises(UsageError, match="as it stands"):
            ruled().confirm("rule 1", **answer)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no column 'rule 4'"):
        ruled().confirm("rule 4")
    with pytest.raises(SchemaError, match="source must be one of"):
        Schema({"a": Integer(0, 1)}, [Never(values={"a": 1}, source="pay")])


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("sex", {"values": ["F", "M", "other"]}, Category(["F", "M", "other"])),
        ("sex", {"kind": "ordinal"}, Ordinal(["F", "M"])),
        ("age", {"kind": "real"}, Real(1, 90)),
        ("age", {"kind": "ignore"}, Ignore()),
        ("smoker", {"kind": "category", "values": ["n", "y"], "nullable": True}, Category(["n", "y"], nullable=True)),
        ("age", {"missing_value": None, "nullable": True}, Integer(1, 90, edges=(1, 10, 91), nullable=True)),
    ],
)  # fmt: skip
def test_answers_that_correct(name: str, facts: dict[str, Any], expected: Any) -> None:
    assert draft().confirm(name, **facts).confirm(name)[name] == expected


def test_what_is_to_be_paid_for_keeps_nothing_that_only_the_rows_told() -> None:
    paid = draft().confirm("age", "fee", "sex", "day", pay=True, by="Ada")
    assert paid["fee"] == Real(0, 9.5, source=dict.fromkeys(("lower", "upper", "nullable"), "pay"))
    assert paid["age"].edges == ()  # type: ignore[attr-defined]
    assert paid["sex"].provenance("values") == "pay" and paid["sex"].provenance("kind") == "assumed"
    assert "age.kind" in paid.confirmed[0].facts and "age.lower" not in paid.confirmed[0].facts


@pytest.mark.parametrize(
    ("names", "answer", "words"),
    [
        ((), {}, "name the column"),
        (("aeg",), {}, "did you mean 'age'"),
        (("mood",), {"pay": True}, "can be measured"),
        (("age",), {"pay": True, "lower": 3}, "not stated"),
        (("age",), {"values": [1]}, "has no 'values'"),
        (("smoker",), {"kind": "integer"}, "needs lower and upper"),
        (("smoker",), {"kind": "float"}, "kind must be one of"),
        (("age",), {"source": "measured"}, "source must be one of"),
    ],
)
def test_answers_that_are_refused(names: tuple[str, ...], answer: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        draft().confirm(*names, **answer)


def test_an_answer_is_checked_like_any_schema() -> None:
    with pytest.raises(SchemaError, match="lower <= upper"):
        draft().confirm("age", lower=99, upper=3)
    with pytest.raises(SchemaError, match="by must name"):
        draft().confirm("age", by="two\nlines")


def test_a_fact_is_vouched_for_by_whoever_spoke_last() -> None:
    schema = draft().confirm("sex", by="Ada").confirm("age", by="Bob").confirm("sex", values=["F", "M", "X"], by="Bob")
    by = {one.by: one.facts for one in schema.confirmed}
    assert "sex.values" in by["Bob"] and "sex.values" not in by["Ada"] and "sex.kind" in by["Ada"]


def test_notes_and_names_go_through_the_file_and_count_for_nothing_else(tmp_path: Path) -> None:
    schema = draft().confirm("sex", by="Ada Lovelace")
    schema.write(tmp_path / "s.toml")
    again = Schema.read(tmp_path / "s.toml")
    assert again == schema and again.notes == schema.notes == NOTES
    assert again.fingerprint == Schema(dict(schema), confirmed=schema.confirmed).fingerprint
    assert schema_from_toml(schema_to_toml(schema)) == schema and not schema_from_toml(schema_to_toml(schema)).notes


def test_comments_of_other_forms_are_kept_as_notes(tmp_path: Path) -> None:
    text = '# ours\n\n# by hand\n# - listed\n#   goes on\n[columns."a b"]\nkind = "boolean" # gone\n'
    (tmp_path / "s.toml").write_text(text)
    assert Schema.read(tmp_path / "s.toml").notes == {"a b": ("ours", "by hand", "listed goes on")}


def test_only_the_owner_reads_what_may_come_from_rows(tmp_path: Path) -> None:
    def mode(schema: Schema) -> int:
        schema.write(tmp_path / "s.toml")
        return stat.S_IMODE((tmp_path / "s.toml").stat().st_mode)

    known = draft()
    for question in draft().questions():
        assert mode(known) == 0o600
        known = known.confirm(question.column)
    assert mode(known) & 0o077
    assert mode(draft().confirm("age", pay=True)) == 0o600


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("confirmed = 3", r"confirmed must be a list of tables \[\[confirmed\]\]"),
        ('[[confirmed]]\nby = "x"', "confirmed 1: it needs exactly by, facts"),
        ('[[confirmed]]\nby = ""\nfacts = ["a.kind"]', "by must name a person"),
        ('[[confirmed]]\nby = "x"\nfacts = ["a"]', "facts must be a list of texts"),
    ],
)
def test_faults_of_confirmations(entry: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema_from_toml(f'{entry if entry.startswith("confirmed") else ""}\n[columns.a]\nkind = "boolean"\n'
                         f'{"" if entry.startswith("confirmed") else entry}')  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fact", "text", "expected"),
    [
        (Integer, "lower", "1_000", 1000), (Real, "upper", "2.5", 2.5), (Integer, "bins", "none", None),
        (Integer, "edges", "0, 5,10", (0, 5, 10)), (Category, "values", "New York, Rome", ("New York", "Rome")),
        (Datetime, "lower", "2020-01-01", "2020-01-01"), (Boolean, "missing_value", "yes", True),
        (Integer, "nullable", "No", False), (Category, "kind", "ordinal", "ordinal"),
    ],
)  # fmt: skip
def test_facts_as_somebody_writes_them(kind: Any, fact: str, text: str, expected: Any) -> None:
    assert parse_fact(kind, fact, text) == expected


def test_integer_labels_stay_integers() -> None:
    assert parse_fact(Category, "values", "1,2", Category([1])) == (1, 2)
    assert parse_fact(Category, "other", "-9", Category([1])) == -9
    with pytest.raises(UsageError, match="is a number; found 'x'"):
        parse_fact(Category, "values", "1,x", Category([1]))


def test_who_confirmed_is_in_the_claim() -> None:
    rows = {"age": [20, 30, 40] * 20, "sex": ["F", "M", "M", "M"] * 15}
    schema = sklar.draft_schema(rows).confirm("age", lower=0, upper=99, by="Ada").confirm("age", by="Ada")
    half = sklar.fit(rows, schema.confirm("sex"), method="independent", epsilon=1.0).claim
    assert "Facts of age confirmed by Ada." in str(half) and half.confirmed[0][0] == "Ada"
    whole = sklar.fit(rows, schema.confirm("sex", by="Ada"), method="independent", epsilon=1.0).claim
    assert "Facts of all columns confirmed by Ada." in str(whole)


def test_a_baseline_without_a_schema_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"draft_schema\(data\).*schema\.questions\(\).*schema\.confirm"):
        sklar.fit({"age": [1, 2]}, method="cop", no_guarantee=True)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_whatever_a_column_states_is_a_fact_with_a_source(kind: type[sklar.schema.columns.Column]) -> None:
    stated = {field.name for field in fields(kind)} - {"source"}
    assert stated <= set(kind.facts) <= stated | {"kind", "integer_labels"}


PARTS = [
    (Category(["I21", "I50"], levels=[1]), "levels", "grouped by the first 1 characters"),
    (Category(["I21", "I50"], parents={"I21": "heart", "I50": "heart"}), "parents", "grouped under 1 parents"),
    (Datetime("2020-01-01", "2024-12-31", calendar=["month"]), "calendar", "calendar parts: month"),
    (Datetime("2020-01-01", "2024-12-31", calendar=[]), "calendar", "calendar parts: none"),
    (Id(prefix="P-"), "prefix", "new keys begin with 'P-'"),
]


@pytest.mark.parametrize(("column", "fact", "words"), PARTS, ids=[fact for _, fact, _ in PARTS])
def test_hierarchies_calendars_and_prefixes_are_confirmed_claimed_and_never_paid_for(
    column: Any, fact: str, words: str
) -> None:
    frame = pd.DataFrame({"c": ["2020-05-01"] * 50, "b": [True, False] * 25})
    drafted = Schema({"c": replace(column, source={fact: ROWS}), "b": Boolean()})
    (question,) = drafted.questions()
    assert question.facts == (fact,) and fact not in question.payable and words in question.says
    with pytest.raises(UnconfirmedFactError, match=fact):
        sklar.fit(frame, drafted, method="independent", epsilon=1.0)
    assert schema_from_toml(schema_to_toml(drafted)) == drafted
    confirmed = drafted.confirm("c", by="Ada")
    claim = sklar.fit(frame, confirmed, method="independent", epsilon=1.0).claim
    assert f"c.{fact}" in claim.assumed and any(f"c.{fact}" in facts for _, facts in claim.confirmed)
    for word in ("pay", "measured"):
        with pytest.raises(SchemaError, match=f"{fact} cannot be measured"):
            Schema({"c": replace(column, source={fact: word})})


def test_a_hierarchy_from_the_rows_does_not_outlast_a_payment() -> None:
    """Only the kind is known: levels that nobody confirmed would be taken as known without a word."""
    drafted = Schema({"icd": Category(["I21", "J18"], levels=[1], source=ROWS)})
    paid: Any = drafted.confirm("icd", pay=True)["icd"]
    assert paid.levels == () and paid.provenance("values") == "pay"
    known = drafted.confirm("icd", levels=[1]).confirm("icd", pay=True)["icd"]
    assert known.levels == (1,)  # type: ignore[attr-defined]


def test_a_column_that_states_nothing_of_the_kind_claims_nothing_of_it() -> None:
    frame = pd.DataFrame({"k": range(50), "c": ["F", "M"] * 25, "d": ["2020-05-01"] * 50})
    plain = Schema({"k": Id(), "c": Category(["F", "M"]), "d": Datetime("2020-01-01", "2024-12-31")})
    claim = sklar.fit(frame, plain, method="independent", epsilon=1.0).claim
    told = {fact.rpartition(".")[2] for fact in (*claim.assumed, *claim.public)}
    assert not told & {"levels", "parents", "calendar", "prefix"}


def test_hierarchies_are_said_at_a_terminal() -> None:
    assert parse_fact(Category, "levels", "1, 3") == (1, 3)
    assert parse_fact(Category, "parents", "I21: heart, J18: lung") == {"I21": "heart", "J18": "lung"}
    with pytest.raises(UsageError, match="pairs of a label"):
        parse_fact(Category, "parents", "I21")

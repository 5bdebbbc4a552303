"""Guesses about odd columns: the kind that a custodian would choose, with facts that fit the rows they come from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sklar.lab.drafting.draft import Draft, draft_schema
from sklar.lab.tables.checks import ColumnAudit, audit_schema
from sklar.schema import Boolean, Category, Datetime, Id, Ignore, Integer, Labels, Ordinal, Real, Schema
from tests.lab.tables import odd_columns, odd_table

NOT_READ = {"integer junk", "datetime some"}
"""Columns that hold texts which are not values, and so become null."""


SCALES = {"integer rating", "integer count", "integer junk", "integer signed"}
"""Short runs of whole numbers without a gap, which keep their ends."""


@pytest.fixture(scope="module")
def odd() -> Draft:
    return draft_schema(odd_table(), rows=10**6)


@pytest.fixture(scope="module")
def audits(odd: Draft) -> dict[str, ColumnAudit]:
    return {found.column: found for found in audit_schema(odd_table(), odd).columns}


def one(values: Any, name: str = "x", **more: Any) -> Any:
    """The draft of a single column, next to one that is surely modelled."""
    return draft_schema(pa.table({name: values, "sure": [i % 2 == 0 for i in range(len(values))]}), rows=10**6, **more)[
        name
    ]


@pytest.mark.parametrize("name", list(odd_columns()))
def test_kinds(odd: Draft, name: str) -> None:
    assert odd[name].kind == name.split()[0], odd.notes[name]
    assert odd.notes[name]


@pytest.mark.parametrize("name", [n for n in odd_columns() if n.split()[0] not in ("id", "ignore")])
def test_a_draft_fits_its_own_rows(odd: Draft, audits: dict[str, ColumnAudit], name: str) -> None:
    found = audits[name]
    assert found.below == found.above == 0
    assert (found.unreadable > 0) == (name in NOT_READ)
    assert (found.other > 0) == (name == "category job")
    assert getattr(odd[name], "nullable") == (found.missing + found.unreadable > 0)  # noqa: B009


def test_every_fact_of_the_rows_is_marked(odd: Draft) -> None:
    marked = set(odd.facts_by_provenance("from-rows"))
    for name, column in odd.items():
        assert "kind" in column.facts
        assert {(name, fact) for fact in column.facts} <= marked
    with pytest.raises(Exception, match="from-rows"):
        odd.require_confirmed()


def test_bounds_are_round_and_leave_little_of_the_range_unused(odd: Draft) -> None:
    for name, values in odd_columns().items():
        column = odd[name]
        if isinstance(column, Real | Integer) and name not in SCALES and column.format is None:
            numbers = [v if type(v) is int else float(v) for v in values if v not in (None, "NA")]
            assert column.lower <= min(numbers) and column.upper >= max(numbers)
            unused = (column.upper - column.lower) - (max(numbers) - min(numbers))
            by_name = "age" in name or name == "real probability"
            assert by_name or unused <= 0.21 * (max(numbers) - min(numbers)) or max(numbers) >= 2**53


def test_details_of_some_guesses(odd: Draft) -> None:
    zipcode, q1, job = odd["category zip"], odd["category q1"], odd["category job"]
    assert isinstance(zipcode, Category) and zipcode.values == ("00501", "01002", "02139", "60601", "90210")
    assert isinstance(q1, Category) and q1.values == (1, 2, 9)
    assert isinstance(job, Category) and 5 < len(job.values) < 60
    assert isinstance(odd["integer age"], Integer) and (odd["integer age"].lower, odd["integer age"].upper) == (0, 120)
    weight, zeros, text = odd["real weight"], odd["real zeros"], odd["real text"]
    assert isinstance(weight, Real) and weight.atoms == (999.0,) and weight.decimals == 1
    assert isinstance(zeros, Real) and zeros.atoms == (0.0,)
    assert isinstance(text, Real) and text.lower == pytest.approx(0, abs=10)
    assert isinstance(odd["real probability"], Real) and odd["real probability"].upper == 1
    iso, us, stamp = odd["datetime iso"], odd["datetime us"], odd["datetime stamp"]
    assert isinstance(iso, Datetime) and (iso.lower, iso.format, iso.resolution) == ("2019-01-01", None, "day")
    assert isinstance(us, Datetime) and us.format == "%m/%d/%Y"
    assert isinstance(stamp, Datetime) and stamp.resolution == "minute"
    assert isinstance(odd["datetime zoned"], Datetime) and odd["datetime zoned"].resolution == "hour"


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("ordinal often", ("Never", "Sometimes", "Often", "always")),
        ("ordinal band", ("<18", "18-25", "26-40", "41-65", "65+")),
        ("ordinal pay", ("under $11k", "$11-$25k", "$25-$50k", ">$50k")),
        ("ordinal stage", ("Stage I", "Stage II", "Stage III")),
        ("ordinal grade", ("Grade 1", "Grade 2", "Grade 10")),
        ("ordinal pain", ("none", "mild", "moderate", "severe")),
        ("ordinal education", ("1st-4th", "HS-grad", "Bachelors", "Doctorate")),
    ],
)
def test_ordered_words(odd: Draft, name: str, order: tuple[str, ...]) -> None:
    column = odd[name]
    assert isinstance(column, Ordinal)
    assert column.values == order


@pytest.mark.parametrize("name", ["real income", "real balance", "integer wide"])
def test_skewed_numbers_get_finer_cells_near_the_bulk(odd: Draft, name: str) -> None:
    column = odd[name]
    assert isinstance(column, Real | Integer) and 50 < len(column.edges) < 1000
    values = np.array(odd_columns()[name], dtype=column.grid.starts.dtype)
    coarse = (Real if isinstance(column, Real) else Integer)(column.lower, column.upper)  # type: ignore[arg-type]
    share = np.bincount(column.grid.code(values)).max() / len(values)
    coarse_share = np.bincount(coarse.grid.code(values)).max() / len(values)
    assert share < 0.1 < coarse_share


def test_rare_labels_are_never_written(odd: Draft) -> None:
    values = ["common"] * 500 + ["frequent"] * 480 + [f"SECRET{i}" for i in range(20)]
    made = draft_schema(pa.table({"x": values}), rows=10**6)
    assert isinstance(made["x"], Labels) and made["x"].values == ("common", "frequent")
    assert "SECRET" not in made.toml() + made.todo
    assert "left out" in made.todo


def test_notes_say_what_to_do(odd: Draft) -> None:
    todo = odd.todo
    assert "rows_per_person" in " ".join(odd.notes["id patient_id"])
    assert "code for missing" in " ".join(odd.notes["real weight"])
    assert "day and month" in " ".join(
        draft_schema(pa.table({"t": ["01/02/2020", "03/04/2020"] * 20}), rows=99).notes["t"]
    )
    assert all(f"* {name} (" in todo for name in odd.names)
    assert '"pay"' in todo and '"assumed"' in todo
    assert f"of the {odd_table().num_rows:,} rows, evenly spread" in draft_schema(odd_table(), rows=50).todo
    assert "first" not in draft_schema(pa.table({"x": [1, 2, 3]}), rows=3).todo


@pytest.mark.parametrize("word", ["NA", "?", "n/a", "-"])
def test_words_for_missing(word: str) -> None:
    number, label = one(["1.5", "2.5", word] * 30), one(["a", "b", word] * 30)
    assert isinstance(number, Real) and number.nullable
    assert isinstance(label, Category) and word in label.values
    assert one(["a", "b", word] * 30, read={"null_values": [word]}) == Category(
        ["a", "b"], nullable=True, source=label.sources
    )


def test_a_lone_word_among_numbers_or_dates_explains_missing_ones() -> None:
    values = [f"{x / 10:.1f}" for x in range(150, 350)]
    for written in (values, [text.replace(".", ",") for text in values]):
        column = one([*written, *["NR"] * 30, " nr"])
        assert isinstance(column, Real) and column.nullable and (column.lower, column.upper) == (15, 35)
    days = [f"{1 + at % 28:02}/{1 + at % 12:02}/2021" for at in range(300)]
    assert isinstance(one([*days, *["inconnue ?"] * 40]), Datetime)
    assert isinstance(one([*values, *["NR"] * 30, *["low"] * 30]), Ignore)  # two words are values
    assert isinstance(one([*["1", "2", "3"] * 40, *["nul"] * 30]), Category)  # and so are words beside a short scale


@pytest.mark.parametrize("form", ["1,234.56 €", "1.234,56 kg", "1 234,56 €", "1'234.56 €", "1234.56 mg/l"])
def test_units_are_found_after_any_form_of_a_number(form: str) -> None:
    number, unit = form.split()[:-1], form.split()[-1]
    separator, decimal = form[1].removesuffix("2"), " ".join(number)[-3]
    signs = str.maketrans({",": separator, ".": decimal})
    texts = [f"{0.37 * x:,.2f}".translate(signs) for x in range(300, 30_000, 99)]
    column = one([f"{text} {unit}" for text in texts], name="cost")
    assert isinstance(column, Real) and column.format == form
    some = one([text if at % 9 == 0 else f"{text} {unit}" for at, text in enumerate(texts)], name="cost")
    assert isinstance(some, Real) == (unit != "mg/l")  # only a usual unit may be absent


def test_numbers_that_stand_for_null_are_left_out() -> None:
    column = one([1.5, 2.5, 3.5, -99.0] * 20, read={"null_values": ["-99"]})
    assert isinstance(column, Real) and column.lower >= 0 and column.nullable


@pytest.mark.parametrize("x", [0.0, 1.0, -1.0, 3.7, 1e-12, 1e15, -123456.0])
def test_two_values_are_enough_for_valid_bounds(x: float) -> None:
    for values in ([x, x + abs(x) * 1e-3 + 1e-14], [x, 2 * x + 0.5], [x - 1e9, x]):
        column = one(values * 30)
        assert not column.faults()
        assert not isinstance(column, Real) or (column.lower <= min(values) and max(values) <= column.upper)


def test_extreme_numbers_do_not_break_the_draft() -> None:
    for values in (
        [1.7e308, -1.7e308],
        [1.7e308, 1.6e308],
        [5e-324, 1e-323],
        [math.inf, 1.5],
        [2**63 - 1, -(2**63)],
        [1e18, 1e19],
    ):
        table = pa.table({"x": values * 30, "sure": [True, False] * 30})
        schema = draft_schema(table, rows=99)
        assert Schema(dict(schema)).names == ("x", "sure")


def test_few_rows() -> None:
    made = draft_schema({"x": ["a"], "y": [1], "z": [2.5], "id": [7]}, rows=9)
    assert len(made) == 4
    assert isinstance(draft_schema({"id": list(range(30)), "y": [1, 2] * 15}, rows=99)["id"], Id)


def test_booleans_only_as_clear_pairs() -> None:
    assert isinstance(one(["yes", "no"] * 20), Boolean)
    assert isinstance(one(["yes", "no", "maybe"] * 20), Category)
    assert isinstance(one(["t", "no"] * 20), Category)
    assert isinstance(one([0, 1] * 20), Boolean)
    assert isinstance(one([1, 2] * 20), Integer)


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        (list(range(18, 97)), (0, 120)),
        (list(range(60)), (0, 120)),
        ([2, 3, 4, 5, 6, 7, 8, 9], (2, 9)),
        (list(range(3, 18)), (3, 17)),
        ([*range(3, 18), 30], (3, 30)),
    ],
)
def test_a_range_by_name_is_used_where_the_values_fill_it(values: list[int], bounds: tuple[int, int]) -> None:
    column = one(values * 30, name="age")
    assert isinstance(column, Integer) and (column.lower, column.upper) == bounds


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([x / 10 for x in range(10, 101)], (1, 10)),  # ratings
        ([17.5, 22, 27, 32, 37, 42] * 20, (17.5, 42)),  # the ends are values of many rows
        ([*range(50, 90), 101], (50, 105)),  # a single oldest person is not quoted
        ([0.4, 1.1, 2.7, 10.8], (0, 11)),
        ([-3.6, 0.1, 2.2, 4.05], (-4, 4.5)),
    ],
)
def test_bounds_stay_where_the_values_end(values: list[float], bounds: tuple[float, float]) -> None:
    column = one(values, name="size")
    assert isinstance(column, Real | Integer) and (column.lower, column.upper) == bounds


def test_few_fractions_are_kept_exact() -> None:
    column = one([17.5, 22.5, 27.5, 32.5, 37.5, 42.5] * 20, name="x")
    assert isinstance(column, Real) and set(column.atoms) == {22.5, 27.5, 32.5, 37.5, 42.5}


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("2023-05-{:02d} 07:15", "%Y-%m-%d %H:%M"),
        ("2023-05-{:02d} 07:15:30", "%Y-%m-%d %H:%M:%S"),
        ("2023-05-{:02d}T07:15", None),
    ],
)
def test_times_are_written_as_they_were(written: str, form: str | None) -> None:
    texts = [written.format(day) for day in range(1, 29)]
    assert draft_schema(pd.DataFrame({"at": texts}))["at"].format == form  # type: ignore[attr-defined]
    mixed = [texts[0].replace(" ", "T"), *texts[1:]]
    assert draft_schema(pd.DataFrame({"at": mixed}))["at"].format is None  # type: ignore[attr-defined]


def test_ages_in_decades_stay_decades() -> None:
    column = one(list(range(20, 90, 10)) * 30, name="age")
    assert isinstance(column, Integer) and column.step == 10
    assert one([20, 30, 70] * 30, name="age").step is None


def test_decimals_are_those_of_ninety_nine_in_a_hundred_rows() -> None:
    tenths = [round(0.1 * i, 1) for i in range(1, 1200)]
    assert one([*tenths, *[0.123456] * 5]).decimals == 1
    assert one([*tenths, *[0.123456] * 50]).decimals == 6
    assert one([*tenths, *[99.0404] * 300]).decimals == 1  # a declared value has digits of its own


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("doctor", ["Dr. Okoro", "Dr. Lind", "Dr Wu"]),
        ("doctor", ["Ngozi Okoro", "Per Lind", "Bo Wu"]),
        ("treated_by", ["Anna", "Petra", "Zbigniew", "Karl"]),
        ("seen", ["Smith, John", "Okoro, Mary", "Lind, Per"]),
        ("employeeName", ["Okoro", "Lind", "Wu"]),
        ("nurse", ["Anna Okoro"]),
        ("patient_first_name", ["jhezane", "penny", "grunt"]),
        ("Nachname", ["okoro", "lind", "wu"]),
    ],
)
def test_few_names_of_persons_are_no_category(name: str, values: list[str]) -> None:
    made = draft_schema(pa.table({name: values * 40, "sure": [True, False] * 20 * len(values)}), rows=10**6)
    assert made[name].kind == "ignore" and "persons" in " ".join(made.notes[name])
    assert values[0] not in made.toml() + made.todo


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("country_name", ["France", "Chad", "Jordan"]),
        ("brand", ["Martin", "Lee", "Scott"]),
        ("customer", ["Private", "Corporate"]),
        ("species", ["Iris setosa", "Iris virginica"]),
        ("job", ["Sales", "Office", "Mgr"]),
        ("race", ["White", "Black", "Asian"]),
        ("native-country", ["United-States", "Mexico"]),
        ("name", ["kind a", "kind b"]),
        ("first_drug_name", ["aspirin", "ibuprofen"]),
    ],
)
def test_names_of_things_stay_categories(name: str, values: list[str]) -> None:
    assert isinstance(one(values * 40, name=name), Category)


def test_words_that_usually_mean_a_missing_value_are_a_question() -> None:
    """Numbers read them as null in any case: the question is about labels."""
    city = ["rome"] * 40 + ["k.A."] * 20 + ["-"] * 20 + ["oslo"] * 40
    drafted = draft_schema(pa.table({"city": city, "age": [str(20 + i % 60) for i in range(110)] + ["NA"] * 10}))
    assert 'null_values = ["-", "k.A."]' in drafted.todo
    assert any("Does '-', 'k.A.' stand for a missing value?" in note for note in drafted.notes["city"])
    assert drafted["age"].kind == "integer" and drafted["age"].nullable  # type: ignore[attr-defined]
    assert "null_values" not in draft_schema(pa.table({"city": ["rome", "oslo"] * 40})).todo

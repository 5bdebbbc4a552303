"""The audit counts every row once, by the rules that the encoders follow."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from sklar.lab.tables.checks import ColumnAudit, audit_schema
from sklar.rows import open_rows
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema


def audit(column: object, values: object, **reader: object) -> ColumnAudit:
    found = audit_schema(pa.table({"x": values}), Schema({"x": column}), reader)  # type: ignore[dict-item]
    assert found.rows == len(values)  # type: ignore[arg-type]
    counts = found.columns[0]
    parts = (counts.inside, counts.below, counts.above, counts.other, counts.unreadable, counts.missing)
    assert sum(parts) == found.rows
    return counts


def parts(found: ColumnAudit) -> tuple[int, ...]:
    return found.inside, found.below, found.above, found.other, found.unreadable, found.missing


@pytest.mark.parametrize("nullable", [True, False])
def test_numbers(nullable: bool) -> None:
    texts = ["5", "10", " 7 ", "4", "-1e400", "11", "inf", "x", "nan", "", None, "  "]
    for kind in (Integer, Real):
        assert parts(audit(kind(5, 10, nullable=nullable), texts)) == (3, 2, 2, 0, 1, 4)
    assert parts(audit(Integer(5, 10), [5, 10, 4, 11, None])) == (2, 1, 1, 0, 0, 1)
    assert parts(audit(Real(5, 10), [5.0, 10.0, 4.9, 10.1, np.inf, None, np.nan])) == (2, 1, 2, 0, 0, 2)
    lowest = Integer(-(2**63), 0, nullable=nullable)
    assert parts(audit(lowest, [-(2**63), 0, 1])) == (2, 0, 1, 0, 0, 0)


def test_numbers_that_stand_for_null() -> None:
    assert parts(audit(Integer(0, 9), ["1", "-99", "NA", "z"], null_values=["-99", "NA"])) == (1, 0, 0, 0, 1, 2)
    assert parts(audit(Integer(0, 9), [1, -99, 12], null_values=["-99"])) == (1, 0, 1, 0, 0, 1)


def test_labels_and_booleans() -> None:
    assert parts(audit(Category(["a", "b"]), ["a", "b", "c", "A", "", None])) == (2, 0, 0, 2, 0, 2)
    assert parts(audit(Category([1, 2], nullable=True), [1, 2, 3, None])) == (2, 0, 0, 1, 0, 1)
    assert parts(audit(Boolean(), ["yes", "False", "0", "maybe", "", None])) == (3, 0, 0, 0, 1, 2)


def test_moments() -> None:
    column = Datetime("2020-01-01", "2020-12-31")
    texts = ["2020-01-01", "2020-12-31", "2019-12-31", "2021-01-01", "31.12.2020", "", None]
    assert parts(audit(column, texts)) == (2, 1, 1, 0, 1, 2)
    assert parts(audit(column, [dt.date(2020, 5, 5), dt.date(1990, 1, 1), None])) == (1, 1, 0, 0, 0, 1)
    german = Datetime("2020-01-01", "2020-12-31", format="%d.%m.%Y")
    assert parts(audit(german, ["31.12.2020", "2020-12-31"])) == (1, 0, 0, 0, 1, 0)


def test_agrees_with_the_codes_of_a_fit() -> None:
    """With a schema that may be null, the codes alone tell other and null; the audit must count the same."""
    rng = np.random.default_rng(3)
    values = rng.choice(["1", "5", "99", "x", "", "3.5"], 500).tolist()
    schema = Schema({"n": Integer(0, 9, nullable=True), "c": Category(["1", "5"], nullable=True)})
    table = pa.table({"n": values, "c": values})
    codes = np.concatenate(list(open_rows(table, schema).code_matrix_batches(schema.modelled)))
    number, label = audit_schema(table, schema).columns
    assert number.unreadable + number.missing == (codes[:, 0] == schema["n"].null_code).sum()
    assert label.other == (codes[:, 1] == schema["c"].other_code).sum()
    assert label.missing == (codes[:, 1] == schema["c"].null_code).sum()


def test_blanks_and_words_for_missing_are_not_called_unreadable() -> None:
    cells = ["1.5", " ", "   ", ".", "NA", "k.A.", "?", "much", "2.5", None]
    rows = pa.table({"x": cells, "flag": ["yes", " ", "", "-", "no", "yes", "no", "perhaps", "no", None]})
    found = audit_schema(rows, Schema({"x": Real(0, 9, nullable=True), "flag": Boolean(nullable=True)})).columns
    assert [(one.inside, one.unreadable, one.missing) for one in found] == [(2, 1, 7), (5, 1, 4)]

"""Whatever a table holds, drafting gives a valid schema that its file keeps, or says plainly why not."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sklar.lab.drafting.draft import draft_schema, guess_stated
from sklar.lab.drafting.profile import profile_column
from sklar.schema.sdv import StatedKind
from sklar.schema.table import schema_from_toml

texts = st.text(st.characters(codec="utf-8"), max_size=8)
numerals = st.floats().map(str) | st.integers(-(10**25), 10**25).map(str)
oddities = st.sampled_from(
    ["", " ", "NA", "inf", "1e999", "0x1", "1_000", "٣", "$1", "<5", "5-", "2020-02-30", "\0", "'"]
)
CELLS: tuple[tuple[Any, Any], ...] = (
    (texts | numerals | oddities, pa.string()),
    (numerals | oddities, pa.large_string()),
    (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    (st.integers(0, 2**64 - 1), pa.uint64()),
    (st.floats(), pa.float64()),
    (st.floats(width=32), pa.float32()),
    (st.booleans(), pa.bool_()),
    (st.dates(), pa.date32()),
    (st.datetimes(), pa.timestamp("us")),
    (st.decimals(-(10**10), 10**10, places=3), pa.decimal128(20, 3)),
    (st.binary(max_size=4), pa.binary()),
    (st.times(), pa.time64("us")),
)


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    cells, kind = draw(st.sampled_from(CELLS))
    values = draw(st.lists(st.none() | cells, min_size=1, max_size=6))
    array = pa.array((values * 30)[:40], type=kind)
    return array.dictionary_encode() if draw(st.booleans()) and not pa.types.is_time(kind) else array


@given(columns(), columns())
def test_any_table(first: pa.Array, second: pa.Array) -> None:
    sure = pa.array([i % 2 == 0 for i in range(40)])
    table = pa.table({"a": _filled(first), "age \n": _filled(second), "sure": sure})
    made = draft_schema(table, rows=1000)
    assert schema_from_toml(made.toml()) == made
    assert made.todo.count("\n") >= len(made)


@given(columns(), st.sampled_from(["id", "ignore", "category", "integer", "real", "number", "boolean", "datetime"]))
def test_any_column_of_any_stated_kind(column: pa.Array, kind: str) -> None:
    guess = guess_stated(profile_column("x", column), StatedKind(kind=kind, sdtype="sdtype", format=None))
    assert not guess.column.faults()


def test_nothing_is_read_as_a_date_by_accident() -> None:
    for values in (["12", "13"], ["1.2", "3.4"], ["1-2", "3-4"], ["20201301", "20200101"], [dt.time(1, 2)] * 2):
        assert draft_schema(pa.table({"x": values * 20, "sure": [True, False] * 20}), rows=99)["x"].kind != "datetime"


def _filled(array: pa.Array) -> pa.Array:
    """As long as the others."""
    missing = 40 - len(array)
    return pa.concat_arrays([array, pa.nulls(missing, array.type)]) if missing else array

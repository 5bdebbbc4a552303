from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pyarrow as pa

from sklar.export import arrow
from sklar.export.arrow import arrow_schema, to_arrow
from sklar.schema.grid import from_ticks

TYPES = {
    "key": pa.int64(),
    "name": pa.string(),
    "text": pa.string(),
    "number": pa.int64(),
    "rank": pa.string(),
    "count": pa.int64(),
    "real": pa.float64(),
    "money": pa.float64(),
    "whole": pa.float64(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "german": pa.date32(),
    "second": pa.timestamp("s"),
    "hour": pa.timestamp("s"),
    "milli": pa.timestamp("ms"),
    "micro": pa.timestamp("us"),
}


def test_types_and_order_follow_the_schema(schema, sampled):
    table = to_arrow(schema, sampled)
    assert {f.name: f.type for f in table.schema} == TYPES
    assert table.column_names == [n for n in schema.names if n != "skip"]
    assert table.schema == arrow_schema(schema)
    table.validate(full=True)


def test_values_and_nulls_are_those_sampled(schema, sampled):
    table = to_arrow(schema, sampled)
    for name, values in sampled.items():
        found = table[name].to_pylist()
        assert [x is None for x in found] == values.null.tolist()
        expected = [plain(schema[name], values, i) for i in range(len(found))]
        assert [x for x in found if x is not None] == [x for x in expected if x is not None]


def plain(column, values, i: int):
    if values.null[i]:
        return None
    x = values.data[i].item()
    if column.kind == "id":
        return f"{column.prefix}{x}" if column.prefix else x
    if column.kind == "datetime":
        moment = from_ticks(x, column.resolution)
        return moment.date() if column.resolution == "day" else moment
    return values.labels[x] if values.labels is not None else x


def test_chunks_do_not_change_the_table(schema, sampled, monkeypatch):
    whole = to_arrow(schema, sampled)
    monkeypatch.setattr(arrow, "CHUNK_ROWS", 37)
    parts = to_arrow(schema, sampled)
    assert parts.equals(whole) and parts["text"].num_chunks == 11


def test_frames_keep_types_and_nulls(schema, sampled):
    table = to_arrow(schema, sampled)
    frame = table.to_pandas()
    assert frame["count"].isna().tolist() == sampled["count"].null.tolist()
    assert frame["count"].dropna().tolist() == sampled["count"].data[~sampled["count"].null].tolist()
    polar = pl.from_arrow(table)
    assert polar.to_arrow().cast(table.schema).equals(table)
    assert isinstance(polar["day"].drop_nulls()[0], dt.date)
    assert np.array_equal(polar["key"].to_numpy(), sampled["key"].data)

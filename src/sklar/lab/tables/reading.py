"""Read a table for comparison: the codes of a fit, and the numbers before they were assigned to cells."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints, usable_cores
from sklar.errors import SourceError
from sklar.lab.tables.table import Codes, ExactTable
from sklar.rows.encode import encoder_of
from sklar.rows.encode.arrays import one_type
from sklar.rows.encode.coordinates import raw_reader, value_reader
from sklar.rows.encode.numbers import unit_range
from sklar.rows.sources import open_source
from sklar.rows.sources.text import TextFile
from sklar.sample.rng import substreams
from sklar.schema import Column, Schema
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.reading import ReadOptions, read_options

MAX_TABLE_ROWS = 2_000_000
"""Larger tables are subsampled to this number of rows in one pass."""
CodedColumn = tuple[Codes, Floats | None]
"""The codes of a column, and its numbers if it has any."""


def read_table(
    data: Any,
    schema: Schema,
    rng: np.random.Generator,
    *,
    role: str,
    read: ReadOptions | None = None,
    rows_kept: int = MAX_TABLE_ROWS,
) -> ExactTable:
    """Read a table in one pass.

    Args:
        data: A table in any form that `fit` accepts.
        schema: The public facts; columns it does not have are ignored.
        rng: Subsamples tables with more than `rows_kept` rows.
        role: Name of the table in messages: real, synthetic or hold-out.
        read: How to read it: delimiter, encoding, null_values, sql, progress.
        rows_kept: Maximum number of rows to keep.
    """
    try:
        read = read_options(read, schema.null_values)
        source = open_source(data, schema=schema, read=read)
        make_reader = _synthetic_reader if role == "synthetic" else _column_reader
        readers = [make_reader(schema[name], tuple(read.null_values)) for name in schema.modelled]
        kept = _Reservoir(rows_kept, rng)
        with ThreadPoolExecutor(usable_cores()) as pool:
            for batch in source.batches(schema.modelled):
                kept.add(batch.num_rows, list(pool.map(lambda reader, array: reader(array), readers, batch.columns)))
        if not kept.total:
            raise SourceError("it has no rows.")
    except SourceError as error:
        raise SourceError(f"the {role} table: {error}") from None
    named = dict(zip(schema.modelled, kept.columns(), strict=True))
    return ExactTable(
        schema=schema,
        codes={name: codes for name, (codes, _) in named.items()},
        numbers={name: numbers for name, (_, numbers) in named.items() if numbers is not None},
        total=kept.total,
    )


def read_tables(
    real: Any,
    synthetic: Any,
    holdout: Any,
    schema: Schema,
    seed: int,
    read: ReadOptions | None = None,
    read_synthetic: ReadOptions | None = None,
) -> tuple[ExactTable, ExactTable, ExactTable | None]:
    """Read the real, the synthetic and the hold-out table, each with its own stream of the seed."""
    reading, other = split_read_options(read, read_synthetic)
    streams = substreams(seed, 3)
    exact = read_table(real, schema, streams[0], role="real", read=reading)
    held = None if holdout is None else read_table(holdout, schema, streams[1], role="hold-out", read=reading)
    return exact, read_table(synthetic, schema, streams[2], role="synthetic", read=other), held


def split_read_options(read: ReadOptions | None, read_synthetic: ReadOptions | None) -> tuple[ReadOptions, ReadOptions]:
    """Return how to read the real and the synthetic table; an SQL query applies to the real one only."""
    reading = replace(read or ReadOptions(), progress=None)
    other = replace(reading, sql=None, rows_are_rows=False) if read_synthetic is None else read_synthetic
    return reading, other


class _Reservoir:
    """A uniform sample of the rows so far: those with the smallest independent uniform keys, in row order."""

    def __init__(self, limit: int, rng: np.random.Generator):
        self._limit, self._rng, self._threshold = limit, rng, 1.0
        self._keys: list[Floats] = []
        self._batches: list[list[CodedColumn]] = []
        self.total = 0

    def add(self, rows: int, columns: list[CodedColumn]) -> None:
        """Add a batch; at twice the limit, drop the rows with the largest keys."""
        self.total += rows
        keys = self._rng.random(rows)
        if self._threshold < 1.0:
            chosen = np.flatnonzero(keys < self._threshold)
            keys, columns = keys[chosen], [_take(column, chosen) for column in columns]
        self._keys.append(keys)
        self._batches.append(columns)
        if sum(len(k) for k in self._keys) > 2 * self._limit:
            self._shrink()

    def columns(self) -> list[CodedColumn]:
        """Return the sampled rows by column."""
        if sum(len(k) for k in self._keys) > self._limit:
            self._shrink()
        if len(self._batches) != 1:
            self._merge()
        return self._batches[0]

    def _shrink(self) -> None:
        self._merge()
        keys = self._keys[0]
        self._threshold = float(np.partition(keys, self._limit)[self._limit])
        chosen = np.flatnonzero(keys < self._threshold)
        self._keys = [keys[chosen]]
        self._batches = [[_take(column, chosen) for column in self._batches[0]]]

    def _merge(self) -> None:
        merged = [_join_parts(parts) for parts in zip(*self._batches, strict=True)]
        self._keys, self._batches = [np.concatenate(self._keys)], [merged]


def _take(column: CodedColumn, rows: Ints) -> CodedColumn:
    codes, numbers = column
    return codes[rows], None if numbers is None else numbers[rows]


def _join_parts(parts: tuple[CodedColumn, ...]) -> CodedColumn:
    codes = np.concatenate([codes for codes, _ in parts])
    numbers = [numbers for _, numbers in parts if numbers is not None]
    return codes, np.concatenate(numbers) if numbers else None


def _column_reader(column: Column, null_values: tuple[str, ...]) -> Callable[[Any], CodedColumn]:
    """Return a reader of the codes of a column and of its numbers before they were assigned to cells, NaN for null.

    Times, and integers with one cell each, are determined by their cells.
    """
    encode: Callable[[Any], Codes] = encoder_of(column, null_values)
    if not isinstance(column, Ranged):
        return lambda array: (encode(array), None)
    starts = column.grid.starts.astype(np.float64)
    by_cell = column.kind == "datetime" or (column.kind == "integer" and unit_range(column.grid)[0])
    values = None if by_cell else value_reader(column, null_values)

    def read(array: Any) -> CodedColumn:
        codes = encode(array)
        if values is None:
            return codes, np.append(starts, np.nan)[np.minimum(codes, len(starts))]
        return codes, np.where(codes == column.null_code, np.nan, values(array)[0])

    return read


def _synthetic_reader(column: Column, null_values: tuple[str, ...]) -> Callable[[Any], CodedColumn]:
    """Return a reader for synthetic tables, whose numbers are plain or in the column's format.

    Samples have no thousands separators, so a text that can be read as a plain number is one.
    """
    if not isinstance(column, Integer | Real) or column.format is None:
        return _column_reader(column, null_values)
    plain = replace(column, format=None)
    readers, missing_of = [_column_reader(one, null_values) for one in (plain, column)], raw_reader(plain, null_values)

    def read(array: Any) -> CodedColumn:
        (codes, numbers), (written, written_numbers) = (reader(array) for reader in readers)
        _, missing = missing_of(array)
        assert numbers is not None and written_numbers is not None
        return np.where(missing, written, codes), np.where(missing, written_numbers, numbers)

    return read


def read_raw(data: Any, schema: Schema, read: ReadOptions | None = None) -> Any:
    """Read the modelled columns of all rows as one Arrow table."""
    import pyarrow as pa

    try:
        source = open_source(data, schema=schema, read=read)
        names = schema.modelled
        batches = [
            pa.table({name: one_type(column) for name, column in zip(names, batch.columns, strict=True)})
            for batch in source.batches(names)
        ]
    except SourceError as error:
        raise SourceError(f"the real table: {error}") from None
    if not batches:
        raise SourceError("the real table: it has no rows; there is nothing to attack.")
    return pa.concat_tables(batches, promote_options="permissive").combine_chunks()


def read_whole(data: Any, read: ReadOptions, *, may_be_empty: bool = False) -> Any:
    """Read every column of all rows as one Arrow table; cells of text files as written, empty ones as nulls.

    A table without rows is rejected unless it may be empty; then its columns have no type.
    """
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute
    source = open_source(data, schema=None, read=read)
    batches = list(source.batches(source.column_names))
    if not batches and not may_be_empty:
        raise SourceError("it has no rows.")
    if not batches:
        return pa.table({name: pa.nulls(0) for name in source.column_names})
    columns = [pa.chunked_array([one_type(b.column(i)) for b in batches]) for i in range(len(source.column_names))]
    if isinstance(source, TextFile):  # an empty cell and a quoted empty text are equal
        columns = [pc.if_else(pc.equal(column, ""), None, column) for column in columns]
    return pa.Table.from_arrays(columns, names=list(source.column_names))

"""Reading a table for comparison: the codes of a fit, and next to them the numbers before they went to cells."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints, Mask, usable_cores
from sklar.errors import SourceError
from sklar.lab.tables.table import Codes, ExactTable, cell_starts
from sklar.rows.encode import encoder_of
from sklar.rows.encode.arrays import floats_of, integers_of, one_type
from sklar.rows.encode.numbers import unit_range
from sklar.rows.sources import open_source
from sklar.schema import Column, Schema
from sklar.schema.reading import ReadOptions, read_options

ROWS_KEPT = 2_000_000
"""Larger tables are thinned to this many rows, drawn at random in one pass."""


def read_table(
    data: Any,
    schema: Schema,
    rng: np.random.Generator,
    *,
    role: str,
    read: ReadOptions | None = None,
    rows_kept: int = ROWS_KEPT,
) -> ExactTable:
    """Read a table in one pass.

    Args:
        data: What `fit` takes.
        schema: The public facts; columns it does not have are ignored.
        rng: Picks the rows that are kept when there are too many.
        role: How messages call the table: real, synthetic or hold-out.
        read: How to read it: delimiter, encoding, null_values, sql, progress.
        rows_kept: The most rows to keep.
    """
    try:
        read = read_options(read)
        source = open_source(data, schema=schema, read=read)
        nulls = tuple(read.null_values)
        return _read(source, schema, [_Reader(schema[name], nulls) for name in schema.modelled], rng, rows_kept, role)
    except SourceError as error:
        raise SourceError(f"the {role} table: {error}") from None


def _read(
    source: Any, schema: Schema, readers: list[_Reader], rng: np.random.Generator, rows_kept: int, role: str
) -> ExactTable:
    kept = _Kept(rows_kept, rng)
    with ThreadPoolExecutor(usable_cores()) as pool:
        for batch in source.batches(schema.modelled):
            kept.add(batch.num_rows, list(pool.map(lambda pair: pair[0](pair[1]), zip(readers, batch.columns))))  # noqa: B905
    if not kept.total:
        raise SourceError("it has no rows; give one that has some.")
    columns = kept.columns()
    named = dict(zip(schema.modelled, columns, strict=True))
    return ExactTable(
        schema=schema,
        codes={name: codes for name, (codes, _) in named.items()},
        numbers={name: numbers for name, (_, numbers) in named.items() if numbers is not None},
        total=kept.total,
    )


class _Kept:
    """A uniform sample of the rows seen so far: those with the smallest of independent uniform keys, in their order."""

    def __init__(self, limit: int, rng: np.random.Generator):
        self._limit, self._rng, self._threshold = limit, rng, 1.0
        self._keys: list[Floats] = []
        self._batches: list[list[tuple[Codes, Floats | None]]] = []
        self.total = 0

    def add(self, rows: int, columns: list[tuple[Codes, Floats | None]]) -> None:
        """Take in a batch; when twice too many rows are held, let go of those with the largest keys."""
        self.total += rows
        keys = self._rng.random(rows)
        if self._threshold < 1.0:
            chosen = np.flatnonzero(keys < self._threshold)
            keys, columns = keys[chosen], [_chosen(column, chosen) for column in columns]
        self._keys.append(keys)
        self._batches.append(columns)
        if sum(len(k) for k in self._keys) > 2 * self._limit:
            self._thin()

    def columns(self) -> list[tuple[Codes, Floats | None]]:
        """The rows held, column by column."""
        if sum(len(k) for k in self._keys) > self._limit:
            self._thin()
        if len(self._batches) != 1:
            self._merge()
        return self._batches[0]

    def _thin(self) -> None:
        self._merge()
        keys = self._keys[0]
        self._threshold = float(np.partition(keys, self._limit)[self._limit])
        chosen = np.flatnonzero(keys < self._threshold)
        self._keys = [keys[chosen]]
        self._batches = [[_chosen(column, chosen) for column in self._batches[0]]]

    def _merge(self) -> None:
        merged = [_joined(list(parts)) for parts in zip(*self._batches, strict=True)]
        self._keys, self._batches = [np.concatenate(self._keys)], [merged]


def _chosen(column: tuple[Codes, Floats | None], rows: Ints) -> tuple[Codes, Floats | None]:
    codes, numbers = column
    return codes[rows], None if numbers is None else numbers[rows]


def _joined(parts: list[tuple[Codes, Floats | None]]) -> tuple[Codes, Floats | None]:
    codes = np.concatenate([codes for codes, _ in parts])
    numbers = [numbers for _, numbers in parts if numbers is not None]
    return codes, np.concatenate(numbers) if numbers else None


class _Reader:
    """Codes and numbers of one column."""

    def __init__(self, column: Column, null_values: tuple[str, ...]):
        self._column = column
        self._encode: Callable[[Any], Codes] = encoder_of(column, null_values)
        self._raw = column.numeric and column.kind != "datetime" and not _is_unit(column)
        # On the nullable twin, what is missing or unreadable shows even if the column itself replaces it by a value.
        twin = replace(column, nullable=True) if self._raw else column  # type: ignore[call-arg]
        self._twin_null = twin.null_code
        self._encode_twin: Callable[[Any], Codes] = encoder_of(twin, null_values) if self._raw else self._encode

    def __call__(self, array: Any) -> tuple[Codes, Floats | None]:
        codes = self._encode(array)
        if not self._column.numeric:
            return codes, None
        starts = cell_starts(self._column).astype(np.float64)
        numbers = np.append(starts, np.nan)[np.minimum(codes, len(starts))]
        if self._raw:
            readable = self._encode_twin(array) != self._twin_null
            values = _float_values(array, readable)
            known = readable & ~np.isnan(values)
            numbers[known] = np.clip(values[known], self._column.lower, self._column.upper)  # type: ignore[attr-defined]
        if self._column.kind == "integer":
            numbers = np.rint(numbers)
        return codes, numbers


def _is_unit(column: Column) -> bool:
    return column.kind != "real" and unit_range(column.grid)[0]  # type: ignore[attr-defined]


def _float_values(array: Any, readable: Mask) -> Floats:
    """The numbers of an Arrow array, NaN where they cannot be had; only cells known to be readable are looked at."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = one_type(array)
    plain = floats_of(array) or integers_of(array)
    if plain is not None:
        return plain[0].astype(np.float64)
    try:
        array = pc.call_function("if_else", [pa.array(readable), array, pa.scalar(None, array.type)])
        if (
            pa.types.is_string(array.type)
            or pa.types.is_large_string(array.type)
            or pa.types.is_string_view(array.type)
        ):
            array = pc.call_function("utf8_trim_whitespace", [array.cast(pa.large_string())])
        cast = pc.cast(array, pa.float64(), safe=False)
        return cast.to_numpy(zero_copy_only=False).astype(np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.array([_number(x) for x in array.to_pylist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value.decode() if isinstance(value, bytes) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def read_raw(data: Any, schema: Schema, read: ReadOptions | None = None) -> Any:
    """The modelled columns of all rows as one Arrow table."""
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

"""Complete a table from a model: given cells stay as they are and are not protected; the others are drawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sklar.arrays import Mask
from sklar.errors import SklarWarning, UsageError
from sklar.export.arrow import to_arrow
from sklar.export.frames import as_frame
from sklar.lab.tables.reading import read_table, read_whole
from sklar.lab.tables.table import table_values
from sklar.model.protocol import UNKNOWN
from sklar.rows.encode import encoder_of
from sklar.rows.encode.coordinates import coordinate_encoder
from sklar.sample.complete import CompletedRows, KnownCells, codes_of, complete_rows
from sklar.sample.rng import generator
from sklar.schema import Schema
from sklar.schema.reading import ReadOptions, read_options

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.pipeline.model import Model
    from sklar.schema.coordinates import Coordinates

NAMED_ROWS = 10
"""Rows that are named one by one."""
NOT_COVERED = "completed rows hold the given cells as they are: what is promised covers the drawn cells only"


def complete(
    model: Model,
    data: Any,
    *,
    seed: int | None = None,
    nulls: Literal["draw", "keep"] = "draw",
    to: Literal["pandas", "polars", "arrow", "duckdb"] | None = None,
    read: ReadOptions | None = None,
) -> Any:
    """Each row's known values are its condition, and the model draws the rest: imputation, scenarios, new columns.

    Columns that the model does not have stay as they are. Numbers are clipped to the bounds of the schema, and labels
    it does not list become its `other`.

    Args:
        model: Any fitted model.
        data: A table with some of the model's columns, as `fit` takes it. It is held in memory.
        seed: Any whole number; the same seed gives the same rows.
        nulls: "draw": an empty cell is unknown. "keep": an empty cell of a column that may be null is known to be null.
        to: "pandas", "polars", "duckdb" or "arrow" (the default).
        read: How to read a file.
    """
    if nulls not in ("draw", "keep"):
        raise UsageError('nulls is "draw" or "keep"')
    read = read_options(read)
    given = read_whole(data, read)
    names = [name for name in model.schema.modelled if name in given.column_names]
    if not names:
        raise UsageError("the table has no column of the model; there is nothing to complete")
    known = _known(model.schema, model.coordinates, given, names, nulls == "keep", tuple(read.null_values))
    done = complete_rows(model.table_model, model.coordinates, known, generator(seed))
    table = _joined(given, to_arrow(_only(model.schema, model.schema.modelled), done.table), names)
    table = table.replace_schema_metadata(_notes(done) | model.claim.notes)
    return table if to is None else as_frame(table, model.schema, to=to, like=None)


def _only(schema: Schema, names: Sequence[str]) -> Schema:
    """Some columns, without rules: each is read by itself."""
    return Schema({name: schema[name] for name in names})


def _known(
    schema: Schema, by: Coordinates, given: Any, names: list[str], keep: bool, null_values: tuple[str, ...]
) -> KnownCells:
    filled = {name: _filled(schema, given.column(name), name, keep, null_values) for name in names}
    read = ReadOptions(null_values=null_values) if null_values else None
    some = _only(schema, names)
    exact = read_table(given.select(names), some, generator(0), role="given", read=read, rows_kept=given.num_rows)
    values = table_values(some, exact)
    codes = np.full((given.num_rows, len(by.parts)), UNKNOWN, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if part.sources and all(name in filled for name in part.sources):
            arrays = [given.column(name).combine_chunks() for name in part.sources]
            mask = np.logical_and.reduce([filled[name] for name in part.sources])
            codes[mask, place] = coordinate_encoder(by, part, null_values)(*arrays)[mask]
    cells = {name: codes_of(schema[name], values[name]) for name in names}
    return KnownCells(values=values, known=filled, codes=codes, cells=cells)


def _filled(schema: Schema, array: Any, name: str, keep: bool, null_values: tuple[str, ...]) -> Mask:
    """The rows whose cell is known."""
    column = schema[name]
    if keep and column.null_code is not None:
        return np.ones(len(array), bool)
    twin = column if column.null_code is not None else replace(column, nullable=True)  # type: ignore[call-arg]
    return encoder_of(twin, null_values)(array.combine_chunks()) != twin.null_code


def _joined(given: pa.Table, drawn: pa.Table, names: list[str]) -> pa.Table:
    """The columns of the given table in their order, then the new ones."""
    table = given
    for name in drawn.column_names:
        column = drawn.column(name)
        if name in names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table


def _notes(done: CompletedRows) -> dict[str, str]:
    """What is told with the rows; rows that the model cannot have are told aloud."""
    unmet = np.flatnonzero(done.unmet) + 1
    shown = ", ".join(map(str, unmet[:NAMED_ROWS].tolist())) + (", ..." if len(unmet) > NAMED_ROWS else "")
    if len(unmet):
        warnings.warn(
            f"{len(unmet):,} of {len(done.unmet):,} rows hold values that never come together in the model, or that "
            f"break a public rule; what was drawn in them heeds only a part of what they hold (rows {shown}).",
            SklarWarning,
            stacklevel=3,
        )
    return {
        "sklar.completed": NOT_COVERED,
        "sklar.effective_particles": f"{float(np.median(done.effective)):.2f}",
        "sklar.unmet_rows": shown,
    }

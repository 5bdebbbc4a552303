"""Complete a table from a model: given cells stay as they are, and the others are drawn; neither is protected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sklar.arrays import Ints
from sklar.errors import SklarWarning, UsageError, warn_user
from sklar.export.arrow import to_arrow
from sklar.export.frames import as_frame, form_of
from sklar.lab.completing.given import given_values, only, with_drawn
from sklar.lab.completing.growing import grow
from sklar.lab.tables.reading import read_whole
from sklar.model.linked import LinkedModel
from sklar.model.protocol import UNKNOWN
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
NOT_COVERED = "nothing is promised about this table: given cells are as they were, and drawn cells depend on them"


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

    Of persons whose rows follow one another, given rows stay, gaps in them are drawn, and rows follow them, with the
    keys of the persons; of two tables, parents are given, and rows of theirs or none. See docs/trajectories.md.

    Args:
        model: Any fitted model.
        data: A table with some of the model's columns, as `fit` takes it. It is held in memory. Of two tables, a
            mapping by name or a folder with a file of each, of which the rows may be left out.
        seed: Any whole number; the same seed gives the same rows.
        nulls: "draw": an empty cell is unknown. "keep": an empty cell of a column that may be null is known to be null.
        to: "pandas", "polars", "duckdb" or "arrow"; by default what the table is, and Arrow for files and mappings.
        read: How to read a file.
    """
    if nulls not in ("draw", "keep"):
        raise UsageError('nulls is "draw" or "keep"')
    read = read_options(read, model.schema.null_values)
    to = to or form_of(data)
    if isinstance(model.table_model, LinkedModel):
        found = grow(model.table_model, model.schema, data, seed=seed, keep=nulls == "keep", read=read)
        tables = {name: _shown(model, one.table, _notes(one.told, one.rows), to) for name, one in found.items()}
        return tables.get("", tables)
    given = read_whole(data, read, may_be_empty=True)
    names = [name for name in model.schema.modelled if name in given.column_names]
    if not names:
        raise UsageError("the table has no column of the model; there is nothing to complete")
    known = _known(model.schema, model.coordinates, given, names, nulls == "keep", tuple(read.null_values))
    done = complete_rows(model.table_model, model.coordinates, known, generator(seed))
    table = with_drawn(given, to_arrow(only(model.schema, model.schema.modelled), done.table))
    return _shown(model, table, _notes(done, np.arange(given.num_rows)), to)


def _shown(model: Model, table: pa.Table, notes: dict[str, str], to: Any) -> Any:
    table = table.replace_schema_metadata(notes | model.claim.notes)
    return table if to is None else as_frame(table, model.schema, to=to, like=None)


def _known(
    schema: Schema, by: Coordinates, given: Any, names: list[str], keep: bool, null_values: tuple[str, ...]
) -> KnownCells:
    values, filled = given_values(schema, given, names, keep, null_values)
    codes = np.full((given.num_rows, len(by.parts)), UNKNOWN, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if part.sources and all(name in filled for name in part.sources):
            arrays = [given.column(name).combine_chunks() for name in part.sources]
            mask = np.logical_and.reduce([filled[name] for name in part.sources])
            codes[mask, place] = coordinate_encoder(by, part, null_values)(*arrays)[mask]
    cells = {name: codes_of(schema[name], values[name]) for name in names}
    return KnownCells(values=values, known=filled, codes=codes, cells=cells)


def _notes(done: CompletedRows, rows: Ints) -> dict[str, str]:
    """What is told with the rows, of which it is said where they stood; what the model cannot have is told aloud."""
    unmet = np.sort(rows[done.unmet]) + 1
    shown = ", ".join(map(str, unmet[:NAMED_ROWS].tolist())) + (", ..." if len(unmet) > NAMED_ROWS else "")
    if len(unmet):
        warn_user(
            f"{len(unmet):,} of {len(rows):,} rows hold values that never come together in the model, or that "
            f"break a public rule; what was drawn in them heeds only a part of what they hold (rows {shown}).",
            SklarWarning,
        )
    return {
        "sklar.completed": NOT_COVERED,
        "sklar.effective_particles": f"{float(np.median(done.effective)) if len(rows) else 1.0:.2f}",
        "sklar.unmet_rows": shown,
    }

"""Tables of which some cells are known: what these are, and the table with drawn cells in the place of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Mask
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import table_values
from sklar.rows.encode import encoder_of
from sklar.sample.decode import Values, decode_missing
from sklar.sample.rng import generator
from sklar.schema import Schema
from sklar.schema.reading import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


def only(schema: Schema, names: Sequence[str]) -> Schema:
    """Some columns, without rules: each is read by itself."""
    return Schema({name: schema[name] for name in names})


def given_values(
    schema: Schema, given: Any, names: Sequence[str], keep: bool, null_values: tuple[str, ...]
) -> tuple[dict[str, Values], dict[str, Mask]]:
    """Values of some columns under the rules of the schema, and where they are known.

    An empty cell is unknown; with `keep` it is known to be null, if the column may be.
    """
    if not names or not given.num_rows:
        none = np.zeros(given.num_rows, bool)
        return {name: decode_missing(schema[name], 0) for name in names}, dict.fromkeys(names, none)
    filled = {name: _filled(schema, given.column(name), name, keep, null_values) for name in names}
    read = ReadOptions(null_values=null_values) if null_values else None
    some = only(schema, names)
    exact = read_table(given.select(names), some, generator(0), role="given", read=read, rows_kept=given.num_rows)
    return table_values(some, exact), filled


def _filled(schema: Schema, array: Any, name: str, keep: bool, null_values: tuple[str, ...]) -> Mask:
    """The rows whose cell is known."""
    column = schema[name]
    if keep and column.null_code is not None:
        return np.ones(len(array), bool)
    twin = column if column.null_code is not None else replace(column, nullable=True)  # type: ignore[call-arg]
    return encoder_of(twin, null_values)(array.combine_chunks()) != twin.null_code


def with_drawn(given: pa.Table, drawn: pa.Table) -> pa.Table:
    """The columns of the given table in their order, then the new ones."""
    table = given
    for name in drawn.column_names:
        column = drawn.column(name)
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table

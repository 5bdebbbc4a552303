"""Complete tables with missing values from a model: given cells stay as they are; nothing is protected.

Each row's known values are its condition. For longitudinal data, the given rows of persons are also continued: the next
years of a panel, or hospital stays of known patients. Nothing is fitted or measured here. Start with `complete`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import SklarWarning, UsageError, warn_user
from sklar.export.arrow import to_arrow
from sklar.export.frames import as_frame, form_of
from sklar.lab.tables.reading import read_table, read_whole
from sklar.lab.tables.table import table_values
from sklar.model.linked import LinkedModel
from sklar.model.protocol import UNKNOWN_CODE
from sklar.rows.encode import encoder_of
from sklar.rows.encode.coordinates import coordinate_encoder
from sklar.rows.persons.family import Keys, find_places
from sklar.rows.persons.keys import Secret, key_encoders
from sklar.sample.complete import CompletedRows, KnownCells, codes_of, complete_rows
from sklar.sample.continuing import Given, KnownPersons, continue_persons
from sklar.sample.decode import Values, decode_missing
from sklar.sample.rng import generator
from sklar.schema import Schema
from sklar.schema.persons.person import Parents
from sklar.schema.reading import ReadOptions, read_options

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.pipeline.model import Model
    from sklar.schema.coordinates import Coordinates

MAX_LISTED_ROWS = 10
"""Row numbers listed in a message, at most."""
NOT_COVERED = "no privacy is promised for this table: given cells are unchanged, and drawn cells depend on them"
Continued = tuple["pa.Table", CompletedRows, Ints]
"""A completed table, how its given rows were matched, and the position of each of these in the given table."""


def complete(
    model: Model,
    data: Any,
    *,
    seed: int | None = None,
    nulls: Literal["draw", "keep"] = "draw",
    to: Literal["pandas", "polars", "arrow", "duckdb"] | None = None,
    read: ReadOptions | None = None,
) -> Any:
    """Draw the unknown values of each row given its known values: imputation, scenarios, new columns.

    Columns that the model does not have stay as they are. Numbers are clipped to the bounds of the schema, and labels
    it does not list become its `other`.

    For longitudinal data, given rows stay, missing values in them are drawn, and later rows are added with the keys of
    the persons. For two tables, parents are given, with or without rows of theirs. See docs/trajectories.md.

    Args:
        model: Any fitted model.
        data: A table with some of the model's columns, in any form that `fit` accepts. It is held in memory. For two
            tables, a mapping by name or a folder with a file of each; the table of rows may be missing.
        seed: Any whole number; the same seed gives the same rows.
        nulls: "draw": an empty cell is unknown. "keep": an empty cell of a nullable column is known to be null.
        to: "pandas", "polars", "duckdb" or "arrow"; by default the form of the table, and Arrow for files and mappings.
        read: How to read a file.
    """
    if nulls not in ("draw", "keep"):
        raise UsageError(f'nulls must be "draw" or "keep"; found {nulls!r}')
    read = read_options(read, model.schema.null_values)
    to = to or form_of(data)
    if isinstance(model.table_model, LinkedModel):
        found = continue_table(model.table_model, model.schema, data, seed=seed, keep=nulls == "keep", read=read)
        tables = {name: _convert(model, table, _notes(done, rows), to) for name, (table, done, rows) in found.items()}
        return tables.get("", tables)
    given = read_whole(data, read, may_be_empty=True)
    names = [name for name in model.schema.modelled if name in given.column_names]
    if not names:
        raise UsageError("the table has no column of the model; there is nothing to complete")
    known = _encode_known(model.schema, model.coordinates, given, names, nulls == "keep", tuple(read.null_values))
    done = complete_rows(model.table_model, model.coordinates, known, generator(seed))
    table = replace_columns(given, to_arrow(select_columns(model.schema, model.schema.modelled), done.table))
    return _convert(model, table, _notes(done, np.arange(given.num_rows)), to)


def _convert(model: Model, table: pa.Table, notes: dict[str, str], to: Any) -> Any:
    table = table.replace_schema_metadata(notes | model.claim.notes)
    return table if to is None else as_frame(table, model.schema, to=to, like=None)


def _encode_known(
    schema: Schema, by: Coordinates, given: Any, names: list[str], keep: bool, null_values: tuple[str, ...]
) -> KnownCells:
    values, filled = known_values(schema, given, names, keep, null_values)
    codes = np.full((given.num_rows, len(by.parts)), UNKNOWN_CODE, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if part.sources and all(name in filled for name in part.sources):
            arrays = [given.column(name).combine_chunks() for name in part.sources]
            mask = np.logical_and.reduce([filled[name] for name in part.sources])
            codes[mask, place] = coordinate_encoder(by, part, null_values)(*arrays)[mask]
    cells = {name: codes_of(schema[name], values[name]) for name in names}
    return KnownCells(values=values, known=filled, codes=codes, cells=cells)


def _notes(done: CompletedRows, rows: Ints) -> dict[str, str]:
    """Return metadata for the completed rows, and warn of rows that the model cannot produce (by row number)."""
    unmet = np.sort(rows[done.unmet]) + 1
    shown = ", ".join(map(str, unmet[:MAX_LISTED_ROWS].tolist())) + (", ..." if len(unmet) > MAX_LISTED_ROWS else "")
    if len(unmet):
        warn_user(
            f"{len(unmet):,} of {len(rows):,} rows have values that the model never combines, or that break a public "
            f"rule; the drawn values depend only on a part of the given ones (rows {shown}).",
            SklarWarning,
        )
    return {
        "sklar.completed": NOT_COVERED,
        "sklar.effective_particles": f"{float(np.median(done.effective)) if len(rows) else 1.0:.2f}",
        "sklar.unmet_rows": shown,
    }


def continue_table(
    model: LinkedModel, schema: Schema, data: Any, *, seed: int | None, keep: bool, read: ReadOptions
) -> dict[str, Continued]:
    """Complete and continue the given persons; return both tables by name, or the one table of a panel under ""."""
    assert schema.person is not None
    reading, key = _Reading(schema=schema, keep=keep, read=read), schema.person.key
    if (names := schema.person.parents) is not None:
        return _continue_families(model, schema, names, data, seed, reading)
    given = read_whole(data, read, may_be_empty=True)
    _require_key(given, key, "the table")
    if not set(given.column_names) & set(schema.modelled):
        raise UsageError("the table has no column of the model; there is nothing to complete")
    whose = _number_persons(reading.keys(given, key))
    order = reading.sort_rows(given, whose)
    given, whose = given.take(order), whose[order]
    persons = int(whose.max(initial=-1)) + 1
    heads = reading.heads(given, whose, persons)
    rows = reading.given(given, [name for name in schema.modelled if name not in schema.person.static])
    known = KnownPersons(persons=persons, heads=heads, rows=rows, person=whose)
    done = continue_persons(model, schema, known, generator(seed))
    first = np.searchsorted(whose, np.arange(persons))
    table = _insert_rows(given, done.given, key, given.column(key).take(_make_indices(first[done.drawn.person])))
    table = replace_columns(table, to_arrow(select_columns(schema, schema.modelled), done.drawn.table))
    return {"": (table, done.rows, order)}


def _continue_families(
    model: LinkedModel, schema: Schema, names: Parents, data: Any, seed: int | None, reading: _Reading
) -> dict[str, Continued]:
    person = schema.person
    assert person is not None
    parents, children = (_read_one_table(data, name, reading.read) for name in (names.table, names.rows))
    if parents is None:
        raise UsageError(f"there is no table '{names.table}': rows are drawn for given parents")
    _require_key(parents, names.key, f"'{names.table}'")
    if not person.static:
        raise UsageError(f"'{names.table}' has no modelled column, so nothing of its rows is known: draw a sample")
    if children is None:
        children = parents.slice(0, 0).select([names.key]).rename_columns([person.key])
    _require_key(children, person.key, f"'{names.rows}'")
    whose = _find_parents(reading, parents, children, names)
    order = reading.sort_rows(children, whose)
    children, whose = children.take(order), whose[order]
    moving = [name for name in schema.modelled if name not in person.static]
    heads, rows = reading.given(parents, person.static), reading.given(children, moving)
    known = KnownPersons(persons=parents.num_rows, heads=heads, rows=rows, person=whose)
    done = continue_persons(model, schema, known, generator(seed))
    assert done.heads is not None
    keys = parents.column(names.key).take(_make_indices(done.drawn.person))
    table = _insert_rows(children, done.given, person.key, keys)
    table = replace_columns(table, to_arrow(select_columns(schema, moving), done.drawn.table))
    whole = replace_columns(parents, to_arrow(select_columns(schema, person.static), done.drawn.heads))
    return {names.table: (whole, done.heads, np.arange(parents.num_rows)), names.rows: (table, done.rows, order)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """How cells and keys are read."""

    schema: Schema
    keep: bool
    read: ReadOptions
    secret: Secret = field(default_factory=Secret)

    def given(self, table: Any, names: Sequence[str]) -> Given:
        """Read columns of a table; columns it does not have are unknown in all rows."""
        own = [name for name in names if name in table.column_names]
        values, filled = known_values(self.schema, table, own, self.keep, tuple(self.read.null_values))
        for name in names:
            if name not in values:
                values[name] = decode_missing(self.schema[name], table.num_rows)
                filled[name] = np.zeros(table.num_rows, bool)
        return Given(values=values, known=filled)

    def keys(self, table: Any, key: str) -> Keys:
        """Encode the keys of persons by the rule of a fit: 7, "7" and " 7.0" are the same key."""
        import pyarrow as pa

        kind = table.column(key).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
            raise UsageError(f"'{key}' identifies persons, so it must contain texts, numbers or dates")
        return self.encode_keys(table.column(key))

    def encode_keys(self, keys: Any) -> Keys:
        """Encode each key as two words."""
        one, two = (by.encode(keys) for by in key_encoders("", self.secret, tuple(self.read.null_values)))
        return one, two

    def heads(self, table: Any, whose: Ints, persons: int) -> Given:
        """Read the static columns of each person, from the first row where each is known."""
        assert self.schema.person is not None
        rows = self.given(table, self.schema.person.static)
        values: dict[str, Values] = {}
        known: dict[str, Any] = {}
        for name, column in rows.values.items():
            filled = np.flatnonzero(rows.known[name])
            who, first = np.unique(whose[filled], return_index=True)
            row = np.zeros(persons, dtype=np.int64)
            row[who] = filled[first]
            if _differ(column, filled, row[whose[filled]]).any():
                raise UsageError(f"'{name}' is static, but some persons are given with several values of it")
            values[name] = Values(data=column.data[row], null=column.null[row], labels=column.labels)
            known[name] = np.isin(np.arange(persons), who)
        return Given(values=values, known=known)

    def sort_rows(self, table: Any, whose: Ints) -> Ints:
        """Sort rows by person and then by the order column; without it, keep the order of the table."""
        order = self.schema.person.order if self.schema.person is not None else None
        if order is None or order not in table.column_names or not table.num_rows:
            return np.argsort(whose, kind="stable")
        given = self.given(table, [order])
        several = np.bincount(whose)[whose] > 1
        if (several & (~given.known[order] | given.values[order].null)).any():
            raise UsageError(f"rows of a person are ordered by '{order}', which is missing in some of several rows")
        column, values = self.schema[order], given.values[order]
        return np.lexsort((values.data if column.numeric else codes_of(column, values), whose))


def _read_one_table(data: Any, name: str, read: ReadOptions) -> Any:
    """Read one of two tables; None if it is not given."""
    if isinstance(data, Mapping):
        tables = cast("Mapping[str, Any]", data)
        return read_whole(tables[name], read, may_be_empty=True) if name in tables else None
    if not isinstance(data, str | os.PathLike) or not os.path.isdir(data):
        raise UsageError("this model has two tables: give a mapping of them by name, or a folder with a file of each")
    files = [one for one in Path(cast("str", data)).iterdir() if one.name.split(".")[0] == name]
    if len(files) > 1:
        raise UsageError(f"the folder has several files called {name}; leave one")
    return read_whole(files[0], read, may_be_empty=True) if files else None


def _require_key(table: Any, key: str, what: str) -> None:
    if key not in table.column_names:
        raise UsageError(f"{what} has no column '{key}', which identifies persons")


def _number_persons(keys: Keys) -> Ints:
    """Number persons by first appearance; return the number of each key."""
    _, first, number = np.unique(np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number.ravel()]


def _differ(values: Values, rows: Ints, others: Ints) -> Mask:
    """Check which values of some rows differ from those of others."""
    null = values.null[rows]
    return (null != values.null[others]) | (~null & (values.data[rows] != values.data[others]))


def _find_parents(reading: _Reading, parents: Any, children: Any, names: Parents) -> Ints:
    """Find the position of each row's parent; reject missing or duplicate keys of parents, and rows without one."""
    import pyarrow as pa

    assert reading.schema.person is not None
    own = reading.keys(parents, names.key)
    is_unique = len(np.unique(_number_persons(own))) == len(own[0])
    if not is_unique or (find_places(own, reading.encode_keys(pa.nulls(1))) >= 0).any():
        raise UsageError(f"each row of '{names.table}' needs its own key; some are empty or duplicates")
    place = find_places(own, reading.keys(children, reading.schema.person.key))
    if (place < 0).any():
        raise UsageError(f"some rows of '{names.rows}' have a key that no row of '{names.table}' has; leave them out")
    return place


def _make_indices(places: Ints) -> Any:
    import pyarrow as pa

    return pa.array(places, mask=places < 0)


def _insert_rows(given: Any, rows: Ints, key: str, keys: Any) -> Any:
    """Place the given rows among the drawn ones, which so far have only their keys."""
    table = given.take(_make_indices(rows))
    return table.set_column(table.column_names.index(key), key, keys)


def select_columns(schema: Schema, names: Sequence[str]) -> Schema:
    """Return a schema of some columns, without rules between columns."""
    return Schema({name: schema[name] for name in names})


def known_values(
    schema: Schema, given: Any, names: Sequence[str], keep: bool, null_values: tuple[str, ...]
) -> tuple[dict[str, Values], dict[str, Mask]]:
    """Read the values of some columns by the schema, with masks of the known ones.

    An empty cell is unknown; with `keep` it is known to be null if the column is nullable.
    """
    if not names or not given.num_rows:
        none = np.zeros(given.num_rows, bool)
        return {name: decode_missing(schema[name], 0) for name in names}, dict.fromkeys(names, none)
    filled = {name: _find_known_cells(schema, given.column(name), name, keep, null_values) for name in names}
    read = ReadOptions(null_values=null_values) if null_values else None
    some = select_columns(schema, names)
    exact = read_table(given.select(names), some, generator(0), role="given", read=read, rows_kept=given.num_rows)
    return table_values(some, exact), filled


def _find_known_cells(schema: Schema, array: Any, name: str, keep: bool, null_values: tuple[str, ...]) -> Mask:
    column = schema[name]
    if keep and column.null_code is not None:
        return np.ones(len(array), bool)
    twin = column if column.null_code is not None else replace(column, nullable=True)  # type: ignore[call-arg]
    return encoder_of(twin, null_values)(array.combine_chunks()) != twin.null_code


def replace_columns(given: pa.Table, drawn: pa.Table) -> pa.Table:
    """Replace columns of the given table by drawn ones, and append the new ones."""
    table = given
    for name in drawn.column_names:
        column = drawn.column(name)
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table

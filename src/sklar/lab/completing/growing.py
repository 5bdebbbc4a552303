"""Persons of whom some rows are given, and those that follow, drawn: next years of a panel, stays of known patients."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import UsageError
from sklar.export.arrow import to_arrow
from sklar.lab.completing.given import given_values, only, with_drawn
from sklar.lab.tables.reading import read_whole
from sklar.model.linked import LinkedModel
from sklar.rows.persons.family import Keys, places_of
from sklar.rows.persons.keys import Secret, key_encoders
from sklar.sample.complete import CompletedRows, codes_of
from sklar.sample.continuing import Given, KnownPersons, continue_persons
from sklar.sample.decode import Values, decode_missing
from sklar.sample.rng import generator
from sklar.schema import Schema
from sklar.schema.persons.person import Parents
from sklar.schema.reading import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grown:
    """A table with what it lacked.

    Attributes:
        told: How its given rows were met.
        rows: For each of these, where it stood in the given table.
    """

    table: pa.Table
    told: CompletedRows
    rows: Ints


def grow(
    model: LinkedModel, schema: Schema, data: Any, *, seed: int | None, keep: bool, read: ReadOptions
) -> dict[str, Grown]:
    """Whole persons from what is given of them: both tables by name, or the one table of a panel under no name."""
    assert schema.person is not None
    if (names := schema.person.parents) is not None:
        return _grow_families(model, schema, names, data, seed, _Reading(schema=schema, keep=keep, read=read))
    reading, key = _Reading(schema=schema, keep=keep, read=read), schema.person.key
    given = read_whole(data, read, may_be_empty=True)
    _require(given, key, "the table")
    if not set(given.column_names) & set(schema.modelled):
        raise UsageError("the table has no column of the model; there is nothing to complete")
    whose = _numbered(reading.keys(given, key))
    order = reading.in_order(given, whose)
    given, whose = given.take(order), whose[order]
    persons = int(whose.max(initial=-1)) + 1
    heads = reading.heads(given, whose, persons)
    rows = reading.given(given, [name for name in schema.modelled if name not in schema.person.static])
    known = KnownPersons(persons=persons, heads=heads, rows=rows, person=whose)
    done = continue_persons(model, schema, known, generator(seed))
    first = np.searchsorted(whose, np.arange(persons))
    table = _laid_out(given, done.given, key, given.column(key).take(_indices(first[done.drawn.person])))
    table = with_drawn(table, to_arrow(only(schema, schema.modelled), done.drawn.table))
    return {"": Grown(table=table, told=done.rows, rows=order)}


def _grow_families(
    model: LinkedModel, schema: Schema, names: Parents, data: Any, seed: int | None, reading: _Reading
) -> dict[str, Grown]:
    person = schema.person
    assert person is not None
    parents, children = (_one_of(data, name, reading.read) for name in (names.table, names.rows))
    if parents is None:
        raise UsageError(f"there is no table '{names.table}': rows are drawn for parents that are given")
    _require(parents, names.key, f"'{names.table}'")
    if not person.static:
        raise UsageError(f"'{names.table}' has no modelled column, so nothing of its rows is known: draw a sample")
    if children is None:
        children = parents.slice(0, 0).select([names.key]).rename_columns([person.key])
    _require(children, person.key, f"'{names.rows}'")
    whose = _parents_of(reading, parents, children, names)
    order = reading.in_order(children, whose)
    children, whose = children.take(order), whose[order]
    heads = reading.given(parents, person.static)
    rows = reading.given(children, [name for name in schema.modelled if name not in person.static])
    known = KnownPersons(persons=parents.num_rows, heads=heads, rows=rows, person=whose)
    done = continue_persons(model, schema, known, generator(seed))
    assert done.heads is not None
    keys = parents.column(names.key).take(_indices(done.drawn.person))
    table = _laid_out(children, done.given, person.key, keys)
    moving = [name for name in schema.modelled if name not in person.static]
    whole = with_drawn(parents, to_arrow(only(schema, person.static), done.drawn.heads))
    table = with_drawn(table, to_arrow(only(schema, moving), done.drawn.table))
    every = np.arange(parents.num_rows)
    return {
        names.table: Grown(table=whole, told=done.heads, rows=every),
        names.rows: Grown(table=table, told=done.rows, rows=order),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """How cells are read."""

    schema: Schema
    keep: bool
    read: ReadOptions
    secret: Secret = field(default_factory=Secret)

    def given(self, table: Any, names: Sequence[str]) -> Given:
        """Columns of a table; those it does not have are known nowhere."""
        own = [name for name in names if name in table.column_names]
        values, filled = given_values(self.schema, table, own, self.keep, tuple(self.read.null_values))
        for name in names:
            if name not in values:
                values[name] = decode_missing(self.schema[name], table.num_rows)
                filled[name] = np.zeros(table.num_rows, bool)
        return Given(values=values, known=filled)

    def keys(self, table: Any, key: str) -> Keys:
        """What tells keys apart, by the rule of a fit: 7, "7" and " 7.0" are one."""
        import pyarrow as pa

        kind = table.column(key).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
            raise UsageError(f"'{key}' tells persons apart, so it must hold texts, numbers or dates, which it does not")
        return self.words(table.column(key))

    def words(self, keys: Any) -> Keys:
        """Two words of each key."""
        one, two = (by.encode(keys) for by in key_encoders("", self.secret, tuple(self.read.null_values)))
        return one, two

    def heads(self, table: Any, whose: Ints, persons: int) -> Given:
        """What never changes of persons: of each the first row that tells it."""
        assert self.schema.person is not None
        rows = self.given(table, self.schema.person.static)
        values: dict[str, Values] = {}
        known: dict[str, Any] = {}
        for name, column in rows.values.items():
            told = np.flatnonzero(rows.known[name])
            who, first = np.unique(whose[told], return_index=True)
            row = np.zeros(persons, dtype=np.int64)
            row[who] = told[first]
            if _differ(column, told, row[whose[told]]).any():
                raise UsageError(f"'{name}' never changes, but some persons are given with several values of it")
            values[name] = Values(data=column.data[row], null=column.null[row], labels=column.labels)
            known[name] = np.isin(np.arange(persons), who)
        return Given(values=values, known=known)

    def in_order(self, table: Any, whose: Ints) -> Ints:
        """The rows person by person, each one's in their order; as they come where that is not given."""
        order = self.schema.person.order if self.schema.person is not None else None
        if order is None or order not in table.column_names or not table.num_rows:
            return np.argsort(whose, kind="stable")
        given = self.given(table, [order])
        several = np.bincount(whose)[whose] > 1
        if (several & (~given.known[order] | given.values[order].null)).any():
            raise UsageError(
                f"rows of a person follow one another by '{order}', which some of several rows do not have"
            )
        column, values = self.schema[order], given.values[order]
        return np.lexsort((values.data if column.numeric else codes_of(column, values), whose))


def _one_of(data: Any, name: str, read: ReadOptions) -> Any:
    """One of two tables, or None if it is not given."""
    if isinstance(data, Mapping):
        tables = cast("Mapping[str, Any]", data)
        return read_whole(tables[name], read, may_be_empty=True) if name in tables else None
    if not isinstance(data, str | os.PathLike) or not os.path.isdir(data):
        raise UsageError("this model tells two tables: give a mapping of them by name, or a folder with a file of each")
    files = [one for one in Path(cast("str", data)).iterdir() if one.name.split(".")[0] == name]
    if len(files) > 1:
        raise UsageError(f"the folder has several files called {name}; leave one")
    return read_whole(files[0], read, may_be_empty=True) if files else None


def _require(table: Any, key: str, what: str) -> None:
    if key not in table.column_names:
        raise UsageError(f"{what} has no column '{key}', which tells persons apart")


def _numbered(keys: Keys) -> Ints:
    """For each key the number of its person, as they come."""
    _, first, number = np.unique(np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number.ravel()]


def _differ(values: Values, rows: Ints, others: Ints) -> Mask:
    """Whether values of some rows are not those of others."""
    null = values.null[rows]
    return (null != values.null[others]) | (~null & (values.data[rows] != values.data[others]))


def _parents_of(reading: _Reading, parents: Any, children: Any, names: Parents) -> Ints:
    """For each row where its parent stands; keys of parents are all there and all different, and no row is without."""
    import pyarrow as pa

    assert reading.schema.person is not None
    own = reading.keys(parents, names.key)
    if len(np.unique(_numbered(own))) < len(own[0]) or (places_of(own, reading.words(pa.nulls(1))) >= 0).any():
        raise UsageError(f"each row of '{names.table}' needs a key of its own; some are empty or there twice")
    place = places_of(own, reading.keys(children, reading.schema.person.key))
    if (place < 0).any():
        raise UsageError(f"some rows of '{names.rows}' have a key that no row of '{names.table}' has; leave them out")
    return place


def _indices(places: Ints) -> Any:
    import pyarrow as pa

    return pa.array(places, mask=places < 0)


def _laid_out(given: Any, rows: Ints, key: str, keys: Any) -> Any:
    """The given rows among those that were drawn, which have nothing but their keys yet."""
    table = given.take(_indices(rows))
    return table.set_column(table.column_names.index(key), key, keys)

"""Two tables with a key between them: parents, and rows that belong to them. Together they describe persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from sklar.errors import SchemaError, UsageError
from sklar.schema.columns import Column, Id
from sklar.schema.persons.linked import has_linked_rows
from sklar.schema.persons.person import Parents, Person
from sklar.schema.table import Schema

DEFAULT_ROWS = 10
"""Rows of a parent that are used, where the schema of the rows says nothing of persons."""


class Tables:
    """Schemas of a table of parents and of a table of rows that belong to them; the parents are the persons protected.

    The schema of the rows may have a `Person` of its own: how many rows of a parent are used, their order, and rules
    across rows. Without one, at most ten are used, in a random order.

    Attributes:
        schema: Both tables as one schema of persons: columns of the parents are static. Its text is that of the tables.
    """

    __slots__ = ("schema",)

    def __init__(self, tables: Mapping[str, Schema], keys: Mapping[str, tuple[str, str]], person: str):
        """Join two schemas.

        Args:
            tables: By name, the schema of each.
            keys: By name of the table of rows, the column of its key and the table that it points to.
            person: The table of parents.
        """
        faults = _faults(tables, keys, person)
        if faults:
            raise SchemaError(faults)
        ((child, (key, _)),) = keys.items()
        self.schema = _join_schemas(tables[person], tables[child], Parents(
            table=person, key=_key_of(tables[person], key), rows=child), key)  # fmt: skip

    @classmethod
    def of(cls, schema: Schema) -> Tables:
        """Return the tables of a schema that says that parents have a table of their own."""
        if schema.person is None or schema.person.parents is None:
            raise UsageError("the schema is that of one table: it names no parents")
        found = object.__new__(cls)
        found.schema = schema
        return found

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Tables:
        """Read the tables from a TOML file."""
        return cls.of(Schema.read(path))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the tables to a TOML file; reading it back gives equal ones."""
        self.schema.write(path)

    @property
    def parents(self) -> Parents:
        """The names of both tables, and of the key of the parents."""
        assert self.schema.person is not None and self.schema.person.parents is not None
        return self.schema.person.parents

    def __eq__(self, other: object) -> bool:
        return self.schema == other.schema if isinstance(other, Tables) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.schema)

    def __repr__(self) -> str:
        return f"<sklar.Tables: {self.parents.table} and their {self.parents.rows}>"


def table_schemas(schema: Schema) -> dict[str, Schema]:
    """Return the schemas of the two tables by name, as in samples: the parents' with their key, without rules."""
    person = schema.person
    assert person is not None and person.parents is not None
    parents: dict[str, Column] = {person.parents.key: Id(prefix=getattr(schema[person.key], "prefix", ""))}
    parents |= {name: column for name, column in schema.items() if name in person.static}
    rows = {name: column for name, column in schema.items() if name not in person.static}
    return {person.parents.table: Schema(parents), person.parents.rows: Schema(rows)}


def _join_schemas(parents: Schema, rows: Schema, names: Parents, key: str) -> Schema:
    """Join both tables to one schema of persons."""
    static = parents.modelled
    said = rows.person or Person(key=key, rows=DEFAULT_ROWS)
    person = replace(said, key=key, static=static, parents=names, linked=None)
    columns: dict[str, Column] = {key: rows[key] if key in rows else Id()}
    columns |= {name: parents[name] for name in static} | {n: c for n, c in rows.items() if n != key}
    return Schema(
        columns, (*parents.rules, *rows.rules), (*parents.prices, *rows.prices), person=person,
        confirmed=(*parents.confirmed, *rows.confirmed),
    )  # fmt: skip


def _faults(tables: Mapping[str, Schema], keys: Mapping[str, Any], person: str) -> list[str]:
    """List all faults of the tables and their key."""
    if person not in tables:
        return [f"person must be one of the tables: {', '.join(tables)}"]
    if len(tables) != 2 or len(keys) != 1:
        return ["two tables are joined by one key: parents, and rows that belong to them"]
    ((child, link),) = keys.items()
    if not isinstance(link, tuple | list) or len(link) != 2 or not all(isinstance(part, str) for part in link):
        return [f"the key of '{child}' is a pair: its column, and the table that it points to"]
    key, parent = link
    if child not in tables or parent not in tables:
        return ["a key leads from one of the tables to the other"]
    if child == parent:
        return [f"the key of '{child}' points to its own table"]
    if parent != person:
        return [f"'{person}' is the table of persons, so keys point to it, not to '{parent}'"]
    return _find_column_faults(tables[parent], tables[child], key)


def _find_column_faults(parents: Schema, rows: Schema, key: str) -> list[str]:
    faults: list[str] = []
    both = [name for name in rows.modelled if name in parents.modelled]
    faults += [f"column '{name}' is in both tables: rename it in one of them" for name in both]
    if key in rows and rows[key].modelled:
        faults.append(f"the key '{key}' is a modelled column; make it kind 'id': a key is never modelled")
    if rows.person is not None and rows.person.key != key:
        faults.append(f"the rows have the key '{key}', but their person has '{rows.person.key}'")
    if parents.person is not None:
        faults.append("each row of the parents is a person of its own: leave their person out")
    if rows.person is not None and not has_linked_rows(
        rows, replace(rows.person, parents=Parents(table="", key="", rows=""))
    ):
        faults.append("the rows of a parent are linked: at most 64 of them, which share one vote")
    own = [name for name, column in parents.items() if isinstance(column, Id)]
    if key not in parents and len(own) != 1:
        faults.append(f"the parents have no column '{key}', and not just one of kind 'id': which is their key?")
    return faults


def _key_of(parents: Schema, key: str) -> str:
    """Return the key of the parents: the column of the same name, or their only one of kind id."""
    return key if key in parents else next(name for name, column in parents.items() if isinstance(column, Id))

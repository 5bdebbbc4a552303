"""Draft two linked tables, from a folder, a database or a mapping: which is of persons, and the key between them.

A key is recognised by its values: those of one table are all different, those of the other are among them. The result
is one schema of persons (`sklar.Tables.of` splits it), and who the persons are is a question like all others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa

from sklar.errors import SourceError
from sklar.lab.drafting.guess import MARK, name_words
from sklar.lab.drafting.keys import guess_person
from sklar.lab.drafting.labels import label_text
from sklar.lab.drafting.profile import Profile, profile_column
from sklar.rows.sources import FILES, open_source
from sklar.rows.sources.source import suffix_of
from sklar.schema.address import table_address
from sklar.schema.columns import Column, Id
from sklar.schema.persons.linked import MAX_LINKED_ROWS
from sklar.schema.persons.person import Person
from sklar.schema.persons.tables import Tables
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

MIN_KNOWN_SHARE = 0.95
"""Share of the values of a key that must be among those of the other table; the rest are errors."""
MIN_USED_SHARE = 0.3
"""Share of the persons that must have rows, unless the names of the columns show the key: else small numbers, which
are among any running numbers, would be keys."""
TABLES_OF = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "duckdb": "SELECT table_name FROM duckdb_tables() WHERE NOT internal",
}
"""Queries for the names of the tables of a database file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One of two tables: its data with the options to read it, its draft, and its columns as profiles."""

    data: Any
    read: ReadOptions
    draft: Schema
    profiles: Mapping[str, Profile]


def find_tables(data: Any, read: ReadOptions) -> dict[str, tuple[Any, ReadOptions]]:
    """Return two tables by name, with the options to read each; empty if the data are one table."""
    if isinstance(data, Mapping):
        whole = all(isinstance(one, str | os.PathLike) or hasattr(one, "columns") for one in data.values())
        return {str(name): (one, read) for name, one in data.items()} if whole and len(data) == 2 else {}
    if not isinstance(data, str | os.PathLike) or read.table or read.sql:
        return {}
    if os.path.isdir(data):
        files = sorted(path for path in Path(data).iterdir() if path.is_file() and suffix_of(path.name) in FILES)
        heads = {open_source(path, schema=None, read=read).column_names for path in files} if len(files) == 2 else {0}
        return {path.name.split(".")[0]: (path, read) for path in files} if len(heads) == 2 else {}
    names = _list_tables(os.fspath(data))
    return {name: (data, replace(read, table=name)) for name in names} if len(names) == 2 else {}


def _list_tables(path: str) -> list[str]:
    """Return the names of the tables of a SQLite or DuckDB file; of anything else none."""
    address = table_address(path)
    if address is None or address.table or address.kind not in TABLES_OF or not os.path.isfile(address.connection):
        return []
    if address.kind == "sqlite":
        import sqlite3

        connection: Any = sqlite3.connect(f"{Path(address.connection).absolute().as_uri()}?mode=ro", uri=True)
    else:
        import duckdb

        connection = duckdb.connect(address.connection, read_only=True)
    try:
        return sorted(name for (name,) in connection.execute(TABLES_OF[address.kind]).fetchall())
    finally:
        connection.close()


def join_drafts(
    tables: Mapping[str, tuple[Any, ReadOptions]],
    draft: Callable[[Any, ReadOptions], Schema],
    head: Callable[[Any, ReadOptions], Any],
) -> tuple[Schema, str]:
    """Return the joined schema of two tables, and a remark about the key that was found.

    Args:
        tables: Both tables with the options to read them.
        draft: Drafts one of them.
        head: Reads the first rows of one of them.
    """
    found: dict[str, Table] = {}
    for name, (data, read) in tables.items():
        rows: pa.Table = head(data, read)
        profiles = {column: profile_column(column, rows.column(column)) for column in rows.column_names}
        found[name] = Table(data=data, read=read, draft=draft(data, read), profiles=profiles)
    parent, key, child, link = _find_key(found)
    parents = _as_key(found[parent].draft, key).with_person(None)
    both = sorted(set(parents) & set(found[child].draft) - {key, link})
    if both:
        raise SourceError(f"column '{both[0]}' is in both tables {parent} and {child}: rename it in one of them")
    rows_schema = _with_link(found[child], link)
    joined = Tables({parent: parents, child: rows_schema}, keys={child: (link, parent)}, person=parent).schema
    notes = {**found[parent].draft.notes, **found[child].draft.notes}
    notes = {name: notes.get(name, ()) for name in joined} | {"": notes.get("", ())}
    person = None if joined.person is None else replace(joined.person, source=MARK)
    remark = f"'{link}' of {child} holds values of '{key}' of {parent}: each row of {parent} is drafted as one person."
    return Schema(dict(joined), joined.rules, person=person, notes=notes), remark


def _find_key(tables: Mapping[str, Table]) -> tuple[str, str, str, str]:
    """Return the table of parents with its key, and the table of their rows with the column that points to it."""
    found = [
        (score, parent, key, child, link)
        for parent, child in permutations(tables, 2)
        for key, profile in tables[parent].profiles.items()
        if profile.unique and profile.present > 1
        for link, other in tables[child].profiles.items()
        if (score := _score(profile, other, _is_named(key, link, parent))) > 0
    ]
    if not found:
        raise SourceError(
            f"no key joins the tables {' and '.join(tables)}: one needs a column of different values, and the other a "
            "column with these values; or draft each table by itself"
        )
    return max(found)[1:]


def _score(key: Profile, link: Profile, named: bool) -> float:
    """Return how well a column points to a key: the share of values it knows, and of keys it uses; 0 if it does not."""
    if not link.present or link.form == "boolean":
        return 0.0
    keys, links = ({label_text(value).strip().removesuffix(".0") for value in one.values} for one in (key, link))
    known, used = len(links & keys) / len(links), len(links & keys) / len(keys)
    enough = known >= MIN_KNOWN_SHARE and (named or used >= MIN_USED_SHARE)
    return known + used + named if enough else 0.0


def _is_named(key: str, link: str, parent: str) -> bool:
    """Return whether a column is named after a key or its table: patient, patient_id and id_patients of patients."""
    stem = parent.lower().rstrip("s")
    return key.lower() == link.lower() or any(word.rstrip("s") == stem for word in name_words(link))


def _as_key(draft: Schema, name: str) -> Schema:
    """Return a draft in which a column is a key; rules about it are dropped."""
    rules = [rule for rule in draft.rules if name not in rule.columns]
    return draft.with_rules(rules).with_columns({name: Id(source=MARK)})


def _with_link(table: Table, link: str) -> Schema:
    """Return the draft of the rows with their key and person, whose static columns are those of the parents alone."""
    plain = _as_key(table.draft.with_person(None), link)
    columns: dict[str, Column] = dict(plain)
    person = guess_person([table.profiles[link]], columns) or Person(key=link, rows=1, source=MARK)
    return plain.with_person(replace(person, rows=min(int(person.rows), MAX_LINKED_ROWS), linked=None))

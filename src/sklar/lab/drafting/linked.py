"""Draft linked tables, from a folder, a database or a mapping: which is of persons, and the key to it.

A key is recognised by its values: those of one table are all different, those of the other are among them. The result
is one schema of persons (`sklar.Tables.of` splits it), and who the persons are is a question like all others. A model
has two tables, so of more the persons and one table of their rows are drafted; the others are left out, with a reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa

from sklar.errors import SourceError
from sklar.lab.drafting.guess import MARK, name_words
from sklar.lab.drafting.keys import MIN_PANEL_PERSONS, guess_person
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
LINK_ROWS = 1_000_000
"""Rows of each table among which keys are looked for: a sample of a table has few of the keys of another sample."""
MIN_USED_SHARE = 0.3
"""Share of the persons that must have rows, unless the names of the columns show the key: else small numbers, which
are among any running numbers, would be keys."""
TABLES_OF = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "duckdb": "SELECT table_name FROM duckdb_tables() WHERE NOT internal",
}
"""Queries for the names of the tables of a database file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A column of one table that points to the key of another.

    Attributes:
        keys: Number of keys.
        score: How well it points to them; see `_score`.
    """

    parent: str
    key: str
    child: str
    link: str
    keys: int
    score: float


def find_tables(data: Any, read: ReadOptions) -> dict[str, tuple[Any, ReadOptions]]:
    """Return several tables by name, with the options to read each; empty if the data are one table."""
    if isinstance(data, Mapping):
        whole = all(isinstance(one, str | os.PathLike) or hasattr(one, "columns") for one in data.values())
        return {str(name): (one, read) for name, one in data.items()} if whole and len(data) > 1 else {}
    if not isinstance(data, str | os.PathLike) or read.table or read.sql:
        return {}
    if os.path.isdir(data):
        files = sorted(path for path in Path(data).iterdir() if path.is_file() and suffix_of(path.name) in FILES)
        heads = {open_source(path, schema=None, read=read).column_names for path in files}
        return {path.name.split(".")[0]: (path, read) for path in files} if len(heads) > 1 else {}
    names = _list_tables(os.fspath(data))
    return {name: (data, replace(read, table=name)) for name in names} if len(names) > 1 else {}


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
    """Return the joined schema of persons and their rows, and a remark about the key and about other tables.

    Args:
        tables: The tables with the options to read them.
        draft: Drafts one of them.
        head: Reads the first rows of one of them.
    """
    found = {name: _read_one(data, read, head) for name, (data, read) in tables.items()}
    links = _find_links(found)
    best = _choose_link(links, found)
    parent, key, child, link = best.parent, best.key, best.child, best.link
    drafts = {name: draft(*tables[name]) for name in (parent, child)}
    parents = _as_key(drafts[parent], key).with_person(None)
    both = sorted(set(parents) & set(drafts[child]) - {key, link})
    if both:
        raise SourceError(f"column '{both[0]}' is in both tables {parent} and {child}: rename it in one of them")
    rows_schema = _with_link(drafts[child], found[child][link], link)
    joined = Tables({parent: parents, child: rows_schema}, keys={child: (link, parent)}, person=parent).schema
    notes = {**drafts[parent].notes, **drafts[child].notes}
    notes = {name: notes.get(name, ()) for name in joined} | {"": notes.get("", ())}
    person = None if joined.person is None else replace(joined.person, source=MARK)
    remark = f"'{link}' of {child} holds values of '{key}' of {parent}: each row of {parent} is drafted as one person."
    left = "".join(f" {_explain_left_out(name, best, links)}" for name in tables if name not in (parent, child))
    return Schema(dict(joined), joined.rules, person=person, notes=notes), remark + left


def _read_one(data: Any, read: ReadOptions, head: Callable[[Any, ReadOptions], Any]) -> dict[str, Profile]:
    """Return the profiles of a table's columns."""
    rows: pa.Table = head(data, read)
    return {column: profile_column(column, rows.column(column)) for column in rows.column_names}


def _find_links(tables: Mapping[str, Mapping[str, Profile]]) -> list[Link]:
    """Return the best link between each two tables."""
    found: list[Link] = []
    for parent, child in permutations(tables, 2):
        scored = [
            Link(parent=parent, key=key, child=child, link=link, keys=profile.present, score=score)
            for key, profile in tables[parent].items()
            if profile.unique and profile.present > 1
            for link, other in tables[child].items()
            if (score := _score(profile, other, _is_named(key, link, parent))) > 0
        ]
        found += [max(scored, key=lambda one: (one.score, one.key, one.link))] if scored else []
    if not found:
        raise SourceError(
            f"no key joins the tables {' and '.join(tables)}: one needs a column of different values, and the other a "
            "column with these values; or draft each table by itself"
        )
    return found


def _choose_link(links: Sequence[Link], tables: Mapping[str, Mapping[str, Profile]]) -> Link:
    """Return the link to the persons: many rows, which point to no other table of many rows."""
    many = {link.parent for link in links if link.keys >= MIN_PANEL_PERSONS}
    below = {link.child for link in links if link.parent in many}
    rows = {name: max((one.rows for one in profiles.values()), default=0) for name, profiles in tables.items()}
    return max(links, key=lambda one: (one.parent in many, one.parent not in below, one.score, rows[one.child]))


def _explain_left_out(name: str, chosen: Link, links: Sequence[Link]) -> str:
    """Return why a table is not part of the draft."""
    from_it = {link.parent: link for link in links if link.child == name}
    if chosen.parent in from_it:
        return (
            f"The table {name} is left out: its rows belong to {chosen.parent}, too, but only one table of rows can be "
            "linked. Draft the two by themselves; their fits share one ledger."
        )
    if chosen.child in from_it:
        return (
            f"The table {name} is left out: its rows belong to rows of {chosen.child}, and only two levels are linked."
        )
    if any(link.parent == name for link in links):
        return f"The table {name} is left out: other tables point to it. Join what is wanted of it to their rows first."
    return f"The table {name} is left out: no key joins it."


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


def _with_link(draft: Schema, profile: Profile, link: str) -> Schema:
    """Return the draft of the rows with their key and person, whose static columns are those of the parents alone."""
    plain = _as_key(draft.with_person(None), link)
    columns: dict[str, Column] = dict(plain)
    person = guess_person([profile], columns) or Person(key=link, rows=1, source=MARK)
    return plain.with_person(replace(person, rows=min(int(person.rows), MAX_LINKED_ROWS), linked=None))

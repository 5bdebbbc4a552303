"""Exact counts of a table that is declared public: the only exact counts that leave this package.

It is read by the same code as private rows, so that its codes have the same meaning, and none of it is protected. A
class of its own keeps it apart: a Door is never made over it, a `PublicRows` never over a fit's rows. `pipeline.fit`
refuses a public table that is plainly the private one: the same object, memory, file or table of a database, a copy of
a pandas frame, a folder and a file of it, a model of the same ledger. Other copies could only be recognized by
comparing values, whose result may not leave the rows; they are detected after the fit, from its noisy counts.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.rows import Rows, TableSpec, exact_counts, open_rows
from sklar.rows.sources import address_of, open_source
from sklar.rows.sources.memory import same_memory
from sklar.rows.sources.query import queried_files
from sklar.schema.coordinates import coordinates
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

__all__ = ["PublicRows", "open_public", "public_columns", "queried_files", "same_memory", "same_table"]


class PublicRows:
    """A public table as base codes, to be counted."""

    def __init__(self, rows: Rows, names: Sequence[str]):
        self._rows = rows
        self.names = tuple(names)
        self.rows = rows.exact_rows

    def count(self, tables: Sequence[TableSpec]) -> list[Ints]:
        """Return the exact counts of tables (columns, lookups or None)."""
        return list(exact_counts(self._rows, tables))


def same_table(public: str, private: str, read: ReadOptions) -> bool:
    """Return whether two paths or URLs lead to one table of a database; a query reads the tables that it names."""
    one, other = address_of(public, None), address_of(private, read.table)
    if one is None or other is None or not one.meets(other):
        return False
    return read.sql is None or not one.table or one.table.lower() in read.sql.lower()


def public_columns(data: Any, schema: Schema, read: ReadOptions) -> tuple[str, ...]:
    """Return the modelled columns of the schema that a public table has."""
    there = set(open_source(data, schema=None, read=_text_options(read)).column_names)
    return tuple(name for name in schema.modelled if name in there)


@contextmanager
def open_public(data: Any, schema: Schema, read: ReadOptions) -> Generator[PublicRows]:
    """Open a public table, encoded by the columns of the schema that it has.

    A coordinate that rules derive is offered only if it is the same as with all columns of the schema.
    """
    known = set(public_columns(data, schema, read))
    if not known:
        raise UsageError("the prior has no column of the schema")
    rules = [rule for rule in schema.rules if known.issuperset(rule.columns)]
    there = Schema({name: column for name, column in schema.items() if name in known}, rules)
    whole, own = coordinates(schema).schema, coordinates(there).schema
    names = [name for name in own.modelled if name in whole.modelled and own[name] == whole[name]]
    with closing(open_rows(data, there, _text_options(read))) as rows:
        rows.keep_codes()
        yield PublicRows(rows, names)


def _text_options(read: ReadOptions) -> ReadOptions:
    """Return the options for text alone; query, cluster and progress bar belong to the private rows."""
    return replace(ReadOptions(), delimiter=read.delimiter, encoding=read.encoding, null_values=read.null_values)

"""Parents and their rows, from two tables with a key between them, as base codes of parents, first rows and steps.

A parent is a person, with any number of rows. It has one row among the parents and, if it has rows, one among the first
rows, each a whole vote; its steps share one. Of parents with one key one is used, chosen by a keyed hash; rows whose
key no parent has are left out. So what a person adds to a table depends on that person's rows in both tables alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from sklar.arrays import Ints
from sklar.counting.batches import CodeBatch
from sklar.errors import SourceError
from sklar.rows.codes.table import EncodedRows
from sklar.rows.persons.choice import Column, Persons, Words, select_rows, tie_words
from sklar.rows.persons.gather import PART_BITS, Block, Gathering
from sklar.rows.persons.keys import key_encoders
from sklar.rows.persons.linked import WHOLE_VOTE, Gathered, LinkedRows, Places
from sklar.rows.sources import FILES, Source, open_source
from sklar.rows.sources.databases.snapshot import Snapshot
from sklar.rows.sources.source import suffix_of
from sklar.schema import Schema
from sklar.schema.coordinates import Coordinates
from sklar.schema.persons.linked import PARENT
from sklar.schema.persons.tables import table_schemas
from sklar.schema.reading import ReadOptions

Keys = tuple[Words, Words]


class FamilyRows(LinkedRows):
    """Private rows of parents and of what belongs to them. Made by `open_rows`."""

    def __init__(self, source: Source, *given: Any, parents: Source, **named: Any):
        super().__init__(source, *given, **named)
        self._parents = parents

    def used_codes(self, gathered: Iterable[Block]) -> Iterator[tuple[int, CodeBatch]]:
        """Gather both tables in one pass each, and yield the codes of all tables of persons."""
        heads, rows = Gathering(self._folder), Gathering(self._folder)
        try:
            self._gather_heads(heads)
            for columns in gathered:
                rows.add(columns)
            self._exact_persons = 0
            for part in range(1 << PART_BITS):
                if heads.rows_of([part]):
                    yield from self._families(heads.columns([part]), rows, part)
        finally:
            heads.close()
            rows.close()

    def _gather_heads(self, heads: Gathering) -> None:
        assert self._person.parents is not None
        reader = EncodedRows(self._parents, self._views[0].by, null_values=self.null_values, threads=self.threads)
        keys = key_encoders(self._person.parents.key, self._secret, self.null_values)
        for batch in reader.read_by([*keys, *self._static.encoders]):
            heads.add(batch.codes)

    def _person_encoders(self) -> list[Any]:
        """Return the encoders of rows, followed by those of the key, which joins rows with their parents."""
        return [*super()._person_encoders(), *key_encoders(self._person.key, self._secret, self.null_values)]

    def _families(self, parents: list[Column], rows: Gathering, part: int) -> Iterator[tuple[int, CodeBatch]]:
        """Yield some parents, one for each key, with their rows in all tables."""
        keys = (parents[0], parents[1])
        chosen = select_rows(keys, None, tie_words(keys, parents[2:], self._secret.mixing), 1).rows
        keys, heads = (parents[0][chosen], parents[1][chosen]), [column[chosen] for column in parents[2:]]
        count = len(keys[0])
        self._exact_persons += count
        sizes, place = np.zeros(count, dtype=np.int64), np.arange(count)
        for persons, columns in self._select_parts(rows, [part]) if rows.rows_of([part]) else ():
            first = persons.rows[np.cumsum(persons.sizes) - persons.sizes]
            parent = find_places(keys, (columns[-2][first], columns[-1][first]))
            sizes[parent[parent >= 0]] = persons.sizes[parent >= 0]
            codes = Gathered(rows=columns[:-2], heads=heads)
            yield from self._make_tables(_keep_persons(persons, parent >= 0), parent[parent >= 0], codes)
        # Sensitivity: one row of weight 2^20, a whole vote, for each person.
        alone = Gathered(rows=[], heads=heads)
        yield from self._make_batches(
            PARENT, alone, Places(now=place, before=place, head=place, more=sizes), WHOLE_VOTE
        )


def open_family(data: Any, by: Coordinates, read: ReadOptions, cache_bytes: int) -> FamilyRows:
    """Open two tables: a mapping of both, a folder with a file for each, or a database that has them."""
    person, sources = by.declared.person, open_tables(data, by.declared, read)
    assert person is not None and person.parents is not None
    return FamilyRows(
        sources[person.parents.rows], by, person, parents=sources[person.parents.table],
        null_values=tuple(read.null_values), cache_bytes=read.cache_bytes or cache_bytes, folder=read.cache,
        threads=read.threads,
    )  # fmt: skip


def open_tables(data: Any, schema: Schema, read: ReadOptions) -> dict[str, Source]:
    """Open the table of parents and that of their rows, by name."""
    person, schemas = schema.person, table_schemas(schema)
    assert person is not None and person.parents is not None
    keys = {person.parents.table: person.parents.key, person.parents.rows: person.key}
    return {name: _open_table(data, name, schemas[name], keys[name], read) for name in schemas}


def _open_table(data: Any, name: str, schema: Schema, key: str, read: ReadOptions) -> Source:
    """Return one of the tables."""
    if isinstance(data, Mapping):
        tables = cast("Mapping[str, Any]", data)
        if name not in tables:
            raise SourceError(f"there is no table '{name}'; give a mapping with both tables")
        return open_source(tables[name], schema=schema, read=read, also=(key,))
    if isinstance(data, str | os.PathLike) and os.path.isdir(data):
        named = (one for one in Path(data).iterdir() if one.name.split(".")[0] == name)
        files = [one for one in named if suffix_of(one.name) in FILES]
        if len(files) != 1:
            raise SourceError(
                f"the folder must have exactly one file called {name}, such as {name}.csv or {name}.parquet"
            )
        return open_source(files[0], schema=schema, read=read, also=(key,))
    if isinstance(data, Snapshot) and data.address.table:
        raise SourceError("two tables are fitted: omit the table from the address of their database")
    return open_source(data, schema=schema, read=replace(read, table=name), also=(key,))


def find_places(keys: Keys, wanted: Keys) -> Ints:
    """Return the place of each wanted key among the keys, all different; -1 if it is not among them."""
    both = np.empty(len(keys[0]) + len(wanted[0]), dtype=[("one", np.uint64), ("two", np.uint64)])
    both["one"], both["two"] = np.concatenate([keys[0], wanted[0]]), np.concatenate([keys[1], wanted[1]])
    number = np.unique(both, return_inverse=True)[1].ravel()
    place = np.full(len(both), -1, dtype=np.int64)
    place[number[: len(keys[0])]] = np.arange(len(keys[0]))
    return place[number[len(keys[0]) :]]


def _keep_persons(persons: Persons, kept: Any) -> Persons:
    """Return some of the persons."""
    return Persons(rows=persons.rows[np.repeat(kept, persons.sizes)], sizes=persons.sizes[kept])

"""The used rows of persons as base codes, each with the weight that its person's rows share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from sklar.accounting.unit import VOTE_BITS
from sklar.counting.batches import CodeBatch, PackedBits
from sklar.errors import DoorError
from sklar.rows.codes.kept import KeptCodes
from sklar.rows.codes.table import EncodedRows, RowEncoder, stored_places, stored_tables
from sklar.rows.persons.choice import Column, Persons
from sklar.rows.persons.gather import Block, Gathering
from sklar.rows.persons.keys import Secret, key_encoders, order_encoder
from sklar.rows.persons.labels import exact_named_labels
from sklar.rows.persons.used import RowChoice, read_selected_rows
from sklar.rows.sources import Source
from sklar.rows.sources.source import BATCH_ROWS
from sklar.schema.coordinates import Coordinates, RowsOfPerson
from sklar.schema.persons.person import Person

FLUSH_ROWS = 1 << 20
"""Rows that are collected by weight before they are counted: a batch has one weight, and large batches are faster."""


def vote_weight(rows: int) -> int:
    """Return the weight of each of a person's rows, in parts of 2^-20 of a vote: together at most one vote."""
    return (1 << VOTE_BITS) // rows


class PersonRows(EncodedRows):
    """Private rows of persons as base codes: gathered and chosen once, then always kept, on disk if they must be.

    All rows of a batch have one weight. Made by `open_rows`.
    """

    def __init__(
        self,
        source: Source,
        by: Coordinates,
        person: Person,
        *,
        null_values: tuple[str, ...] = (),
        cache_bytes: int,
        folder: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        secret: Secret | None = None,
    ):
        super().__init__(source, by, null_values=null_values, threads=threads)
        self._folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        sizes = [[by.schema.size(name) for name in names] for names in stored_tables(by.schema)]
        self._stores = [KeptCodes(kinds, cache_bytes // len(sizes), self._folder) for kinds in sizes]
        self._person, self._secret = person, secret or Secret()
        self._exact_rows = None  # the source knows its number of rows, not that of used rows
        self._exact_persons = 0

    @property
    def votes(self) -> bool:
        return self._person.shares_vote

    @property
    def exact_persons(self) -> int:
        self.keep_codes()
        return self._exact_persons

    @property
    def persons_seen(self) -> int:
        """Persons among the codes of the last pass."""
        return self._exact_persons

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns that are read."""
        return tuple(dict.fromkeys(name for one in self._person_encoders() for name in one.sources))

    def close(self) -> None:
        self._drop_codes()
        super().close()

    def _drop_codes(self) -> None:
        self._whole = False
        for store in self._stores:
            store.close()

    def exact_label_counts(
        self, floors: Mapping[str, int], listed: Mapping[str, tuple[str, ...]]
    ) -> dict[str, dict[str, int]]:
        """Count labels of columns, one label per person."""
        return exact_named_labels(self, self._person.key, self._secret, floors, listed, self._folder)

    def read_codes(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        self.keep_codes()
        table, places = stored_places(self.schema, columns)
        return self._stores[table].batches(places)

    def keep_codes(self) -> None:
        """Gather the rows of persons in one pass, and keep the codes of those that are used."""
        if self._whole:
            return
        self._drop_codes()  # batches of a failed pass would be counted twice
        rows = [0] * len(self._stores)
        for table, batch in self.used_codes(self.gathered()):
            if not self._stores[table].add(batch):
                raise DoorError("codes of persons are always kept, on disk if need be")
            rows[table] += batch.rows
        self._whole, self._exact_rows = True, rows[0]

    def gathered(self) -> Iterator[Block]:
        """Read, in one pass, the person of each row and all columns needed to select and encode it."""
        return (batch.codes for batch in self.read_by(self._person_encoders()))

    def used_codes(self, gathered: Iterable[Block]) -> Iterator[tuple[int, CodeBatch]]:
        """Yield the codes of the selected rows of gathered persons, table by table."""
        gathering = Gathering(self._folder)
        try:
            for columns in gathered:
                gathering.add(columns)
            self._exact_persons = 0
            yield from self._split_into_batches(gathering)
        finally:
            gathering.close()

    def _person_encoders(self) -> list[RowEncoder]:
        person, parts = self._person, [part for part in self._by.parts if not isinstance(part, RowsOfPerson)]
        order = [] if person.order is None else [order_encoder(self._by.declared, person.order, self.null_values)]
        keys = key_encoders(person.key, self._secret, self.null_values)
        return [*keys, *order, *(self._make_row_encoder(part) for part in parts)]

    def _split_into_batches(self, gathering: Gathering) -> Iterator[tuple[int, CodeBatch]]:
        waiting: dict[int, list[list[Column]]] = {}
        held = 0
        for persons, codes in self._select(gathering):
            sizes = persons.size_of_row if self.votes else np.ones(len(persons.rows), dtype=np.int64)
            for size in np.unique(sizes).tolist():
                rows = persons.rows[sizes == size]
                waiting.setdefault(size, []).append([column[rows] for column in codes])
            held += len(persons.rows)
            if held >= FLUSH_ROWS:
                yield from self._flush(waiting)
                waiting, held = {}, 0
        yield from self._flush(waiting)

    @property
    def _choice(self) -> RowChoice:
        person = self._person
        return RowChoice(bound=person.bound, ordered=person.order is not None, mixing=self._secret.mixing)

    def _select(self, gathering: Gathering) -> Iterator[tuple[Persons, list[Column]]]:
        """Yield the selected rows of persons and their codes, some persons at a time."""
        for parts in gathering.parts():
            for persons, columns in self._select_parts(gathering, parts):
                self._exact_persons += len(persons.sizes)
                yield persons, columns

    def _select_parts(self, gathering: Gathering, parts: Sequence[int]) -> Iterator[tuple[Persons, list[Column]]]:
        """Yield the selected rows of persons of some parts, and their codes."""
        for persons, columns in read_selected_rows(gathering, parts, self._choice):
            yield persons, columns[3 if self._person.order is not None else 2 :]

    def _flush(self, waiting: dict[int, list[list[Column]]]) -> Iterator[tuple[int, CodeBatch]]:
        for size, blocks in waiting.items():
            columns = [np.concatenate([block[at] for block in blocks]) for at in range(len(blocks[0]))]
            for start in range(0, len(columns[0]), BATCH_ROWS):
                yield 0, self._make_batch([column[start : start + BATCH_ROWS] for column in columns], size)

    def _make_batch(self, codes: list[Column], size: int) -> CodeBatch:
        rows = len(codes[0])
        if self.votes:
            codes = [*codes, np.full(rows, size - 1, dtype=np.min_scalar_type(self._person.bound - 1))]
        kinds = [self.schema.size(name) for name in self.schema.modelled]
        return packed_batch(codes, kinds, vote_weight(size) if self.votes else 1)


def packed_batch(codes: Sequence[Column], kinds: Sequence[int], weight: int) -> CodeBatch:
    """Return the codes of rows of one weight in the form in which they are kept."""
    rows = len(codes[0])
    columns = tuple(
        PackedBits(rows=rows, data=np.packbits(column, bitorder="little"))
        if kind == 2
        else column.astype(np.min_scalar_type(max(kind - 1, 0)), copy=False)
        for column, kind in zip(codes, kinds, strict=True)
    )
    return CodeBatch(rows=rows, columns=columns, weight=weight)

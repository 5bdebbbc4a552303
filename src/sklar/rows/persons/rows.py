"""The used rows of persons as base codes, each with the weight that its person's rows share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import VOTE_BITS
from sklar.errors import SourceError
from sklar.rows.codes.batch import CodeBatch, PackedBits
from sklar.rows.codes.kept import KeptCodes
from sklar.rows.codes.table import EncodedRows
from sklar.rows.persons.choice import Persons, has_more, row_words, tie_words, used_rows
from sklar.rows.persons.gather import Gathering
from sklar.rows.persons.keys import Secret, key_encoders, order_encoder
from sklar.rows.sources import Source
from sklar.rows.sources.source import BATCH_ROWS
from sklar.schema.coordinates import Coordinates, RowsOfPerson
from sklar.schema.persons.person import Person

FLUSH_ROWS = 1 << 20
"""Rows that wait for others of the same weight: batches are of one weight, and large ones are counted faster."""

Column = npt.NDArray[Any]


def vote_weight(rows: int) -> int:
    """What one of so many rows of a person counts, in parts of 2^-20 of a vote: never more than a vote together."""
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
        self._folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        kept = KeptCodes([by.schema.size(name) for name in by.schema.modelled], cache_bytes, self._folder)
        super().__init__(source, by, null_values=null_values, kept=kept, threads=threads)
        self._person, self._secret = person, secret or Secret()
        self._exact_rows = None  # the source knows how many rows it has, not how many are used
        self._exact_persons = 0

    @property
    def votes(self) -> bool:
        return self._person.shares_vote

    @property
    def exact_persons(self) -> int:
        self.keep_codes()
        return self._exact_persons

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Refused: raw rows are not those that are used."""
        raise SourceError("labels cannot be looked for where persons may have several rows; list them in the schema")

    def _encoded(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the source: rows are gathered person by person, and those that are used come in batches."""
        gathering = Gathering(self._folder)
        try:
            for batch in self.read_by(self._person_encoders()):
                gathering.add(batch.codes)
            yield from self._in_batches(gathering)
        finally:
            gathering.close()

    def _person_encoders(self) -> list[Any]:
        person, parts = self._person, [part for part in self._by.parts if not isinstance(part, RowsOfPerson)]
        order = [] if person.order is None else [order_encoder(self._by.declared, person.order, self.null_values)]
        keys = key_encoders(person.key, self._secret, self.null_values)
        return [*keys, *order, *(self._row_encoder(part) for part in parts)]

    def _in_batches(self, gathering: Gathering) -> Iterator[CodeBatch]:
        waiting: dict[int, list[list[Column]]] = {}
        held = self._exact_persons = 0
        for parts in gathering.parts():
            persons, codes = self._used(gathering, parts)
            self._exact_persons += len(persons.sizes)
            sizes = persons.size_of_row if self.votes else np.ones(len(persons.rows), dtype=np.int64)
            for size in np.unique(sizes).tolist():
                rows = persons.rows[sizes == size]
                waiting.setdefault(size, []).append([column[rows] for column in codes])
            held += len(persons.rows)
            if held >= FLUSH_ROWS:
                yield from self._flushed(waiting)
                waiting, held = {}, 0
        yield from self._flushed(waiting)

    @property
    def _in_order(self) -> bool:
        """Whether it matters which row of a person comes first: then it never depends on how many others have."""
        return self._person.order is not None

    def _used(self, gathering: Gathering, parts: Sequence[int]) -> tuple[Persons, list[Column]]:
        """The rows of some persons that are used, and all codes that are held of them."""
        slices = gathering.slices(parts)
        if slices == 1:
            columns = gathering.columns(parts)
            ties = None
            if self._in_order or has_more((columns[0], columns[1]), self._person.bound):
                ties = self._ties(columns)
            return self._chosen(columns, ties)
        found: list[list[Column]] = []
        for number in range(slices):
            columns = self._slice(gathering, parts, number, slices)
            ties = self._ties(columns)
            rows = self._chosen(columns, ties)[0].rows
            found.append([column[rows] for column in (*columns, ties)])
        together = [np.concatenate([block[at] for block in found]) for at in range(len(found[0]))]
        return self._chosen(together[:-1], together[-1])

    def _slice(self, gathering: Gathering, parts: Sequence[int], number: int, slices: int) -> list[Column]:
        """The rows whose content falls into one of so many slices: equal rows fall into the same one."""
        blocks: list[list[Column]] = []
        for block in gathering.blocks(parts):
            words = row_words(block[2:], len(block[0]), self._secret.mixing)
            inside = words % np.uint64(slices) == number
            blocks.append([column[inside] for column in block])
        return [np.concatenate([block[at] for block in blocks]) for at in range(len(blocks[0]))]

    def _ties(self, columns: Sequence[Column]) -> npt.NDArray[np.uint64]:
        return tie_words((columns[0], columns[1]), columns[2:], self._secret.mixing)

    def _chosen(self, columns: Sequence[Column], ties: npt.NDArray[np.uint64] | None) -> tuple[Persons, list[Column]]:
        ordered = self._person.order is not None
        order = columns[2] if ordered else None
        return used_rows((columns[0], columns[1]), order, ties, self._person.bound), list(
            columns[3 if ordered else 2 :]
        )

    def _flushed(self, waiting: dict[int, list[list[Column]]]) -> Iterator[CodeBatch]:
        for size, blocks in waiting.items():
            columns = [np.concatenate([block[at] for block in blocks]) for at in range(len(blocks[0]))]
            for start in range(0, len(columns[0]), BATCH_ROWS):
                yield self._batch([column[start : start + BATCH_ROWS] for column in columns], size)

    def _batch(self, codes: list[Column], size: int) -> CodeBatch:
        rows = len(codes[0])
        if self.votes:
            codes = [*codes, np.full(rows, size - 1, dtype=np.min_scalar_type(self._person.bound - 1))]
        kinds = [self.schema.size(name) for name in self.schema.modelled]
        columns = tuple(
            PackedBits(rows=rows, data=np.packbits(column, bitorder="little")) if kind == 2 else column
            for column, kind in zip(codes, kinds, strict=True)
        )
        return CodeBatch(rows=rows, columns=columns, weight=vote_weight(size) if self.votes else 1)

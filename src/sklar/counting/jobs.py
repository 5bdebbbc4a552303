"""Jobs: exact integers computed from rows that add up over any parts of the table, here or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.counting.batches import CodeBatch
from sklar.errors import DoorError
from sklar.schema import Schema

Codes = npt.NDArray[np.int32]


class Job(Protocol):
    """Computes exact integers from a part of the rows, in one pass; those of all parts are added up.

    Attributes:
        shapes: Shapes of the answers, fixed before any row is read.
    """

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]: ...
    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]: ...


class GroupJob(Protocol):
    """Computes exact integers from code matrices of `columns`, one line per row.

    Its answers add up over parts that keep rows with equal codes together.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]: ...
    def __call__(self, codes: Codes) -> tuple[Ints, ...]: ...


class CountedRows(Protocol):
    """Rows that can be counted: private ones, or simulated ones.

    Attributes:
        schema: The columns of the codes.
        exact_rows: Number of rows: private under add-remove.
        votes: Whether the rows of a person share one vote, so that counts are in parts of 2^-20.
    """

    @property
    def schema(self) -> Schema: ...
    @property
    def exact_rows(self) -> int: ...
    @property
    def votes(self) -> bool: ...

    def run_job(self, job: Job) -> tuple[Ints, ...]:
        """Return the answers of a job for all rows."""
        ...

    def run_group_job(self, job: GroupJob) -> tuple[Ints, ...]:
        """Return the answers of a job that needs rows with equal codes together."""
        ...


def add_parts(shapes: Sequence[tuple[int, ...]], parts: Iterator[tuple[Ints, ...]]) -> tuple[Ints, ...]:
    """Add up the answers of a job over parts of the rows."""
    total = tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)
    for part in parts:
        for sums, more in zip(total, part, strict=True):
            sums += more
    return total


class CodedPart(ABC):
    """Rows as base codes, and the number of threads that may work on them."""

    schema: Schema
    threads: int

    @property
    @abstractmethod
    def votes(self) -> bool:
        """Whether the rows of a person share one vote, so that counts are in parts of 2^-20."""

    @abstractmethod
    def read_codes(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """Read the codes of the given columns in one pass."""

    def batches(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """Read the codes in one pass; weights other than 1 are refused unless rows share votes."""
        for batch in self.read_codes(columns):
            if batch.weight != 1 and not self.votes:
                raise DoorError("a row must have weight 1 unless rows share votes")
            yield batch

    def code_matrix_batches(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[Codes]:
        """Read the codes as matrices of at most `rows` rows; rows that share votes are refused, as weights are lost."""
        if self.votes:
            raise DoorError("rows that share votes cannot be processed as if each had weight 1")
        return (codes for codes, _ in self.weighted_matrices(columns, rows))

    def weighted_matrices(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[tuple[Codes, int]]:
        """Read the codes as matrices of at most `rows` rows, each with the weight of its rows."""
        for batch in self.batches(columns):
            for start in range(0, batch.rows, rows):
                matrix = np.empty((min(rows, batch.rows - start), len(columns)), dtype=np.int32)
                for place in range(len(columns)):
                    matrix[:, place] = batch.part(place, slice(start, min(start + rows, batch.rows)))
                yield matrix, batch.weight

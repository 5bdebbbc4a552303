"""What is worked out from rows as integers that add up over any parts of the table, here or on a cluster."""

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
    """Frozen data with a call: exact integers from a part of the rows, in one pass. Those of all parts are added up.

    Attributes:
        shapes: Shapes of the answers, known before any row is read.
    """

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]: ...
    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]: ...


class GroupJob(Protocol):
    """As `Job`, from matrices of the codes of `columns`, one line a row; its answers add up over parts that keep rows
    with equal codes together.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]: ...
    def __call__(self, codes: Codes) -> tuple[Ints, ...]: ...


class CountedRows(Protocol):
    """Rows that can be counted, wherever they are: private ones, or those that a model made up.

    Attributes:
        schema: The coordinates that codes are of.
        exact_rows: Number of rows: private under add-remove.
        votes: Whether the rows of a person share one vote, so that counts are in parts of 2^-20.
    """

    @property
    def schema(self) -> Schema: ...
    @property
    def exact_rows(self) -> int: ...
    @property
    def votes(self) -> bool: ...

    def summed(self, job: Job) -> tuple[Ints, ...]:
        """Return the answers of a job for all rows."""
        ...

    def summed_groups(self, job: GroupJob) -> tuple[Ints, ...]:
        """Return the answers of a job that needs rows with equal codes together."""
        ...


def added(shapes: Sequence[tuple[int, ...]], parts: Iterator[tuple[Ints, ...]]) -> tuple[Ints, ...]:
    """The sum of answers over parts of the rows; zeros if there are none."""
    total = tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)
    for part in parts:
        for sums, more in zip(total, part, strict=True):
            sums += more
    return total


class CodedPart(ABC):
    """Rows as base codes; so many threads may work on them."""

    schema: Schema
    threads: int

    @property
    @abstractmethod
    def votes(self) -> bool:
        """Whether the rows of a person share one vote, so that counts are in parts of 2^-20."""

    @abstractmethod
    def coded(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the codes of the given columns, wherever they are."""

    def batches(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """The same; where rows share no votes, one that would count other than once is refused."""
        for batch in self.coded(columns):
            if batch.weight != 1 and not self.votes:
                raise DoorError("rows that share no votes count one each")
            yield batch

    def code_matrix_batches(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[Codes]:
        """One pass over the codes of the given columns as matrices, one row of codes per row, at most `rows` high.

        What rows count is not told, so those that share votes are refused.
        """
        if self.votes:
            raise DoorError("rows that share votes cannot be worked on as if each counted one")
        return (codes for codes, _ in self.weighted_matrices(columns, rows))

    def weighted_matrices(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[tuple[Codes, int]]:
        """The same, with what each row of a matrix counts."""
        for batch in self.batches(columns):
            for start in range(0, batch.rows, rows):
                matrix = np.empty((min(rows, batch.rows - start), len(columns)), dtype=np.int32)
                for place in range(len(columns)):
                    matrix[:, place] = batch.part(place, slice(start, min(start + rows, batch.rows)))
                yield matrix, batch.weight

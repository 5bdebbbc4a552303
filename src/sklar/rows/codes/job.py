"""What is worked out from rows as integers that add up over any parts of the table, here or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.rows.codes.batch import CodeBatch
from sklar.schema import Schema

Codes = npt.NDArray[np.int32]


class Job(Protocol):
    """Frozen data with a call: exact integers from a part of the rows. Those of all parts are added up."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the answers, known before any row is read."""
        ...

    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]:
        """The answers for these rows, in one pass."""
        ...


class GroupJob(Protocol):
    """As `Job`, from code matrices; its answers add up over parts that keep rows with equal codes together."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the matrices."""
        ...

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the answers, known before any row is read."""
        ...

    def __call__(self, codes: Codes) -> tuple[Ints, ...]:
        """The answers for these rows, one row of codes each."""
        ...


class Rows(Protocol):
    """Private rows, wherever they are."""

    @property
    def schema(self) -> Schema:
        """The public facts."""
        ...

    @property
    def null_values(self) -> tuple[str, ...]:
        """Texts that stand for null, besides the empty one."""
        ...

    @property
    def passes(self) -> int:
        """Number of times the source itself was read."""
        ...

    @property
    def exact_rows(self) -> int:
        """Number of rows: private under add-remove."""
        ...

    def require_repeatable(self) -> None:
        """Refuse a source that can be read once only."""

    def keep_codes(self) -> None:
        """Find out that the source is a table, and keep its codes where they fit."""

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """One pass over the given columns as Arrow arrays, before any schema is applied."""
        ...

    def summed(self, job: Job) -> tuple[Ints, ...]:
        """The answers of a job for all rows."""
        ...

    def summed_groups(self, job: GroupJob) -> tuple[Ints, ...]:
        """The answers of a job that needs rows with equal codes together."""
        ...

    def close(self) -> None:
        """Forget what was kept."""


def added(shapes: Sequence[tuple[int, ...]], parts: Iterator[tuple[Ints, ...]]) -> tuple[Ints, ...]:
    """The sum of answers over parts of the rows; zeros if there are none."""
    total = tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)
    for part in parts:
        for sums, more in zip(total, part, strict=True):
            sums += more
    return total


class CodedPart(ABC):
    """Rows as base codes.

    Attributes:
        schema: The public facts.
        threads: Number of threads that may work on them.
    """

    schema: Schema
    threads: int

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the codes of the given columns."""

    def code_matrix_batches(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[npt.NDArray[np.int32]]:
        """One pass over the codes of the given columns as matrices, one row of codes per row, at most `rows` high."""
        for batch in self.batches(columns):
            for start in range(0, batch.rows, rows):
                matrix = np.empty((min(rows, batch.rows - start), len(columns)), dtype=np.int32)
                for place in range(len(columns)):
                    matrix[:, place] = batch.part(place, slice(start, min(start + rows, batch.rows)))
                yield matrix

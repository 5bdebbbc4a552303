"""What is worked out from rows as integers that add up over any parts of the table, here or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sklar.schema import Schema

if TYPE_CHECKING:
    from sklar.rows.part import CodedPart

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


class Job(Protocol):
    """Frozen data with a call: exact integers from a part of the rows. Those of all parts are added up."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the answers, known before any row is read."""
        ...

    def __call__(self, rows: CodedPart) -> tuple[Counts, ...]:
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

    def __call__(self, codes: Codes) -> tuple[Counts, ...]:
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

    def summed(self, job: Job) -> tuple[Counts, ...]:
        """The answers of a job for all rows."""
        ...

    def summed_groups(self, job: GroupJob) -> tuple[Counts, ...]:
        """The answers of a job that needs rows with equal codes together."""
        ...

    def close(self) -> None:
        """Forget what was kept."""


def added(shapes: Sequence[tuple[int, ...]], parts: Iterator[tuple[Counts, ...]]) -> tuple[Counts, ...]:
    """The sum of answers over parts of the rows; zeros if there are none."""
    total = tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)
    for part in parts:
        for sums, more in zip(total, part, strict=True):
            sums += more
    return total

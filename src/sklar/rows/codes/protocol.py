"""The protocol of private rows, in memory, files, a database or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from sklar.counting.jobs import CountedRows


class Rows(CountedRows, Protocol):
    """Private rows.

    Attributes:
        null_values: Texts that stand for null, in addition to the empty one.
        passes: Number of times the source itself was read.
        exact_persons: Number of persons: that of rows where each row is one.
    """

    @property
    def null_values(self) -> tuple[str, ...]: ...
    @property
    def passes(self) -> int: ...
    @property
    def exact_persons(self) -> int: ...

    def require_repeatable(self) -> None:
        """Refuse a source that can be read only once."""

    def require_labels(self) -> None:
        """Refuse rows in which unlisted labels cannot be discovered."""

    def keep_codes(self) -> None:
        """Check that the source is a table, and keep its codes if they fit."""

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Read the given columns in one pass as Arrow arrays, before any schema is applied."""
        ...

    def close(self) -> None:
        """Drop what was kept."""

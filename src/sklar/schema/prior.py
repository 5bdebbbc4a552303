"""A public table as a prior: counts of single columns and of pairs, declared public by the custodian."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from sklar.arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicColumn:
    """One column of a public table: the rows of each base code, and the group of each code in tables of pairs."""

    name: str
    counts: Ints
    groups: Ints

    @property
    def size(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicPrior:
    """A public table by its counts. It is not protected: whoever declares it public vouches for that.

    Attributes:
        name: The custodian's name for it.
        by: Who vouches that it is public; empty for the custodian.
        rows: Its number of rows.
        columns: The modelled columns that it has, as the schema codes them.
        pairs: Tables of the pairs of columns (0, 1), (0, 2), ... on their groups, one after the other.
        promise: The guarantee for the people behind it, if it was drawn from a model; empty for a table.
    """

    name: str
    by: str
    rows: int
    columns: tuple[PublicColumn, ...]
    pairs: Ints
    promise: str = ""

    @cached_property
    def by_name(self) -> dict[str, PublicColumn]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def _tables(self) -> dict[tuple[str, str], Ints]:
        found: dict[tuple[str, str], Ints] = {}
        start = 0
        for first, second in combinations(self.columns, 2):
            stop = start + first.size * second.size
            found[first.name, second.name] = self.pairs[start:stop].reshape(first.size, second.size)
            start = stop
        return found

    def table(self, first: str, second: str) -> Ints | None:
        """Return the counts of two columns on their groups; None if it lacks one of them."""
        found = self._tables.get((first, second))
        if found is None and (second, first) in self._tables:
            return self._tables[second, first].T
        return found

    def is_whole(self) -> bool:
        """Return whether its counts are those of one table of `rows` rows."""
        cells = sum(first.size * second.size for first, second in combinations(self.columns, 2))
        sums = [int(column.counts.sum()) for column in self.columns]
        sums += [int(table.sum()) for table in self._tables.values()] if len(self.pairs) == cells else [-1]
        return all(total == self.rows for total in sums)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its names and counts."""
        names = [self.name, self.by, self.promise, self.rows, *(column.name for column in self.columns)]
        digest = hashlib.sha256(json.dumps(names).encode())
        for column in self.columns:
            digest.update(np.ascontiguousarray(column.counts, dtype=np.int64).tobytes())
            digest.update(np.ascontiguousarray(column.groups, dtype=np.int64).tobytes())
        digest.update(np.ascontiguousarray(self.pairs, dtype=np.int64).tobytes())
        return digest.hexdigest()

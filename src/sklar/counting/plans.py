"""What exact counting will do, worked out and checked before any row is read: features, tables, sizes, refusals."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.counting.jobs import CodedPart, Codes
from sklar.errors import TableTooLargeError, UsageError
from sklar.schema import Schema

MAX_CELLS, MAX_BYTES = 2**31, 2 << 30
"""Of one table, and of all that are counted at once: what a fit may hold in memory for counts."""

Lookup = npt.NDArray[Any]
TableSpec = tuple[Sequence[str], Sequence[Lookup] | None]
"""Columns of a table, and for each a lookup from base code to group, or None for the base codes themselves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feature:
    """A column, or a column recoded by a lookup; `groups` codes 0, 1, 2, ..."""

    column: str
    lookup: Lookup | None
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingPlan:
    """Distinct features, distinct tables over them, and which table answers each request.

    Attributes:
        tables: Each a tuple of features by number.
        answers: For each request, the number of its table.
    """

    features: tuple[Feature, ...]
    tables: tuple[tuple[int, ...], ...]
    answers: tuple[int, ...]

    def shape(self, table: int) -> tuple[int, ...]:
        """Shape of one of the distinct tables."""
        return tuple(self.features[f].groups for f in self.tables[table])

    def cells(self, table: int) -> int:
        """Number of cells of one of the distinct tables."""
        return math.prod(self.shape(table))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return tuple(dict.fromkeys(feature.column for feature in self.features))


def plan_counts(schema: Schema, specs: Sequence[TableSpec], max_bytes: int = MAX_BYTES) -> CountingPlan:
    """Check requests against the schema and the memory limit, and merge what is asked for twice."""
    known = _Features(schema)
    tables: dict[tuple[int, ...], int] = {}
    answers = [tables.setdefault(known.axes(columns, lookups), len(tables)) for columns, lookups in specs]
    plan = CountingPlan(features=tuple(known.listed), tables=tuple(tables), answers=tuple(answers))
    _require_room(plan, max_bytes)
    return plan


class _Features:
    """Numbers the distinct features as they are met. There may be half a million tables of them, so this is quick."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self.listed: list[Feature] = []
        self._plain: dict[str, int] = {}
        self._recoded: dict[tuple[str, bytes], int] = {}
        self._digests: dict[int, bytes] = {}

    def axes(self, columns: Sequence[str], lookups: Sequence[Lookup] | None) -> tuple[int, ...]:
        """The features of a table by number."""
        if lookups is not None:
            if len(lookups) != len(columns):
                raise UsageError(f"a recoded table needs one lookup for each of its {len(columns)} columns")
            return tuple(map(self._recoded_number, columns, lookups))
        try:
            return tuple([self._plain[column] for column in columns])
        except KeyError:
            return tuple([self._plain_number(column) for column in columns])

    def _plain_number(self, column: str) -> int:
        if column not in self._plain:
            self.listed.append(_feature(self.schema, column, None))
            self._plain[column] = len(self.listed) - 1
        return self._plain[column]

    def _recoded_number(self, column: str, lookup: Lookup) -> int:
        key = (column, _digest(lookup, self._digests))
        if key not in self._recoded:
            feature = _feature(self.schema, column, lookup)
            if np.array_equal(lookup, np.arange(len(lookup))):  # nothing is recoded
                self._recoded[key] = self._plain_number(column)
            else:
                self.listed.append(feature)
                self._recoded[key] = len(self.listed) - 1
        return self._recoded[key]


def _digest(lookup: Lookup, known: dict[int, bytes]) -> bytes:
    """Equal lookups get equal keys, so that they are applied once; arrays seen before are not hashed again."""
    if id(lookup) not in known:
        known[id(lookup)] = hashlib.blake2b(lookup.astype(np.int64).tobytes(), digest_size=16).digest()
    return known[id(lookup)]


def _feature(schema: Schema, column: str, lookup: Lookup | None) -> Feature:
    if column not in schema or not schema[column].modelled:
        raise UsageError(f"'{column}' is not a modelled column of the schema")
    size = schema[column].size
    if lookup is None:
        return Feature(column=column, lookup=None, groups=size)
    if lookup.ndim != 1 or len(lookup) != size or lookup.dtype.kind not in "iu" or lookup.min() < 0:
        raise UsageError(f"the lookup of column '{column}' must give a group from 0 on for each of its {size:,} codes")
    return Feature(column=column, lookup=lookup, groups=int(lookup.max()) + 1)


def _require_room(plan: CountingPlan, max_bytes: int) -> None:
    groups = [feature.groups for feature in plan.features]
    total = 0
    for table, axes in enumerate(plan.tables):
        cells = math.prod([groups[f] for f in axes])
        total += 8 * cells
        if cells > MAX_CELLS or 8 * cells > max_bytes:
            _refuse_table(plan, table, max_bytes)
    if total > max_bytes:
        raise TableTooLargeError(
            f"the {len(plan.tables):,} tables asked for at once would take {_bytes(total)}, more than "
            f"{_bytes(max_bytes)}; use coarser grids (bins) for the largest columns: {', '.join(_largest(plan))}"
        )


def _refuse_table(plan: CountingPlan, table: int, max_bytes: int) -> None:
    cells = plan.cells(table)
    names = ", ".join(f"'{plan.features[f].column}' ({plan.features[f].groups:,})" for f in plan.tables[table])
    raise TableTooLargeError(
        f"a table over {names} would have {cells:,} cells ({_bytes(8 * cells)}), more than fit into "
        f"{_bytes(max_bytes)}; use fewer columns or coarser grids (bins) for them"
    )


def _largest(plan: CountingPlan) -> list[str]:
    order = sorted(plan.features, key=lambda feature: -feature.groups)
    return list(dict.fromkeys(f"'{feature.column}' ({feature.groups:,})" for feature in order))[:3]


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,} bytes"


GROUP_BYTES = 256 << 20
"""Code matrices of about this size are held at once."""


def group_count(rows: int, columns: int) -> int:
    """Into how many parts the rows are cut."""
    return max(1, -(-rows * columns * 4 // GROUP_BYTES))


def grouped_codes(rows: CodedPart, columns: Sequence[str], groups: int) -> Iterator[Codes]:
    """Code matrices that together hold every row once; rows with equal codes are in the same one."""
    for group in range(groups):
        parts = [np.zeros((0, len(columns)), np.int32)]
        for codes in rows.code_matrix_batches(columns):
            parts.append(codes if groups == 1 else codes[groups_of(codes, groups) == group])
        yield np.concatenate(parts)


def groups_of(codes: Codes, groups: int) -> Ints:
    """Group of each row, by a hash of its codes alone: all of its bits depend on all codes, and collisions are fine."""
    words = np.full(len(codes), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in codes.T:
        words = (words ^ column.astype(np.uint64)) * np.uint64(0xD6E8FEB86659FD93)
        words ^= words >> np.uint64(32)
    return ((words >> np.uint64(32)) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)

"""Plans of exact counting, made and checked before any row is read: features, tables, sizes, refusals."""

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
"""Maximum cells of one table, and maximum bytes of all tables that are counted at once."""

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
        """Return the shape of one of the distinct tables."""
        return tuple(self.features[f].groups for f in self.tables[table])

    def cells(self, table: int) -> int:
        """Return the number of cells of one of the distinct tables."""
        return math.prod(self.shape(table))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return tuple(dict.fromkeys(feature.column for feature in self.features))


def plan_counts(schema: Schema, specs: Sequence[TableSpec], max_bytes: int = MAX_BYTES) -> CountingPlan:
    """Check requests against the schema and the memory limit, and merge equal ones."""
    known = _Features(schema)
    tables: dict[tuple[int, ...], int] = {}
    answers = [tables.setdefault(known.axes(columns, lookups), len(tables)) for columns, lookups in specs]
    plan = CountingPlan(features=tuple(known.listed), tables=tuple(tables), answers=tuple(answers))
    _require_memory(plan, max_bytes)
    return plan


class _Features:
    """Numbers the distinct features in order of appearance; fast, since there may be half a million tables."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self.listed: list[Feature] = []
        self._plain: dict[str, int] = {}
        self._recoded: dict[tuple[str, bytes], int] = {}
        self._digests: dict[int, bytes] = {}

    def axes(self, columns: Sequence[str], lookups: Sequence[Lookup] | None) -> tuple[int, ...]:
        """Return the features of a table by number."""
        if lookups is not None:
            if len(lookups) != len(columns):
                raise UsageError(f"a recoded table needs one lookup for each of its {len(columns)} columns")
            return tuple(map(self._number_recoded_feature, columns, lookups))
        try:
            return tuple([self._plain[column] for column in columns])
        except KeyError:
            return tuple([self._number_plain_feature(column) for column in columns])

    def _number_plain_feature(self, column: str) -> int:
        if column not in self._plain:
            self.listed.append(_make_feature(self.schema, column, None))
            self._plain[column] = len(self.listed) - 1
        return self._plain[column]

    def _number_recoded_feature(self, column: str, lookup: Lookup) -> int:
        key = (column, _hash_lookup(lookup, self._digests))
        if key not in self._recoded:
            feature = _make_feature(self.schema, column, lookup)
            if np.array_equal(lookup, np.arange(len(lookup))):  # the lookup changes no code
                self._recoded[key] = self._number_plain_feature(column)
            else:
                self.listed.append(feature)
                self._recoded[key] = len(self.listed) - 1
        return self._recoded[key]


def _hash_lookup(lookup: Lookup, known: dict[int, bytes]) -> bytes:
    """Return the hash of a lookup, so that equal lookups are applied once; an array is hashed once."""
    if id(lookup) not in known:
        known[id(lookup)] = hashlib.blake2b(lookup.astype(np.int64).tobytes(), digest_size=16).digest()
    return known[id(lookup)]


def _make_feature(schema: Schema, column: str, lookup: Lookup | None) -> Feature:
    if column not in schema or not schema[column].modelled:
        raise UsageError(f"'{column}' is not a modelled column of the schema")
    size = schema[column].size
    if lookup is None:
        return Feature(column=column, lookup=None, groups=size)
    if lookup.ndim != 1 or len(lookup) != size or lookup.dtype.kind not in "iu" or lookup.min() < 0:
        raise UsageError(f"the lookup of column '{column}' must give a group from 0 on for each of its {size:,} codes")
    return Feature(column=column, lookup=lookup, groups=int(lookup.max()) + 1)


def _require_memory(plan: CountingPlan, max_bytes: int) -> None:
    groups = [feature.groups for feature in plan.features]
    total = 0
    for table, axes in enumerate(plan.tables):
        cells = math.prod([groups[f] for f in axes])
        total += 8 * cells
        if cells > MAX_CELLS or 8 * cells > max_bytes:
            _refuse_table(plan, table, max_bytes)
    if total > max_bytes:
        order = sorted(plan.features, key=lambda feature: -feature.groups)
        columns = dict.fromkeys(f"'{feature.column}' ({feature.groups:,})" for feature in order)
        largest = ", ".join(list(columns)[:3])
        raise TableTooLargeError(
            f"the {len(plan.tables):,} tables requested at once would take {_format_bytes(total)}, more than "
            f"{_format_bytes(max_bytes)}; use coarser grids (bins) for the largest columns: {largest}"
        )


def _refuse_table(plan: CountingPlan, table: int, max_bytes: int) -> None:
    cells = plan.cells(table)
    names = ", ".join(f"'{plan.features[f].column}' ({plan.features[f].groups:,})" for f in plan.tables[table])
    raise TableTooLargeError(
        f"a table over {names} would have {cells:,} cells ({_format_bytes(8 * cells)}), more than fit into "
        f"{_format_bytes(max_bytes)}; use fewer columns or coarser grids (bins) for them"
    )


def _format_bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,} bytes"


GROUP_BYTES = 256 << 20
"""Approximate size of the code matrices in memory at one time."""


def count_groups(rows: int, columns: int) -> int:
    """Return the number of groups into which rows are divided so that each fits into memory."""
    return max(1, -(-rows * columns * 4 // GROUP_BYTES))


def read_code_groups(rows: CodedPart, columns: Sequence[str], groups: int) -> Iterator[Codes]:
    """Yield code matrices that together contain every row once; rows with equal codes are in the same matrix."""
    for group in range(groups):
        parts = [np.zeros((0, len(columns)), np.int32)]
        for codes in rows.code_matrix_batches(columns):
            parts.append(codes if groups == 1 else codes[assign_groups(codes, groups) == group])
        yield np.concatenate(parts)


def assign_groups(codes: Codes, groups: int) -> Ints:
    """Return the group of each row, by a hash of its codes alone; collisions do no harm."""
    words = np.full(len(codes), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in codes.T:
        words = (words ^ column.astype(np.uint64)) * np.uint64(0xD6E8FEB86659FD93)
        words ^= words >> np.uint64(32)
    return ((words >> np.uint64(32)) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)

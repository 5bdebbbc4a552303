"""A sampled table as plain numpy arrays: one array of values and one null mask a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """The values of one column.

    Attributes:
        data: int64 (integers, integer labels, keys, ticks of datetimes), float64, bool, or int32 positions in `labels`.
        null: True where the value is missing; `data` then holds a filler.
        labels: The texts that `data` points to, for columns of text.
    """

    data: npt.NDArray[Any]
    null: Mask
    labels: tuple[str, ...] | None = None


SampledTable = Mapping[str, Values]


def row_count(table: SampledTable) -> int:
    """Number of rows."""
    return len(next(iter(table.values())).data)


def take(table: SampledTable, rows: Index) -> SampledTable:
    """The listed rows, in that order."""
    return {name: _with(v, v.data[rows], v.null[rows]) for name, v in table.items()}


def replace_rows(table: SampledTable, rows: Index, other: SampledTable, from_rows: Index) -> SampledTable:
    """A copy in which the listed rows are those of another table."""
    out: dict[str, Values] = {}
    for name, v in table.items():
        data, null = v.data.copy(), v.null.copy()
        data[rows], null[rows] = other[name].data[from_rows], other[name].null[from_rows]
        out[name] = _with(v, data, null)
    return out


def concatenate(tables: Iterable[SampledTable]) -> SampledTable:
    """Tables of the same columns, one after the other."""
    parts = list(tables)
    if len(parts) == 1:
        return parts[0]
    return {
        name: _with(v, np.concatenate([p[name].data for p in parts]), np.concatenate([p[name].null for p in parts]))
        for name, v in parts[0].items()
    }


def _with(values: Values, data: npt.NDArray[Any], null: Mask) -> Values:
    return Values(data=data, null=null, labels=values.labels)

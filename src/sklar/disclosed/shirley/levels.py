"""The levels of a column in the order of the encoder, and which of them the encoder cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.disclosed.metrics.spearman import spearman_correlation
from sklar.disclosed.metrics.table import ExactTable, ordered_names, ordered_values
from sklar.disclosed.shirley.options import Options

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROWS = 5_000
"""Rows that decide on which side of the values a null is put."""
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """Occupied base codes of one column, in order.

    Attributes:
        codes: Base codes.
        groups: For each of them the number of its group: levels of equal encoded value share one.
        indicators: Whether each level gets a variable of its own (one-hot) instead of one for all.
    """

    codes: Ints
    groups: Ints
    indicators: bool

    def places(self, codes: NDArray[np.integer], size: int) -> Ints:
        """Position of each row's code among the levels."""
        where = np.zeros(size, dtype=np.int64)
        where[self.codes] = np.arange(len(self.codes))
        return where[codes]


def levels_of(
    table: ExactTable, encoded: Mapping[str, Floats], options: Options, rng: np.random.Generator
) -> tuple[Levels, ...]:
    """Levels of every column that some row has."""
    few = table.sample(ROWS, rng)
    return tuple(_levels(table, few, name, encoded.get(name), options) for name in table.names)


def _levels(table: ExactTable, few: ExactTable, name: str, encoded: Floats | None, options: Options) -> Levels:
    column = table.schema[name]
    codes = np.unique(table.codes[name]).astype(np.int64)
    if encoded is not None:
        codes = codes[np.argsort(encoded[codes], kind="stable")]
        jumps = np.diff(encoded[codes]) > TOLERANCE
        return Levels(codes=codes, groups=np.concatenate([[0], np.cumsum(jumps)]), indicators=False)
    if column.ordered and column.null_code is not None and codes[-1] == column.null_code and null_first(few, name):
        codes = np.roll(codes, 1)
    indicators = options.encoding == "one-hot" and not column.ordered and len(codes) > 2
    return Levels(codes=codes, groups=np.arange(len(codes)), indicators=indicators)


def null_first(table: ExactTable, name: str) -> bool:
    """Whether rows with a null look more like those with small values than like those with large ones.

    A null is an atom at one end of an ordered axis. With r_k the correlation of the values with another column and
    m_k that of being null with it, the sum of r_k m_k is positive if the atom belongs to the upper end.
    """
    values = ordered_values(table, name)
    null = np.isnan(values)
    agreement = 0.0
    for other in ordered_names(table.schema):
        beside = ordered_values(table, other)
        both, seen = ~null & ~np.isnan(beside), ~np.isnan(beside)
        if other != name and both.sum() > 1:
            value = spearman_correlation(values[both], beside[both])
            missing = spearman_correlation(null[seen].astype(np.float64), beside[seen])
            agreement += float(np.nan_to_num(value) * np.nan_to_num(missing))
    return agreement < 0

"""Adult on the paper's grid: 14 columns, 18 equal bins for each number, all values of each category (194 binary)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.data import prepare
from sklar.lab.metrics.queries import BinaryTable, binary_table
from sklar.rows import open_rows

BINS = 18
RANGES = {
    "age": (16, 100),
    "education-num": (0, 17),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 100),
}
MANY = 64
"""The option `bins` of the methods: no column has more values, so none is cut."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adult:
    """The table, its schema, and what is needed to turn base codes into the paper's binary table."""

    frame: pd.DataFrame
    schema: sklar.Schema
    kept: np.ndarray
    real: BinaryTable

    @property
    def rows(self) -> int:
        return len(self.frame)

    def binary(self, codes: np.ndarray) -> BinaryTable:
        """One column per listed value; the label `other` never occurs in the table and is left out."""
        whole = binary_table(codes, [self.schema.size(name) for name in self.schema.modelled])
        return BinaryTable(bits=whole.bits[:, self.kept], owner=whole.owner[self.kept])

    def cut(self, bits: np.ndarray) -> BinaryTable:
        """The model's own binary table, without `other`."""
        return BinaryTable(bits=bits[:, self.kept], owner=self.real.owner)


def adult() -> Adult:
    """Read Adult and cut its numbers; ranges are the dictionary's, not the rows'."""
    frame = prepare.adult()
    columns: dict[str, Any] = {}
    for name in frame:
        if name in RANGES:
            low, high = RANGES[str(name)]
            frame[name] = np.clip((frame[name] - low) * BINS // (high + 1 - low), 0, BINS - 1).astype(int)
            columns[str(name)] = sklar.Integer(0, BINS - 1)
        else:
            frame[name] = frame[name].astype(str)
            columns[str(name)] = sklar.Category(sorted(frame[name].unique()))
    schema = sklar.Schema(columns)
    listed = [np.arange(schema.size(name)) < schema[name].value_cells for name in schema.modelled]
    kept = np.flatnonzero(np.concatenate(listed))
    codes = np.concatenate(list(open_rows(frame, schema).code_matrix_batches(schema.modelled)))
    whole = binary_table(codes, [schema.size(name) for name in schema.modelled])
    real = BinaryTable(bits=whole.bits[:, kept], owner=whole.owner[kept])
    return Adult(frame=frame, schema=schema, kept=kept, real=real)

"""Tables of dpc: Adult on the paper's grid (14 columns, 18 bins for each number, all values of each category: 194
binary), and stand-ins of the sizes of DSS and Hospital, which cannot be had."""

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
MANY = 256
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
    return on_grid(frame, sklar.Schema(columns))


STAND_INS = {"hospital": (10_000, [134] * 4 + [133] * 5), "dss": (5_240_260, [25] * 26 + [24])}
"""Rows of Hospital (1,201 binary columns) and DSS (674), and values of their columns, made equal: the paper does not
say how many each has."""


def stand_in(name: str, rows: int | None = None) -> Adult:
    """A table of one of these sizes, its columns with a common factor."""
    height, sizes = STAND_INS[name]
    codes = common_factor(rows or height, sizes)
    return on_grid(
        pd.DataFrame(codes).astype(int),
        sklar.Schema({column: sklar.Integer(0, size - 1) for column, size in zip(codes, sizes, strict=True)}),
    )


def common_factor(rows: int, sizes: list[int]) -> dict[str, np.ndarray]:
    """Columns of so many values with a common factor and uneven margins."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=rows).astype(np.float32)
    columns: dict[str, np.ndarray] = {}
    for j, size in enumerate(sizes):
        score = rng.uniform(0.2, 0.8) * factor + rng.normal(size=rows).astype(np.float32)
        edges = np.quantile(score[:10_000], np.cumsum(rng.dirichlet(np.ones(size)))[:-1])
        columns[f"x{j}"] = np.searchsorted(edges, score).astype(np.uint8)
    return columns


def on_grid(frame: pd.DataFrame, schema: sklar.Schema) -> Adult:
    """A table with its binary one."""
    listed = [np.arange(schema.size(name)) < schema[name].value_cells for name in schema.modelled]
    kept = np.flatnonzero(np.concatenate(listed))
    codes = np.concatenate(list(open_rows(frame, schema).code_matrix_batches(schema.modelled)))
    whole = binary_table(codes, [schema.size(name) for name in schema.modelled])
    real = BinaryTable(bits=whole.bits[:, kept], owner=whole.owner[kept])
    return Adult(frame=frame, schema=schema, kept=kept, real=real)

"""How wide intervals are for plain questions, and how many rows a release is worth: from the released noise alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.inference.tables import partitions_of
from sklar.model.margins.margin import Margin
from sklar.model.vine.intervals import half_width
from sklar.release.measurements import Measurement
from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Real

COVERAGE = 0.95
TYPICAL_SHARE = 0.1
"""The share of rows by which a release is judged: one in ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """Half widths of 95% intervals for questions about one column, and what the release is worth for them.

    Attributes:
        share: Of the share of rows in one cell of its quietest table.
        mean: Of the mean of its numbers, in their own unit; None if it has none.
        worth: Rows of a plain random sample that tell a share of one in ten as well as all rows with the noise do.
    """

    share: float
    mean: float | None
    worth: float


def column_width(column: Column, margin: Margin, tables: Sequence[Measurement], rows: float) -> Width | None:
    """Widths for a column, by the released histogram of it that tells each best; None if there is none."""
    own = [table for table in tables if len(table.query.columns) == 1]
    if not own:
        return None
    quietest = min(own, key=lambda table: table.sigma)
    share = half_width(quietest.noise.kind, quietest.sigma, 1, COVERAGE) / rows
    means = [width for table in own if (width := _mean_width(column, margin, table, rows)) is not None]
    return Width(share=share, mean=min(means, default=None), worth=rows_worth(quietest.sigma, rows))


def rows_worth(sigma: float, rows: float, share: float = TYPICAL_SHARE) -> float:
    """The m with p (1 - p) / m = p (1 - p) / n + s^2 / n^2: chance of n rows, and the noise on their count."""
    return rows / (1.0 + sigma**2 / (rows * share * (1.0 - share)))


def _mean_width(column: Column, margin: Margin, table: Measurement, rows: float) -> float | None:
    """The mean weighs each cell by how far its numbers lie from the mean: s sqrt(sum (x - mean)^2) / n."""
    if not isinstance(column, Integer | Real):
        return None
    mass = margin.dense()[: column.value_cells]
    values, group = (
        column.grid.starts[: column.value_cells].astype(np.float64),
        partitions_of(table)[0][: column.value_cells],
    )
    held = np.bincount(group, mass, table.values.size)
    codes = np.bincount(group, minlength=table.values.size)
    if not held.sum() > 0:
        return None
    # Cells without mass still carry noise: they stand at the middle of their codes.
    weight = np.where(held[group] > 0, mass / np.maximum(held[group], 1e-300), 1.0 / np.maximum(codes[group], 1))
    centre = np.bincount(group, weight * values, table.values.size)
    mean = float(held @ centre / held.sum())
    spread = math.sqrt(float(np.sum((centre[codes > 0] - mean) ** 2)))
    return half_width(table.noise.kind, table.sigma, 1, COVERAGE) * spread / (rows * float(held.sum()))

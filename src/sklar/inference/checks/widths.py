"""Interval widths for simple questions, and effective sample sizes, from the noise of a release alone."""

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
REFERENCE_SHARE = 0.1
"""The share of rows for which effective sample sizes are stated: one in ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """Half widths of 95% intervals for questions about one column, and the effective sample size.

    Attributes:
        share: Half width for the share of rows in one cell of its least noisy table.
        mean: Half width for the mean of its numbers, in their unit; None if it has no numbers.
        effective_rows: Size of a simple random sample that estimates a share of one in ten as precisely.
    """

    share: float
    mean: float | None
    effective_rows: float


def compute_widths(column: Column, margin: Margin, tables: Sequence[Measurement], rows: float) -> Width | None:
    """Return the widths for a column from its most precise histograms; None if there is no histogram."""
    own = [table for table in tables if len(table.query.columns) == 1]
    if not own:
        return None
    quietest = min(own, key=lambda table: table.sigma)
    share = half_width(quietest.noise.kind, quietest.sigma, 1, COVERAGE) / rows
    means = [width for table in own if (width := _mean_width(column, margin, table, rows)) is not None]
    return Width(share=share, mean=min(means, default=None), effective_rows=effective_rows(quietest.sigma, rows))


def effective_rows(sigma: float, rows: float, share: float = REFERENCE_SHARE) -> float:
    """Return the m with p (1 - p) / m = p (1 - p) / n + s^2 / n^2: sampling error of n rows plus noise on the count."""
    return rows / (1.0 + sigma**2 / (rows * share * (1.0 - share)))


def _mean_width(column: Column, margin: Margin, table: Measurement, rows: float) -> float | None:
    """Return the half width for the mean: noise in a cell counts by its distance, s sqrt(sum (x - mean)^2) / n."""
    if not isinstance(column, Integer | Real):
        return None
    mass = margin.dense()[: column.value_cells]
    values = column.grid.starts[: column.value_cells].astype(np.float64)
    group = partitions_of(table)[0][: column.value_cells]
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

"""Findings on single columns for the public report: released counts with error bands, the model, interval widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.inference.checks.widths import COVERAGE, Width, compute_widths
from sklar.inference.errors_of_tables import ErrorScore
from sklar.inference.tables import partitions_of
from sklar.model.margins.margin import Margin
from sklar.model.vine.intervals import half_width
from sklar.release.lookups import Lookup
from sklar.release.measurements import Measurement
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.confirming import describe_column
from sklar.schema.grid import from_ticks
from sklar.schema.numbers import Datetime, Integer, Real

MAX_LABELS_DRAWN = 12
"""Maximum number of labels of a column in a chart; the last one sums up the rest."""
MAX_CELLS_DRAWN = 48
"""Maximum number of cells that can be distinguished in a chart."""
AXIS_TICKS = 5
MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFinding:
    """One column: its released histogram with bands, the model's, interval widths, and its error.

    Attributes:
        what: Its facts in a few words.
        labels: Labels of the cells.
        released: Released shares of rows, which may be negative.
        bands: Half widths of their 95% intervals from the known noise.
        model: The model's shares.
        ticks: Axis labels, by position from 0 to 1.
        width: Half widths of intervals for simple questions; None if no histogram was released.
        unseen: The smallest detectable shares of nulls and of a tail.
        error: Error of its released histogram, if noise fission could score it.
    """

    column: str
    what: str
    numeric: bool
    labels: tuple[str, ...]
    released: tuple[float, ...]
    bands: tuple[float, ...]
    model: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]
    width: Width | None
    unseen: dict[str, float]
    error: ErrorScore | None

    @property
    def seen(self) -> str:
        """Text alternative of the chart."""
        if not self.labels:
            return "no table of this column was released"
        top = int(np.argmax(self.model))
        near = np.abs(np.subtract(self.released, self.model)) <= self.bands
        inside = f"the model lies inside the bands of {int(near.sum())} of {len(near)} cells"
        return f"largest in the model is {self.labels[top]} ({self.model[top]:.1%}); {inside}"


def column_finding(
    name: str,
    column: Column,
    margin: Margin,
    tables: Sequence[Measurement],
    shares: Sequence[Floats],
    rows: float,
    unseen: dict[str, float],
    error: ErrorScore | None,
) -> ColumnFinding:
    """Return the finding on a column, from its released histograms and the model's shares of their cells."""
    return ColumnFinding(
        column=name, what=describe_column(column), numeric=column.numeric, **_chart(column, tables, shares, rows),
        width=compute_widths(column, margin, tables, rows), unseen=unseen, error=error,
    )  # fmt: skip


def _chart(column: Column, tables: Sequence[Measurement], shares: Sequence[Floats], rows: float) -> dict[str, Any]:
    """Return the histogram to draw: the one of largest entropy among those that can be drawn."""
    if not tables:
        return dict.fromkeys(("labels", "released", "bands", "model", "ticks"), ())
    merged = [_cells(column, table) for table in tables]
    entropy = [
        -1.0 if len(cells) > MAX_CELLS_DRAWN else _compute_entropy(share, cells)
        for share, cells in zip(shares, merged, strict=True)
    ]
    best = int(np.argmax(entropy))
    table, share, cells = tables[best], shares[best], merged[best]
    width = half_width(table.noise.kind, table.sigma, 1, COVERAGE) / rows
    model = np.array([share[groups].sum() for groups in cells])
    order = np.arange(len(cells)) if column.ordered else np.argsort(-model, kind="stable")
    kept = [cells[i] for i in order]
    if not column.numeric and len(kept) > MAX_LABELS_DRAWN:
        rest = [group for groups in kept[MAX_LABELS_DRAWN - 1 :] for group in groups]
        kept = [*kept[: MAX_LABELS_DRAWN - 1], rest]
    labels = [group_label(column, partitions_of(table)[0], groups) for groups in kept]
    return {
        "labels": tuple(labels),
        "released": tuple(float(table.values[groups].sum()) / rows for groups in kept),
        "bands": tuple(width * len(groups) ** 0.5 for groups in kept),
        "model": tuple(float(share[groups].sum()) for groups in kept),
        "ticks": axis_ticks(labels, column.numeric),
    }


def _compute_entropy(share: Floats, cells: Sequence[Sequence[int]]) -> float:
    mass = np.array([share[list(groups)].sum() for groups in cells])
    return float(-np.sum(np.where(mass > 0, mass * np.log(np.maximum(mass, 1e-300)), 0.0)))


def _cells(column: Column, table: Measurement) -> list[list[int]]:
    """Return the groups that make up each cell of the chart: nested groups of numbers are one cell."""
    lookup = partitions_of(table)[0]
    groups = range(table.values.size)
    if not column.numeric:
        return [[group] for group in groups if np.any(lookup == group)]
    codes = np.arange(len(lookup))
    first, last = np.full(len(groups), len(lookup)), np.full(len(groups), -1)
    np.minimum.at(first, lookup, codes)
    np.maximum.at(last, lookup, codes)
    cells: list[list[int]] = []
    end = -1
    for group in np.argsort(first, kind="stable").tolist():
        if last[group] < 0:
            continue
        alone = first[group] >= column.value_cells  # nulls share no cell with numbers
        if cells and first[group] < end and not alone:
            cells[-1].append(group)
        else:
            cells.append([group])
        end = max(end, int(last[group]))
    return cells


def group_label(column: Column, lookup: Lookup, groups: Sequence[int]) -> str:
    """Return a short label for some groups of codes of a column."""
    codes = np.flatnonzero(np.isin(lookup, groups))
    values = codes[codes < column.value_cells]
    if not len(values):
        other = column.other_code is not None and column.other_code in codes
        return str(getattr(column, "other", "other")) if other else MISSING
    if isinstance(column, Labels | Boolean):
        first = _format_value(column, int(values[0]))
        return first if len(codes) == 1 else f"{first} and {len(codes) - 1} more"
    return _format_value(column, int(values[0]))


def _format_value(column: Column, code: int) -> str:
    if isinstance(column, Labels):
        return str(column.values[code])
    if isinstance(column, Datetime):
        timestamp = from_ticks(int(column.grid.starts[code]), column.resolution)
        return timestamp.isoformat(" ", "minutes").removesuffix(" 00:00")
    if isinstance(column, Integer | Real):
        value = column.grid.starts[code].item()
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"  # years without commas
    return str(bool(code)).lower()


def axis_ticks(labels: Sequence[str], numeric: bool) -> tuple[tuple[float, str], ...]:
    """Return the axis labels and their positions: at the middle of labels, at the beginning of some cells of
    numbers."""
    if not numeric:
        return tuple(((at + 0.5) / len(labels), label) for at, label in enumerate(labels))
    step = max(1, len(labels) // AXIS_TICKS)
    return tuple((at / len(labels), label) for at, label in enumerate(labels) if at % step == 0)

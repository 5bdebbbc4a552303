"""Findings on pairs of columns for the public report: significant dependence, contradictions and errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats
from sklar.inference.checks.residuals import Residual, compute_residuals
from sklar.inference.checks.widths import COVERAGE
from sklar.inference.columns import RowCount
from sklar.inference.errors_of_tables import ErrorScore
from sklar.inference.tables import group_masses, measured_part, partitions_of
from sklar.model.margins.margin import Margin
from sklar.model.significance import FALSE_ALARM_RATE
from sklar.model.vine.intervals import half_width
from sklar.pipeline.public_report.columns import axis_ticks, group_label
from sklar.release.measurements import Measurement
from sklar.schema.table import Schema

Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairFinding:
    """Two columns of which a table was released.

    Attributes:
        signal: Whether the released table is significantly dependent.
        p_value: The p-value under independence.
        contradicts: Whether the model contradicts one of its tables.
        error: Error of its first table, if noise fission could score it.
        noise: Half width of the 95% interval of one cell's share, from the known noise.
        released: Released shares minus those of independent columns; cells of the first column down.
        model: The model's shares minus those of independent columns.
        ticks: Axis labels of both axes.
    """

    columns: tuple[str, str]
    signal: bool
    p_value: float
    contradicts: bool
    error: ErrorScore | None
    noise: float
    released: Floats
    model: Floats
    ticks: tuple[Ticks, Ticks]

    @property
    def seen(self) -> str:
        """Text alternative of the chart."""
        if not self.signal:
            return "no significant dependence"
        up, across = np.unravel_index(int(np.argmax(self.model)), self.model.shape)
        more = f"{100 * self.model[up, across]:.1f} points more rows than if independent"
        gap = float(np.abs(self.released - self.model).max())
        return f"the model has {more} in its densest cell; release and model differ by at most {100 * gap:.1f} points"


def pair_findings(
    schema: Schema,
    margins: Sequence[Margin],
    tables: Sequence[Measurement],
    shares: Sequence[Floats],
    checks: Sequence[Residual],
    errors: Mapping[tuple[str, tuple[str, ...]], ErrorScore],
    rows: Sequence[RowCount],
) -> tuple[PairFinding, ...]:
    """Return one finding for each pair of columns of which a table was released, the most significant first."""
    dense = {margin.column: margin.dense() for margin in margins}
    pairs = [at for at, table in enumerate(tables) if len(table.query.columns) == 2]
    apart = [_independent(tables[at], dense) for at in pairs]
    doubts = compute_residuals([tables[at] for at in pairs], apart, [rows[at] for at in pairs], math.inf)
    found: dict[tuple[str, ...], PairFinding] = {}
    for at, free, doubt in zip(pairs, apart, doubts, strict=True):
        table, columns = tables[at], (tables[at].query.columns[0], tables[at].query.columns[1])
        if columns in found:  # a finer table of the same pair: Bonferroni over both
            before = found[columns]
            p_value = min(1.0, 2.0 * min(before.p_value, doubt.p_value))
            bad = before.contradicts or checks[at].contradicts
            found[columns] = replace(before, p_value=p_value, signal=p_value < FALSE_ALARM_RATE, contradicts=bad)
            continue
        found[columns] = PairFinding(
            columns=columns,
            signal=doubt.p_value < FALSE_ALARM_RATE,
            p_value=doubt.p_value,
            contradicts=checks[at].contradicts,
            error=errors.get((table.label, columns)),
            noise=half_width(table.noise.kind, table.sigma, 1, COVERAGE) / rows[at].rows,
            released=measured_part(table, table.values / rows[at].rows) - measured_part(table, free),
            model=measured_part(table, shares[at]) - measured_part(table, free),
            ticks=(_make_ticks(schema, table, 0), _make_ticks(schema, table, 1)),
        )
    return tuple(sorted(found.values(), key=lambda pair: (pair.p_value, -float(np.abs(pair.model).sum()))))


def _independent(table: Measurement, dense: Mapping[str, Floats]) -> Floats:
    """Return the shares of the cells if both columns were independent."""
    first, second = (
        group_masses(partition, dense[column], size)
        for column, partition, size in zip(table.query.columns, partitions_of(table), table.values.shape, strict=True)
    )
    return np.outer(first, second)


def _make_ticks(schema: Schema, table: Measurement, axis: int) -> Ticks:
    column, partition = schema[table.query.columns[axis]], partitions_of(table)[axis]
    labels = [group_label(column, partition, [group]) for group in range(table.values.shape[axis])]
    return axis_ticks(labels, column.numeric)

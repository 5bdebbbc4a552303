"""Pairs of columns for the public report: which carry a signal, which the model contradicts, and how far off it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats
from sklar.inference.checks.residuals import Residual, residuals
from sklar.inference.checks.widths import COVERAGE
from sklar.inference.columns import KnownRows
from sklar.inference.errors_of_tables import ErrorScore
from sklar.inference.tables import group_masses, measured_part, partitions_of
from sklar.model.margins.margin import Margin
from sklar.model.vine.intervals import half_width
from sklar.pipeline.public_report.columns import axis_ticks, group_label
from sklar.release.measurements import Measurement
from sklar.schema.table import Schema

CLEAR = 0.01
"""A pair carries a signal if independent columns would give what was released more rarely than this, its tables
counted: at most so many of the pairs named are independent ones."""
Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairFinding:
    """Two columns of which a table was released.

    Attributes:
        signal: Whether the release tells them from independent columns.
        p_value: How often independent columns would look as dependent.
        contradicts: Whether the model contradicts one of its tables.
        error: Error of its first table, where noise fission could score it.
        noise: Half width of the 95% interval of one cell's share, from the known noise.
        released: By how much the released shares exceed those of independent columns; cells of the first column down.
        model: The same of the model.
        ticks: Texts along both axes.
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
        """What the drawing shows, in words."""
        if not self.signal:
            return "nothing stands out of the noise"
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
    rows: Sequence[KnownRows],
) -> tuple[PairFinding, ...]:
    """One finding for each pair of columns of which a table was released, the clearest first."""
    dense = {margin.column: margin.dense() for margin in margins}
    pairs = [at for at, table in enumerate(tables) if len(table.query.columns) == 2]
    apart = [_independent(tables[at], dense) for at in pairs]
    doubts = residuals([tables[at] for at in pairs], apart, [rows[at] for at in pairs], math.inf)
    found: dict[tuple[str, ...], PairFinding] = {}
    for at, free, doubt in zip(pairs, apart, doubts, strict=True):
        table, columns = tables[at], (tables[at].query.columns[0], tables[at].query.columns[1])
        if columns in found:  # a finer table of the same pair: two looks, and the clearer one counts twice
            before = found[columns]
            p_value = min(1.0, 2.0 * min(before.p_value, doubt.p_value))
            bad = before.contradicts or checks[at].contradicts
            found[columns] = replace(before, p_value=p_value, signal=p_value < CLEAR, contradicts=bad)
            continue
        found[columns] = PairFinding(
            columns=columns,
            signal=doubt.p_value < CLEAR,
            p_value=doubt.p_value,
            contradicts=checks[at].contradicts,
            error=errors.get((table.label, columns)),
            noise=half_width(table.noise.kind, table.sigma, 1, COVERAGE) / rows[at].rows,
            released=measured_part(table, table.values / rows[at].rows) - measured_part(table, free),
            model=measured_part(table, shares[at]) - measured_part(table, free),
            ticks=(_ticks(schema, table, 0), _ticks(schema, table, 1)),
        )
    return tuple(sorted(found.values(), key=lambda pair: (pair.p_value, -float(np.abs(pair.model).sum()))))


def _independent(table: Measurement, dense: Mapping[str, Floats]) -> Floats:
    """Shares of the cells if both columns had nothing to do with each other."""
    first, second = (
        group_masses(partition, dense[column], size)
        for column, partition, size in zip(table.query.columns, partitions_of(table), table.values.shape, strict=True)
    )
    return np.outer(first, second)


def _ticks(schema: Schema, table: Measurement, axis: int) -> Ticks:
    column, partition = schema[table.query.columns[axis]], partitions_of(table)[axis]
    labels = [group_label(column, partition, [group]) for group in range(table.values.shape[axis])]
    return axis_ticks(labels, column.numeric)

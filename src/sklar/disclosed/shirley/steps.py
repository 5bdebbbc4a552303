"""Cumulative distributions of levels, and where rows lie on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.disclosed.metrics.table import ExactTable
from sklar.disclosed.shirley.histograms import noisy_counts
from sklar.disclosed.shirley.levels import Levels
from sklar.disclosed.shirley.options import Options
from sklar.model.margin import Margin, margin_from_dense
from sklar.model.shirley_column import ShirleyColumn

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """The step of one variable's cumulative distribution that each row lies on.

    Attributes:
        lower: F(x-), one column a variable.
        upper: F(x).
        discrete: Whether the variable has heavy atoms.
    """

    lower: Floats
    upper: Floats
    discrete: NDArray[np.bool_]


def columns_of(
    table: ExactTable, levels: tuple[Levels, ...], options: Options, rng: np.random.Generator
) -> tuple[ShirleyColumn, ...]:
    """Noisy cumulative distribution of every column, and its place among the variables of the vine."""
    columns: list[ShirleyColumn] = []
    first = 0
    for name, found in zip(table.names, levels, strict=True):
        exact = np.bincount(found.places(table.codes[name], table.schema.size(name)), minlength=len(found.codes))
        # The rows of this half may lack a level of the other half; its count is the floor.
        counts = noisy_counts(exact, options, rng)
        edges = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
        edges[-1] = 1.0
        variables = len(found.codes) if found.indicators else min(1, len(found.codes) - 1)
        columns.append(
            ShirleyColumn(
                first=first,
                variables=variables,
                codes=found.codes.astype(np.int32),
                edges=edges,
                offsets=np.zeros(len(found.codes) if found.indicators else 0),
            )
        )
        first += variables
    return tuple(columns)


def margin_of(name: str, size: int, column: ShirleyColumn) -> Margin:
    """The distribution of a column over its base codes."""
    dense = np.zeros(size)
    dense[column.codes] = np.diff(column.edges)
    return margin_from_dense(name, dense)


def steps_of(table: ExactTable, levels: tuple[Levels, ...], columns: tuple[ShirleyColumn, ...]) -> Steps:
    """F(x-) and F(x) of rows, variable by variable."""
    lower: list[Floats] = []
    upper: list[Floats] = []
    discrete: list[bool] = []
    for name, found, column in zip(table.names, levels, columns, strict=True):
        places = found.places(table.codes[name], table.schema.size(name))
        for low, high in _sides(found, column):
            lower.append(low[places])
            upper.append(high[places])
            discrete.append(bool((high - low).max() > ATOM))
    if not lower:
        return Steps(lower=np.zeros((table.rows, 0)), upper=np.ones((table.rows, 0)), discrete=np.zeros(0, bool))
    return Steps(lower=np.column_stack(lower), upper=np.column_stack(upper), discrete=np.array(discrete))


ATOM = 0.02
"""A variable whose largest step is wider than this has atoms."""


def _sides(levels: Levels, column: ShirleyColumn) -> list[tuple[Floats, Floats]]:
    """F(x-) and F(x) at every level, for each variable of the column."""
    if column.variables == 0:
        return []
    if column.variables == 1:
        starts = np.flatnonzero(np.diff(levels.groups, prepend=-1))
        borders = np.append(starts, len(levels.groups))
        return [(column.edges[borders[levels.groups]], column.edges[borders[levels.groups + 1]])]
    shares, own = np.diff(column.edges), np.eye(column.variables, dtype=bool)
    return [(np.where(own[k], 1 - p, 0.0), np.where(own[k], 1.0, 1 - p)) for k, p in enumerate(shares)]


def pseudo_observations(steps: Steps, options: Options, rng: np.random.Generator) -> Floats:
    """Rows on the uniform scale: F(x), shrunk a little so that no row lies at 1, or evenly over the step at x."""
    if options.ties == "spread":
        return steps.lower + rng.random(steps.lower.shape) * (steps.upper - steps.lower)
    rows = len(steps.upper)
    return steps.upper * rows / (rows + 1.0)

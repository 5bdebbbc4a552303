"""Levels of columns, their noisy cumulative distributions, and where rows lie on these.

The noise is not the one of the DP methods: it is reproducible, comes from floating-point samplers, and protects nobody,
since the vine sees the rows anyway. It is here to reproduce the published accuracy.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.composition.gaussian import analytic_gaussian_sigma
from sklar.arrays import Floats, Ints, Mask
from sklar.errors import SklarWarning
from sklar.lab.baselines.shirley.options import ShirleyOptions
from sklar.lab.metrics.correlations.spearman import spearman_correlation
from sklar.lab.tables.table import ExactTable, as_arrow, ordered_names, ordered_values
from sklar.model.margins.margin import Margin, margin_from_dense
from sklar.model.rvine.shirley import ShirleyColumn
from sklar.schema.table import Schema

ROWS = 5_000
"""Rows that decide on which side of the values a null is put: only the sign of a sum counts."""
TOLERANCE = 1e-9
"""Encoded values that differ by less are equal, but for rounding."""
SENSITIVITY = 2.0
"""Replacing a row moves two counts of a histogram by one each."""
FLOOR = 0.01
"""Least count of a bin that some row falls into: the cumulative distribution has to rise at each of them. (The paper's
software cuts counts at 0, where it does not.)"""
INSIDE = 1e-10
"""How far vinecopulib keeps uniforms from 0 and 1."""
ATOM = 0.02
"""A variable whose largest step is wider than this has atoms; only `ties="discrete"` makes use of it."""


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
    table: ExactTable, encoded: Mapping[str, Floats], options: ShirleyOptions, rng: np.random.Generator
) -> tuple[Levels, ...]:
    """Levels of every column that some row has."""
    few = table.sample(ROWS, rng)
    return tuple(_levels(table, few, name, encoded.get(name), options) for name in table.names)


def _levels(table: ExactTable, few: ExactTable, name: str, encoded: Floats | None, options: ShirleyOptions) -> Levels:
    column = table.schema[name]
    codes = np.unique(table.codes[name]).astype(np.int64)
    if encoded is not None:
        codes = codes[np.argsort(encoded[codes], kind="stable")]
        jumps = np.diff(encoded[codes]) > TOLERANCE
        return Levels(codes=codes, groups=np.concatenate([[0], np.cumsum(jumps)]), indicators=False)
    if column.ordered and column.null_code is not None and codes[-1] == column.null_code and null_first(few, name):
        codes = np.roll(codes, 1)
    # Two indicators of two levels say the same; the software has both.
    indicators = options.encoding == "one-hot" and not column.ordered and len(codes) > (1 if options.published else 2)
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


def columns_of(
    table: ExactTable, levels: tuple[Levels, ...], options: ShirleyOptions, rng: np.random.Generator
) -> tuple[ShirleyColumn, ...]:
    """Noisy cumulative distribution of every column, and its place among the variables of the vine."""
    columns: list[ShirleyColumn] = []
    dense = {} if options.margins is None else dp_histograms(table, options)
    for name, found in zip(table.names, levels, strict=True):
        count = len(found.codes)
        exact = np.bincount(found.places(table.codes[name], table.schema.size(name)), minlength=count)
        # The rows of this half may lack a level of the other half; its count is the floor.
        by_name = dense[name][found.codes] if name in dense else None
        counts = noisy_counts(exact, options, rng) if by_name is None else np.maximum(by_name, FLOOR)
        columns.append(
            ShirleyColumn(
                first=columns[-1].first + columns[-1].variables if columns else 0,
                variables=count if found.indicators else min(1, count - 1),
                codes=found.codes.astype(np.int32),
                edges=cumulative_shares(counts),
                offsets=np.zeros(count if found.indicators and not options.published else 0),
            )
        )
    return tuple(columns)


def cumulative_shares(counts: Floats) -> Floats:
    """0, the cumulative shares, and 1; sums in another order may round to more than all, which is all."""
    edges = np.concatenate([[0.0], np.minimum(np.cumsum(counts) / counts.sum(), 1.0)])
    edges[-1] = 1.0
    return edges


def dp_histograms(table: ExactTable, options: ShirleyOptions) -> dict[str, Floats]:
    """Counts of every base code by the histogram that `margins` names, through the door of a private fit.

    Every column has the same epsilon, so that the fit has that of all columns together.
    """
    from sklar.pipeline.fit.run import fit

    named: dict[str, Any] = {} if options.margins == "density" else {"histogram": options.margins}
    total = len(table.names) * (options.epsilon or 0.0)
    schema = Schema({name: table.schema[name] for name in table.names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SklarWarning)  # how much noise there is, shirley's claim says
        model = fit(
            as_arrow(schema, table), schema, method="independent", epsilon=total, delta=0.0,
            neighbours="replace", **named,
        )  # fmt: skip
    return {margin.column: margin.dense() * table.rows for margin in model.table_model.margins}


def noisy_counts(exact: Ints, options: ShirleyOptions, rng: np.random.Generator) -> Floats:
    """Counts of bins with noise of scale 2 / epsilon on each, not below a small positive floor (published: 0)."""
    counts = exact.astype(np.float64)
    if options.epsilon is not None:
        counts = counts + noise(len(counts), options.epsilon, options, rng)
    return np.maximum(counts, 0.0 if options.published and counts.max() > 0 else FLOOR)


def noise(size: int, epsilon: float, options: ShirleyOptions, rng: np.random.Generator) -> Floats:
    """Noise of the chosen mechanism at sensitivity 2."""
    scale = SENSITIVITY / epsilon
    if options.mechanism == "laplace":
        return rng.laplace(0.0, scale, size)
    if options.mechanism == "geometric":
        # The difference of two geometric variables with failure probability exp(-1/scale).
        success = -math.expm1(-1.0 / scale)
        return (rng.geometric(success, size) - rng.geometric(success, size)).astype(np.float64)
    return rng.normal(0.0, SENSITIVITY * analytic_gaussian_sigma(epsilon, options.noise_delta), size)


def margin_of(name: str, size: int, column: ShirleyColumn) -> Margin:
    """The distribution of a column over its base codes."""
    dense = np.zeros(size)
    dense[column.codes] = np.diff(column.edges)
    return margin_from_dense(name, dense)


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
    discrete: Mask


def steps_of(table: ExactTable, levels: tuple[Levels, ...], columns: tuple[ShirleyColumn, ...]) -> Steps:
    """F(x-) and F(x) of rows, variable by variable."""
    lower, upper = [np.zeros((table.rows, 0))], [np.ones((table.rows, 0))]
    discrete: list[bool] = []
    for name, found, column in zip(table.names, levels, columns, strict=True):
        places = found.places(table.codes[name], table.schema.size(name))
        for low, high in _sides(found, column):
            lower.append(low[places, None])
            upper.append(high[places, None])
            discrete.append(bool((high - low).max() > ATOM))
    return Steps(lower=np.hstack(lower), upper=np.hstack(upper), discrete=np.array(discrete, dtype=bool))


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


def pseudo_observations(steps: Steps, options: ShirleyOptions, rng: np.random.Generator) -> Floats:
    """Rows on the uniform scale: F(x), shrunk a little so that no row lies at 1, or evenly over the step at x.

    Published: F(x) itself, which vinecopulib moves inside by 1e-10.
    """
    if options.published:
        return np.clip(steps.upper, INSIDE, 1 - INSIDE)
    if options.ties == "spread":
        return steps.lower + rng.random(steps.lower.shape) * (steps.upper - steps.lower)
    rows = len(steps.upper)
    return steps.upper * rows / (rows + 1.0)

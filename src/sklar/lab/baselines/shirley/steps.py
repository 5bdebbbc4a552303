"""Levels of columns, their noisy cumulative distributions, and the position of rows on these.

The noise is not that of the DP methods: it is reproducible, comes from floating-point samplers, and gives no
protection, since the vine is fitted to the rows. It reproduces the published accuracy.
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

NULL_SIDE_ROWS = 5_000
"""Rows that decide at which end of the values nulls are placed: only the sign of a sum matters."""
ENCODING_TOLERANCE = 1e-9
"""Encoded values that differ by less are equal up to rounding."""
SENSITIVITY = 2.0
"""Replacing a row moves two counts of a histogram by one each."""
MIN_COUNT = 0.01
"""Minimum count of an occupied bin: the cumulative distribution must increase at each of them. (The paper's software
truncates counts at 0, where it does not.)"""
UNIFORM_MARGIN = 1e-10
"""The distance that vinecopulib keeps uniforms from 0 and 1."""
MIN_ATOM_STEP = 0.02
"""A variable whose largest step is wider has atoms; only `ties="discrete"` uses this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """Occupied base codes of one column, in order.

    Attributes:
        codes: Base codes.
        groups: The group number of each; levels of equal encoded value share one.
        indicators: Whether each level has its own variable (one-hot) instead of one for all.
    """

    codes: Ints
    groups: Ints
    indicators: bool

    def places(self, codes: NDArray[np.integer], size: int) -> Ints:
        """Return the position of each row's code among the levels."""
        where = np.zeros(size, dtype=np.int64)
        where[self.codes] = np.arange(len(self.codes))
        return where[codes]


def find_levels(
    table: ExactTable, encoded: Mapping[str, Floats], options: ShirleyOptions, rng: np.random.Generator
) -> tuple[Levels, ...]:
    """Find the occupied levels of every column."""
    few = table.sample(NULL_SIDE_ROWS, rng)
    return tuple(_find_levels(table, few, name, encoded.get(name), options) for name in table.names)


def _find_levels(
    table: ExactTable, few: ExactTable, name: str, encoded: Floats | None, options: ShirleyOptions
) -> Levels:
    column = table.schema[name]
    codes = np.unique(table.codes[name]).astype(np.int64)
    if encoded is not None:
        codes = codes[np.argsort(encoded[codes], kind="stable")]
        jumps = np.diff(encoded[codes]) > ENCODING_TOLERANCE
        return Levels(codes=codes, groups=np.concatenate([[0], np.cumsum(jumps)]), indicators=False)
    if column.ordered and column.null_code is not None and codes[-1] == column.null_code and null_first(few, name):
        codes = np.roll(codes, 1)
    # One of two indicators of two levels is redundant, but the software has both.
    indicators = options.encoding == "one-hot" and not column.ordered and len(codes) > (1 if options.published else 2)
    return Levels(codes=codes, groups=np.arange(len(codes)), indicators=indicators)


def null_first(table: ExactTable, name: str) -> bool:
    """Check whether rows with a null resemble rows with small values more than rows with large ones.

    A null is an atom at one end of an ordered axis. With r_k the correlation of the values with another column and
    m_k that of the null indicator, the sum of r_k m_k is positive if the atom belongs to the upper end.
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


def count_columns(
    table: ExactTable, levels: tuple[Levels, ...], options: ShirleyOptions, rng: np.random.Generator
) -> tuple[ShirleyColumn, ...]:
    """Compute the noisy cumulative distribution of every column and its position among the vine's variables."""
    columns: list[ShirleyColumn] = []
    dense = {} if options.margins is None else dp_histograms(table, options)
    for name, found in zip(table.names, levels, strict=True):
        count = len(found.codes)
        exact = np.bincount(found.places(table.codes[name], table.schema.size(name)), minlength=count)
        # A level may occur in the other half of the rows only; its count is the minimum.
        by_name = dense[name][found.codes] if name in dense else None
        counts = noisy_counts(exact, options, rng) if by_name is None else np.maximum(by_name, MIN_COUNT)
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
    """Return 0, the cumulative shares, and 1; shares that exceed 1 by rounding are clipped."""
    edges = np.concatenate([[0.0], np.minimum(np.cumsum(counts) / counts.sum(), 1.0)])
    edges[-1] = 1.0
    return edges


def dp_histograms(table: ExactTable, options: ShirleyOptions) -> dict[str, Floats]:
    """Estimate the counts of every base code by the histogram that `margins` names, in a private fit.

    Every column has the same epsilon, so the fit has the sum over all columns.
    """
    from sklar.pipeline.fit.run import fit

    named: dict[str, Any] = {} if options.margins == "density" else {"histogram": options.margins}
    total = len(table.names) * (options.epsilon or 0.0)
    schema = Schema({name: table.schema[name] for name in table.names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SklarWarning)  # shirley's own claim states the amount of noise
        model = fit(
            as_arrow(schema, table), schema, method="independent", epsilon=total, delta=0.0,
            neighbours="replace", **named,
        )  # fmt: skip
    return {margin.column: margin.dense() * table.rows for margin in model.table_model.margins}


def noisy_counts(exact: Ints, options: ShirleyOptions, rng: np.random.Generator) -> Floats:
    """Add noise of scale 2 / epsilon to the counts, with a small positive minimum (published: 0)."""
    counts = exact.astype(np.float64)
    if options.epsilon is not None:
        counts = counts + draw_noise(len(counts), options.epsilon, options, rng)
    return np.maximum(counts, 0.0 if options.published and counts.max() > 0 else MIN_COUNT)


def draw_noise(size: int, epsilon: float, options: ShirleyOptions, rng: np.random.Generator) -> Floats:
    """Draw noise of the chosen mechanism at sensitivity 2."""
    scale = SENSITIVITY / epsilon
    if options.mechanism == "laplace":
        return rng.laplace(0.0, scale, size)
    if options.mechanism == "geometric":
        # The difference of two geometric variables with failure probability exp(-1/scale).
        success = -math.expm1(-1.0 / scale)
        return (rng.geometric(success, size) - rng.geometric(success, size)).astype(np.float64)
    return rng.normal(0.0, SENSITIVITY * analytic_gaussian_sigma(epsilon, options.noise_delta), size)


def column_distribution(name: str, size: int, column: ShirleyColumn) -> Margin:
    """Return the distribution of a column over its base codes."""
    dense = np.zeros(size)
    dense[column.codes] = np.diff(column.edges)
    return margin_from_dense(name, dense)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """The step of each variable's cumulative distribution on which each row lies.

    Attributes:
        lower: F(x-), one column per variable.
        upper: F(x).
        discrete: Whether the variable has heavy atoms.
    """

    lower: Floats
    upper: Floats
    discrete: Mask


def row_steps(table: ExactTable, levels: tuple[Levels, ...], columns: tuple[ShirleyColumn, ...]) -> Steps:
    """Compute F(x-) and F(x) of each row and variable."""
    lower, upper = [np.zeros((table.rows, 0))], [np.ones((table.rows, 0))]
    discrete: list[bool] = []
    for name, found, column in zip(table.names, levels, columns, strict=True):
        places = found.places(table.codes[name], table.schema.size(name))
        for low, high in _level_steps(found, column):
            lower.append(low[places, None])
            upper.append(high[places, None])
            discrete.append(bool((high - low).max() > MIN_ATOM_STEP))
    return Steps(lower=np.hstack(lower), upper=np.hstack(upper), discrete=np.array(discrete, dtype=bool))


def _level_steps(levels: Levels, column: ShirleyColumn) -> list[tuple[Floats, Floats]]:
    """Return F(x-) and F(x) at every level, for each variable of the column."""
    if column.variables == 0:
        return []
    if column.variables == 1:
        starts = np.flatnonzero(np.diff(levels.groups, prepend=-1))
        borders = np.append(starts, len(levels.groups))
        return [(column.edges[borders[levels.groups]], column.edges[borders[levels.groups + 1]])]
    shares, own = np.diff(column.edges), np.eye(column.variables, dtype=bool)
    return [(np.where(own[k], 1 - p, 0.0), np.where(own[k], 1.0, 1 - p)) for k, p in enumerate(shares)]


def pseudo_observations(steps: Steps, options: ShirleyOptions, rng: np.random.Generator) -> Floats:
    """Map rows to the uniform scale: F(x), shrunk slightly below 1, or evenly spread over the step at x.

    As published, it is F(x) itself, which vinecopulib moves inside by 1e-10.
    """
    if options.published:
        return np.clip(steps.upper, UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)
    if options.ties == "spread":
        return steps.lower + rng.random(steps.lower.shape) * (steps.upper - steps.lower)
    rows = len(steps.upper)
    return steps.upper * rows / (rows + 1.0)

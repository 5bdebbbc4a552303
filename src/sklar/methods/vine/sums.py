"""Correlations of all ordered columns from one vector of sums, and how they sharpen the tables of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.evidence import Measure, Setting
from sklar.methods.few_rows.sums import read_moment, sum_request
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.options import VineOptions, scored_columns, scored_pair_share
from sklar.methods.vine.pairs import ROWS_PER_CELL, chooses_pairs
from sklar.model.latent.indirect import fit_correlations
from sklar.model.latent.scores import MAX_CONSTANT_SHARE, Latent, score_lookup
from sklar.model.pairs.hints import CorrelationReading, move_along, read_correlation, score_hint
from sklar.model.pairs.tables import MeasuredTable
from sklar.release.measurements import Measurement
from sklar.release.scores import Scores
from sklar.release.sphere import PairSums
from sklar.schema.table import Schema

CORRELATIONS = "correlations"
"""Label of the step."""
MIN_SHARE, MAX_SHARE = 0.05, 0.15
"""Least and largest part of the budget for sums of scores, if all columns have scores."""
FULL_RESOLUTION = 10.0
"""Groups a side with which tables measure dependence well; the fewer they have, the more the sums add."""
NEGLIGIBLE_NOISE_SHARE = 0.3
"""Correlations of n rows have a sampling error of about 1 / sqrt(n); noise of this part of it does no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationEstimate:
    """A correlation of values on the normal scale, and its variance."""

    corr: float
    variance: float


Correlations = Mapping[tuple[int, int], CorrelationEstimate]
"""By pair of columns, smaller first."""


def sums_share(schema: Schema, options: VineOptions, resolution: float, rows: float) -> float:
    """Share of the budget for the sums; zero where there is nothing to correlate, or only some pairs are measured.

    It is larger where tables must be coarse, and in proportion to the pairs that the sums measure. Where tables
    measure a correlation much better than the rows estimate that of the population, sums have nothing to add.

    Args:
        schema: The public facts.
        options: May set the share.
        resolution: Groups per axis that a table of a pair supports, sqrt(rows / (1.5 sigma)).
        rows: The (noisy) number of rows.
    """
    scored = scored_pair_share(schema)
    if scored == 0 or chooses_pairs(len(schema.modelled)):
        return 0.0
    if options.sums is not None:
        return options.sums
    if correlation_error_of_tables(resolution) < NEGLIGIBLE_NOISE_SHARE / np.sqrt(max(rows, 1.0)):
        return 0.0
    share = np.clip(MIN_SHARE * (FULL_RESOLUTION / max(resolution, 1e-9)) ** 2, MIN_SHARE, MAX_SHARE)
    return float(share * scored)


def correlation_error_of_tables(resolution: float) -> float:
    """Return the standard deviation with which a table of K x K cells measures a correlation, roughly: K sigma /
    rows."""
    groups = max(min(resolution, FULL_RESOLUTION), 1e-9)
    return groups / (ROWS_PER_CELL * max(resolution, 1e-9) ** 2)


def request_correlations(
    setting: Setting[VineOptions], allowance: Allowance, axes: Sequence[VineAxis]
) -> Measure | None:
    """Ask for products of normal scores of two columns, of rows placed on a sphere, summed over rows: one vector.

    The scores are those of the released margins of values; a null in an ordered column scores 0.
    """
    scored = _list_scored_columns(setting.schema, axes)
    if len(scored) < 2:
        return None
    lookups = [
        np.repeat(score_lookup(_values(j, axes[j]), len(axes[j].scale.order)), axes[j].scale.widths) for j in scored
    ]
    query = PairSums(scores=Scores(columns=tuple(axes[j].name for j in scored), lookups=tuple(lookups)))
    return Measure(label=CORRELATIONS, requests=(sum_request(query, allowance.part(1 - 1e-9), setting.unit),))


def estimate_correlations(
    measured: Sequence[Measurement], schema: Schema, axes: Sequence[VineAxis], rows: float, rng: np.random.Generator
) -> Correlations:
    """Return the correlations behind measured sums of products; nothing where none were measured."""
    moment = read_moment(measured, rows)
    if moment is None:
        return {}
    scored = _list_scored_columns(schema, axes)
    latents = [_values(j, axes[j]) for j in scored]
    corr, spread = fit_correlations(latents, np.array([axes[j].top for j in scored]), moment, rng)
    return {
        (scored[a], scored[b]): CorrelationEstimate(corr=float(corr[a, b]), variance=float(spread[a, b]))
        for a, b in combinations(range(len(scored)), 2)
    }


def _list_scored_columns(schema: Schema, axes: Sequence[VineAxis]) -> list[int]:
    return [j for j in scored_columns(schema) if _varies(axes[j])]


def _varies(axis: VineAxis) -> bool:
    """Return whether the values of a column, without its null, are more than one."""
    values = axis.scale.mass if axis.null is None else np.delete(axis.scale.mass, axis.null)
    return bool(values.max(initial=0.0) < MAX_CONSTANT_SHARE * axis.top)


def _values(column: int, axis: VineAxis) -> Latent:
    """Return the axis without its null."""
    last = len(axis.scale.order) - (axis.null is not None)
    edges = np.minimum(axis.scale.edges[: last + 1] / axis.top, 1.0)
    return Latent(column=column, order=axis.scale.order[:last], edges=edges)


def inflate_variance(known: Correlations, tables: Sequence[MeasuredTable], rows: float) -> Correlations:
    """Return the correlations with the variance by which they differ from those of the tables, beyond the noise of
    both.

    Where dependence is not Gaussian, sums and tables mean different things by a correlation. The excess of their mean
    squared distance over its expectation from noise alone estimates how different; the sums are trusted less by that.
    """
    differences: list[float] = []
    weights: list[float] = []
    for table in tables:
        found = _read(known, table, rows)
        if found is not None:
            expected = found[0].variance + found[1].variance
            differences.append((found[0].corr - found[1].corr) ** 2 - expected)
            weights.append(expected**-2)
    excess = max(0.0, float(np.average(differences, weights=weights))) if differences else 0.0
    return {pair: replace(one, variance=one.variance + excess) for pair, one in known.items()}


def combine_with_tables(known: Correlations, tables: Sequence[MeasuredTable], rows: float) -> tuple[MeasuredTable, ...]:
    """Return the tables moved to the correlations that they and the sums measure together, each with a hint for its
    fits."""
    return tuple(_sharpen_table(known, table, rows) for table in tables)


def _sharpen_table(known: Correlations, table: MeasuredTable, rows: float) -> MeasuredTable:
    found = _read(known, table, rows)
    if found is None:
        return table
    reading, one = found
    counts, corr = move_along(table.counts, reading, rows, one.corr, one.variance)
    edges = table.groups[0].edges, table.groups[1].edges
    both = reading.variance * one.variance / max(reading.variance + one.variance, 1e-300)
    hint = score_hint(edges, corr, one.variance + 1 / rows, table.tops, both)
    return replace(table, counts=counts, hint=hint)


def _read(
    known: Correlations, table: MeasuredTable, rows: float
) -> tuple[CorrelationReading, CorrelationEstimate] | None:
    """Return the correlation of a pair by its table, and by the sums."""
    one = known.get(table.pair) if len(table.columns) == 2 else None
    if one is None:
        return None
    edges = table.groups[0].edges, table.groups[1].edges
    reading = read_correlation(table.counts, table.sigma, rows, edges, one.corr, table.tops)
    return None if reading is None else (reading, one)

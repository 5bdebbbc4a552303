"""COPULA-SHIRLEY: noisy histograms of one half of the rows, and a vine fitted to the other half."""

from __future__ import annotations

import dataclasses

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.baselines.method import NOT_PRIVATE, BaselineMethod
from sklar.lab.baselines.shirley.encoders import encoded_levels, set_aside
from sklar.lab.baselines.shirley.options import ShirleyOptions, check
from sklar.lab.baselines.shirley.ranks import match_ranks
from sklar.lab.baselines.shirley.steps import (
    Steps,
    column_distribution,
    count_columns,
    find_levels,
    pseudo_observations,
    row_steps,
)
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines import fit_rvine
from sklar.model.rvine.shirley import ShirleyColumn, ShirleyModel
from sklar.model.rvine.vine import FAMILIES, RegularVine
from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Real

MIN_VINE_ROWS = 20
"""Minimum number of rows for a vine and for histograms."""
OFFSET_ROWS = 20_000
"""Simulated rows to find the offsets of one-hot columns: shares are exact to about 1 / sqrt(rows)."""
OFFSET_ROUNDS, OFFSET_STEP = 60, 0.5
"""Number of steps towards the wanted shares, and the size of the first; the best offsets are kept."""


def fit(table: ExactTable, options: ShirleyOptions, rng: np.random.Generator) -> ShirleyModel:
    """Encode, split, count with noise, and fit a vine to the pseudo-observations of the rows that were not counted.

    Reference: Gambs, Ladouceur, Laurent, Roy-Gaumond (2021), "Growing synthetic data through differentially-private
    vine copulas", algorithms 1 to 4.
    """
    for_encoder, others = set_aside(table, options, rng)
    encoded = encoded_levels(for_encoder, options, rng)
    levels = find_levels(others, encoded, options, rng)
    for_histograms, for_vine = split_rows(others, options, rng)
    columns = count_columns(for_histograms, levels, options, rng)
    vine = fit_vine(row_steps(for_vine, levels, columns), options, rng)
    if vine is not None and options.encoding == "one-hot" and not options.published:
        uniforms = vine.simulate(OFFSET_ROWS, rng)
        columns = tuple(fit_offsets(column, uniforms) for column in columns)
    margins = (
        column_distribution(name, table.schema.size(name), c) for name, c in zip(table.names, columns, strict=True)
    )
    return ShirleyModel(margins=tuple(margins), columns=columns, vine=vine, rows_estimate=table.total)


def use_observed_values(table: ExactTable, options: ShirleyOptions) -> ExactTable:
    """Make every observed number its own bin, as published; the schema of the model lists them, marked from-rows.

    Columns whose grid already has one bin per number, such as short ranges of integers, stay as they are.
    """
    if not options.published:
        return table
    columns: dict[str, Column] = {}
    codes = dict(table.codes)
    for name, numbers in table.numbers.items():
        column, known = table.schema[name], ~np.isnan(numbers)
        if not isinstance(column, Real | Integer) or (column.grid.integer and column.grid.widths.max() == 1):
            continue
        source = {**dict(column.sources), "atoms": "from-rows"}
        atoms = tuple(np.unique(numbers[known].astype(column.grid.starts.dtype)).tolist())
        columns[name] = fine = dataclasses.replace(column, bins=1, edges=(), atoms=atoms, source=source)
        found = fine.grid.code(np.where(known, numbers, column.lower).astype(fine.grid.starts.dtype))
        codes[name] = found if fine.null_code is None else np.where(known, found, fine.null_code)
    return dataclasses.replace(table, schema=table.schema.with_columns(columns), codes=codes)


def split_rows(table: ExactTable, options: ShirleyOptions, rng: np.random.Generator) -> tuple[ExactTable, ExactTable]:
    """Split rows for the histograms and for the vine: disjoint, unless there is neither noise nor a given split."""
    share = options.share_of_vine
    cut = table.rows if share is None else round(share * table.rows)
    if cut < MIN_VINE_ROWS or (share is not None and table.rows - cut < MIN_VINE_ROWS):
        raise UsageError(
            f"fewer than {MIN_VINE_ROWS} rows are left for the vine or for the histograms; give more rows, or another "
            "split"
        )
    if share is None:
        return table, table
    order = rng.permutation(table.rows)
    return table.take(np.sort(order[cut:])), table.take(np.sort(order[:cut]))


def fit_vine(steps: Steps, options: ShirleyOptions, rng: np.random.Generator) -> RegularVine | None:
    """Fit the vine over all variables; None if there are fewer than two."""
    variables = steps.upper.shape[1]
    if variables < 2:
        return None
    level = options.truncation
    vine = fit_rvine(
        pseudo_observations(steps, options, rng),
        lower=steps.lower,
        discrete=steps.discrete.tolist() if options.ties == "discrete" else None,
        families=options.families,
        criterion=options.criterion,
        selection=options.selection,
        # Constant columns are not variables, so there may be fewer trees than given.
        truncation=min(level, variables - 1) if isinstance(level, int) else None,
    )
    vine = _drop_independent_trees(vine) if level == "auto" else vine
    return match_ranks(vine, steps) if options.match_ranks else vine


def _drop_independent_trees(vine: RegularVine) -> RegularVine:
    """Keep the trees before the first one whose pairs are all independent."""
    dependent = vine.family != FAMILIES.index("indep")
    depths = (at for at, edges in enumerate(vine.trees) if not dependent[edges.start : edges.stop].any())
    return vine.truncate(max(next(depths, vine.levels), 1))


def fit_offsets(column: ShirleyColumn, uniforms: Floats) -> ShirleyColumn:
    """Add offsets with which rows drawn from the vine have the shares of the column's margin.

    Without them, choosing the level with the greatest score distorts the shares. Offsets move against the log ratio of
    drawn and wanted shares until they agree. (Ours: the paper's software draws again if it finds no level.)
    """
    if column.variables < 2:
        return column
    scores, wanted = column.scores(uniforms), np.diff(column.edges)
    offsets, best, least = np.zeros(column.variables), np.zeros(column.variables), np.inf
    floor = 0.5 / len(scores)
    for round_ in range(OFFSET_ROUNDS):
        drawn = np.bincount(np.argmax(scores + offsets, axis=1), minlength=column.variables) / len(scores)
        error = float(np.abs(drawn - wanted).sum())
        if error < least:
            best, least = offsets, error
        step = OFFSET_STEP / (1 + round_ / 20)
        offsets = offsets - step * np.log(np.maximum(drawn, floor) / np.maximum(wanted, floor))
    return dataclasses.replace(column, offsets=best)


def describe_noise(options: ShirleyOptions) -> str:
    """State which parts have noise: the histograms, if an epsilon was given, and nothing else."""
    if options.epsilon is None:
        return f"No epsilon, or 0, switches its noise off. {NOT_PRIVATE}"
    origin = "the noise is from an ordinary random generator, not from the samplers of the DP methods"
    if options.margins is not None:
        origin = f"they are those of the DP histogram '{options.margins}' over the cells of the schema"
    return (
        f"The counts of its histograms have noise with an epsilon of {options.epsilon:g} per column: d columns cost d "
        f"times as much; {origin}. Everything else (its vine, bins, encoders and number of rows) was learned without "
        "noise, and its file contains it."
    )


SHIRLEY = BaselineMethod(
    name="shirley",
    summary="COPULA-SHIRLEY (Gambs et al. 2021): noisy histograms, and a vine copula of the rows",
    options=ShirleyOptions,
    fit=fit,
    takes_epsilon=True,
    takes_target=True,
    check=check,
    regrid=use_observed_values,
    learned=describe_noise,
    caveats=(
        "Its vine is fitted to the rows without noise.",
        "Its bins are the observed values, and its encoders are fitted to rows: both are released without noise.",
    ),
)

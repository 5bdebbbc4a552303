"""COPULA-SHIRLEY: noisy histograms of one half of the rows, a vine of the other half, and the labels it carries."""

from __future__ import annotations

import dataclasses

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.baselines.method import NOT_PRIVATE, BaselineMethod
from sklar.lab.baselines.shirley.encoders import encoded_levels, set_aside
from sklar.lab.baselines.shirley.options import ShirleyOptions, check
from sklar.lab.baselines.shirley.ranks import match_ranks
from sklar.lab.baselines.shirley.steps import Steps, columns_of, levels_of, margin_of, pseudo_observations, steps_of
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines import fit_rvine
from sklar.model.rvine.shirley import ShirleyColumn, ShirleyModel
from sklar.model.rvine.vine import FAMILIES, RegularVine
from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Real

LEAST_ROWS = 20
"""A vine is not fitted to fewer rows."""
OFFSET_ROWS = 20_000
"""Rows of the vine that offsets of one-hot columns are found on: shares come out exact to about 1 / sqrt(rows)."""
OFFSET_ROUNDS, OFFSET_STEP = 60, 0.5
"""Steps towards the wanted shares, and how far the first of them goes; the best offsets of all are kept."""


def fit(table: ExactTable, options: ShirleyOptions, rng: np.random.Generator) -> ShirleyModel:
    """Encode, split, count with noise, and fit a vine to the uniforms of the rows that were not counted.

    Reference: Gambs, Ladouceur, Laurent, Roy-Gaumond (2021), "Growing synthetic data through differentially-private
    vine copulas", algorithms 1 to 4.
    """
    for_encoder, others = set_aside(table, options, rng)
    encoded = encoded_levels(for_encoder, options, rng)
    levels = levels_of(others, encoded, options, rng)
    for_histograms, for_vine = split_rows(others, options, rng)
    columns = columns_of(for_histograms, levels, options, rng)
    vine = fit_vine(steps_of(for_vine, levels, columns), options, rng)
    if vine is not None and options.encoding == "one-hot" and not options.published:
        uniforms = vine.simulate(OFFSET_ROWS, rng)
        columns = tuple(with_offsets(column, uniforms) for column in columns)
    margins = (margin_of(name, table.schema.size(name), c) for name, c in zip(table.names, columns, strict=True))
    return ShirleyModel(margins=tuple(margins), columns=columns, vine=vine, rows_estimate=table.total)


def on_values_that_occur(table: ExactTable, options: ShirleyOptions) -> ExactTable:
    """As published, every number that occurs is a bin of its own: the schema of the model lists them, marked from-rows.

    Numbers that the grid tells apart already, such as those of a short range of integers, stay as they are.
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
    """Rows for the histograms and rows for the vine: disjoint, unless there is no noise and no split was asked for."""
    share = options.share_of_vine
    cut = table.rows if share is None else round(share * table.rows)
    if cut < LEAST_ROWS or (share is not None and table.rows - cut < LEAST_ROWS):
        raise UsageError(
            f"after setting rows aside, fewer than {LEAST_ROWS} are left for the vine or for the histograms; give more "
            "rows, or another split"
        )
    if share is None:
        return table, table
    order = rng.permutation(table.rows)
    return table.take(np.sort(order[cut:])), table.take(np.sort(order[:cut]))


def fit_vine(steps: Steps, options: ShirleyOptions, rng: np.random.Generator) -> RegularVine | None:
    """The vine over all variables; None if there are fewer than two."""
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
        # Fewer variables than columns: some are constant.
        truncation=min(level, variables - 1) if isinstance(level, int) else None,
    )
    vine = _until_independent(vine) if level == "auto" else vine
    return match_ranks(vine, steps) if options.match_ranks else vine


def _until_independent(vine: RegularVine) -> RegularVine:
    """The trees before the first one whose pairs are all independent."""
    dependent = vine.family != FAMILIES.index("indep")
    depths = (at for at, edges in enumerate(vine.trees) if not dependent[edges.start : edges.stop].any())
    return vine.truncate(max(next(depths, vine.levels), 1))


def with_offsets(column: ShirleyColumn, uniforms: Floats) -> ShirleyColumn:
    """The column with offsets under which rows of the vine have the shares of its margin.

    Picking the level that stands out most favours levels by chance of their dependence. Offsets move against the log
    ratio of drawn and wanted shares until they agree. (Ours: the paper's software draws again where it finds no level.)
    """
    if column.variables < 2:
        return column
    scores, wanted = column.scores(uniforms), np.diff(column.edges)
    offsets, best, least = np.zeros(column.variables), np.zeros(column.variables), np.inf
    floor = 0.5 / len(scores)
    for round_ in range(OFFSET_ROUNDS):
        drawn = np.bincount(np.argmax(scores + offsets, axis=1), minlength=column.variables) / len(scores)
        gap = float(np.abs(drawn - wanted).sum())
        if gap < least:
            best, least = offsets, gap
        step = OFFSET_STEP / (1 + round_ / 20)
        offsets = offsets - step * np.log(np.maximum(drawn, floor) / np.maximum(wanted, floor))
    return dataclasses.replace(column, offsets=best)


def learned(options: ShirleyOptions) -> str:
    """What carries noise: the histograms, if an epsilon was given, and never anything else."""
    if options.epsilon is None:
        return NOT_PRIVATE
    origin = (
        "it comes from an ordinary random generator, not from the samplers of the DP methods"
        if options.margins is None
        else f"they are those of the DP histogram '{options.margins}' over the cells of the schema"
    )
    return (
        f"The counts of its histograms carry noise, of an epsilon of {options.epsilon:g} spent once per column: d "
        f"columns cost d times as much; {origin}. All else, its vine, its bins, its encoders and its number of rows, "
        "was learned without noise; its file holds that as it is."
    )


SHIRLEY = BaselineMethod(
    name="shirley",
    summary="COPULA-SHIRLEY (Gambs et al. 2021): noisy histograms, and a vine copula of the rows",
    options=ShirleyOptions,
    fit=fit,
    takes_epsilon=True,
    takes_target=True,
    check=check,
    regrid=on_values_that_occur,
    learned=learned,
    caveats=(
        "Its vine is fitted to the rows themselves.",
        "Its bins are the values that occur, and its encoders are fitted to rows: both are released without noise.",
    ),
)

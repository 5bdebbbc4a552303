"""DPCopula-Hybrid: cells of the small columns from noisy counts, and a Gaussian copula of the large columns in each.

Reference: Li, Xiong, Jiang (2014), section 4.4. Ours differs where the paper errs: how many rows a cell has is private
under both relations, so nothing inside a cell is scaled by it; margins and taus of a cell come from noisy tables of
counts whose noise is the same in every cell. All cells come from the schema. One row is in one cell, so all cells'
tables over the same columns are one table of counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedTables, plan_noise
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.methods.dpcopula.margins import public_bins, rank_bins
from sklar.methods.dpcopula.stages import Repair, correlation_matrix, resolve_published, take_published
from sklar.methods.evidence import Evidence, Measure, Step, ask_in_order, remembered
from sklar.methods.method import Method, Outline, require_listed, require_number, require_whole
from sklar.model.correlation.bivariate import corr_of_table
from sklar.model.gaussian import GaussianModel, MixtureModel
from sklar.model.margins.bins import BinLayout, lay_out_column
from sklar.model.margins.fit import spread
from sklar.model.margins.margin import Margin, margin_from_dense
from sklar.model.margins.transforms import project_to_simplex
from sklar.release.counts import Counts
from sklar.release.measurements import Request
from sklar.schema.columns import BOUGHT, Column, Labels
from sklar.schema.table import Schema

Unlisted = Literal["named", "always"]
MAX_CELLS = 20_000
PUBLISHED_BINS = 1024
"""As published the margin of a cell has every value, up to this many."""
MAX_CELLS_WITH_NUMBERS = 3_000
"""Cells up to which numbers of few values make cells, too. Each cell has a copula of its own: beyond, rows get rare in
them and time grows, and a number is at home in a Gaussian copula."""
CELLS, MARGINS, PAIRS = "cells of small columns", "margins in cells", "pairs in cells"
FULL_WEIGHT_SIGMAS = 4.0
"""A cell's taus count fully once its rows are this many times the noise on a whole table of a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridOptions:
    """What may be changed about the method.

    Attributes:
        small: Columns with fewer values than this make the cells.
        unlisted: Where values outside a small column's list get cells of their own: "named", where the schema gives
            them a label of its own choice (`other`) or its list was measured, or "always". Elsewhere they count as
            null, or where there is none as the first value.
        bins: Bins of a large ordered column for its margin in a cell; every listed value of a nominal one is its own.
        ranks: Groups of a large column for its taus in a cell; of a nominal one, runs of equal released counts.
        k: Ratio of what margins and pairs may spend.
        repair: "higham" or "eigenvalue", as for dpcopula-kendall.
        published: As near to the paper's own form as there is a proof for, at delta 0: Laplace noise, margins of a cell
            value by value, k = 8, its repair, and no cell learns from the others.
    """

    small: int = 10
    unlisted: Unlisted = "named"
    bins: int = 32
    ranks: int = 6
    k: float = 1.0
    repair: Repair = "higham"
    published: bool = False

    def __post_init__(self) -> None:
        if self.published:
            take_published(self, bins=PUBLISHED_BINS, k=8.0, repair="eigenvalue")
        require_listed("repair", self.repair, get_args(Repair))
        require_listed("unlisted", self.unlisted, get_args(Unlisted))
        for name, low, high in (("small", 1, 1000), ("bins", 2, 4096), ("ranks", 2, 256)):
            require_whole(name, getattr(self, name), low, high)
        require_number("k", self.k, 1e-6, 1e6)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSplit:
    """Small and large columns by position, and the number of cells.

    Attributes:
        lookups: For each small column, base code -> place in the cells.
        codes: For each small column, the base code at each place.
    """

    small: tuple[int, ...]
    large: tuple[int, ...]
    lookups: tuple[NDArray[np.int32], ...]
    codes: tuple[Ints, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(codes) for codes in self.codes)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)


def split_columns(schema: Schema, options: HybridOptions) -> CellSplit:
    """Return which columns make the cells.

    Where they are too many, numbers of few values, which a Gaussian copula can represent, count as large, those with
    most values first; what is still too many is refused with a hint.
    """
    names = schema.modelled
    small = [j for j, name in enumerate(names) if schema[name].value_cells < options.small]
    split = _split(schema, small, options)
    for j in sorted((j for j in small if schema[names[j]].numeric), key=lambda j: -schema[names[j]].value_cells):
        if split.cells > MAX_CELLS_WITH_NUMBERS:
            small.remove(j)
            split = _split(schema, small, options)
    if split.cells > MAX_CELLS:
        codes = split.codes
        order = sorted(range(len(small)), key=lambda i: -len(codes[i]))[:3]
        listed = ", ".join(f"'{names[small[i]]}' ({len(codes[i])})" for i in order)
        raise UsageError(
            f"the small columns make {split.cells:,} cells, and {MAX_CELLS:,} are the most: set a smaller small= (now "
            f"{options.small}), or coarsen the largest of them: {listed}"
        )
    return split


def _split(schema: Schema, small: Sequence[int], options: HybridOptions) -> CellSplit:
    names = schema.modelled
    codes = tuple(_places(schema[names[j]], options.unlisted) for j in small)
    return CellSplit(
        small=tuple(small),
        large=tuple(j for j in range(len(names)) if j not in small),
        lookups=tuple(_lookup(schema[names[j]], at) for j, at in zip(small, codes, strict=True)),
        codes=codes,
    )


def _places(column: Column, unlisted: Unlisted) -> Ints:
    """Return the base codes of a small column that have cells: all, or all but that of values outside its list."""
    codes = np.arange(column.size)
    if not isinstance(column, Labels) or unlisted == "always":
        return codes
    named = column.other != replace(column, other=None).other
    return codes if named or column.provenance("values") in BOUGHT else np.delete(codes, column.value_cells)


def _lookup(column: Column, codes: Ints) -> NDArray[np.int32]:
    """Return the base code -> place; a code without a cell is counted as null, or as the first value."""
    lookup = np.full(column.size, len(codes) - 1 if column.null_code is not None else 0, dtype=np.int32)
    lookup[codes] = np.arange(len(codes))
    return lookup


def plan(schema: Schema, options: HybridOptions) -> tuple[PlannedTables, ...]:
    """Return one table of the cells, one a large column, one a pair of large columns; each with the cells as an
    axis."""
    large = len(split_columns(schema, options).large)
    pairs = large * (large - 1) // 2
    lines = [PlannedTables(label=CELLS, tables=1, weight=1.0)]
    if large:
        lines.append(PlannedTables(label=MARGINS, tables=large, weight=9.0 * options.k / (options.k + 1)))
    if pairs:
        lines.append(PlannedTables(label=PAIRS, tables=pairs, weight=9.0 / (options.k + 1)))
    return tuple(lines)


def ask(evidence: Evidence[HybridOptions]) -> Step | None:
    """Ask for the cells, for margins in cells, and for pairs in cells."""
    return ask_in_order(evidence, _ask_cells, _ask_margins, _ask_pairs)


@remembered
def _split_of(evidence: Evidence[HybridOptions]) -> CellSplit:
    return split_columns(evidence.setting.schema, evidence.setting.options)


@remembered
def _plan_noise_by_label(evidence: Evidence[HybridOptions]) -> dict[str, Noise]:
    setting = evidence.setting
    lines = plan(setting.schema, setting.options)
    noises = plan_noise(setting.allowance, setting.unit, lines)
    return {line.label: found for line, found in zip(lines, noises, strict=True)}


@remembered
def _wide(evidence: Evidence[HybridOptions]) -> list[NDArray[np.int32]]:
    """Return bins of the large columns for their margins."""
    return [public_bins(column, evidence.setting.options.bins) for column in _list_large_columns(evidence)]


def _list_large_columns(evidence: Evidence[HybridOptions]) -> list[Column]:
    schema = evidence.setting.schema
    return [schema[schema.modelled[j]] for j in _split_of(evidence).large]


@remembered
def _ask_cells(evidence: Evidence[HybridOptions]) -> Measure | None:
    return _ask_tables(evidence, [((), ())], CELLS)


@remembered
def _ask_margins(evidence: Evidence[HybridOptions]) -> Measure | None:
    return _ask_tables(evidence, [((a,), (bins,)) for a, bins in enumerate(_wide(evidence))], MARGINS)


@remembered
def _ask_pairs(evidence: Evidence[HybridOptions]) -> Measure | None:
    margins, most = _tables(evidence, MARGINS), evidence.setting.options.ranks
    ranks = [rank_bins(c, most, m.sum(axis=0)) for c, m in zip(_list_large_columns(evidence), margins, strict=True)]
    # Sensitivity: one row is in one cell of each table for any partitions, and these are made of measurements.
    chosen = combinations(range(len(ranks)), 2)
    return _ask_tables(evidence, [((a, b), (ranks[a], ranks[b])) for a, b in chosen], PAIRS)


def estimate(evidence: Evidence[HybridOptions]) -> MixtureModel:
    """Fit a copula in every cell."""
    setting, split, noise = evidence.setting, _split_of(evidence), _plan_noise_by_label(evidence)
    options, wide = setting.options, _wide(evidence)
    cells, margins, pairs = (
        _tables(evidence, CELLS)[0].reshape(-1),
        _tables(evidence, MARGINS),
        _tables(evidence, PAIRS),
    )
    rows = float(max(setting.rows, 1)) if setting.rows is not None else max(float(cells.sum()), 1.0)
    weights = project_to_simplex(cells, rows)
    seen = MeasuredCells(
        rows=weights * rows,
        margins=[_shares(m, weights * rows, 0.0 if options.published else noise[MARGINS].std) for m in margins],
        corr=_cell_correlations(pairs, weights * rows, len(split.large), noise, options),
    )
    layouts = [lay_out_column(column) for column in _list_large_columns(evidence)]
    models = tuple(_build_cell_model(setting.schema, split, wide, layouts, seen, cell) for cell in range(split.cells))
    return _build_mixture(setting.schema, split, weights, models, rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredCells:
    """What is known of the cells: rows of each, shares of bins (cells x bins) a large column, correlations of each."""

    rows: Floats
    margins: list[Floats]
    corr: Floats


def _ask_tables(
    evidence: Evidence[HybridOptions],
    cells: list[tuple[tuple[int, ...], tuple[NDArray[np.int32], ...]]],
    label: str,
) -> Measure | None:
    """Return a step that measures tables with the cells as the first axes."""
    if not cells:
        return None
    schema, split = evidence.setting.schema, _split_of(evidence)
    names, first, kept = schema.modelled, tuple(schema.modelled[j] for j in split.small), split.lookups
    if not first and label == CELLS:  # no small column: one cell, which holds every row; counted on one large column
        first, kept = (names[0],), (np.zeros(schema.size(names[0]), dtype=np.int32),)
    noise = _plan_noise_by_label(evidence)[label]
    queries = [
        Counts(columns=(*first, *(names[split.large[a]] for a in large)), partitions=(*kept, *partitions))
        for large, partitions in cells
    ]
    return Measure(label=label, requests=tuple(Request(query=query, noise=noise) for query in queries))


def _tables(evidence: Evidence[HybridOptions], label: str) -> list[Floats]:
    """Return noisy tables with the cells as the first axis."""
    split = _split_of(evidence)
    return [
        one.values.reshape(split.cells, *one.values.shape[len(split.small) :]).astype(np.float64)
        for one in evidence.measured(label)
    ]


def _shares(counts: Floats, rows: Floats, std: float) -> Floats:
    """Return shares of bins in every cell, drawn to those of all cells together where a cell's rows are few for the
    noise."""
    whole = project_to_simplex(counts.sum(axis=0), max(float(rows.sum()), 1.0))
    own = np.stack([project_to_simplex(line, max(n, 1.0)) for line, n in zip(counts, rows, strict=True)])
    trust = _trust(rows, std * math.sqrt(counts.shape[1]))
    return trust[:, None] * own + (1 - trust[:, None]) * whole


def _trust(rows: Floats, noise: float) -> Floats:
    """Return the weight of a cell with this number of rows; 0 without rows, unless there is no noise."""
    return rows / (rows + noise) if noise else np.ones(len(rows))


def _cell_correlations(
    pairs: list[Floats], rows: Floats, columns: int, noise: dict[str, Noise], options: HybridOptions
) -> Floats:
    """Return the correlation matrix of every cell, drawn to that of all cells together where its rows are few for the
    noise."""
    whole, own = np.zeros(len(pairs)), np.zeros((len(rows), len(pairs)))
    for p, tables in enumerate(pairs):
        whole[p] = corr_of_table(project_to_simplex(tables.sum(axis=0), max(float(rows.sum()), 1.0)))
        own[:, p] = [corr_of_table(project_to_simplex(t, max(n, 1.0))) for t, n in zip(tables, rows, strict=True)]
    alone = options.published or not pairs
    trust = _trust(rows, 0.0 if alone else FULL_WEIGHT_SIGMAS * noise[PAIRS].std * math.sqrt(pairs[0][0].size))
    values = trust[:, None] * own + (1 - trust[:, None]) * whole
    return np.stack([correlation_matrix(line, columns, options.repair) for line in values])


def _build_cell_model(
    schema: Schema,
    split: CellSplit,
    wide: list[NDArray[np.int32]],
    layouts: list[BinLayout],
    seen: MeasuredCells,
    cell: int,
) -> GaussianModel:
    margins: list[Margin] = []
    for a, j in enumerate(split.large):
        margins.append(spread(schema.modelled[j], layouts[a], wide[a].astype(np.int64), seen.margins[a][cell]))
    rows = max(round(float(seen.rows[cell])), 1)
    return GaussianModel(margins=tuple(margins), corr=seen.corr[cell], rows_estimate=rows)


def _build_mixture(
    schema: Schema, split: CellSplit, weights: Floats, models: tuple[GaussianModel, ...], rows: float
) -> MixtureModel:
    places = np.unravel_index(np.arange(split.cells), split.shape) if split.shape else ()
    cells = np.zeros((split.cells, len(split.small)), dtype=np.int64)
    dense: dict[int, Floats] = {}
    for i, (j, codes) in enumerate(zip(split.small, split.codes, strict=True)):
        cells[:, i] = codes[places[i]]
        dense[j] = np.bincount(cells[:, i], weights, minlength=schema.size(schema.modelled[j])).astype(np.float64)
    for a, j in enumerate(split.large):
        dense[j] = np.sum([w * model.margins[a].dense() for w, model in zip(weights, models, strict=True)], axis=0)
    return MixtureModel(
        margins=tuple(margin_from_dense(name, dense[j]) for j, name in enumerate(schema.modelled)),
        small=split.small,
        large=split.large,
        cells=cells,
        weights=weights / weights.sum(),
        models=models,
        rows_estimate=max(round(rows), 1),
    )


def outline(schema: Schema, options: HybridOptions, allowance: Allowance, unit: Unit, rows: int) -> tuple[Outline, ...]:
    """Return what will be measured."""
    split, lines = split_columns(schema, options), plan(schema, options)
    wide = [int(public_bins(schema[schema.modelled[j]], options.bins).max()) + 1 for j in split.large]
    ranks = [_most_ranks(schema[schema.modelled[j]], options.ranks) for j in split.large]
    cells = {
        CELLS: split.cells,
        MARGINS: split.cells * max(wide, default=1),
        PAIRS: split.cells * options.ranks**2,
    }
    together = {
        CELLS: split.cells,
        MARGINS: split.cells * sum(wide),
        PAIRS: split.cells * sum(first * second for first, second in combinations(ranks, 2)),
    }
    noises = plan_noise(allowance, unit, lines)
    return tuple(
        Outline(
            label=line.label, tables=line.tables, cells=cells[line.label], noise=noise, all_cells=together[line.label]
        )
        for line, noise in zip(lines, noises, strict=True)
    )


def _most_ranks(column: Column, most: int) -> int:
    """Return groups of a large column in tables of pairs, at most."""
    return min(column.value_cells, most) + column.size - column.value_cells


HYBRID = Method(
    name="dpcopula-hybrid",
    summary="cells of the small columns from noisy counts, a Gaussian copula of the large columns in each",
    neighbours="replace",
    options=HybridOptions,
    ask=ask,
    estimate=estimate,
    plan=plan,
    outline=outline,
    resolve=resolve_published,
    caveats=("Inside a cell, the dependence of each pair of columns is one number.",),
)

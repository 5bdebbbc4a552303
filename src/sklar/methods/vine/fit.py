"""The DP vine: margins, pairs and a tree measured with noise; everything deeper is made from those releases alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.margins import MeasuredMargins, measure_margins
from sklar.methods.method import Method
from sklar.methods.vine.axes import MeasuredTable, VineAxis, lay_out_axes
from sklar.methods.vine.calibrate import Calibrated, calibrate_vine
from sklar.methods.vine.classwise import TargetTables, root_at_target, target_tables
from sklar.methods.vine.look import halves_with_target, look_at_triples, measure_standing
from sklar.methods.vine.nulls import link_again, link_nulls, null_tables
from sklar.methods.vine.options import VineOptions, check_options, depth_of, settle_options
from sklar.methods.vine.pairs import (
    CHOICE_SHARE,
    PairGroups,
    affordable_pairs,
    choose_pairs,
    chooses_pairs,
    dependence,
    informative_pairs,
    measure_pairs,
    pairs_to_measure,
)
from sklar.methods.vine.prior import Leaning, pool_margins
from sklar.methods.vine.products import released_products
from sklar.methods.vine.stages import Stages, cut_stages, expect_vine, has_few_rows, outline_vine, total_stage
from sklar.methods.vine.structure import find_structure, keep_to_rules
from sklar.methods.vine.sums import doubt, measure_correlations, sharpen
from sklar.methods.vine.tree import (
    choose_tree,
    fit_tree,
    measure_links,
    measure_tree,
    measure_triples,
    measure_with_target,
)
from sklar.model.pairs.grouping import Groups
from sklar.model.protocol import TableModel
from sklar.model.vine.calibration import NO_TILT
from sklar.model.vine.deeper import PairTable, grow
from sklar.model.vine.model import VineFacts, VineModel
from sklar.model.vine.vine import Vine
from sklar.release.door import Door, RecodedTable, known_columns, settled

if TYPE_CHECKING:
    from sklar.methods.few_rows.fit import MeasuredFewRows

LEAST_GAIN, MOST_GAIN = 2.0, 10.0
"""Chi-square that a deeper edge must gain: as AIC asks for one parameter, since below it edges would mostly be noise;
and the most that is asked of two-valued columns. Asked for 2 in place of 10, Adult (26,000 rows) loses .003 of AUC, and
.008 with its target declared; but 3,525 rows of R's OFP, a third of whose columns have two values, have 3% less error
of pairs."""
ROWS_PER_GAIN = 2_500.0
"""Rows for each chi-square that is asked of them."""
RARE = 0.005
"""A value with less mass than this does not make a column more than two-valued."""


def fit(door: Door, options: VineOptions, rng: np.random.Generator) -> TableModel:
    """Fit the DP vine through a Door, or the model for few rows where pair tables would drown in noise."""
    check_options(door.schema, options)
    stage, allowance = total_stage(door.allowance, door.unit)
    total, total_sigma = measure_total(door, stage)
    stages = cut_stages(door.schema, options, allowance, door.unit, total)
    if has_few_rows(door.schema, stages):
        from sklar.methods.few_rows.fit import measure_few_rows

        measured = measure_few_rows(door, allowance, total, options)
        return _fit_few_rows(door, measured, options, rng)
    return fit_vine(door, stages, (total, total_sigma), options, rng)


def measure_total(door: Door, stage: Allowance | None) -> tuple[float, float]:
    """The number of rows and its standard deviation: public under replace-one, else one noisy count."""
    if stage is None:
        return float(max(door.rows or 0, 1)), 0.0
    name = door.schema.modelled[0]
    everything = np.zeros(door.schema.size(name), dtype=np.int32)
    noise = stage.noise(door.unit)
    (noisy,) = door.count_recoded([RecodedTable(columns=(name,), lookups=(everything,), noise=noise)], "rows")
    return float(max(noisy.counts.sum(), 1)), noise.std


def fit_vine(
    door: Door, stages: Stages, total: tuple[float, float], options: VineOptions, rng: np.random.Generator
) -> VineModel:
    """Measure margins, pairs and tree one; then fit deeper trees and calibrate without looking at rows again."""
    measured = keep_to_rules(door.schema, measure_margins(door, stages.margins, *total))
    margins = settled(door, "margins", measured)
    coarse = {margin.column: seen[0].lookup for margin, seen in zip(margins.margins, margins.histograms, strict=True)}
    axes = lay_out_axes(door.schema, margins.margins, coarse)
    rows, structure = max(margins.rows, 1.0), find_structure(door.schema, axes)
    # A stream of its own: what is drawn later does not depend on whether sums were asked for.
    (stream,) = rng.spawn(1)
    known = {} if stages.sums is None else measure_correlations(door, stages.sums, axes, rows, stream)
    pairs = _measure_pairs(door, stages, axes, rows, options)
    target = _target(door, options)
    standing, stages = _look(door, stages, axes, rows, pairs, target)
    if stages.halves is not None and target is not None:
        standing = *standing, *halves_with_target(door, stages.halves, axes, pairs, rows, target)
    known = doubt(known, pairs, rows)
    leaning = None
    if door.prior is not None:
        leaning = Leaning(prior=door.prior, axes=axes, rows=rows, pooled=pool_margins(pairs, rows))
    public: list[MeasuredTable] = []
    if leaning is not None:
        pairs, phis = leaning.lean(pairs)
        public = leaning.finer(pairs, phis)
    pairs = structure.excluded(link_nulls(pairs, rows))
    sharp = sharpen(known, pairs, rows)
    strengths = {(t.columns[0], t.columns[1]): dependence(t, rows) for t in sharp}
    before = known_columns(door)
    drawn_given = frozenset(column for column, axis in enumerate(axes) if axis.name in before)
    forest = settled(door, "tree", choose_tree(len(axes), strengths, drawn_given))
    fine = measure_tree(door, stages.tree, axes, forest, rows)
    extra = _measure_target(door, stages, axes, rows, options, pairs)
    if leaning is not None:
        fine, extra = leaning.lean(fine)[0], leaning.lean(extra)[0]
    fine = structure.excluded(link_again(fine, pairs, rows))
    depth, told = depth_of(door.schema, options), None if target is None else target_tables(target, extra)
    finest = sharpen(known, fine, rows)
    if told is None:
        vine = _grow(axes, sharp, finest, rows, depth, rng)
    else:
        among = {pair: strength for pair, strength in strengths.items() if told.target not in pair}
        tree = settled(door, "tree given the target", choose_tree(len(axes), among))
        vine = _grow_by_class(axes, sharp, finest, tree, told, rows, depth, rng)
    calibrated = Calibrated(calibration=NO_TILT, strength=0.0)
    if options.calibration and len(axes) > 1:
        others = [*extra, *public, *null_tables(axes, pairs, fine, rows), *histogram_tables(axes, margins)]
        others = [*fine, *structure.tables(rows), *structure.excluded(others)]
        first = *structure.excluded(standing), *pairs
        calibrated = calibrate_vine(vine, axes, first, others, rows, rng, target)
    return VineModel(
        margins=margins.margins,
        scales=tuple(axis.scale for axis in axes),
        vine=vine,
        calibration=calibrated.calibration,
        facts=VineFacts(
            rows=rows,
            margin_error=expected_margin_error(margins),
            strength=calibrated.strength,
            pairs=len(pairs),
            noise="gaussian" if stages.pairs.measure == "rho" else "laplace",
        ),
    )


def _fit_few_rows(door: Door, measured: MeasuredFewRows, options: VineOptions, rng: np.random.Generator) -> TableModel:
    """Latent normals, or a vine of a public table's dependence if the sums that were measured do not rule it out."""
    if door.prior is not None:
        axes = lay_out_axes(door.schema, measured.setting.margins, {})
        leaning = Leaning(prior=door.prior, axes=axes, rows=max(measured.setting.rows, 1.0))
        if not settled(door, "prior", leaning.contradicted(released_products(measured))):
            return lean_few_rows(door, leaning, measured, options, rng)
    from sklar.methods.few_rows.fit import fit_measured

    return fit_measured(measured, rng)


def lean_few_rows(
    door: Door, leaning: Leaning, measured: MeasuredFewRows, options: VineOptions, rng: np.random.Generator
) -> VineModel:
    """A vine of the public table's dependence, moved as far as the few sums that were measured contradict it."""
    margins, rows, axes = measured.setting.margins, leaning.rows, leaning.axes
    structure = find_structure(door.schema, axes)
    pairs = structure.excluded(link_nulls(leaning.from_products(released_products(measured)), rows))
    forest = choose_tree(len(axes), {(t.columns[0], t.columns[1]): dependence(t, rows) for t in pairs})
    fine = [table for table in pairs if table.columns in forest]
    vine = _grow(axes, pairs, fine, rows, depth_of(door.schema, options), rng)
    calibrated = Calibrated(calibration=NO_TILT, strength=0.0)
    if options.calibration and len(axes) > 1:
        nulls = structure.excluded(null_tables(axes, pairs, (), rows))
        calibrated = calibrate_vine(vine, axes, pairs, [*structure.tables(rows), *nulls], rows, rng)
    noise = "gaussian" if door.allowance.measure == "rho" else "laplace"
    error = tuple(min(float(len(x.counts) * x.sigma / (np.sqrt(2 * np.pi) * rows)), 1.0) for x in measured.first)
    return VineModel(
        margins=margins,
        scales=tuple(axis.scale for axis in axes),
        vine=vine,
        calibration=calibrated.calibration,
        facts=VineFacts(rows=rows, margin_error=error, strength=calibrated.strength, pairs=0, noise=noise),
    )


def _measure_pairs(
    door: Door, stages: Stages, axes: Sequence[VineAxis], rows: float, options: VineOptions
) -> tuple[MeasuredTable, ...]:
    """Coarse tables of all pairs, or of pairs chosen privately when there are too many."""
    columns, allowance = len(axes), stages.pairs
    pairs: Sequence[tuple[int, int]] | None = None
    target, links = _target(door, options), ()
    if stages.links_target and stages.target is not None and target is not None:
        links = measure_links(door, stages.target, axes, target, rows)
        columns, target = columns - 1, None
    tables = max(columns * (columns - 1) // 2, 1)
    if chooses_pairs(columns):
        wanted = affordable_pairs(allowance, door.unit, rows, pairs_to_measure(columns))
        pairs = choose_pairs(door, allowance.part(CHOICE_SHARE), axes, rows, wanted, target)
        allowance, tables = allowance.part(1 - CHOICE_SHARE), max(len(pairs), 1)
    groups = PairGroups(axes, allowance.noise(door.unit, tables=tables).std, rows, options.groups)
    informative = informative_pairs(groups.square)
    if pairs is not None:
        informative = tuple(sorted(set(informative) & set(pairs)))
    if links:
        informative = tuple(pair for pair in informative if _target(door, options) not in pair)
    counted = measure_pairs(door, allowance, axes, groups, informative, rows if stages.interactions else None)
    return tuple(sorted((*counted, *links), key=lambda table: table.columns))


def _look(
    door: Door,
    stages: Stages,
    axes: Sequence[VineAxis],
    rows: float,
    pairs: Sequence[MeasuredTable],
    target: int | None,
) -> tuple[tuple[MeasuredTable, ...], Stages]:
    """Tables of triples that stand out, and the stages after them: what is not spent on triples goes to tree one."""
    if stages.look is None or stages.follow is None:
        return (), stages
    found = look_at_triples(door, stages.look, axes, pairs, rows, target)
    if not found:
        tree = replace(stages.tree, amount=stages.tree.amount + stages.follow.amount)
        return (), replace(stages, tree=tree)
    return (*found, *measure_standing(door, stages.follow, axes, found, rows)), stages


def _target(door: Door, options: VineOptions) -> int | None:
    return None if options.target is None else door.schema.modelled.index(options.target)


def _measure_target(
    door: Door,
    stages: Stages,
    axes: Sequence[VineAxis],
    rows: float,
    options: VineOptions,
    pairs: Sequence[MeasuredTable],
) -> tuple[MeasuredTable, ...]:
    """Tables with a declared target, if there is one: fine ones of each column, coarse ones of each pair."""
    target = _target(door, options)
    if target is None or stages.target is None or stages.triples is None:
        return ()
    chosen = None if not chooses_pairs(len(axes)) else [(table.columns[0], table.columns[1]) for table in pairs]
    return (
        *measure_with_target(door, stages.target, axes, target, rows),
        *measure_triples(door, stages.triples, axes, target, rows, chosen),
    )


def _grow(
    axes: Sequence[VineAxis],
    pairs: Sequence[MeasuredTable],
    fine: Sequence[MeasuredTable],
    rows: float,
    depth: int,
    rng: np.random.Generator,
) -> Vine:
    """Fit tree one to its tables and the deeper trees to the pair tables."""
    trees = (fit_tree(axes, fine, rows),) if len(axes) > 1 else ()
    tables = {(t.columns[0], t.columns[1]): _pair_table(t) for t in pairs}
    return grow(Vine(size=len(axes), trees=trees), tables, _eligible(axes, rows), rows, depth, rng)


def _grow_by_class(
    axes: Sequence[VineAxis],
    pairs: Sequence[MeasuredTable],
    fine: Sequence[MeasuredTable],
    tree: Sequence[tuple[int, int]],
    told: TargetTables,
    rows: float,
    depth: int,
    rng: np.random.Generator,
) -> Vine:
    """The same with the target as the root of all trees; the given one, of the other columns, comes second."""
    chain = Vine(size=len(axes), trees=(fit_tree(axes, fine, rows),))
    best = {table.columns: table for table in (*pairs, *fine)}
    vine = root_at_target(axes, chain, [best[pair] for pair in tree], told, rows, rng)
    tables = {(t.columns[0], t.columns[1]): _pair_table(t) for t in pairs}
    return grow(vine, tables, _eligible(axes, rows), rows, depth + 1, rng, told.by_class)


def _pair_table(table: MeasuredTable) -> PairTable:
    first, second = table.groups
    counts = table.counts if table.empty is None else np.where(table.empty, 0.0, table.counts)
    return PairTable(observed=counts, sigma=table.sigma, edges1=first.edges, edges2=second.edges, hint=table.hint)


def _eligible(axes: Sequence[VineAxis], rows: float) -> dict[int, float]:
    """Columns that a Gaussian pair copula can speak about, and the chi-square an edge must gain to be believed.

    Given others, a two-valued column is often nearly certain, and correlations of what is left mislead: the more so the
    more rows there are, since what a wrong shape seems to gain grows with them, unlike what noise does.
    """
    cautious = float(np.clip(rows / ROWS_PER_GAIN, LEAST_GAIN, MOST_GAIN))
    two_valued = {j: cautious for j, axis in enumerate(axes) if np.sum(axis.scale.mass > RARE) == 2}
    return {**{j: LEAST_GAIN for j, axis in enumerate(axes) if axis.ordered}, **two_valued}


def histogram_tables(axes: Sequence[VineAxis], margins: MeasuredMargins) -> list[MeasuredTable]:
    """The released histograms of single columns that can be read off margin cells, as tables to calibrate to."""
    tables: list[MeasuredTable] = []
    for column, (axis, histograms) in enumerate(zip(axes, margins.histograms, strict=True)):
        for seen in histograms:
            cells = seen.lookup[axis.scale.starts]
            if not np.array_equal(np.repeat(cells, axis.scale.widths), seen.lookup):
                continue
            groups = Groups(lookup=cells, edges=np.zeros(seen.counts.size + 1))
            tables.append(MeasuredTable(columns=(column,), groups=(groups,), counts=seen.counts, sigma=seen.sigma))
    return tables


def expected_margin_error(margins: MeasuredMargins) -> tuple[float, ...]:
    """Total variation error that the raw noise of its first histogram would give each margin.

    Half the sum of expected absolute errors, sigma sqrt(2 / pi) a bin; fitting a density brings it down further.
    """
    first = [seen[0] for seen in margins.histograms]
    return tuple(min(float(x.counts.size * x.sigma / (np.sqrt(2 * np.pi) * margins.rows)), 1.0) for x in first)


VINE = Method(
    name="vine",
    summary="A vine copula from noisy tables of counts, calibrated to all of them; picks its regime by itself.",
    options=VineOptions,
    fit=fit,
    gaussian=lambda schema, options: not chooses_pairs(len(schema.modelled)),
    outline=outline_vine,
    expect=expect_vine,
    takes_target=True,
    takes_prior=True,
    check=check_options,
    settle=settle_options,
)

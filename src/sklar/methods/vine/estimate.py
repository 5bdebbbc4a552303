"""The DP vine estimated from measurements: margins, pairs and tree one as measured, everything deeper made from them.

Each function is one stage of the estimate, in the order in which measurements arrive; `sklar.methods.vine.ask` uses the
first ones to decide what to ask next. Nothing here requests anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.evidence import Evidence, Setting, forget_results, remembered
from sklar.methods.few_rows.fit import FewRowsStage, MeasuredFewRows, few_rows_steps, fit_measured
from sklar.methods.margin_plan import MarginOptions
from sklar.methods.margins import MarginStage, MeasuredMargins, known_total, margin_steps
from sklar.methods.vine.axes import VineAxis, lay_out_axes, read_tables
from sklar.methods.vine.calibrate import Calibrated, calibrate_vine
from sklar.methods.vine.classwise import TargetTables, root_at_target, target_tables
from sklar.methods.vine.halves import HALVES, split_in_halves
from sklar.methods.vine.nulls import link_again, link_nulls, null_tables
from sklar.methods.vine.options import VineOptions, depth_of
from sklar.methods.vine.pairs import MIN_VALUE_MASS, PAIRS
from sklar.methods.vine.planner import PLANNED
from sklar.methods.vine.prior import PriorTables, pool_margins
from sklar.methods.vine.products import released_products
from sklar.methods.vine.stages import Stages, cut_stages, has_few_rows, total_stage
from sklar.methods.vine.structure import Structure, find_structure, keep_to_rules
from sklar.methods.vine.sums import (
    CORRELATIONS,
    Correlations,
    combine_with_tables,
    estimate_correlations,
    inflate_variance,
)
from sklar.methods.vine.tree import TARGET, TREE, TRIPLES, choose_tree, fit_tree
from sklar.model.margins.margin import Margin
from sklar.model.pairs.dependence import estimate_dependence
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.protocol import TableModel
from sklar.model.vine.calibration import NO_TILT
from sklar.model.vine.deeper import grow
from sklar.model.vine.model import VineFacts, VineModel
from sklar.model.vine.vine import Vine
from sklar.release.measurements import Measurement

ROWS = "rows"
"""Label of the step that measures the number of rows."""


@remembered
def budget_parts(evidence: Evidence[VineOptions]) -> tuple[Allowance | None, Allowance]:
    """Return what the number of rows may cost (None where it is public), and what is left."""
    return total_stage(evidence.setting.allowance, evidence.setting.unit)


@remembered
def total_of(evidence: Evidence[VineOptions]) -> tuple[float, float]:
    """Return the number of rows and its standard deviation: public under replace-one, else one noisy count."""
    if budget_parts(evidence)[0] is None:
        return float(max(evidence.setting.rows or 0, 1)), 0.0
    (noisy,) = evidence.measured(ROWS)
    return float(max(noisy.values.sum(), 1)), noisy.noise.std


@remembered
def stages_of(evidence: Evidence[VineOptions]) -> Stages:
    """Return how the allowance is cut, once the number of rows is known."""
    setting = evidence.setting
    return cut_stages(setting.schema, setting.options, budget_parts(evidence)[1], setting.unit, total_of(evidence)[0])


@remembered
def is_few_rows(evidence: Evidence[VineOptions]) -> bool:
    """Return whether tables of pairs would be below the noise level, so that the model for few rows is used."""
    return has_few_rows(evidence.setting.schema, stages_of(evidence))


def _few_rows_stage(evidence: Evidence[VineOptions]) -> FewRowsStage:
    setting, (_, rest) = evidence.setting, budget_parts(evidence)
    # The noise on the number of rows is that of the spent part of the allowance.
    spent, sigma = setting.allowance.amount - rest.amount, math.inf
    if spent > 0:
        sigma = replace(rest, amount=spent).noise(setting.unit).std
    total = known_total(setting, total_of(evidence)[0], sigma)
    return FewRowsStage(setting=setting, allowance=rest, total=total, target=target_of(evidence))


FEW_ROWS = few_rows_steps(_few_rows_stage)


def _margin_stage(evidence: Evidence[VineOptions]) -> MarginStage:
    total = known_total(evidence.setting, *total_of(evidence))
    allowance = stages_of(evidence).margins
    return MarginStage(setting=evidence.setting, allowance=allowance, total=total, options=MarginOptions())


MARGINS = margin_steps(_margin_stage)


def target_of(evidence: Evidence[VineOptions]) -> int | None:
    """Return the position of the declared target, or None."""
    name = evidence.setting.options.target
    return None if name is None else evidence.setting.schema.modelled.index(name)


@remembered
def margins_of(evidence: Evidence[VineOptions]) -> MeasuredMargins:
    """Return the estimated margins, without what public rules exclude."""
    return keep_to_rules(evidence.setting.schema, MARGINS.estimate(evidence))


@remembered
def axes_of(evidence: Evidence[VineOptions]) -> tuple[VineAxis, ...]:
    """Return the columns laid out on the unit interval."""
    margins = margins_of(evidence)
    coarse = {margin.column: seen[0].lookup for margin, seen in zip(margins.margins, margins.histograms, strict=True)}
    return lay_out_axes(evidence.setting.schema, margins.margins, coarse)


def rows_of(evidence: Evidence[VineOptions]) -> float:
    """Return the (noisy) number of rows."""
    return max(margins_of(evidence).rows, 1.0)


@remembered
def structure_of(evidence: Evidence[VineOptions]) -> Structure:
    """Return the structural zeros of public rules."""
    return find_structure(evidence.setting.schema, axes_of(evidence))


@remembered
def measured_pairs(evidence: Evidence[VineOptions]) -> tuple[MeasuredTable, ...]:
    """Return the coarse tables of pairs as measured."""
    axes, rows = axes_of(evidence), rows_of(evidence)
    links = evidence.measured(TARGET) if stages_of(evidence).links_target else ()
    found = (*read_tables(axes, evidence.measured(PAIRS), rows), *read_tables(axes, links, rows))
    return tuple(sorted(found, key=lambda table: table.columns))


@remembered
def correlations_of(evidence: Evidence[VineOptions]) -> Correlations:
    """Return the correlations from score sums, with the variance by which they disagree with the tables of pairs."""
    # A stream of its own: what is drawn later does not depend on whether sums were measured.
    (stream,) = evidence.setting.generator().spawn(1)
    rows, measured = rows_of(evidence), evidence.measured(CORRELATIONS)
    known = estimate_correlations(measured, evidence.setting.schema, axes_of(evidence), rows, stream)
    return inflate_variance(known, measured_pairs(evidence), rows)


def halves_of(evidence: Evidence[VineOptions]) -> tuple[MeasuredTable, ...]:
    """Return the three-way interactions with the target where rows are few."""
    halves = split_in_halves(measured_pairs(evidence))
    return read_tables(axes_of(evidence), evidence.measured(HALVES), rows_of(evidence), halves)


@remembered
def prior_tables_of(evidence: Evidence[VineOptions]) -> PriorTables | None:
    """Return the comparison with a public table, if there is one."""
    if evidence.setting.prior is None:
        return None
    pooled = pool_margins(measured_pairs(evidence), rows_of(evidence))
    return PriorTables(prior=evidence.setting.prior, axes=axes_of(evidence), rows=rows_of(evidence), pooled=pooled)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pairs:
    """Tables of pairs ready for the fits, those sharpened by score sums, and finer ones that a public table adds."""

    tables: tuple[MeasuredTable, ...]
    sharp: tuple[MeasuredTable, ...]
    public: Sequence[MeasuredTable]


@remembered
def pairs_of(evidence: Evidence[VineOptions]) -> _Pairs:
    """Return the tables of pairs after everything that is known about them beside their counts."""
    prior_tables, rows, pairs = prior_tables_of(evidence), rows_of(evidence), measured_pairs(evidence)
    public: Sequence[MeasuredTable] = ()
    if prior_tables is not None:
        pairs, phis = prior_tables.shrink_to_prior(pairs)
        public = prior_tables.finer(pairs, phis)
    pairs = structure_of(evidence).excluded(link_nulls(pairs, rows))
    return _Pairs(tables=pairs, sharp=combine_with_tables(correlations_of(evidence), pairs, rows), public=public)


@remembered
def strengths_of(evidence: Evidence[VineOptions]) -> dict[tuple[int, int], float]:
    """Return the mutual information of each measured pair."""
    rows = rows_of(evidence)
    return {table.pair: estimate_dependence(table, rows) for table in pairs_of(evidence).sharp}


@remembered
def fine_of(evidence: Evidence[VineOptions]) -> tuple[MeasuredTable, ...]:
    """Return the finer tables of tree one."""
    prior_tables, rows = prior_tables_of(evidence), rows_of(evidence)
    fine = read_tables(axes_of(evidence), evidence.measured(TREE), rows)
    fine = fine if prior_tables is None else prior_tables.shrink_to_prior(fine)[0]
    return structure_of(evidence).excluded(link_again(fine, pairs_of(evidence).tables, rows))


@remembered
def target_tables_of(evidence: Evidence[VineOptions]) -> tuple[MeasuredTable, ...]:
    """Return the tables with a declared target: fine ones of each column, coarse ones of each pair."""
    if stages_of(evidence).links_target:
        return ()
    axes, rows, prior_tables = axes_of(evidence), rows_of(evidence), prior_tables_of(evidence)
    links, triples = (read_tables(axes, evidence.measured(label), rows) for label in (TARGET, TRIPLES))
    return (*links, *triples) if prior_tables is None else prior_tables.shrink_to_prior((*links, *triples))[0]


def estimate(evidence: Evidence[VineOptions]) -> TableModel:
    """Estimate the DP vine, or the model for few rows, from measurements."""
    if is_few_rows(evidence):
        return _estimate_few_rows(evidence)
    if PLANNED not in evidence:
        return estimate_vine(evidence)
    axes, rows, planned = axes_of(evidence), rows_of(evidence), evidence.measured(PLANNED)
    triples = read_tables(axes, [one for one in planned if len(one.query.columns) > 2], rows)
    return estimate_vine(_with_pairs_again(evidence), triples)


def _with_pairs_again(evidence: Evidence[VineOptions]) -> Evidence[VineOptions]:
    """Return the evidence with the pairs that were measured again pooled; what depends on pairs is computed again."""
    again = {one.query.columns: one for one in evidence.measured(PLANNED)}
    pairs = tuple(pool_measurements(one, again.get(one.query.columns)) for one in evidence.measured(PAIRS))
    known = forget_results(evidence, measured_pairs, correlations_of, prior_tables_of, pairs_of, fine_of)
    return Evidence(setting=evidence.setting, releases={**evidence.releases, PAIRS: pairs}, known=known)


def pool_measurements(first: Measurement, again: Measurement | None) -> Measurement:
    """Return two independent Gaussian measurements of one query as one, weighted by their precision."""
    if again is None:
        return first
    one, two = first.noise.scale**-2, again.noise.scale**-2
    values = (one * first.values + two * again.values) / (one + two)
    return replace(first, values=values, noise=replace(first.noise, scale=(one + two) ** -0.5))


def estimate_margins(evidence: Evidence[VineOptions]) -> tuple[Margin, ...]:
    """Estimate the margins alone."""
    return FEW_ROWS.margins(evidence) if is_few_rows(evidence) else margins_of(evidence).margins


def estimate_vine(evidence: Evidence[VineOptions], planned: Sequence[MeasuredTable] = ()) -> VineModel:
    """Fit tree one and the deeper trees, and calibrate the vine to every measured table.

    Args:
        evidence: All measurements but those that were planned after a first model.
        planned: The tables of these.
    """
    setting, axes, rows, margins = evidence.setting, axes_of(evidence), rows_of(evidence), margins_of(evidence)
    target, extra, pairs = target_of(evidence), target_tables_of(evidence), pairs_of(evidence)
    rng, structure, fine = setting.generator(), structure_of(evidence), fine_of(evidence)
    rng.spawn(1)  # the first child simulates for `correlations_of`: what is drawn here are others
    depth, by_target = (
        depth_of(setting.schema, setting.options),
        None if target is None else target_tables(target, extra),
    )
    finest = combine_with_tables(correlations_of(evidence), fine, rows)
    if by_target is None:
        vine = _grow(axes, pairs.sharp, finest, rows, depth, rng)
    else:
        among = {pair: strength for pair, strength in strengths_of(evidence).items() if by_target.target not in pair}
        tree = choose_tree(len(axes), among)
        vine = _grow_by_class(axes, pairs.sharp, finest, tree, by_target, rows, depth, rng)
    calibrated = Calibrated(calibration=NO_TILT, strength=0.0)
    if setting.options.calibration and len(axes) > 1:
        nulls = null_tables(axes, pairs.tables, fine, rows)
        others = [*extra, *pairs.public, *nulls, *histogram_tables(axes, margins)]
        others = [*fine, *structure.tables(rows), *structure.excluded(others)]
        first = *structure.excluded([*halves_of(evidence), *planned]), *pairs.tables
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
            pairs=len(pairs.tables),
            noise="gaussian" if setting.allowance.measure == "rho" else "laplace",
        ),
    )


def _estimate_few_rows(evidence: Evidence[VineOptions]) -> TableModel:
    """Return latent normals, or a vine of a public table's dependence if the measured sums do not rule it out."""
    setting, measured = evidence.setting, FEW_ROWS.estimate(evidence)
    if setting.prior is not None:
        axes = lay_out_axes(setting.schema, measured.layout.margins, {})
        prior_tables = PriorTables(prior=setting.prior, axes=axes, rows=max(measured.layout.rows, 1.0))
        if not prior_tables.contradicted(released_products(measured)):
            return estimate_few_rows_with_prior(setting, prior_tables, measured)
    return fit_measured(measured, setting.generator())


def estimate_few_rows_with_prior(
    setting: Setting[VineOptions], prior_tables: PriorTables, measured: MeasuredFewRows
) -> VineModel:
    """Fit a vine of the public table's dependence, moved towards the few sums that were measured."""
    margins, rows, axes = measured.layout.margins, prior_tables.rows, prior_tables.axes
    structure, rng = find_structure(setting.schema, axes), setting.generator()
    pairs = structure.excluded(link_nulls(prior_tables.from_products(released_products(measured)), rows))
    forest = choose_tree(len(axes), {table.pair: estimate_dependence(table, rows) for table in pairs})
    fine = [table for table in pairs if table.columns in forest]
    vine = _grow(axes, pairs, fine, rows, depth_of(setting.schema, setting.options), rng)
    calibrated = Calibrated(calibration=NO_TILT, strength=0.0)
    if setting.options.calibration and len(axes) > 1:
        nulls = structure.excluded(null_tables(axes, pairs, (), rows))
        calibrated = calibrate_vine(vine, axes, pairs, [*structure.tables(rows), *nulls], rows, rng)
    noise = "gaussian" if setting.allowance.measure == "rho" else "laplace"
    error = tuple(min(float(len(x.counts) * x.sigma / (np.sqrt(2 * np.pi) * rows)), 1.0) for x in measured.first)
    return VineModel(
        margins=margins,
        scales=tuple(axis.scale for axis in axes),
        vine=vine,
        calibration=calibrated.calibration,
        facts=VineFacts(rows=rows, margin_error=error, strength=calibrated.strength, pairs=0, noise=noise),
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
    trees = (fit_tree(axes, fine, pairs, rows),) if len(axes) > 1 else ()
    tables = {table.pair: table for table in pairs}
    return grow(Vine(size=len(axes), trees=trees), tables, _eligible(axes), rows, depth, rng)


def _grow_by_class(
    axes: Sequence[VineAxis],
    pairs: Sequence[MeasuredTable],
    fine: Sequence[MeasuredTable],
    tree: Sequence[tuple[int, int]],
    by_target: TargetTables,
    rows: float,
    depth: int,
    rng: np.random.Generator,
) -> Vine:
    """Fit a vine with the target as the root of all trees; the given tree, of the other columns, comes second."""
    chain = Vine(size=len(axes), trees=(fit_tree(axes, fine, pairs, rows),))
    best = {table.columns: table for table in (*pairs, *fine)}
    vine = root_at_target(axes, chain, [best[pair] for pair in tree], by_target, rows, rng)
    tables = {table.pair: table for table in pairs}
    return grow(vine, tables, _eligible(axes), rows, depth + 1, rng, by_target.by_class)


def _eligible(axes: Sequence[VineAxis]) -> frozenset[int]:
    """Return columns that a Gaussian pair copula can speak about: ordered ones, and those of two values."""
    return frozenset(j for j, axis in enumerate(axes) if axis.ordered or np.sum(axis.scale.mass > MIN_VALUE_MASS) == 2)


def histogram_tables(axes: Sequence[VineAxis], margins: MeasuredMargins) -> list[MeasuredTable]:
    """Return the released histograms of single columns that can be read off margin cells, as tables to calibrate to."""
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
    """Return the total variation error that the raw noise of its first histogram would give each margin.

    Half the sum of expected absolute errors, sigma sqrt(2 / pi) a bin; fitting a density brings it down further.
    """
    first = [seen[0] for seen in margins.histograms]
    return tuple(min(float(x.counts.size * x.sigma / (np.sqrt(2 * np.pi) * margins.rows)), 1.0) for x in first)

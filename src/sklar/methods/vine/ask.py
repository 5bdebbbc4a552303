"""The queries of the DP vine, step by step: the only adaptive code of the method."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from sklar.methods.evidence import Choose, Evidence, Measure, Step, ask_in_order, remembered
from sklar.methods.vine.estimate import (
    FEW_ROWS,
    MARGINS,
    ROWS,
    axes_of,
    budget_parts,
    estimate_vine,
    is_few_rows,
    measured_pairs,
    rows_of,
    stages_of,
    strengths_of,
    target_of,
)
from sklar.methods.vine.halves import request_halves_with_target
from sklar.methods.vine.options import VineOptions
from sklar.methods.vine.pairs import (
    CHOICE,
    CHOICE_SHARE,
    PairChoice,
    PairGroups,
    affordable_pairs,
    choose_pairs,
    chooses_pairs,
    informative_pairs,
    pairs_to_measure,
    request_pairs,
)
from sklar.methods.vine.planner import (
    DISTANCES,
    CandidateTable,
    candidate_tables,
    cell_levels,
    expected_counts,
    request_distances,
    request_planned,
    weigh_workload,
)
from sklar.methods.vine.sums import request_correlations
from sklar.methods.vine.tree import choose_tree, request_links, request_target_tables, request_tree, request_triples
from sklar.release.counts import Counts
from sklar.release.measurements import Request

VineEvidence = Evidence[VineOptions]


def ask(evidence: VineEvidence) -> Step | None:
    """Return the next step: the number of rows, then all that the vine, or the model for few rows, needs."""
    step = ask_in_order(evidence, _ask_rows)
    if step is not None:
        return step
    if is_few_rows(evidence):
        return FEW_ROWS.ask(evidence)
    return ask_in_order(
        evidence, MARGINS.ask, _ask_correlations, _ask_links, _ask_choice, _ask_pairs, _ask_halves, _ask_tree,
        _ask_target, _ask_triples, _ask_distances, _ask_planned,
    )  # fmt: skip


@remembered
def _ask_rows(evidence: VineEvidence) -> Measure | None:
    setting, (stage, _) = evidence.setting, budget_parts(evidence)
    if stage is None:
        return None
    name = setting.schema.modelled[0]
    everything = np.zeros(setting.schema.size(name), dtype=np.int32)
    query = Counts(columns=(name,), partitions=(everything,))
    return Measure(label=ROWS, requests=(Request(query=query, noise=stage.noise(setting.unit)),))


@remembered
def _ask_correlations(evidence: VineEvidence) -> Measure | None:
    stage = stages_of(evidence).sums
    return None if stage is None else request_correlations(evidence.setting, stage, axes_of(evidence))


@remembered
def _ask_links(evidence: VineEvidence) -> Measure | None:
    """Ask for interactions of each column with the target, where these take the place of the pairs with it."""
    stages, target = stages_of(evidence), target_of(evidence)
    if not stages.links_target or stages.target is None or target is None:
        return None
    return request_links(evidence.setting.unit, stages.target, axes_of(evidence), target, rows_of(evidence))


@remembered
def _pair_choice(evidence: VineEvidence) -> PairChoice | None:
    """Return which pairs are measured where there are too many; None where all are."""
    columns, target, allowance = _paired_columns(evidence), target_of(evidence), stages_of(evidence).pairs
    if not chooses_pairs(columns):
        return None
    rows = rows_of(evidence)
    wanted = affordable_pairs(allowance, evidence.setting.unit, rows, pairs_to_measure(columns))
    always = None if stages_of(evidence).links_target else target
    return choose_pairs(allowance.part(CHOICE_SHARE), axes_of(evidence), rows, wanted, always)


def _paired_columns(evidence: VineEvidence) -> int:
    """Return the number of columns whose pairs are measured: the target is linked apart where rows are few."""
    return len(axes_of(evidence)) - int(_links_measured(evidence))


def _links_measured(evidence: VineEvidence) -> bool:
    return stages_of(evidence).links_target and target_of(evidence) is not None


@remembered
def _ask_choice(evidence: VineEvidence) -> Choose | None:
    choice = _pair_choice(evidence)
    return None if choice is None else choice.step


@remembered
def _ask_pairs(evidence: VineEvidence) -> Measure | None:
    """Ask for coarse tables of all pairs, or of pairs chosen privately when there are too many."""
    setting, stages, axes, rows = evidence.setting, stages_of(evidence), axes_of(evidence), rows_of(evidence)
    allowance, columns, choice = stages.pairs, _paired_columns(evidence), _pair_choice(evidence)
    tables, pairs = max(columns * (columns - 1) // 2, 1), None
    if choice is not None:
        pairs = choice.chosen(evidence.chosen(CHOICE) if choice.step is not None else ())
        allowance, tables = allowance.part(1 - CHOICE_SHARE), max(len(pairs), 1)
    later = 0.0 if stages.planned is None else stages.planned.reserve.amount
    in_all = replace(allowance, amount=allowance.amount + later)  # pairs that matter are measured again
    groups = PairGroups(axes, in_all.noise(setting.unit, tables=tables).std, rows, setting.options.groups)
    informative = informative_pairs(groups.square)
    if pairs is not None:
        informative = tuple(sorted(set(informative) & set(pairs)))
    if _ask_links(evidence) is not None:
        informative = tuple(pair for pair in informative if target_of(evidence) not in pair)
    return request_pairs(setting, allowance, axes, groups, informative, interactions=stages.interactions)


@remembered
def _ask_halves(evidence: VineEvidence) -> Measure | None:
    stage, target = stages_of(evidence).halves, target_of(evidence)
    if stage is None or target is None:
        return None
    unit, pairs = evidence.setting.unit, measured_pairs(evidence)
    return request_halves_with_target(unit, stage, axes_of(evidence), pairs, target)


@remembered
def _ask_tree(evidence: VineEvidence) -> Measure | None:
    """Ask for a finer table for each edge of the strongest tree, which joins columns that are given for a row first."""
    setting, axes = evidence.setting, axes_of(evidence)
    given = frozenset(column for column, axis in enumerate(axes) if axis.name in setting.given)
    forest = choose_tree(len(axes), strengths_of(evidence), given)
    return request_tree(setting.unit, stages_of(evidence).tree, axes, forest, rows_of(evidence))


@remembered
def _ask_target(evidence: VineEvidence) -> Measure | None:
    """Ask for fine tables of each column with the target."""
    stages, target = stages_of(evidence), target_of(evidence)
    if target is None or stages.target is None or stages.triples is None:
        return None
    return request_target_tables(evidence.setting.unit, stages.target, axes_of(evidence), target, rows_of(evidence))


@remembered
def _ask_triples(evidence: VineEvidence) -> Measure | None:
    """Ask for coarse tables of each measured pair with the target."""
    stages, target, axes = stages_of(evidence), target_of(evidence), axes_of(evidence)
    if target is None or stages.target is None or stages.triples is None:
        return None
    pairs = [table.pair for table in measured_pairs(evidence)]
    wanted = pairs if chooses_pairs(len(axes)) else None
    return request_triples(evidence.setting.unit, stages.triples, axes, target, rows_of(evidence), wanted)


@remembered
def _weights(evidence: VineEvidence) -> dict[tuple[int, ...], float]:
    """Return how much the error of each pair and triple of columns counts."""
    return weigh_workload(evidence.setting.schema.modelled, evidence.setting.options.workload)


@remembered
def _candidates(evidence: VineEvidence) -> tuple[CandidateTable, ...]:
    """Return all tables that may be measured after the first model; of very many triples those of the strongest
    pairs."""
    axes, rows, planned = axes_of(evidence), rows_of(evidence), stages_of(evidence).planned
    assert planned is not None
    strengths = strengths_of(evidence)
    triples = [columns for columns in _weights(evidence) if len(columns) == 3]
    triples.sort(key=lambda columns: -sum(strengths.get(pair, 0.0) for pair in combinations(columns, 2)))
    levels = cell_levels(rows, planned.triples, planned.reserve, evidence.setting.unit)
    return candidate_tables(axes, measured_pairs(evidence), sorted(triples[: planned.triples]), levels, rows)


@remembered
def _ask_distances(evidence: VineEvidence) -> Measure | None:
    """Ask how far the first model is from every table that may be measured next."""
    setting, planned = evidence.setting, stages_of(evidence).planned
    if planned is None or not _candidates(evidence):
        return None
    model, rng = estimate_vine(evidence), setting.generator()
    expected = expected_counts(model, _candidates(evidence), rows_of(evidence), rng)
    return request_distances(axes_of(evidence), _candidates(evidence), expected, planned.distances, setting.unit)


@remembered
def _ask_planned(evidence: VineEvidence) -> Measure | None:
    """Ask for the tables that the distances lead to."""
    stages = stages_of(evidence)
    if stages.planned is None or DISTANCES not in evidence:
        return None
    return request_planned(
        evidence.measured(DISTANCES)[0], axes_of(evidence), _candidates(evidence), _weights(evidence),
        stages.planned.reserve, evidence.setting.unit, interactions=stages.interactions,
    )  # fmt: skip

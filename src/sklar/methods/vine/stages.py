"""The stages of the vine: what it measures, in order, and with which part of its allowance. `plan` and `fit` read this.

The number of rows comes first, with a share of its own. Once it is known (released, public, or assumed by a plan), the
rest of the allowance is cut: sums that measure correlations, then margins, pairs, tree one, and the tables of a target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.expectation import Expectation, expect_dependence
from sklar.methods.few_rows.shares import PAIRS_RESOLUTION, pairs_noise
from sklar.methods.margin_plan import outline_margins
from sklar.methods.method import Outline
from sklar.methods.vine.options import (
    MIN_RESOLUTION_FOR_TRIPLES,
    PAIRS_SHARE,
    VineOptions,
    budget_shares,
    scored_columns,
    scored_pair_share,
)
from sklar.methods.vine.pairs import (
    CHOICE_SHARE,
    affordable_pairs,
    chooses_pairs,
    interaction_noise,
    pairs_to_measure,
    supported_groups,
)
from sklar.methods.vine.planner import PlannedBudget, plan_budget, weigh_workload
from sklar.methods.vine.sums import sums_share
from sklar.methods.vine.tree import MAX_FINE_GROUPS, TRIPLE_GROUPS
from sklar.schema.table import Schema

TOTAL_SHARE = 0.003
"""Share of the budget for the number of rows: its noise is a fraction of that of any table, so little is enough."""
MIN_RESOLUTION_FOR_INTERACTIONS = 7.0
"""Groups a side from which on pairs are measured as interactions: a row moves them less than counts, but counts measure
margins too. On 2,700 to 3,000 rows of hmeq and Adult (5.4 groups) interactions had 7% more error in margins and 1 to 2%
in pairs; on compas (7.6) 5% less in pairs. Laplace noise gains nothing from them."""
MIN_RESOLUTION, EXTRA_RESOLUTION_WITH_SUMS = 0.80, 0.25
"""Part of the needed groups from which on the vine is better than the model for few rows: MIN_RESOLUTION where sums
measure no pair, and EXTRA_RESOLUTION_WITH_SUMS more where they measure all. Drawn through 1,500 to 2,700 rows of Adult,
compas and HMEQ: the direction is clear (2,000 rows of Adult: 10% less error of pairs by the vine), the numbers are
rough."""
MIN_SCORED_SHARE = 0.95
"""Part of all pairs that sums measure from which on, with a target, the model for few rows is used as long as tables
with the target have no triples: it knows how correlations differ between classes. On 4,800 rows of 14 numbers of
SUPPORT2 (epsilon 1, two seeds) the AUC is .826 (vine .795) and the error of pairs the same; on sim20 at epsilon 10 .944
(.842), at 14% more error of pairs. Where a ninth of the pairs has no sums (HMEQ), the vine is better."""
MIN_PAIR_RESOLUTION = 5.0
"""Groups a side that pair tables of columns with many values need; with fewer, the model for few rows is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The parts of an allowance, one a stage.

    Attributes:
        resolution: Groups a side that tables of all pairs would support, if they got the share of a fit without a
            target.
        interactions: Whether pairs are measured as interactions rather than as counts.
        sums: For the sums that measure correlations; None where tables measure these better.
        margins: For the histograms.
        pairs: For the tables of pairs, and for choosing them where there are too many.
        tree: For the finer tables of tree one.
        target: For fine tables with a declared target; None without one.
        triples: For coarse tables of each pair with the target; None without one, and where rows are few: then the
            tables with the target are coarse, and the only ones of these pairs.
        halves: For each pair with the target, all cut in two; None without a target, and where there are triples.
        planned: For distances from the first model and the tables they lead to; None where these would be below their
            noise, with a target, and with more columns than all pairs are measured of.
    """

    resolution: float
    interactions: bool
    sums: Allowance | None
    margins: Allowance
    pairs: Allowance
    tree: Allowance
    target: Allowance | None
    triples: Allowance | None
    halves: Allowance | None
    planned: PlannedBudget | None

    @property
    def links_target(self) -> bool:
        """Whether each column has one table with the target, which then are no part of the pairs."""
        return self.target is not None and self.triples is None


def total_stage(allowance: Allowance, unit: Unit) -> tuple[Allowance | None, Allowance]:
    """Return (what the number of rows may cost, what is left); under replace-one it is public and costs nothing."""
    if unit.neighbours == "replace":
        return None, allowance
    return allowance.part(TOTAL_SHARE), allowance.part(1 - TOTAL_SHARE)


def cut_stages(schema: Schema, options: VineOptions, allowance: Allowance, unit: Unit, rows: float) -> Stages:
    """Cut what is left after the number of rows is known."""
    columns = len(schema.modelled)
    noise = allowance.part(PAIRS_SHARE).noise(unit, tables=max(pairs_to_measure(columns), 1))
    affordable = supported_groups(rows, noise.std)
    gaussian = allowance.measure == "rho"
    few_rows = affordable < MIN_RESOLUTION_FOR_TRIPLES and columns > 2 and not chooses_pairs(columns)
    shares = budget_shares(schema, options, gaussian=gaussian, few_rows=few_rows)
    share = sums_share(schema, options, affordable, rows)
    rest = allowance.part(1 - share)
    planned = None
    if gaussian and options.target is None and not chooses_pairs(columns):
        planned = plan_budget(weigh_workload(schema.modelled, options.workload), rest, shares, rows, unit)
        shares = shares if planned is None else planned.shares
    return Stages(
        resolution=affordable,
        interactions=gaussian and affordable >= MIN_RESOLUTION_FOR_INTERACTIONS,
        sums=allowance.part(share) if share > 0 else None,
        margins=rest.part(shares.margins),
        pairs=rest.part(shares.pairs),
        tree=rest.part(shares.tree),
        target=rest.part(shares.target) if shares.target else None,
        triples=rest.part(shares.triples) if shares.triples else None,
        halves=rest.part(shares.halves) if shares.halves else None,
        planned=planned,
    )


def has_few_rows(schema: Schema, stages: Stages) -> bool:
    """Return whether pair tables with the groups that the columns need would hold too few rows for their noise.

    A column needs five groups a side, or its number of values; less where sums measure few of the pairs, since then
    the model for few rows has little to offer; more where they measure nearly all, and a target is declared.
    """
    if stages.links_target and scored_pair_share(schema) >= MIN_SCORED_SHARE:
        return True
    values = [schema[name].value_cells + (schema[name].null_code is not None) for name in schema.modelled]
    needed = float(np.mean(np.clip(values, 2, MIN_PAIR_RESOLUTION)))
    least = MIN_RESOLUTION + EXTRA_RESOLUTION_WITH_SUMS * scored_pair_share(schema)
    return len(values) > 2 and stages.resolution < needed * least


def outline_vine(
    schema: Schema, options: VineOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """Return the stages for people. Numbers of cells are those of columns with many values."""
    total, allowance = total_stage(allowance, unit)
    stages, columns = cut_stages(schema, options, allowance, unit, rows), len(schema.modelled)
    lines: list[Outline] = []
    if total is not None:
        lines.append(Outline(label="number of rows", tables=1, cells=1, noise=total.noise(unit)))
    if stages.sums is not None:
        scored = len(scored_columns(schema))
        noise, cells = pairs_noise(stages.sums, unit, scored), scored * (scored - 1) // 2
        lines.append(Outline(label="correlations", tables=1, cells=cells, noise=noise, resolution=PAIRS_RESOLUTION))
    lines += outline_margins(schema, stages.margins, unit)
    if columns > 1:
        lines.append(_outline_pairs(stages, unit, rows, columns, most_groups(schema, options)))
        lines.append(_outline_square("tree one", columns - 1, stages.tree, unit, rows, MAX_FINE_GROUPS))
    if stages.planned is not None:
        lines += stages.planned.outline(rows, unit)
    if stages.target is not None and columns > 1:
        lines.append(_outline_square("tables with the target", columns - 1, stages.target, unit, rows, MAX_FINE_GROUPS))
    if stages.halves is not None:
        lines.append(_halves("halves with the target", math.comb(columns - 1, 2), stages.halves, unit))
    if stages.triples is not None and columns > 2:
        triples = max(pairs_to_measure(columns - 1), 1)
        lines.append(_outline_square("triples with the target", triples, stages.triples, unit, rows, TRIPLE_GROUPS))
    return tuple(lines)


def expect_vine(schema: Schema, options: VineOptions, allowance: Allowance, unit: Unit, rows: int) -> Expectation:
    """Return what to expect of a synthetic table."""
    stages = cut_stages(schema, options, total_stage(allowance, unit)[1], unit, rows)
    few, target = has_few_rows(schema, stages), options.target is not None
    return expect_dependence(schema, allowance, unit, rows, few_rows=few, target=target)


def most_groups(schema: Schema, options: VineOptions) -> int:
    """Return most groups that any column can have in a pair table."""
    nominal, ordered = options.groups
    columns = [schema[name] for name in schema.modelled]
    return max(ordered if column.numeric else min(nominal, column.size) for column in columns)


def _outline_pairs(stages: Stages, unit: Unit, rows: int, columns: int, most: int) -> Outline:
    allowance, tables = stages.pairs, pairs_to_measure(columns - stages.links_target)
    if chooses_pairs(columns):
        tables = affordable_pairs(allowance, unit, rows, tables)
        allowance = allowance.part(1 - CHOICE_SHARE)
    counted = _outline_square("pairs", tables, allowance, unit, rows, most)
    if not stages.interactions:
        return counted
    groups = math.isqrt(counted.cells)
    noise = interaction_noise(allowance.part(1 / max(tables, 1)), unit, (groups, groups))
    return replace(counted, noise=noise, resolution=1 / counted.cells)


def _outline_square(label: str, tables: int, allowance: Allowance, unit: Unit, rows: int, most: int) -> Outline:
    noise: Noise = allowance.noise(unit, tables=tables)
    groups = int(np.clip(supported_groups(rows, noise.std), 2, most))
    return Outline(label=label, tables=tables, cells=groups**2, noise=noise)


def _halves(label: str, tables: int, allowance: Allowance, unit: Unit) -> Outline:
    """Return three columns cut in two."""
    noise = interaction_noise(allowance.part(1 / tables), unit, (2, 2, 2))
    return Outline(label=label, tables=tables, cells=8, noise=noise, resolution=1 / 8)

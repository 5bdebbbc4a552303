"""What the vine will measure and how noisily, as far as it is known before anything is spent."""

from __future__ import annotations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.margin_plan import outline_margins
from sklar.methods.method import Outline
from sklar.methods.small_shares import pairs_noise
from sklar.methods.vine_options import TOTAL_SHARE, Options, budget_shares, scored_columns
from sklar.methods.vine_pairs import resolution
from sklar.methods.vine_select import CHOICE_SHARE, affordable_pairs, chooses_pairs, pairs_to_measure
from sklar.methods.vine_sums import sums_share
from sklar.methods.vine_target import TRIPLE_GROUPS
from sklar.methods.vine_tree import MOST_GROUPS
from sklar.schema.table import Schema


def outline_vine(schema: Schema, options: Options, allowance: Allowance, unit: Unit, rows: int) -> tuple[Outline, ...]:
    """Lines for the number of rows, margins, pairs and tree one, and with a target for its tables.

    Numbers of cells are those of columns with many values; budgets of single tables vary with their cells.
    """
    shares = budget_shares(options)
    lines: list[Outline] = []
    if unit.neighbours != "replace":
        lines.append(Outline(label="number of rows", tables=1, cells=1, noise=allowance.part(TOTAL_SHARE).noise(unit)))
        allowance = allowance.part(1 - TOTAL_SHARE)
    columns = len(schema.modelled)
    noise = allowance.part(shares[1]).noise(unit, tables=max(pairs_to_measure(columns), 1))
    share = sums_share(schema, options, resolution(rows, noise.std), rows)
    if share > 0:
        scored = len(scored_columns(schema))
        lines.append(
            Outline(
                label="correlations",
                tables=1,
                cells=scored * (scored - 1) // 2,
                noise=pairs_noise(allowance.part(share), unit, scored),
            )
        )
        allowance = allowance.part(1 - share)
    lines += outline_margins(schema, allowance.part(shares[0]), unit)
    if columns > 1:
        lines.append(_pairs(allowance.part(shares[1]), unit, rows, columns, options))
        lines.append(_square("tree one", columns - 1, allowance.part(shares[2]), unit, rows, MOST_GROUPS))
    if options.target is not None and columns > 1:
        lines.append(_square("tables with the target", columns - 1, allowance.part(shares[3]), unit, rows, MOST_GROUPS))
    if options.target is not None and columns > 2:
        triples = max(pairs_to_measure(columns - 1), 1)
        lines.append(_square("triples with the target", triples, allowance.part(shares[4]), unit, rows, TRIPLE_GROUPS))
    return tuple(lines)


def _pairs(allowance: Allowance, unit: Unit, rows: int, columns: int, options: Options) -> Outline:
    tables = pairs_to_measure(columns)
    if chooses_pairs(columns):
        tables = affordable_pairs(allowance, unit, rows, tables)
        allowance = allowance.part(1 - CHOICE_SHARE)
    return _square("pairs", tables, allowance, unit, rows, max(options.groups))


def _square(label: str, tables: int, allowance: Allowance, unit: Unit, rows: int, most: int) -> Outline:
    noise: Noise = allowance.noise(unit, tables=tables)
    groups = int(np.clip(resolution(rows, noise.std), 2, most))
    return Outline(label=label, tables=tables, cells=groups**2, noise=noise)

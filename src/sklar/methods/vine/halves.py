"""Three-way interactions with a target where rows are few: each column cut in two, one number a triple.

One row moves the interaction of a 2 x 2 x 2 table an eighth as far (squared) as a table of counts, a quarter if rows
are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.methods.evidence import Measure
from sklar.methods.vine.axes import TablePlan, VineAxis, request_tables
from sklar.methods.vine.pairs import interaction_noise
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.tables import MeasuredTable

HALVES = "halves with the target"
"""Label of the step."""
MIN_HALF_MASS = 0.01
"""A column whose smaller half has less probability than this is left out."""

Triple = tuple[int, int, int]


def request_halves_with_target(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], pairs: Sequence[MeasuredTable], target: int
) -> Measure | None:
    """Ask for each pair of columns with the target, all cut in two: how dependence differs between classes."""
    halves = split_in_halves(pairs)
    others = sorted(set(halves) - {target})
    wanted = [(a, b, target) for a, b in combinations(others, 2)] if target in halves else []
    return _request_halves(unit, allowance, axes, halves, wanted, HALVES)


def _request_halves(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], halves: Mapping[int, Groups],
    wanted: Sequence[Triple], label: str,
) -> Measure | None:  # fmt: skip
    if not wanted:
        return None
    noise = interaction_noise(allowance.part((1 - 1e-9) / len(wanted)), unit, (2, 2, 2))
    plans = [TablePlan(columns=t, groups=tuple(halves[c] for c in t), noise=noise) for t in wanted]
    return request_tables(axes, plans, label, interactions=True)


def split_in_halves(pairs: Sequence[MeasuredTable]) -> dict[int, Groups]:
    """Return each column of the pairs cut in two, as evenly as its groups permit."""
    groups = {c: group for table in pairs for c, group in zip(table.columns, table.groups, strict=True)}
    return {column: half for column, group in groups.items() if (half := _split_in_half(group)) is not None}


def _split_in_half(groups: Groups) -> Groups | None:
    cut = 1 + int(np.argmin(np.abs(groups.edges[1:-1] - 0.5)))
    at = float(groups.edges[cut])
    if not MIN_HALF_MASS < at < 1 - MIN_HALF_MASS:
        return None
    return Groups(lookup=(groups.lookup >= cut).astype(np.int64), edges=np.array([0.0, at, 1.0]))

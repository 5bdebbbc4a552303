"""Screen all triples for three-way interactions on 2x2x2 tables, then measure the significant ones in more detail.

Each column is cut in two. What a 2 x 2 x 2 table tells beyond its pairs is one number, and one row moves it an eighth
as far (squared) as a table of counts, a quarter if rows are replaced: so much less a look at all triples costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.methods.evidence import Measure
from sklar.methods.vine.axes import MeasuredTable, TablePlan, VineAxis, request_tables
from sklar.methods.vine.pairs import ROWS_PER_CELL, interaction_noise, share_out
from sklar.model.pairs.copula import fit_margins
from sklar.model.pairs.grouping import Groups

LOOK, FINER, HALVES = "look at triples", "triples that stand out", "halves with the target"
"""Labels of the steps."""
MIN_TRIPLE_SIGMAS = 6.0
"""Standard deviations of its noise by which a triple must differ from what its pairs tell: those carry noise too, and
strong ones move what is expected by 5 or so."""
MOST_TRIPLES = 10
"""Triples that are measured finer: each has a part of one small share."""
MOST_GROUPS = 8
LEAST_HALF = 0.01
"""A column whose smaller half holds less than this is not looked at."""

Triple = tuple[int, int, int]
_SIGNS = np.array([1.0, -1.0])
SIGNS = np.multiply.outer(np.multiply.outer(_SIGNS, _SIGNS), _SIGNS)
"""The one shape that a 2 x 2 x 2 table has beyond its pairs."""


def request_look(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], pairs: Sequence[MeasuredTable], target: int | None
) -> Measure | None:
    """Ask for the halves of all triples of columns whose pairs are measured.

    Args:
        unit: Whose privacy is protected.
        allowance: For all triples together.
        axes: The columns.
        pairs: Their tables, whose groups the halves are made of.
        target: A column whose triples are measured anyway, a declared target; or None.
    """
    measured = {(table.columns[0], table.columns[1]) for table in pairs}
    halves = {column: half for column, half in split_in_halves(pairs).items() if column != target}
    wanted = [t for t in combinations(sorted(halves), 3) if all(pair in measured for pair in combinations(t, 2))]
    return _request_halves(unit, allowance, axes, halves, wanted, LOOK)


def significant_triples(
    seen: Sequence[MeasuredTable], pairs: Sequence[MeasuredTable], rows: float
) -> tuple[MeasuredTable, ...]:
    """Return the halves of triples that differ from what the tables of their pairs imply, most significant first."""
    tables = {(table.columns[0], table.columns[1]): table for table in pairs}
    sigmas = [(abs(_surprise(table, tables, rows)), table) for table in seen]
    chosen = sorted((one for one in sigmas if one[0] > MIN_TRIPLE_SIGMAS), key=lambda one: -one[0])
    return tuple(table for _, table in chosen[:MOST_TRIPLES])


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


def request_finer_triples(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], found: Sequence[MeasuredTable], rows: float
) -> Measure | None:
    """Ask for finer interactions of the significant triples, of as many groups as their noise lets the columns have."""
    sigma = allowance.noise(unit, tables=max(len(found), 1)).std
    most = int(np.clip((rows / (ROWS_PER_CELL * sigma)) ** (1 / 3), 2, MOST_GROUPS))
    groups = {c: axes[c].groups(most, sigma, rows) for table in found for c in table.columns}
    tables = [(table.columns, tuple(groups[c] for c in table.columns)) for table in found]
    tables = [one for one in tables if min(group.count for group in one[1]) > 1]
    return request_tables(axes, share_out(allowance, unit, tables, interactions=True), FINER, interactions=True)


def split_in_halves(pairs: Sequence[MeasuredTable]) -> dict[int, Groups]:
    """Return each column of the pairs cut in two, as evenly as its groups permit."""
    groups = {c: group for table in pairs for c, group in zip(table.columns, table.groups, strict=True)}
    return {column: half for column, group in groups.items() if (half := _half(group)) is not None}


def _half(groups: Groups) -> Groups | None:
    cut = 1 + int(np.argmin(np.abs(groups.edges[1:-1] - 0.5)))
    at = float(groups.edges[cut])
    if not LEAST_HALF < at < 1 - LEAST_HALF:
        return None
    return Groups(lookup=(groups.lookup >= cut).astype(np.int64), edges=np.array([0.0, at, 1.0]))


def _surprise(table: MeasuredTable, pairs: Mapping[tuple[int, int], MeasuredTable], rows: float) -> float:
    """How far the released number of a triple is from what its pairs tell, in standard deviations.

    Those of its noise, and of the chance of rows whose halves are even and independent.
    """
    released = float(np.mean(table.counts * SIGNS))
    expected = rows * float(np.mean(_from_pairs(table, pairs, rows) * SIGNS))
    return (released - expected) / float(np.sqrt(table.sigma**2 / SIGNS.size + rows / SIGNS.size**2))


def _from_pairs(table: MeasuredTable, pairs: Mapping[tuple[int, int], MeasuredTable], rows: float) -> Floats:
    """The probabilities of a 2 x 2 x 2 table without an interaction of all three (iterative proportional fitting)."""
    masses = [group.mass for group in table.groups]
    model = np.multiply.outer(np.outer(masses[0], masses[1]), masses[2])
    wanted: list[tuple[int, Floats]] = []
    for a, b in combinations(range(3), 2):
        pair = pairs[table.columns[a], table.columns[b]]
        coarse = pair.counts / rows
        for axis, (at, group) in enumerate(zip((a, b), pair.groups, strict=True)):
            cut = int(np.argmin(np.abs(group.edges - table.groups[at].edges[1])))
            coarse = np.add.reduceat(coarse, [0, cut], axis=axis)
        wanted.append((3 - a - b, fit_margins(np.maximum(coarse, 0.0), masses[a], masses[b])))
    for _ in range(30):
        for axis, target in wanted:
            model = model * np.expand_dims(target / model.sum(axis=axis), axis)
    return model

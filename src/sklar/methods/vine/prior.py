"""Tables of pairs between what was released and what a public table expects; also of pairs that were not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sklar.arrays import Floats
from sklar.methods.prior import compare_table, expected_table, lean_all
from sklar.methods.vine.axes import MeasuredTable, VineAxis
from sklar.model.leaning import share_spread
from sklar.model.pairs.copula import fit_margins
from sklar.model.pairs.grouping import Groups, base_lookup, value_tops
from sklar.schema.prior import PublicPrior

PRIOR_GROUPS = 24
"""Groups a side of tables of pairs that a public table tells."""

LEAST_SHARE, MOST_RATIO = 1e-6, 10.0
"""Cells that a public table hardly has are not multiplied by what noise makes of them."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leaning:
    """A public table beside the axes of a fit.

    Attributes:
        rows: (noisy) number of rows.
    """

    prior: PublicPrior
    axes: Sequence[VineAxis]
    rows: float

    def expected(self, columns: Pair, groups: tuple[Groups, Groups]) -> Floats | None:
        """Shares that the public table expects, with the margins of the axes."""
        axes = self.axes[columns[0]], self.axes[columns[1]]
        lookups = base_lookup(groups[0], axes[0].scale), base_lookup(groups[1], axes[1].scale)
        masses = groups[0].mass, groups[1].mass
        return expected_table(self.prior, (axes[0].name, axes[1].name), lookups, masses)

    def lean(self, tables: Sequence[MeasuredTable]) -> tuple[tuple[MeasuredTable, ...], dict[Pair, float]]:
        """The tables, those of pairs leaned on the public table; and the phi of each pair."""
        found = {
            k: expected
            for k, table in enumerate(tables)
            if len(table.columns) == 2
            and (expected := self.expected(table.columns, table.groups)) is not None  # type: ignore[arg-type]
        }
        compared = [
            compare_table(self.prior, expected, tables[k].counts, tables[k].sigma, self.rows)
            for k, expected in found.items()
        ]
        leaned = dict(zip(found, lean_all(self.prior, compared, self.rows), strict=True))
        made: list[MeasuredTable] = []
        for k, table in enumerate(tables):
            one = leaned.get(k)
            if one is not None:
                table = replace(table, counts=self.rows * one.mean, sigma=self.rows * float(np.sqrt(one.variance)))
            made.append(table)
        return tuple(made), {(tables[k].columns[0], tables[k].columns[1]): one.phi for k, one in leaned.items()}

    def finer(self, pairs: Sequence[MeasuredTable], phis: Mapping[Pair, float]) -> list[MeasuredTable]:
        """Fine tables of all pairs that the public table has, moved to what is known of the coarse ones."""
        groups = [axis.groups(PRIOR_GROUPS, 0.0, self.rows) for axis in self.axes]
        coarse = {(t.columns[0], t.columns[1]): t for t in pairs}
        usual = float(1 / np.mean([1 / phi for phi in phis.values()])) if phis else np.inf
        made: list[MeasuredTable] = []
        for pair in combinations(range(len(self.axes)), 2):
            own = groups[pair[0]], groups[pair[1]]
            phi = phis.get(pair, usual)
            if min(own[0].count, own[1].count) < 2 or not np.isfinite(phi):
                continue
            expected = self.expected(pair, own)
            if expected is None:
                continue
            if pair in coarse:
                expected = self._moved(expected, own, coarse[pair])
            sigma = self.rows * float(np.sqrt(phi * np.mean(share_spread(expected, self.prior.rows))))
            tops = value_tops(own, (self.axes[pair[0]].top, self.axes[pair[1]].top))
            made.append(
                MeasuredTable(
                    columns=pair, groups=own, counts=self.rows * expected, sigma=sigma, told="derived", tops=tops
                )
            )
        return made

    def _moved(self, expected: Floats, own: tuple[Groups, Groups], table: MeasuredTable) -> Floats:
        """The fine table moved as far as what is known of a coarse one differs from what was expected of it."""
        columns, groups = (table.columns[0], table.columns[1]), (table.groups[0], table.groups[1])
        before = self.expected(columns, groups)
        assert before is not None
        ratio = np.maximum(table.counts / self.rows, 0.0) / np.maximum(before, LEAST_SHARE)
        first, second = (_overlap(fine, coarse) for fine, coarse in zip(own, groups, strict=True))
        return fit_margins(expected * (first @ np.minimum(ratio, MOST_RATIO) @ second.T), own[0].mass, own[1].mass)


def _overlap(fine: Groups, coarse: Groups) -> Floats:
    """The part of each fine group (row) that lies in each coarse one."""
    low = np.maximum(fine.edges[:-1, None], coarse.edges[None, :-1])
    high = np.minimum(fine.edges[1:, None], coarse.edges[None, 1:])
    return np.maximum(high - low, 0.0) / fine.mass[:, None]

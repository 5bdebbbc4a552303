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
from sklar.model.pairs.grouping import Groups, base_lookup, value_tops
from sklar.schema.prior import PublicPrior

PRIOR_GROUPS = 24
"""Groups a side of tables of pairs that a public table tells."""

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
        """The fine table with the sums of a coarse one, on cells that both cut."""
        places = [_nested(fine, coarse) for fine, coarse in zip(own, table.groups, strict=True)]
        share = [
            np.zeros((coarse.count, fine.count)) for fine, coarse in zip(own, table.groups, strict=True)
        ]
        for matrix, place in zip(share, places, strict=True):
            matrix[place, np.arange(len(place))] = 1.0
        sums = share[0] @ expected @ share[1].T
        wanted = np.maximum(table.counts / self.rows, 0.0)
        ratio = np.where(sums > 1e-9, wanted / np.maximum(sums, 1e-9), 1.0)
        moved = expected * ratio[np.ix_(places[0], places[1])]
        return moved / moved.sum()


def _nested(fine: Groups, coarse: Groups) -> np.ndarray:
    """The coarse group that most of each fine group lies in, by their places on the axis."""
    middle = (fine.edges[1:] + fine.edges[:-1]) / 2
    return np.clip(np.searchsorted(coarse.edges, middle, side="right") - 1, 0, coarse.count - 1)

"""Tables of pairs between what was released and what a public table expects; also of pairs that were not measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from sklar.arrays import Floats
from sklar.methods.prior import compare_table, expected_table, least_phi, shrink_all_to_prior
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.products import ScoreProduct, by_pair
from sklar.model.pairs.copula import fit_margins
from sklar.model.pairs.grouping import Groups, base_lookup, value_tops
from sklar.model.pairs.interactions import noisy_dimensions, with_margins
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.prior_comparison import (
    PriorComparison,
    compute_extra_variance,
    compute_share_variance,
    shrink_to_prior,
)
from sklar.schema.prior import PublicPrior

PRIOR_GROUPS = 12
"""Groups a side of tables of pairs that a public table fills. With 24 a good prior gains a percent more, and a
biased one of 2,000 rows costs 4% more: its finest cells hold chance."""

UNTESTED_ROW_WEIGHT = 0.1
"""Weight of a row of a public table whose dependence no measurement can confirm."""
MIN_PHI = 0.01
"""A margin can be known this much better than from the rows of the table, where much noise was saved."""
CONTRADICTION_SIGMAS = 8.0
"""Standard deviations of chi-square beyond which the dependence of a public table is left alone where rows are few. On
half of HMEQ at epsilon 1 the other half has -1 to 3, a tilted one 12 to 21, and one without dependence 30 to 40."""
LEAST_SHARE, MOST_RATIO = 1e-6, 10.0
"""Cells that a public table hardly has are not multiplied by what noise makes of them."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorTables:
    """A public table beside the axes of a fit.

    Attributes:
        rows: (noisy) number of rows.
        pooled: What tables of pairs measure of the margins, by column: groups, and masses between theirs and the
            axis's.
    """

    prior: PublicPrior
    axes: Sequence[VineAxis]
    rows: float
    pooled: Mapping[int, tuple[Groups, Floats]] = field(default_factory=dict[int, tuple[Groups, Floats]])

    def masses(self, column: int, groups: Groups) -> Floats:
        """Return the masses of groups of a column, as tables of pairs move them."""
        if column not in self.pooled:
            return groups.mass
        coarse, masses = self.pooled[column]
        moved = groups.mass * (_overlap(groups, coarse) @ (masses / coarse.mass))
        return moved / moved.sum()

    def expected(self, columns: Pair, groups: tuple[Groups, Groups]) -> Floats | None:
        """Return shares that the public table expects, with the margins that were released."""
        axes = self.axes[columns[0]], self.axes[columns[1]]
        lookups = base_lookup(groups[0], axes[0].scale), base_lookup(groups[1], axes[1].scale)
        masses = self.masses(columns[0], groups[0]), self.masses(columns[1], groups[1])
        return expected_table(self.prior, (axes[0].name, axes[1].name), lookups, masses)

    def shrink_to_prior(self, tables: Sequence[MeasuredTable]) -> tuple[tuple[MeasuredTable, ...], dict[Pair, float]]:
        """Return the tables, those of pairs shrunk to the public table; and the phi of each pair."""
        found = {
            k: expected
            for k, table in enumerate(tables)
            if len(table.columns) == 2 and (expected := self.expected(table.columns, table.groups)) is not None  # type: ignore[arg-type]
        }
        made = [self._with_margins(table) if k in found else table for k, table in enumerate(tables)]
        compared = [
            compare_table(self.prior, expected, made[k].counts, made[k].sigma, self.rows, free=_free(made[k]))
            for k, expected in found.items()
        ]
        shrunk = dict(zip(found, shrink_all_to_prior(self.prior, compared, self.rows), strict=True))
        for k, one in shrunk.items():
            made[k] = replace(made[k], counts=self.rows * one.mean, sigma=self.rows * float(np.sqrt(one.variance)))
        return tuple(made), {(tables[k].columns[0], tables[k].columns[1]): one.phi for k, one in shrunk.items()}

    def _with_margins(self, table: MeasuredTable) -> MeasuredTable:
        """Return the interactions of a pair with the pooled margins.

        All tables of a column are trusted more once they are shrunk, and would repeat the error of one margin.
        """
        first, second = (self.masses(column, own) for column, own in zip(table.columns, table.groups, strict=True))
        return replace(table, counts=with_margins(table.counts, self.rows, (first, second)), content="interaction")

    def finer(self, pairs: Sequence[MeasuredTable], phis: Mapping[Pair, float]) -> list[MeasuredTable]:
        """Return fine tables of all pairs that the public table has, moved to what is known of the coarse ones."""
        groups = [axis.groups(PRIOR_GROUPS, 0.0, self.rows) for axis in self.axes]
        coarse = {t.pair: t for t in pairs}
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
            made.append(self._table(pair, own, expected, phi))
        return made

    def contradicted(self, products: Sequence[ScoreProduct]) -> bool:
        """Return whether products of scores rule out that the dependence of the public table is that of the population.

        By chi-square: if they are of one population, the squared differences, each over its variance, sum up to their
        number.
        """
        groups = [axis.groups(PRIOR_GROUPS, 0.0, self.rows) for axis in self.axes]
        least = least_phi(self.prior, self.rows)
        squares: list[float] = []
        for product in products:
            own = groups[product.columns[0]], groups[product.columns[1]]
            expected = self.expected(product.columns, own) if min(own[0].count, own[1].count) > 1 else None
            if expected is not None:
                one = _Line.of(product, self.axes, own).beside(expected)
                squares.append(float((one.observed[0] - one.expected[0]) ** 2 / (one.variance + least * one.spread[0])))
        return sum(squares) - len(squares) > CONTRADICTION_SIGMAS * np.sqrt(2 * max(len(squares), 1))

    def from_products(self, products: Sequence[ScoreProduct]) -> tuple[MeasuredTable, ...]:
        """Return fine tables of all pairs from what the public table expects and what products of scores measure.

        Of pairs that it lacks independence is expected.
        """
        groups = [axis.groups(PRIOR_GROUPS, 0.0, self.rows) for axis in self.axes]
        pairs = [p for p in combinations(range(len(self.axes)), 2) if min(groups[p[0]].count, groups[p[1]].count) > 1]
        content = by_pair(products)
        tables = {p: self.expected(p, (groups[p[0]], groups[p[1]])) for p in pairs}
        filled = {
            p: np.outer(groups[p[0]].mass, groups[p[1]].mass) if table is None else table for p, table in tables.items()
        }
        phis: dict[Pair, float] = {}
        for known in (True, False):
            chosen = [p for p in pairs if (tables[p] is not None) == known]
            places = [(p, k) for p in chosen for k in content.get(p, ())]
            lines = [_Line.of(products[k], self.axes, (groups[p[0]], groups[p[1]])) for p, k in places]
            compared = [line.beside(filled[p]) for line, (p, _) in zip(lines, places, strict=True)]
            least = least_phi(self.prior, self.rows) if known else 1 / self.rows
            sizes: dict[Pair, list[float]] = {}
            for line, one, before, (p, _) in zip(
                lines, shrink_to_prior(compared, least), compared, places, strict=True
            ):
                filled[p] = filled[p] + float(one.mean[0] - before.expected[0]) * line.direction
                sizes.setdefault(p, []).append(1 / one.phi)
            usual = (
                float(np.mean([w for several in sizes.values() for w in several]))
                if sizes
                else UNTESTED_ROW_WEIGHT / least
            )
            phis |= {p: 1 / float(np.mean(sizes.get(p, [usual]))) for p in chosen}
        return tuple(self._table(p, (groups[p[0]], groups[p[1]]), filled[p], phis[p]) for p in pairs)

    def _table(self, pair: Pair, groups: tuple[Groups, Groups], shares: Floats, phi: float) -> MeasuredTable:
        whole = fit_margins(shares, self.masses(pair[0], groups[0]), self.masses(pair[1], groups[1]))
        sigma = self.rows * float(
            np.sqrt(np.mean(compute_extra_variance(phi, compute_share_variance(whole, self.prior.rows))))
        )
        tops = value_tops(groups, (self.axes[pair[0]].top, self.axes[pair[1]].top))
        return MeasuredTable(
            columns=pair, groups=groups, counts=self.rows * whole, sigma=sigma, content="derived", tops=tops
        )

    def _moved(self, expected: Floats, own: tuple[Groups, Groups], table: MeasuredTable) -> Floats:
        """Return the fine table moved by the ratio of a coarse one to what was expected of it."""
        columns, groups = table.pair, (table.groups[0], table.groups[1])
        before = self.expected(columns, groups)
        assert before is not None
        ratio = np.maximum(table.counts / self.rows, 0.0) / np.maximum(before, LEAST_SHARE)
        first, second = (_overlap(fine, coarse) for fine, coarse in zip(own, groups, strict=True))
        return expected * (first @ np.minimum(ratio, MOST_RATIO) @ second.T)


def pool_margins(tables: Sequence[MeasuredTable], rows: float) -> dict[int, tuple[Groups, Floats]]:
    """By column, the groups that most tables of counts of pairs have, and masses between the axis's and their own.

    The axis's margin stands where a public table does in `sklar.model.prior_comparison`: how far it is off is learned
    from all columns.
    """
    sums: dict[int, dict[int, list[tuple[Groups, Floats, float]]]] = {}
    for table in tables:
        if len(table.columns) != 2 or table.content != "counts":
            continue
        for axis, (column, own) in enumerate(zip(table.columns, table.groups, strict=True)):
            content = (
                own,
                table.counts.sum(axis=1 - axis) / rows,
                table.counts.shape[1 - axis] * (table.sigma / rows) ** 2,
            )
            sums.setdefault(column, {}).setdefault(id(own), []).append(content)
    chosen = {column: max(several.values(), key=len) for column, several in sums.items()}
    compared: list[PriorComparison] = []
    for several in chosen.values():
        weights = np.array([1 / variance for *_, variance in several])
        mean = np.average([shares for _, shares, _ in several], axis=0, weights=weights)
        mass = several[0][0].mass
        spread = compute_share_variance(mass, rows)
        compared.append(PriorComparison(observed=mean, expected=mass, variance=1 / float(weights.sum()), spread=spread))
    shrunk = shrink_to_prior(compared, MIN_PHI / rows)
    positive = [np.maximum(one.mean, LEAST_SHARE) for one in shrunk]
    return {
        column: (several[0][0], masses / masses.sum())
        for (column, several), masses in zip(chosen.items(), positive, strict=True)
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Line:
    """A product on the groups of a table: its weights, and the direction that moves it by one and little else."""

    product: ScoreProduct
    weights: Floats
    direction: Floats
    spread: float

    @staticmethod
    def of(product: ScoreProduct, axes: Sequence[VineAxis], groups: tuple[Groups, Groups]) -> _Line:
        scores = [
            _group_means(scores, axes[column], own)
            for scores, column, own in zip(product.scores, product.columns, groups, strict=True)
        ]
        energy = [max(float(own.mass @ score**2), 1e-9) for score, own in zip(scores, groups, strict=True)]
        moved = [own.mass * score / e for score, own, e in zip(scores, groups, energy, strict=True)]
        return _Line(
            product=product,
            weights=np.outer(*scores),
            direction=np.outer(*moved),
            spread=energy[0] * energy[1],
        )

    def beside(self, shares: Floats) -> PriorComparison:
        """Return the released product beside that of a table."""
        return PriorComparison(
            observed=np.array([self.product.mean]),
            expected=np.array([float(np.vdot(self.weights, shares))]),
            variance=self.product.variance,
            spread=np.array([self.spread]),
        )


def _free(table: MeasuredTable) -> float:
    """Return the part of a table that was released: margins that were put in are also those that a public table is
    given."""
    shape = table.counts.shape
    return noisy_dimensions(shape) / math.prod(shape) if table.content == "interaction" else 1.0


def _group_means(scores: Floats, axis: VineAxis, groups: Groups) -> Floats:
    """Return the mean score of each group, by the margin."""
    lookup = base_lookup(groups, axis.scale)
    mass = np.repeat(axis.scale.mass / axis.scale.widths, axis.scale.widths) + 1e-12
    return np.bincount(lookup, mass * scores, groups.count) / np.bincount(lookup, mass, groups.count)


def _overlap(fine: Groups, coarse: Groups) -> Floats:
    """Return the part of each fine group (row) that lies in each coarse one."""
    low = np.maximum(fine.edges[:-1, None], coarse.edges[None, :-1])
    high = np.minimum(fine.edges[1:, None], coarse.edges[None, 1:])
    return np.maximum(high - low, 0.0) / fine.mass[:, None]

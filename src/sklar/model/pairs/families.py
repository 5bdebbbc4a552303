"""Fit a pair copula to a noisy table: a parametric family first, then its residuals denoised by SVD shrinkage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import NO_NULLS, TINY, Tops, interval_of, split_edges
from sklar.model.pairs.copula import Checkerboard, checkerboard, fit_margins, kendall_tau
from sklar.model.pairs.grouping import Groups, value_tops
from sklar.model.pairs.hints import Hint, Pair
from sklar.model.pairs.nulls import NullExcess, nulls_together
from sklar.model.pairs.parametric import FAMILIES, ParametricPair
from sklar.model.pairs.projection import project_if_clearer

TAUS = (0.03, 0.07, 0.13, 0.2, 0.28, 0.37, 0.47, 0.58, 0.7, 0.82, 0.92)
"""Kendall's taus that the search starts from: each costs one CDF on the grid for every family, rotation and sign."""
CLEARLY = 1.05
"""What a family leaves unexplained must stand out of the noise by this factor: its largest singular value passes the
edge by chance in one table of eight, this line in one of forty."""
PRICE = 2.0
"""Chi-square that each parameter must gain, as Akaike's criterion asks for: of a deeper edge of the vine, and twice as
much of a pair here, for its parameter and for the choice of its family."""


def cell_masses(member: ParametricPair, edges1: Floats, edges2: Floats, tops: Tops = NO_NULLS) -> Floats:
    """Exact probability of each cell of a grid: second differences of the CDF at its corners.

    Beyond `tops` an axis holds nulls. They are independent of the other column, and the member speaks about what is
    below: C(u, v) = t1 t2 M(u / t1, v / t2) for u <= t1, v <= t2.
    """
    (below1, above1), (below2, above2) = (split_edges(e, top) for e, top in zip((edges1, edges2), tops, strict=True))
    corners = member.cdf(below1 / tops[0], below2 / tops[1])
    corners[below1 <= 0, :], corners[:, below2 <= 0] = 0.0, 0.0
    corners[below1 >= tops[0], :] = below2 / tops[1]
    corners[:, below2 >= tops[1]] = (below1 / tops[0])[:, None]
    corners = tops[0] * tops[1] * corners + np.outer(above1, below2) + np.outer(below1 + above1, above2)
    return np.maximum(np.diff(np.diff(corners, axis=0), axis=1), 0.0)


def fit_family(
    counts: Floats, sigma: float, rows: float, edges: Pair, hint: Hint | None = None, tops: Tops = NO_NULLS
) -> ParametricPair | None:
    """The family member nearest to a noisy table, or None when independence explains it as well.

    Minimizes sum (count - rows p)^2 / (sigma^2 + rows p0) over members, p0 being independence: binned weighted least
    squares. A hint about the correlation is one more term. A member must beat independence by twice PRICE.
    """
    independent = np.outer(np.diff(edges[0]), np.diff(edges[1]))
    weight = 1.0 / (sigma**2 + rows * np.maximum(independent, 1e-6))

    def distance(masses: Floats) -> float:
        return float(np.sum(weight * (counts - rows * masses) ** 2)) + (0.0 if hint is None else hint.misfit(masses))

    def misfit(member: ParametricPair) -> float:
        return distance(cell_masses(member, *edges, tops)) + FAMILIES[member.family].handicap

    nothing = distance(independent) - 2 * PRICE
    scored = [(misfit(member), member) for member in _members(_sign(counts, rows, independent, *edges))]
    best, member = min(scored, key=lambda pair: pair[0])
    if not np.isfinite(best) or best >= nothing:
        return None
    return _refine(member, misfit)


def _sign(counts: Floats, rows: float, independent: Floats, edges1: Floats, edges2: Floats) -> tuple[float, ...]:
    """Signs of dependence to try: both, unless the rank covariance of the table is far from zero."""
    middle1, middle2 = edges1[1:] + edges1[:-1] - 1, edges2[1:] + edges2[:-1] - 1
    slope = float(middle1 @ (counts / rows - independent) @ middle2) * 3.0
    return (1.0, -1.0) if abs(slope) < 0.15 else (np.sign(slope),)


def _members(signs: tuple[float, ...]) -> Iterator[ParametricPair]:
    """The grid of members that the search starts from."""
    for name, family in FAMILIES.items():
        for sign in signs:
            turn = 0 if sign > 0 or family.symmetric else 90
            for rotation in family.rotations:
                for tau in TAUS:
                    yield ParametricPair(family=name, rotation=rotation + turn, tau=float(sign * tau))
    # Dependence without a direction: both tails heavy, Kendall's tau zero.
    yield ParametricPair(family="student", rotation=0, tau=0.0)


def _refine(member: ParametricPair, misfit: Callable[[ParametricPair], float]) -> ParametricPair:
    """Search for Kendall's tau between the neighbours of the best grid point."""
    from scipy.optimize import minimize_scalar

    if member.tau == 0:
        return member
    place, sign = TAUS.index(abs(member.tau)), np.sign(member.tau)
    low = TAUS[place - 1] if place > 0 else 0.005
    high = TAUS[place + 1] if place + 1 < len(TAUS) else 0.97

    def at(size: float) -> ParametricPair:
        return replace(member, tau=float(sign * size))

    found: Any = minimize_scalar(
        lambda size: misfit(at(size)), bounds=(low, high), method="bounded", options={"xatol": 1e-3}
    )
    return at(float(found.x))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedPair:
    """A fitted pair copula with the words and the number that describe it to people."""

    copula: Checkerboard
    family: str
    tau: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairFacts:
    """What is known about a pair beside its noisy table.

    Attributes:
        hint: About its correlation.
        tops: Where values end and nulls begin on each axis.
        nulls: About nulls that come together.
        possible: The part of each cell in which public rules let rows be; None if that is all.
    """

    hint: Hint | None = None
    tops: Tops = NO_NULLS
    nulls: NullExcess | None = None
    possible: Floats | None = None


NOTHING_KNOWN = PairFacts()


def fit_pair(
    counts: Floats,
    sigma: float,
    rows: float,
    groups: tuple[Groups, Groups],
    fine: tuple[Groups, Groups] | None,
    known: PairFacts = NOTHING_KNOWN,
) -> FittedPair:
    """The pair copula of a noisy table.

    The table is explained first by a parametric family (only when `fine` is given, that is for two numeric columns),
    then the residual is denoised by singular value shrinkage and added back cell by cell. Inside the cells of the
    table the density follows the family, on the finer grid of `fine`. Nulls that come together are a part of their own.

    Args:
        counts: noisy counts, one axis per end of the edge, with noise of standard deviation `sigma`.
        fine: finer groups of the two ends, to carry the parametric shape.
        known: what else is known about the pair.
    """
    edges, tops = (groups[0].edges, groups[1].edges), value_tops(groups, known.tops)
    masses, hint, possible = (groups[0].mass, groups[1].mass), known.hint, known.possible
    together = nulls_together(known.nulls, masses)
    member = None if fine is None else fit_family(counts - together, sigma, rows, edges, hint, tops)
    if member is None or fine is None:
        base = np.outer(*masses) if hint is None else hint.cells
        base = _within_rules(np.maximum(base + together / rows, 0.0), masses, possible)
        copula = checkerboard(*edges, _free_table(base, counts, sigma, rows, possible))
        return FittedPair(copula=copula, family="checkerboard", tau=kendall_tau(copula))
    grid = _fine_grid(edges, fine)
    shape, name = cell_masses(member, *grid.edges, tops), _named(member)
    base = _within_rules(np.maximum(grid.coarse(shape, counts.shape) + together / rows, 0.0), masses, possible)
    table = _with_residual(base, counts, sigma, rows, CLEARLY, possible)
    same = np.allclose(table, base, atol=1e-12)
    copula = product(shape, table, edges, grid)
    return FittedPair(copula=copula, family=name if same else f"{name} x checkerboard", tau=kendall_tau(copula))


def _named(member: ParametricPair) -> str:
    return member.family if member.rotation == 0 else f"{member.family} {member.rotation}"


def _with_residual(
    base: Floats, counts: Floats, sigma: float, rows: float, edge: float, possible: Floats | None
) -> Floats:
    """Cell masses with what stands out of the noise added to them; nothing is added where no row can be."""
    known = counts if possible is None else np.where(possible > 0, counts, rows * base)
    table = np.maximum(base + shrink_singular_values(known - rows * base, sigma, edge) / rows, 0.0)
    return table if possible is None else np.where(possible > 0, table, 0.0)


def _free_table(base: Floats, counts: Floats, sigma: float, rows: float, possible: Floats | None) -> Floats:
    """`_with_residual` of a table without a family; of few filled cells, its projection on the margins of the base."""
    table = _with_residual(base, counts, sigma, rows, 1.0, possible)
    if possible is not None or sigma <= 0:
        return table
    margins = base.sum(axis=1) / base.sum(), base.sum(axis=0) / base.sum()

    def usual(seen: Floats) -> Floats:
        return fit_margins(_with_residual(base, rows * seen, sigma, rows, 1.0, None), *margins)

    projected = project_if_clearer(usual, counts / rows, sigma / rows, margins)
    return table if projected is None else projected


def _within_rules(base: Floats, masses: Pair, possible: Floats | None) -> Floats:
    """Cell masses with the same margins, and less or nothing where rows can be in part of a cell, or in none."""
    if possible is None:
        return base
    return np.where(possible > 0, fit_margins(base * possible, *masses), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FineGrid:
    """The fine cells of a pair: cut points of both axes, and the group of the table that each interval lies in."""

    edges: Pair
    places: tuple[np.ndarray, np.ndarray]

    def coarse(self, shape: Floats, size: tuple[int, ...]) -> Floats:
        """The masses of the table's cells."""
        table = np.zeros(size)
        np.add.at(table, (self.places[0][:, None], self.places[1][None, :]), shape)
        return table


def _fine_grid(edges: Pair, fine: tuple[Groups, Groups]) -> FineGrid:
    fine1, fine2 = (merge_edges(e, one.edges) for e, one in zip(edges, fine, strict=True))
    row, column = (interval_of(e, (f[1:] + f[:-1]) / 2) for e, f in zip(edges, (fine1, fine2), strict=True))
    return FineGrid(edges=(fine1, fine2), places=(row, column))


def product(shape: Floats, table: Floats, edges: Pair, grid: FineGrid) -> Checkerboard:
    """A copula with (nearly) the cell masses of `table` and, inside each cell, the shape of the fine cells."""
    row, column = grid.places
    target = fit_margins(table, np.diff(edges[0]), np.diff(edges[1]))
    inside = grid.coarse(shape, target.shape)
    ratio = np.where(inside > TINY, target / np.maximum(inside, TINY), 0.0)
    return checkerboard(*grid.edges, shape * ratio[row][:, column])


def merge_edges(first: Floats, second: Floats) -> Floats:
    """All cut points of two grids, without near-duplicates."""
    merged = np.union1d(first, second)
    merged = merged[np.concatenate([[True], np.diff(merged) > TINY])]
    merged[-1] = 1.0
    return merged


def shrink_singular_values(residual: Floats, sigma: float, edge: float = 1.0) -> Floats:
    """Best low-rank guess of a matrix seen through white noise of standard deviation `sigma`.

    With b = rows / columns (at most 1) and y a singular value divided by sigma sqrt(columns), keep
    sqrt((y^2 - b - 1)^2 - 4 b) / y when y > 1 + sqrt(b), else nothing: asymptotically optimal in Frobenius loss
    (Gavish and Donoho, "Optimal shrinkage of singular values", IEEE Trans. Inf. Theory 2017). With `edge` above 1 a
    singular value must pass that line by this factor.
    """
    if sigma <= 0:
        return np.array(residual, dtype=float)
    short, long = sorted(residual.shape)
    ratio = short / long
    left, values, right = np.linalg.svd(residual, full_matrices=False)
    scaled = values / (sigma * np.sqrt(long))
    kept = np.sqrt(np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)) / np.maximum(scaled, 1e-9)
    kept = np.where(scaled > edge * (1 + np.sqrt(ratio)), kept, 0.0) * sigma * np.sqrt(long)
    return (left * kept) @ right


def denoise_pair(
    counts: Floats,
    sigma: float,
    rows: float,
    masses: Pair,
    known: PairFacts = NOTHING_KNOWN,
) -> Floats:
    """Probabilities of a pair table: what is known under the released margins plus what stands out of the noise."""
    nulls, possible = known.nulls, known.possible
    base = np.outer(*masses) if known.hint is None else known.hint.cells
    expected = rows * base + nulls_together(nulls, masses)
    if possible is not None:
        expected = rows * _within_rules(np.maximum(expected / rows, 0.0), masses, possible)
        counts = np.where(possible > 0, counts, 0.0)
    table = np.maximum(expected + shrink_singular_values(counts - expected, sigma), 0.0)
    table = table if possible is None else np.where(possible > 0, table, 0.0)
    total = table.sum()
    return table / total if total > 0 else np.outer(*masses)


def mutual_information(table: Floats) -> float:
    """Mutual information in nats of a table of probabilities."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = (table > 0) & (product > 0)
    return float(np.sum(table[seen] * np.log(table[seen] / product[seen])))

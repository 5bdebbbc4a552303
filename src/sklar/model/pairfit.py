"""Fitting the pair copula of a tree-one edge to its noisy table: a parametric shape times checkerboard ratios."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.model.checkerboard import Checkerboard, checkerboard, fit_margins, kendall_tau
from sklar.model.denoise import shrink_singular_values
from sklar.model.families import ParametricPair, cell_masses, fit_family
from sklar.model.grouping import Groups, value_tops
from sklar.model.hints import Hint
from sklar.model.lookup import interval_of
from sklar.model.scale import NO_NULLS, TINY

CLEARLY = 1.05
"""What a family leaves unexplained must stand out of the noise by this factor: its largest singular value passes the
edge by chance in one table of eight, this line in one of forty."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedPair:
    """A fitted pair copula with the words and the number that describe it to people."""

    copula: Checkerboard
    family: str
    tau: float


def fit_pair(
    counts: np.ndarray,
    sigma: float,
    rows: float,
    groups: tuple[Groups, Groups],
    fine: tuple[Groups, Groups] | None,
    hint: Hint | None = None,
    tops: tuple[float, float] = NO_NULLS,
) -> FittedPair:
    """The pair copula of a noisy table.

    The table is explained first by a parametric family (only when `fine` is given, that is for two numeric columns),
    then the residual is denoised by singular value shrinkage and added back cell by cell. Inside the cells of the
    table the density follows the family, on the finer grid of `fine`.

    Args:
        counts: noisy counts, one axis per end of the edge.
        sigma: standard deviation of the noise of each count.
        rows: (noisy) number of rows.
        groups: groups of the two ends.
        fine: finer groups of the two ends, to carry the parametric shape, or None.
        hint: what else is known about the correlation, or None.
        tops: where values end and nulls begin on each axis.
    """
    edges1, edges2 = groups[0].edges, groups[1].edges
    tops = value_tops(groups, tops)
    member = None if fine is None else fit_family(counts, sigma, rows, edges1, edges2, hint, tops)
    base = np.outer(np.diff(edges1), np.diff(edges2)) if member is None else cell_masses(member, edges1, edges2, tops)
    edge = 1.0 if member is None else CLEARLY
    table = np.maximum(base + shrink_singular_values(counts - rows * base, sigma, edge) / rows, 0.0)
    if member is None or fine is None:
        copula = checkerboard(edges1, edges2, table)
        return FittedPair(copula=copula, family="checkerboard", tau=kendall_tau(copula))
    copula = product(member, table, (edges1, edges2), (fine[0].edges, fine[1].edges), tops)
    same = np.allclose(table, base, atol=1e-12)
    name = member.family if member.rotation == 0 else f"{member.family} {member.rotation}"
    return FittedPair(copula=copula, family=name if same else f"{name} x checkerboard", tau=kendall_tau(copula))


def product(
    member: ParametricPair,
    table: np.ndarray,
    edges: tuple[np.ndarray, np.ndarray],
    fine_edges: tuple[np.ndarray, np.ndarray],
    tops: tuple[float, float] = NO_NULLS,
) -> Checkerboard:
    """A copula with (nearly) the cell masses of `table` and, inside each cell, the shape of a family member."""
    fine1, fine2 = (merge_edges(*pair) for pair in zip(edges, fine_edges, strict=True))
    shape = cell_masses(member, fine1, fine2, tops)
    row, column = (interval_of(e, (f[1:] + f[:-1]) / 2) for e, f in zip(edges, (fine1, fine2), strict=True))
    target = fit_margins(table, np.diff(edges[0]), np.diff(edges[1]))
    inside = np.zeros_like(target)
    np.add.at(inside, (row[:, None], column[None, :]), shape)
    ratio = np.where(inside > TINY, target / np.maximum(inside, TINY), 0.0)
    return checkerboard(fine1, fine2, shape * ratio[row][:, column])


def merge_edges(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """All cut points of two grids, without near-duplicates."""
    merged = np.union1d(first, second)
    merged = merged[np.concatenate([[True], np.diff(merged) > TINY])]
    merged[-1] = 1.0
    return merged

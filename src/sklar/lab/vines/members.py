"""Data and candidates of pair copula fits: rows as ranks, points or counts of cells; members of the parametric families
on grids over their parameters, with unbounded coordinates for optimization and probabilities of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints
from sklar.model.rvine.vine import FamilyMember

if TYPE_CHECKING:
    import pyvinecopulib as pv

UNIFORM_MARGIN = 1e-10
"""Minimum distance of uniforms from 0 and 1, where densities may be infinite."""
GOLDEN_RATIO = 0.6180339887498949
"""Multiples of the golden ratio modulo 1 fill an interval evenly: ties are spread without a random generator."""
LOOKUP_STEPS = 1 << 14
"""Resolution of the table that finds the cell of a value; borders of cells are off by at most one step."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """One column given some others, row by row.

    Attributes:
        u: P(X <= x | ...).
        lower: P(X < x | ...) of a discrete column, else None.
    """

    u: Floats
    lower: Floats | None = None

    @property
    def kind(self) -> str:
        """Return "c" (continuous) or "d" (discrete), as in pyvinecopulib."""
        return "c" if self.lower is None else "d"

    def spread(self) -> Floats:
        """Return one rank per row; ties of a discrete column are spread evenly over its steps."""
        if self.lower is None:
            return self.u
        part = np.modf(GOLDEN_RATIO * np.arange(1, len(self.u) + 1))[0]
        return self.lower + part * (self.u - self.lower)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankPoints:
    """Rows, or cells of similar rows, at which a pair copula's density is evaluated.

    Attributes:
        at: The layout of pyvinecopulib: both values, then the lower limits of the discrete ones.
        weights: Number of rows of each point; None for one each.
        kinds: "c" or "d" for both columns.
    """

    at: Floats
    weights: Floats | None
    kinds: tuple[str, str]

    def loglik(self, copula: pv.Bicop) -> float:
        """Return the sum of the log densities of a copula of these kinds."""
        logs = np.log(np.fmax(copula.pdf(self.at), 1e-20))  # fmax ignores NaN
        return float(logs.sum() if self.weights is None else self.weights @ logs)


def stack_limits(first: Node, second: Node) -> Floats:
    """Return the values of a pair, then the lower limits of its discrete columns."""
    lows = [node.lower for node in (first, second) if node.lower is not None]
    return np.asfortranarray(np.clip(np.column_stack([first.u, second.u, *lows]), UNIFORM_MARGIN, 1 - UNIFORM_MARGIN))


def rows_as_points(first: Node, second: Node) -> RankPoints:
    """Return one point per row, or per group of equal rows if there are many."""
    values = stack_limits(first, second)
    order = np.lexsort(values.T)
    new = np.append(True, (np.diff(values[order], axis=0) != 0).any(axis=1))
    if 2 * new.sum() > len(values):
        return RankPoints(at=values, weights=None, kinds=(first.kind, second.kind))
    weights = np.diff(np.append(np.flatnonzero(new), len(values))).astype(np.float64)
    return RankPoints(at=np.asfortranarray(values[order[new]]), weights=weights, kinds=(first.kind, second.kind))


def cells_as_points(first: Node, second: Node, cells: int) -> RankPoints:
    """Merge rows in the same cells to one point at their mean."""
    values = stack_limits(first, second)
    key = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        key = key * cells + _make_lookup(cells)[np.minimum((column * LOOKUP_STEPS).astype(np.int64), LOOKUP_STEPS - 1)]
    _, group = np.unique(key, return_inverse=True)
    weights = np.bincount(group).astype(np.float64)
    means = np.column_stack([np.bincount(group, weights=column) / weights for column in values.T])
    return RankPoints(at=np.asfortranarray(means), weights=weights, kinds=(first.kind, second.kind))


def count_rows(first: Node, second: Node, cells: int) -> Floats:
    """Count the rows in each cell of the grid."""
    from sklar.lab.kernels import count_cells

    return count_cells(first.spread(), second.spread(), _make_lookup(cells), cells)


@lru_cache(maxsize=4)
def _make_lookup(cells: int) -> Ints:
    middle = (np.arange(LOOKUP_STEPS) + 0.5) / LOOKUP_STEPS
    return np.clip(np.searchsorted(cell_edges(cells), middle, side="right") - 1, 0, cells - 1)


def cell_edges(cells: int) -> Floats:
    """Return edges of cells of [0, 1] that are narrower towards both ends: (1 - cos(pi i / K)) / 2."""
    return (1 - np.cos(np.pi * np.arange(cells + 1) / cells)) / 2


TAUS = (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.46, 0.52, 0.58, 0.64, 0.7, 0.76, 0.82, 0.88, 0.93)
"""Kendall's taus of the grids of one parameter: more take screening time, fewer leave more to the optimization."""
MIN_CELL_MASS = 1e-13
"""Minimum probability of a cell: bounds the loss of a member by one row in a cell that it hardly reaches."""
Maps = tuple[Callable[[Any], Any], Callable[[Any], Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grids:
    """Grid and bounds of a family, in the frame where dependence is positive.

    Attributes:
        grid: Starting parameters.
        free: Each parameter's map to an unbounded coordinate and back.
        turns: Whether rotations give other members; if not, negative dependence is a negative first parameter.
        lower: Lower bounds of the parameters.
        upper: Upper bounds of the parameters.
    """

    grid: tuple[tuple[float, ...], ...]
    free: tuple[Maps, ...]
    turns: bool
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def to_free(self, parameters: Sequence[float] | Floats) -> Floats:
        """Convert parameters to unbounded coordinates."""
        maps = zip(self.free, parameters, strict=True)
        return np.array([float(forth(np.asarray(p, dtype=np.float64))) for (forth, _), p in maps])

    def from_free(self, x: Sequence[float] | Floats) -> Floats:
        """Convert coordinates to parameters inside the family's bounds."""
        maps = zip(self.free, x, self.lower, self.upper, strict=True)
        return np.array([min(max(float(back(value)), low), high) for (_, back), value, low, high in maps])


def _above(least: float) -> Maps:
    return (lambda p: np.log(np.maximum(p - least, 1e-9))), (lambda x: least + np.exp(np.minimum(x, 10.0)))


def _map_unit() -> Maps:
    return (lambda p: np.log(p / np.maximum(1 - p, 1e-9))), (lambda x: 1 / (1 + np.exp(-x)))


_CORR: Maps = (lambda p: np.arctanh(np.clip(p, -0.9999, 0.9999))), np.tanh
_CORRS = tuple(float(np.sin(np.pi / 2 * tau)) for tau in TAUS)
_PLAIN: Maps = (lambda p: p), (lambda x: x)


def _make_grid(*axes: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    return tuple(product(*axes))


KINDS: dict[str, Grids] = {
    "gaussian": Grids(grid=tuple((r,) for r in _CORRS), free=(_CORR,), turns=False, lower=(-0.9995,), upper=(0.9995,)),
    "student": Grids(grid=_make_grid((0.0, *_CORRS), (2.3, 3.5, 6.0, 11.0, 22.0)), free=(_CORR, _above(2.0)),
                    turns=False, lower=(-0.9995, 2.01), upper=(0.9995, 50.0)),
    "clayton": Grids(grid=tuple((2 * t / (1 - t),) for t in TAUS), free=(_above(0.0),), turns=True, lower=(1e-6,),
                    upper=(28.0,)),
    "gumbel": Grids(grid=tuple((1 / (1 - t),) for t in TAUS), free=(_above(1.0),), turns=True, lower=(1.000001,),
                    upper=(50.0,)),
    "frank": Grids(grid=tuple((x,) for x in (0.18, 0.45, 0.75, 1.1, 1.5, 1.9, 2.4, 3.0, 3.6, 4.3, 5.1, 6.1, 7.4, 9.0,
                                            11.0, 14.0, 19.0, 29.0)),
                  free=(_PLAIN,), turns=False, lower=(-34.9,), upper=(34.9,)),
    "joe": Grids(grid=tuple((x,) for x in (1.03, 1.08, 1.15, 1.23, 1.32, 1.42, 1.55, 1.7, 1.9, 2.15, 2.45, 2.85, 3.4,
                                          4.2, 5.3, 7.0, 10.0, 16.0, 26.0)),
                free=(_above(1.0),), turns=True, lower=(1.000001,), upper=(29.9,)),
    "bb1": Grids(grid=_make_grid((0.08, 0.2, 0.35, 0.55, 0.8, 1.2, 1.8, 2.6, 4.0, 6.0),
                          (1.04, 1.12, 1.25, 1.4, 1.6, 1.9, 2.4, 3.1, 4.2, 6.0)),
                free=(_above(0.0), _above(1.0)), turns=True, lower=(1e-4, 1.0001), upper=(6.99, 6.99)),
    "bb6": Grids(grid=_make_grid((1.08, 1.25, 1.5, 2.0, 3.0, 4.8), (1.08, 1.25, 1.6, 2.3, 3.5, 6.0)),
                free=(_above(1.0), _above(1.0)), turns=True, lower=(1.0001, 1.0001), upper=(5.99, 7.99)),
    "bb7": Grids(grid=_make_grid((1.05, 1.13, 1.25, 1.4, 1.6, 1.9, 2.4, 3.2, 4.8),
                          (0.06, 0.15, 0.3, 0.5, 0.75, 1.1, 1.6, 2.5, 4.0, 7.0, 14.0)),
                free=(_above(1.0), _above(0.0)), turns=True, lower=(1.0001, 0.0101), upper=(5.99, 24.9)),
    "bb8": Grids(grid=_make_grid((1.2, 1.4, 1.7, 2.0, 2.4, 2.9, 3.5, 4.2, 5.0, 6.0, 7.4),
                          (0.35, 0.45, 0.55, 0.63, 0.7, 0.76, 0.82, 0.87, 0.91, 0.95, 0.98)),
                free=(_above(1.0), _map_unit()), turns=True, lower=(1.0001, 1e-3), upper=(7.99, 0.9999)),
    "tawn": Grids(grid=_make_grid((0.2, 0.4, 0.6, 0.75, 0.88, 0.99), (0.2, 0.4, 0.6, 0.75, 0.88, 0.99),
                           (1.3, 1.6, 2.0, 2.5, 3.3, 4.7, 7.5, 14.0)),
                 free=(_map_unit(), _map_unit(), _above(1.0)), turns=True, lower=(1e-3, 1e-3, 1.0001),
                 upper=(0.9999, 0.9999, 59.0)),
}  # fmt: skip
"""Finer grids take screening time, coarser ones give worse starting points: too coarse a grid for Tawn left the
log-likelihood on SUPPORT2 1.9% below pyvinecopulib's."""


@lru_cache(maxsize=4)
def cell_corners(cells: int) -> Floats:
    """Return all inner corners of the cells of two columns, as rows of two."""
    inner = cell_edges(cells)[1:-1]
    first, second = np.meshgrid(inner, inner, indexing="ij")
    return np.asfortranarray(np.column_stack([first.ravel(), second.ravel()]))


def log_masses(copula: pv.Bicop, cells: int) -> Floats:
    """Return the log ratio of each cell's probability to independence, by second differences of the CDF."""
    edges = cell_edges(cells)
    cdf = np.zeros((cells + 1, cells + 1))
    cdf[1:-1, 1:-1] = copula.cdf(cell_corners(cells)).reshape(cells - 1, cells - 1)
    cdf[-1, :], cdf[:, -1] = edges, edges
    mass = np.diff(np.diff(cdf, axis=0), axis=1)
    area = np.outer(np.diff(edges), np.diff(edges))
    return np.log(np.maximum(mass, MIN_CELL_MASS) / area)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dictionary:
    """Family, parameters and log masses of cells (one row per member) of all members of the grids."""

    family: tuple[str, ...]
    parameters: tuple[tuple[float, ...], ...]
    logs: NDArray[np.float32]


@lru_cache(maxsize=8)
def make_dictionary(families: tuple[str, ...], cells: int) -> Dictionary:
    """Compute the members of some families on a grid of cells; cached."""
    members = [(family, parameters) for family in families if family in KINDS for parameters in KINDS[family].grid]
    logs = np.empty((len(members), cells * cells), dtype=np.float32)
    for row, (family, parameters) in enumerate(members):
        logs[row] = log_masses(FamilyMember(family=family, parameters=np.array(parameters)).bicop(), cells).ravel()
    return Dictionary(family=tuple(family for family, _ in members), parameters=tuple(p for _, p in members), logs=logs)

"""The u axis of one column: its margin cells laid end to end on [0, 1], each as wide as its mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

UNIFORM_MARGIN = 1e-9
"""Uniforms are kept this far from 0 and 1, so that quantiles and normal scores stay finite."""

Tops = tuple[float, float]
"""Where values end on two axes; beyond are nulls."""
NO_NULLS: Tops = (1.0, 1.0)

MIN_INDEXED_NUMBERS = 4_096
"""Below this many numbers building an index to find their intervals does not pay."""
STEPS_PER_EDGE = 4
"""More steps of the index lead nearer to the interval of a number, and take longer to build."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """A public, invertible map between base codes and intervals of the unit interval.

    Ordered columns keep the order of their codes (a null code, being last, sits at the upper end). Nominal columns are
    laid out by decreasing mass, so that rare values are neighbours and can be grouped; their null is last, too.

    Attributes:
        order: margin cells in the order in which they appear on the axis.
        edges: k + 1 cut points of [0, 1]; cell ``order[i]`` owns ``[edges[i], edges[i + 1])``.
        starts: first base code of each margin cell, in code order.
        widths: number of base codes of each margin cell, in code order.
    """

    order: np.ndarray
    edges: np.ndarray
    starts: np.ndarray
    widths: np.ndarray

    @property
    def mass(self) -> np.ndarray:
        """Probability of each margin cell, in code order."""
        mass = np.empty(len(self.order))
        mass[self.order] = np.diff(self.edges)
        return mass


def lay_out(
    starts: np.ndarray,
    mass: np.ndarray,
    size: int,
    *,
    nominal: bool,
    branches: Sequence[tuple[str, ...]] = (),
    null: int | None = None,
) -> Scale:
    """Return the axis of a column of `size` base codes from the first code and the mass of each cell of its fitted
    margin.

    Nominal cells come by their mass, heaviest first; with branches of a hierarchy (of each cell, the coarsest first)
    they do inside each node, and so do the nodes. The cell of null, if there is one, comes last.
    """
    weight = np.maximum(np.asarray(mass, dtype=float), 0.0)
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(len(weight), 1.0 / len(weight))
    order = np.arange(len(weight))
    if nominal:
        order = _tree_order(weight, branches) if branches else np.argsort(-weight, kind="stable")
        order = order if null is None else np.append(order[order != null], null)
    edges = np.concatenate([[0.0], np.cumsum(weight[order])])
    edges = np.minimum(edges / edges[-1], 1.0)
    starts = np.asarray(starts, dtype=np.int64)
    return Scale(order=order, edges=edges, starts=starts, widths=np.diff(np.append(starts, size)))


def _tree_order(weight: np.ndarray, branches: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Return cells so that each node of the tree is one run: heaviest nodes first, then heaviest cells."""
    heavy: dict[tuple[str, ...], float] = {}
    for path, mass in zip(branches, weight.tolist(), strict=True):
        for depth in range(len(path)):
            heavy[path[: depth + 1]] = heavy.get(path[: depth + 1], 0.0) + mass

    def place(cell: int) -> tuple[tuple[float, str], ...]:
        path = branches[cell]
        nodes = ((-heavy[path[: depth + 1]], path[depth]) for depth in range(len(path)))
        return (*nodes, (-float(weight[cell]), ""))

    return np.array(sorted(range(len(weight)), key=place), dtype=np.int64)


def split_edges(edges: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of each cut point below `top`, where values end, and what is beyond it."""
    below = np.minimum(edges, top)
    return below, edges - below


def clip_open(u: np.ndarray) -> np.ndarray:
    """Keep uniforms inside the open unit interval."""
    return np.clip(u, UNIFORM_MARGIN, 1.0 - UNIFORM_MARGIN)


def even_levels(rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return points that fill the open unit cube evenly, shape (rows, columns) in Fortran order: scrambled Sobol
    points.

    Each is uniform, but all together fill every pair of columns far more evenly than independent ones: means over them
    have an error of about 1 / rows in place of 1 / sqrt(rows) (Owen 1997). They are best at powers of two, and in a
    random order: every eighth point of the sequence itself would lie in one eighth of each column.
    """
    from scipy.stats.qmc import Sobol  # not at import time: scipy.stats is slow to load

    points = Sobol(columns, rng=rng).random_base2((max(rows, 1) - 1).bit_length())
    return clip_open(np.asfortranarray(rng.permutation(points[:rows])))


def cells_at(scale: Scale, u: np.ndarray) -> np.ndarray:
    """Return the margin cell of each uniform."""
    return scale.order[interval_of(scale.edges, u)]


def codes_at(scale: Scale, u: np.ndarray) -> np.ndarray:
    """Return the base code of each uniform; codes share the interval of their margin cell equally."""
    place = interval_of(scale.edges, u)
    cell = scale.order[place]
    width = np.diff(scale.edges)[place]
    part = np.where(width > 0, (u - scale.edges[place]) / np.where(width > 0, width, 1.0), 0.5)
    offset = np.minimum((np.maximum(part, 0.0) * scale.widths[cell]).astype(np.int64), scale.widths[cell] - 1)
    return (scale.starts[cell] + offset).astype(np.int32)


def code_edges(scale: Scale) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end on the axis of every base code, in code order (used to condition on sets of codes)."""
    place = np.empty(len(scale.order), dtype=np.int64)
    place[scale.order] = np.arange(len(scale.order))
    cell = np.repeat(np.arange(len(scale.starts)), scale.widths)
    low, high = scale.edges[place[cell]], scale.edges[place[cell] + 1]
    offset = np.arange(len(cell)) - scale.starts[cell]
    step = (high - low) / scale.widths[cell]
    return low + offset * step, np.where(offset + 1 == scale.widths[cell], high, low + (offset + 1) * step)


def interval_of(edges: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Index i of the interval [edges[i], edges[i + 1]) of [0, 1] that holds each u; the last one is closed.

    Of many numbers at once each is found in constant time on average: an index leads next to the answer.
    """
    if u.ndim != 1 or len(u) < max(MIN_INDEXED_NUMBERS, len(edges)):
        return np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(edges) - 2)
    from sklar.model.kernels import find_cells

    return find_cells(
        np.ascontiguousarray(edges, dtype=float), make_search_guide(edges), np.ascontiguousarray(u, dtype=float)
    )


def make_search_guide(edges: np.ndarray) -> np.ndarray:
    """Return for each of 2^k equal steps of [0, 1], the interval of `edges` that its left end lies in.

    A number u is then found by going right from ``guide[floor(2^k u)]``, on average by less than one interval. A power
    of two makes the product exact, so the start is never to the right of the answer.
    """
    return make_search_guides(edges[None, :])[0]


def make_search_guides(rows: np.ndarray) -> np.ndarray:
    """Return guides of several rows of edges of equal length, one a row."""
    count, length = rows.shape
    steps = 1 << int(np.ceil(np.log2(STEPS_PER_EDGE * length)))
    first = np.clip(np.ceil(rows * steps), 0, steps).astype(np.int64)  # the first step that begins at or after an edge
    flat = (first + (steps + 1) * np.arange(count)[:, None]).ravel()
    passed = np.bincount(flat, minlength=count * (steps + 1)).reshape(count, steps + 1)[:, :steps]
    return np.clip(np.cumsum(passed, axis=1) - 1, 0, length - 2).astype(np.int32)

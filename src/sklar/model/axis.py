"""The u axis of one column: its margin cells laid end to end on [0, 1], each as wide as its mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.model.lookup import interval_of

TINY = 1e-9
"""Uniforms are kept this far from 0 and 1, so that quantiles and normal scores stay finite."""

NO_NULLS = (1.0, 1.0)
"""Where values end on two axes without nulls."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """A public, invertible map between base codes and intervals of the unit interval.

    Ordered columns keep the order of their codes (a null code, being last, sits at the upper end). Nominal columns are
    laid out by decreasing mass, so that rare values are neighbours and can be grouped.

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
    def size(self) -> int:
        """Number of base codes of the column."""
        return int(self.widths.sum())

    @property
    def mass(self) -> np.ndarray:
        """Probability of each margin cell, in code order."""
        mass = np.empty(len(self.order))
        mass[self.order] = np.diff(self.edges)
        return mass


def lay_out(starts: np.ndarray, mass: np.ndarray, size: int, *, nominal: bool) -> Scale:
    """Build the axis of a column from its fitted margin.

    Args:
        starts: first base code of each margin cell, increasing, beginning at 0.
        mass: non-negative mass of each margin cell.
        size: number of base codes.
        nominal: whether the order of codes carries no meaning.
    """
    weight = np.maximum(np.asarray(mass, dtype=float), 0.0)
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(len(weight), 1.0 / len(weight))
    order = np.argsort(-weight, kind="stable") if nominal else np.arange(len(weight))
    edges = np.concatenate([[0.0], np.cumsum(weight[order])])
    edges = np.minimum(edges / edges[-1], 1.0)
    starts = np.asarray(starts, dtype=np.int64)
    return Scale(order=order, edges=edges, starts=starts, widths=np.diff(np.append(starts, size)))


def split_edges(edges: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """The part of each cut point below `top`, where values end, and what is beyond it."""
    below = np.minimum(edges, top)
    return below, edges - below


def clip_open(u: np.ndarray) -> np.ndarray:
    """Keep uniforms inside the open unit interval."""
    return np.clip(u, TINY, 1.0 - TINY)


def cells_at(scale: Scale, u: np.ndarray) -> np.ndarray:
    """Margin cell of each uniform."""
    return scale.order[interval_of(scale.edges, u)]


def codes_at(scale: Scale, u: np.ndarray) -> np.ndarray:
    """Base code of each uniform; codes share the interval of their margin cell equally."""
    place = interval_of(scale.edges, u)
    cell = scale.order[place]
    width = np.diff(scale.edges)[place]
    part = np.where(width > 0, (u - scale.edges[place]) / np.where(width > 0, width, 1.0), 0.5)
    return codes_inside(scale, cell, np.maximum(part, 0.0))


def codes_inside(scale: Scale, cell: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Base code at a fraction `part`, in [0, 1], of the way through a margin cell."""
    offset = np.minimum((part * scale.widths[cell]).astype(np.int64), scale.widths[cell] - 1)
    return (scale.starts[cell] + offset).astype(np.int32)


def uniforms_at(scale: Scale, codes: np.ndarray, jitter: np.ndarray) -> np.ndarray:
    """A uniform inside the interval of each base code; `jitter` in [0, 1) says where in it."""
    cell = np.searchsorted(scale.starts, codes, side="right") - 1
    place = np.empty(len(scale.order), dtype=np.int64)
    place[scale.order] = np.arange(len(scale.order))
    part = (codes - scale.starts[cell] + jitter) / scale.widths[cell]
    low = scale.edges[place[cell]]
    return clip_open(low + part * (scale.edges[place[cell] + 1] - low))


def code_edges(scale: Scale) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end on the axis of every base code, in code order (used to condition on sets of codes)."""
    place = np.empty(len(scale.order), dtype=np.int64)
    place[scale.order] = np.arange(len(scale.order))
    cell = np.repeat(np.arange(len(scale.starts)), scale.widths)
    low, high = scale.edges[place[cell]], scale.edges[place[cell] + 1]
    offset = np.arange(scale.size) - scale.starts[cell]
    step = (high - low) / scale.widths[cell]
    return low + offset * step, np.where(offset + 1 == scale.widths[cell], high, low + (offset + 1) * step)

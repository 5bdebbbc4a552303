"""Wide cells are not flat: each is cut in parts whose densities follow the slope that both its neighbours show."""

from __future__ import annotations

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.bins import BinLayout

PARTS_PER_CELL = 6
"""Parts of a sloping cell; more follow the slope closer than it is known."""
LEAST_CHANGE, MOST_CHANGE = 0.3, 6.0
"""Cells across which the log-density changes less stay whole; a larger change is cut."""
_MIN_MASS = 1e-300


def tilt_cells(layout: BinLayout, starts: Ints, mass: Floats, chained: Mask) -> tuple[Ints, Floats]:
    """Return (starts, mass) of cells, those that are wide and sloping cut in parts; the mass of every cell stays.

    Args:
        layout: The column.
        starts: First base code of each cell.
        mass: Its probability.
        chained: Whether it is one of the ordered cells with a smooth density.
    """
    chain = np.flatnonzero(chained)
    if len(chain) < 3:
        return starts, mass
    ends = np.append(starts[1:], layout.size)
    rising = np.concatenate([[0.0], np.cumsum(layout.width)])
    left, right = rising[starts[chain]], rising[ends[chain]]
    cuts = [np.array([start]) for start in starts]
    shares = [np.ones(1)] * len(starts)
    slopes = agreed_slopes(left, right, mass[chain])
    for cell, slope in zip(chain, slopes, strict=True):
        span = rising[ends[cell]] - rising[starts[cell]]
        if abs(slope) * span >= LEAST_CHANGE and mass[cell] > 0:
            cuts[cell], shares[cell] = _parts(layout, rising, (int(starts[cell]), int(ends[cell])), slope)
    parts = [share * held for share, held in zip(shares, mass, strict=True)]
    return np.concatenate(cuts).astype(np.int64), np.concatenate(parts)


def agreed_slopes(left: Floats, right: Floats, mass: Floats) -> Floats:
    """Return the slope of the log-density in each cell: the smaller of those to its two neighbours, 0 where they
    disagree.

    An outermost cell has one neighbour, which is used where the density rises inwards; else its mode may well lie
    inside, and a slope would push it to the bound.
    """
    span, middle = np.maximum(right - left, _MIN_MASS), (left + right) / 2
    step = np.diff(np.log(np.maximum(mass, _MIN_MASS) / span)) / np.maximum(np.diff(middle), _MIN_MASS)
    before, after = np.append(max(step[0], 0.0), step), np.append(step, min(step[-1], 0.0))
    agreed = np.sign(before) * (np.sign(before) == np.sign(after))
    slope = agreed * np.minimum(np.abs(before), np.abs(after))
    return np.clip(slope, -MOST_CHANGE / span, MOST_CHANGE / span)


def _parts(layout: BinLayout, rising: Floats, cell: tuple[int, int], slope: float) -> tuple[Ints, Floats]:
    """Return first codes of about PARTS_PER_CELL equal parts of a cell, none cut through a number, and their masses."""
    start, end = cell
    low, high = rising[start], rising[end]
    cuts = (
        np.searchsorted(rising[start : end + 1], low + (high - low) * np.arange(1, PARTS_PER_CELL) / PARTS_PER_CELL)
        + start
    )
    cuts = np.unique(cuts[(cuts > start) & (cuts < end)])
    cuts = cuts[layout.anchor[cuts] != layout.anchor[cuts - 1]]
    edges = np.concatenate([[start], cuts, [end]])
    place = (rising[edges[1:]] + rising[edges[:-1]] - low - high) / 2
    share = np.diff(rising[edges]) * np.exp(slope * place)
    if not share.sum() > 0:
        return edges[:1], np.ones(1)
    return edges[:-1], share / share.sum()

"""Placing rounded rows evenly inside the groups of the released tables, where the margins are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.model.calibration import Calibration
from sklar.model.lookup import interval_of
from sklar.model.scale import Scale, clip_open


def group_cuts(calibration: Calibration, scales: Sequence[Scale]) -> list[np.ndarray]:
    """For each column, the ends on its axis of all groups in which it is counted together with other columns.

    A column that is in no table at all, whose margin nothing holds in place while others are tilted, is cut at every
    margin cell.
    """
    inner = [np.ones(max(len(scale.order) - 1, 0), dtype=bool) for scale in scales]
    for part in {part for table in calibration.tables for part in table.parts}:
        inner[calibration.partitions[part].column][:] = False
    for part in {part for table in calibration.tables if len(table.parts) > 1 for part in table.parts}:
        partition = calibration.partitions[part]
        inner[partition.column] |= np.diff(partition.lookup[scales[partition.column].order]) != 0
    return [scale.edges[np.concatenate([[True], cut, [True]])] for scale, cut in zip(scales, inner, strict=True)]


def spread_evenly(cuts: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same uniforms moved inside their intervals, in the same order, so that they cover each interval evenly.

    The i-th smallest of m uniforms in an interval gets a random place in the i-th of m equal parts. Equal uniforms, of
    a particle that was picked more than once, come apart.
    """
    order = np.argsort(u, kind="stable")
    interval = interval_of(cuts, u[order])
    counts = np.bincount(interval, minlength=len(cuts) - 1)
    rank = np.arange(len(u)) - np.repeat(np.cumsum(counts) - counts, counts)
    low = cuts[interval]
    spread = np.empty(len(u))
    spread[order] = low + (rank + rng.random(len(u))) / counts[interval] * (cuts[interval + 1] - low)
    return clip_open(spread)

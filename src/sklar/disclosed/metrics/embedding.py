"""Rows as points: numbers in units of their real spread, labels as corners, for metrics that need distances."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sklar.disclosed.metrics.table import ExactTable, Numbers, ordered_values

LABELS = 64
"""Labels beyond the most frequent ones of the real table share a corner."""
BLOCK = 1 << 22
Points = npt.NDArray[np.float64]


def embed(real: ExactTable, *tables: ExactTable) -> list[Points]:
    """Points of each of the tables, in the units of the real one.

    A number or ordered value is centered by the real mean and divided by the real standard deviation, null being the
    mean and a mark of its own; a label is a corner, so that two different labels are at distance 1.
    """
    blocks: list[list[Points]] = [[] for _ in tables]
    for name in real.names:
        for made, points in zip(blocks, _column(real, tables, name), strict=True):
            made.append(points)
    return [np.concatenate(made, axis=1) for made in blocks]


def _column(real: ExactTable, tables: tuple[ExactTable, ...], name: str) -> list[Points]:
    if real.schema[name].ordered:
        return [_scaled(ordered_values(real, name), ordered_values(table, name)) for table in tables]
    counts = np.bincount(real.codes[name], minlength=real.schema[name].size)
    place = np.full(len(counts), min(LABELS, len(counts)) - 1)
    place[np.argsort(-counts, kind="stable")[:LABELS]] = np.arange(min(LABELS, len(counts)))
    corners = np.eye(int(place.max()) + 1) * math.sqrt(0.5)
    return [corners[place[table.codes[name]]] for table in tables]


def _scaled(real: Numbers, values: Numbers) -> Points:
    known = real[~np.isnan(real)]
    center, spread = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
    null = np.isnan(values)
    scaled = np.clip((np.where(null, center, values) - center) / (spread or 1.0), -1e6, 1e6)
    return np.stack([scaled, null.astype(float)], axis=1)


def nearest(
    points: Points, others: Points, *, own: npt.NDArray[np.int64] | None = None
) -> tuple[Points, npt.NDArray[np.int64]]:
    """Distance to, and place of, the nearest of the other points; `own` are the places of the points themselves."""
    distance, place = np.empty(len(points)), np.empty(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", others, others)
    step = max(1, BLOCK // max(1, len(others)))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        gaps = squares - 2.0 * (block @ others.T)
        if own is not None:
            gaps[np.arange(len(block)), own[start : start + len(block)]] = np.inf
        found = gaps.argmin(axis=1)
        # The expansion above cancels badly for near copies, so the distance itself is taken anew.
        place[start : start + step] = found
        distance[start : start + step] = np.linalg.norm(block - others[found], axis=1)
    return distance, place

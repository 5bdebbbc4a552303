"""Scatter grids: every pair of some columns of numbers, one table or a real beside a synthetic one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UsageError
from sklar.report.charts.canvas import FRAME, Canvas, Label, Path, Picture, Shape
from sklar.report.colors import REAL, SYNTHETIC, tint

Table = Mapping[str, NDArray[np.float64]]
MOST_COLUMNS = 8
BINS, DOTS = 30, 120
"""Bars of a histogram, and pixels of a scatter plot in either direction: vector marks would make the file huge."""
SIDE, GAP, EDGE, HEAD = 120.0, 6.0, 20.0, 30.0
"""Of a panel, between panels, around them, and above them, in pixels."""


def scatter_grid(synthetic: Table, *, real: Table | None = None) -> Canvas:
    """Scatter plots of all pairs, histograms on the diagonal; real rows below the diagonal, synthetic ones above.

    Args:
        synthetic: Columns of numbers by name, at most 8.
        real: The same columns of the real table.
    """
    if not 2 <= len(synthetic) <= MOST_COLUMNS:
        raise UsageError(f"a scatter grid takes 2 to {MOST_COLUMNS} columns of numbers; found {len(synthetic)}")
    if real is not None and list(real) != list(synthetic):
        raise UsageError("real and synthetic rows must have the same columns, in the same order")
    names = list(synthetic)
    both = [synthetic] if real is None else [real, synthetic]
    spans = {name: _span([table[name] for table in both]) for name in names}
    shapes: list[Shape] = []
    for i, below in enumerate(names):
        shapes.append(Label(x=EDGE - 6, y=HEAD + (i + 0.5) * (SIDE + GAP), text=below, anchor="middle", turned=True))
        for j, beside in enumerate(names):
            x, y = EDGE + j * (SIDE + GAP), HEAD + i * (SIDE + GAP)
            if i == j:
                shapes += _histograms([table[beside] for table in both], spans[beside], x, y)
            else:
                table, color = (real, REAL) if real is not None and i > j else (synthetic, SYNTHETIC)
                shapes.append(_dots(table[beside], table[below], spans[beside], spans[below], color, x, y))
            edge = ((x, y), (x + SIDE, y), (x + SIDE, y + SIDE), (x, y + SIDE), (x, y))
            shapes.append(Path(pieces=(edge,), color=FRAME))
    size = EDGE + len(names) * (SIDE + GAP)
    shapes += [
        Label(x=EDGE + (j + 0.5) * SIDE + j * GAP, y=HEAD + size - EDGE + 12, text=name, anchor="middle")
        for j, name in enumerate(names)
    ]
    words = "synthetic rows" if real is None else "below the diagonal: real rows (not private); above: synthetic rows"
    shapes.append(Label(x=EDGE, y=18, text=words))
    return Canvas(width=size + EDGE, height=HEAD + size, title=f"Scatter grid: {words}", shapes=tuple(shapes))


def _span(columns: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    values = np.concatenate(columns)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _histograms(columns: Sequence[NDArray[np.float64]], span: tuple[float, float], x: float, y: float) -> list[Shape]:
    """The synthetic column filled, the real one as a line."""
    shares = [np.histogram(v[np.isfinite(v)], BINS, span)[0] / max(1, int(np.isfinite(v).sum())) for v in columns]
    top, step = max(float(part.max()) for part in shares) or 1.0, SIDE / BINS
    steps = [
        [(x + (k + end) * step, y + SIDE - (SIDE - 4) * float(h) / top) for k, h in enumerate(part) for end in (0, 1)]
        for part in shares
    ]
    filled = ((x, y + SIDE), *steps[-1], (x + SIDE, y + SIDE))
    out: list[Shape] = [Path(pieces=(filled,), fill=SYNTHETIC, opacity=0.6)]
    return [*out, Path(pieces=(tuple(steps[0]),), color=REAL, width=1.5)] if len(shares) > 1 else out


def _dots(
    first: NDArray[np.float64], second: NDArray[np.float64], across: tuple[float, float], up: tuple[float, float],
    color: str, x: float, y: float,
) -> Picture:  # fmt: skip
    """Rows as pixels: darker where there are more of them."""
    known = np.isfinite(first) & np.isfinite(second)
    counts = np.histogram2d(first[known], second[known], DOTS, (across, up))[0].T[::-1]
    depth = np.where(counts > 0, 0.35 + 0.65 * np.sqrt(counts / max(1.0, counts.max())), 0.0)
    rows = tuple(tuple(tint(color, d) for d in row) for row in depth.tolist())
    return Picture(x=x, y=y, width=SIDE, height=SIDE, rows=rows)

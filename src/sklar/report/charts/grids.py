"""Charts of pixel panels: scatter plots of rows, correlations by level, contours of pair copulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.report.charts.canvas import Canvas, Label, Path, Picture, Shape, make_outline
from sklar.report.colours import REAL, SYNTHETIC, Colour, diverge, shade, tint

if TYPE_CHECKING:
    import pyvinecopulib as pv

Table = Mapping[str, Floats]
Pixels = tuple[tuple[Colour, ...], ...]
MAX_SCATTER_COLUMNS = 8
"""Maximum number of columns of a scatter grid: more make too many panels and a large file."""
BINS, DOTS = 30, 120
"""Bars of a histogram, and pixels of a scatter plot per direction: vector marks would make the file huge."""
SIDE, GAP, EDGE, HEAD = 120.0, 6.0, 20.0, 30.0
"""Pixels of a panel of a scatter grid, between panels, around them, and above them."""
PANELS_ACROSS = 4
"""Number of matrices or contours side by side."""
DENSITY_POINTS = 161
"""Points per direction at which a density is evaluated."""
CONTOURS = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Levels of the density with standard normal margins; between two of them a panel has one colour."""
PANEL, PANEL_GAP, PANEL_HEAD, PANEL_FOOT = 180.0, 24.0, 34.0, 30.0
"""Pixels of a matrix or of contours, between them, above each, and below all."""


def scatter_grid(synthetic: Table, *, real: Table | None = None) -> Canvas:
    """Draw scatter plots of all pairs, real rows below and synthetic ones above a diagonal of histograms."""
    if not 2 <= len(synthetic) <= MAX_SCATTER_COLUMNS:
        raise UsageError(f"a scatter grid takes 2 to {MAX_SCATTER_COLUMNS} columns of numbers; found {len(synthetic)}")
    if real is not None and list(real) != list(synthetic):
        raise UsageError("real and synthetic rows must have the same columns, in the same order")
    names = list(synthetic)
    both = [synthetic] if real is None else [real, synthetic]
    spans = {name: _find_span([table[name] for table in both]) for name in names}
    shapes: list[Shape] = []
    for i, below in enumerate(names):
        shapes.append(Label(x=EDGE - 6, y=HEAD + (i + 0.5) * (SIDE + GAP), text=below, anchor="middle", turned=True))
        for j, beside in enumerate(names):
            x, y = EDGE + j * (SIDE + GAP), HEAD + i * (SIDE + GAP)
            if i == j:
                shapes += _histograms([table[beside] for table in both], spans[beside], x, y)
            else:
                table, colour = (real, REAL) if real is not None and i > j else (synthetic, SYNTHETIC)
                shapes.append(_dots(table[beside], table[below], spans[beside], spans[below], colour, x, y))
            shapes.append(make_outline(x, y, SIDE))
    size = EDGE + len(names) * (SIDE + GAP)
    shapes += [
        Label(x=EDGE + (j + 0.5) * SIDE + j * GAP, y=HEAD + size - EDGE + 12, text=name, anchor="middle")
        for j, name in enumerate(names)
    ]
    words = "synthetic rows" if real is None else "below the diagonal: real rows (not private); above: synthetic rows"
    shapes.append(Label(x=EDGE, y=18, text=words))
    return Canvas(width=size + EDGE, height=HEAD + size, title=f"Scatter grid: {words}", shapes=tuple(shapes))


def _find_span(columns: Sequence[Floats]) -> tuple[float, float]:
    values = np.concatenate(columns)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _histograms(columns: Sequence[Floats], span: tuple[float, float], x: float, y: float) -> list[Shape]:
    """Draw the synthetic column filled, the real one as a line."""
    shares = [np.histogram(v[np.isfinite(v)], BINS, span)[0] / max(1, int(np.isfinite(v).sum())) for v in columns]
    top, step = max(float(part.max()) for part in shares) or 1.0, SIDE / BINS
    steps = [
        [(x + (k + end) * step, y + SIDE - (SIDE - 4) * float(h) / top) for k, h in enumerate(part) for end in (0, 1)]
        for part in shares
    ]
    filled = ((x, y + SIDE), *steps[-1], (x + SIDE, y + SIDE))
    out: list[Shape] = [Path(pieces=(filled,), fill=SYNTHETIC, opacity=0.6)]
    return [*out, Path(pieces=(tuple(steps[0]),), colour=REAL, width=1.5)] if len(shares) > 1 else out


def _dots(
    first: Floats, second: Floats, across: tuple[float, float], up: tuple[float, float],
    colour: str, x: float, y: float,
) -> Picture:  # fmt: skip
    """Draw rows as pixels, darker where there are more of them."""
    known = np.isfinite(first) & np.isfinite(second)
    counts = np.histogram2d(first[known], second[known], DOTS, (across, up))[0].T[::-1]
    depth = np.where(counts > 0, 0.35 + 0.65 * np.sqrt(counts / max(1.0, counts.max())), 0.0)
    return Picture(x=x, y=y, width=SIDE, height=SIDE, rows=_colour_pixels(depth, lambda share: tint(colour, share)))


def draw_levels(matrices: Mapping[str, Floats], names: Sequence[str], *, label: str = "") -> Canvas:
    """Draw one correlation matrix for each title (a level, or the real table), on a common scale from -1 to 1.

    `label` is a line below the picture, as the claim of a model.
    """
    if not matrices or any(np.shape(matrix) != (len(names), len(names)) for matrix in matrices.values()):
        raise UsageError("every level needs a square matrix with one line for each column")
    room = 6.0 * max(len(name) for name in names)
    size = min(10.0, PANEL / len(names))

    def beside(x: float, y: float) -> list[Shape]:
        spots = [((at + 0.5) * PANEL / len(names), name) for at, name in enumerate(names)]
        return [
            *(Label(x=x - 4, y=y + a + 3, text=n, size=size, anchor="end") for a, n in spots),
            *(Label(x=x + a + 3, y=y + PANEL + 4, text=n, size=size, anchor="end", turned=True) for a, n in spots),
        ]

    grids = {title: _colour_pixels(matrix, diverge) for title, matrix in matrices.items()}
    words = f"Rank correlations: blue is -1, white 0, orange 1. {label}".strip()
    return _panels(grids, words, room, beside)


def draw_contours(copulas: Mapping[str, pv.Bicop], *, label: str = "") -> Canvas:
    """Draw contours of pair copulas with standard normal margins, one panel per title; darker is denser."""
    from scipy.special import ndtr

    if not copulas:
        raise UsageError("no pair copula to draw: all edges are independent")
    scores = np.linspace(-3, 3, DENSITY_POINTS)
    first, second = np.meshgrid(scores, scores, indexing="ij")
    at = np.asfortranarray(ndtr(np.column_stack([first.ravel(), second.ravel()])))
    normal = np.exp(-(first**2 + second**2) / 2) / (2 * np.pi)
    grids: dict[str, Pixels] = {}
    for title, copula in copulas.items():
        density: Any = copula.with_var_types(["c", "c"]).pdf(at).reshape(first.shape) * normal
        bands = np.searchsorted(CONTOURS, density.T[::-1], side="right") / len(CONTOURS)
        grids[title] = _colour_pixels(bands, shade)
    return _panels(grids, label, 0.0, lambda x, y: [])


def _colour_pixels(values: Floats, colour: Callable[[float], Colour]) -> Pixels:
    return tuple(tuple(colour(value) for value in row) for row in values.tolist())


def _panels(
    grids: Mapping[str, Pixels], label: str, room: float, beside: Callable[[float, float], list[Shape]]
) -> Canvas:
    """Draw grids side by side under their titles, with room for the labels left of and below each."""
    across = min(len(grids), PANELS_ACROSS)
    down = math.ceil(len(grids) / across)
    shapes: list[Shape] = []
    for at, (title, rows) in enumerate(grids.items()):
        x = PANEL_GAP + room + at % across * (PANEL + room + PANEL_GAP)
        y = PANEL_HEAD + at // across * (PANEL + room + PANEL_HEAD)
        lines = title.split("\n")
        shapes += [
            Picture(x=x, y=y, width=PANEL, height=PANEL, rows=rows), make_outline(x, y, PANEL),
            *(Label(x=x, y=y - 5 - 12 * (len(lines) - 1 - i), text=t, size=9) for i, t in enumerate(lines)),
            *beside(x, y),
        ]  # fmt: skip
    width, height = PANEL_GAP + across * (PANEL + room + PANEL_GAP), down * (PANEL + room + PANEL_HEAD) + PANEL_FOOT
    shapes.append(Label(x=PANEL_GAP, y=height - 10, text=label, size=8))
    return Canvas(width=width, height=height, title=", ".join(grids).replace("\n", " "), shapes=tuple(shapes))

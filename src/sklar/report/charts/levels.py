"""Pictures of truncated vines: correlation matrices level by level, and contours of pair copulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UsageError
from sklar.report.charts.canvas import FRAME, Canvas, Label, Path, Picture, Shape
from sklar.report.colors import Color, diverge, shade

if TYPE_CHECKING:
    import pyvinecopulib as pv

Floats = NDArray[np.float64]
ACROSS = 4
POINTS = 161
CONTOURS = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Of the density with standard normal margins; between two of them a panel has one color."""
SIDE, HEAD, FOOT, GAP = 180.0, 34.0, 30.0, 24.0


def draw_levels(matrices: Mapping[str, Floats], names: Sequence[str], *, label: str = "") -> Canvas:
    """One correlation matrix for each title (a level, or the real table), on a common scale from -1 to 1.

    Args:
        matrices: Title to matrix, in the order of the picture.
        names: Columns, in the order of the matrices.
        label: A line below the picture, as the claim of a model.
    """
    if not matrices or any(np.shape(matrix) != (len(names), len(names)) for matrix in matrices.values()):
        raise UsageError("every level needs a square matrix with one line for each column")
    room = 6.0 * max(len(name) for name in names)
    size = min(10.0, SIDE / len(names))

    def beside(x: float, y: float) -> list[Shape]:
        places = [(at + 0.5) * SIDE / len(names) for at in range(len(names))]
        spots = list(zip(places, names, strict=True))
        return [
            *(Label(x=x - 4, y=y + a + 3, text=n, size=size, anchor="end") for a, n in spots),
            *(Label(x=x + a + 3, y=y + SIDE + 4, text=n, size=size, anchor="end", turned=True) for a, n in spots),
        ]

    grids = {title: _colored(matrix, diverge) for title, matrix in matrices.items()}
    words = f"Rank correlations: blue is -1, white 0, orange 1. {label}".strip()
    return _panels(grids, words, room, beside)


def draw_contours(copulas: Mapping[str, pv.Bicop], *, label: str = "") -> Canvas:
    """Contours of pair copulas with standard normal margins, one panel for each title; darker is denser."""
    from scipy.special import ndtr

    if not copulas:
        raise UsageError("there is no pair copula to draw: all edges are independent")
    scores = np.linspace(-3, 3, POINTS)
    first, second = np.meshgrid(scores, scores, indexing="ij")
    at = np.asfortranarray(ndtr(np.column_stack([first.ravel(), second.ravel()])))
    normal = np.exp(-(first**2 + second**2) / 2) / (2 * np.pi)
    grids: dict[str, tuple[tuple[Color, ...], ...]] = {}
    for title, copula in copulas.items():
        density: Any = copula.with_var_types(["c", "c"]).pdf(at).reshape(first.shape) * normal
        bands = np.searchsorted(CONTOURS, density.T[::-1], side="right") / len(CONTOURS)
        grids[title] = _colored(bands, shade)
    return _panels(grids, label, 0.0, lambda x, y: [])


def _colored(values: Floats, color: Callable[[float], Color]) -> tuple[tuple[Color, ...], ...]:
    return tuple(tuple(color(value) for value in row) for row in values.tolist())


def _panels(
    grids: Mapping[str, tuple[tuple[Color, ...], ...]], label: str, room: float,
    beside: Callable[[float, float], list[Shape]],
) -> Canvas:  # fmt: skip
    """Grids side by side under their titles, with so much room for the labels left of and below each."""
    across = min(len(grids), ACROSS)
    down = math.ceil(len(grids) / across)
    shapes: list[Shape] = []
    for at, (title, rows) in enumerate(grids.items()):
        x = GAP + room + at % across * (SIDE + room + GAP)
        y = HEAD + at // across * (SIDE + room + HEAD)
        edge = ((x, y), (x + SIDE, y), (x + SIDE, y + SIDE), (x, y + SIDE), (x, y))
        lines = title.split("\n")
        shapes += [
            Picture(x=x, y=y, width=SIDE, height=SIDE, rows=rows), Path(pieces=(edge,), color=FRAME),
            *(Label(x=x, y=y - 5 - 12 * (len(lines) - 1 - i), text=t, size=9) for i, t in enumerate(lines)),
            *beside(x, y),
        ]  # fmt: skip
    width, height = GAP + across * (SIDE + room + GAP), down * (SIDE + room + HEAD) + FOOT
    shapes.append(Label(x=GAP, y=height - 10, text=label, size=8))
    return Canvas(width=width, height=height, title=", ".join(grids).replace("\n", " "), shapes=tuple(shapes))

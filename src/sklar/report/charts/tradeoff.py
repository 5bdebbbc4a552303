"""The privacy-utility plot: what each release is worth against what an attack gets out of it; the best are marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.report.charts.canvas import FRAME, Canvas, Dot, Group, Label, Path, Picture, Shape
from sklar.report.charts.plots import Frame, line_color
from sklar.report.colors import Color, diverge, shade

if TYPE_CHECKING:
    import pyvinecopulib as pv


Triple = tuple[float, float, float]
"""A value and its interval."""
STYLE = (
    ".tradeoff text{font:11px system-ui,sans-serif;fill:#555}.tradeoff .name{opacity:.55}"
    ".tradeoff g.point:hover .name,.tradeoff g.point:focus .name{opacity:1;font-weight:700;fill:#000}"
    ".tradeoff g.point:hover path,.tradeoff g.point:focus path{opacity:1}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeoffPoint:
    """One release: a method, level or epsilon.

    Attributes:
        name: What to write beside it.
        group: Points of a group are joined by a line: the levels or epsilons of one method.
        utility: How useful it is, with its interval.
        risk: What an attack reaches, with its interval.
    """

    name: str
    group: str
    utility: Triple
    risk: Triple


@dataclass(frozen=True, slots=True, kw_only=True)
class Tradeoff:
    """Points, and what the axes mean.

    Attributes:
        points: The releases.
        utility_title: What utility is.
        risk_title: What the attack measures.
        better_utility: "higher" or "lower".
        better_risk: "higher" (as for a privacy gain) or "lower" (as for a privacy score or MAB).
    """

    points: tuple[TradeoffPoint, ...]
    utility_title: str
    risk_title: str
    better_utility: str = "higher"
    better_risk: str = "lower"

    @property
    def best(self) -> tuple[TradeoffPoint, ...]:
        """The points that no other one beats: none is as good in both respects and better in one."""
        one = [p.utility[0] if self.better_utility == "higher" else -p.utility[0] for p in self.points]
        two = [p.risk[0] if self.better_risk == "higher" else -p.risk[0] for p in self.points]
        pairs = list(zip(one, two, strict=True))
        return tuple(
            point
            for point, (u, v) in zip(self.points, pairs, strict=True)
            if not any(a >= u and b >= v and (a > u or b > v) for a, b in pairs) and not math.isnan(u + v)
        )


def tradeoff_chart(plot: Tradeoff) -> Canvas:
    """The plot: hover a point (or read its title) for all its numbers; undominated points are filled."""
    frame = Frame(
        left=64, right=624, top=16, bottom=368, across=_span([p.utility for p in plot.points]),
        up=_span([p.risk for p in plot.points]),
    )  # fmt: skip
    title = f"{plot.utility_title} ({plot.better_utility} is better)"
    beside = f"{plot.risk_title} ({plot.better_risk} is better)"
    shapes = frame.axes(
        title, [(frame.x(v), f"{v:.3g}") for v in _ticks(frame.across)],
        [(frame.y(v), f"{v:.3g}") for v in _ticks(frame.up)],
    )  # fmt: skip
    shapes.append(Label(x=14, y=(frame.top + frame.bottom) / 2, text=beside, anchor="middle", turned=True))
    best = plot.best
    for at, group in enumerate(dict.fromkeys(point.group for point in plot.points)):
        chosen = [point for point in plot.points if point.group == group]
        line = tuple(frame.at(p.utility[0], p.risk[0]) for p in chosen)
        shapes += [Path(pieces=(line,), color=line_color(at), opacity=0.4)] if len(line) > 1 else []
        shapes += [_point(point, point in best, line_color(at), frame) for point in chosen]
    label = f"{plot.risk_title} against {plot.utility_title}"
    return Canvas(width=640, height=420, title=label, shapes=tuple(shapes), role="tradeoff", style=STYLE)


def _point(point: TradeoffPoint, best: bool, color: str, frame: Frame) -> Shape:
    (u, u_low, u_high), (r, r_low, r_high) = point.utility, point.risk
    told = (
        f"{point.name}: utility {u:.3f} ({u_low:.3f} to {u_high:.3f}), risk {r:.3f} ({r_low:.3f} to {r_high:.3f})"
        f"{', undominated' if best else ''}"
    )
    x, y = frame.at(u, r)
    bars = (frame.at(u_low, r), frame.at(u_high, r)), (frame.at(u, r_low), frame.at(u, r_high))
    return Group(
        title=told,
        shapes=(
            Path(pieces=bars, color=color, width=1.5, opacity=0.25),
            Dot(x=x, y=y, radius=5.5, fill=color if best else "#fff", color=color),
            Label(x=x + 8, y=y - 7, text=point.name, role="name"),
        ),
    )


def _ticks(span: tuple[float, float], count: int = 5) -> list[float]:
    low, high = span
    return [low + (high - low) * at / (count - 1) for at in range(count)]


def _span(values: Sequence[Triple]) -> tuple[float, float]:
    """A range that holds all points, and their intervals where these are finite and not far beyond the points."""
    centers = [v[0] for v in values if math.isfinite(v[0])] or [0.0]
    low, high = min(centers), max(centers)
    room = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-6)
    ends = [end for v in values for end in v[1:] if math.isfinite(end) and low - room <= end <= high + room]
    low, high = min([low, *ends]), max([high, *ends])
    return low - 0.06 * (high - low or room), high + 0.06 * (high - low or room)


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

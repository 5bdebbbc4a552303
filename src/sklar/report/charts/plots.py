"""The charts of the reports: margins, curves, bars, intervals, measures over epsilon, and privacy against utility."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.report.charts.canvas import FRAME, Anchor, Canvas, Dot, Label, Path, Picture, Point, Shape
from sklar.report.colors import REAL, SYNTHETIC, tint

LINES = (SYNTHETIC, REAL, "#009E73", "#CC79A7", "#56B4E9", "#000000")
DASHES = ("", "6 3", "2 2", "8 2 2 2", "1 3", "")
AXIS = "#767676"


Budgeted = tuple[float | None, float, float | None]
"""Epsilon, or None without a budget; mean; half width of its interval, if it has one."""


class Range(Protocol):
    """A number and its interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def line_color(at: int) -> str:
    """The color of a line, for its legend."""
    return LINES[at % len(LINES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A rectangle of the canvas, and the numbers that its edges stand for; what lies beyond is drawn at the edge."""

    left: float
    right: float
    top: float
    bottom: float
    across: tuple[float, float] = (0.0, 1.0)
    up: tuple[float, float] = (0.0, 1.0)

    def x(self, value: float) -> float:
        """Where a number lies across."""
        return self.left + (self.right - self.left) * _share(value, self.across)

    def y(self, value: float) -> float:
        """Where a number lies upwards."""
        return self.bottom - (self.bottom - self.top) * _share(value, self.up)

    def at(self, x: float, y: float) -> Point:
        """Where a point lies."""
        return self.x(x), self.y(y)

    def axes(self, title: str, x: Sequence[tuple[float, str]], y: Sequence[tuple[float, str]]) -> list[Shape]:
        """Both axes with numbers beside them, and a title below."""
        line = Path(pieces=(((self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)),), color=AXIS)
        below = [Label(x=at, y=self.bottom + 14, text=text, anchor=_anchor(at, self)) for at, text in x]
        beside = [Label(x=self.left - 4, y=min(at + 4, self.bottom), text=text, anchor="end") for at, text in y]
        middle = Label(x=(self.left + self.right) / 2, y=self.bottom + 30, text=title, anchor="middle")
        return [line, *below, *beside, middle]


def _share(value: float, span: tuple[float, float]) -> float:
    low, high = span
    return (min(max(value, low), high) - low) / ((high - low) or 1.0)


def _anchor(at: float, frame: Frame) -> Anchor:
    return "start" if at == frame.left else "end" if at == frame.right else "middle"


def margin_chart(
    column: str, real: Sequence[float], synthetic: Sequence[float], numeric: bool, distance: float
) -> Canvas:
    """Cells of a column: the real shares filled, the synthetic ones as a line with marks."""
    cells, top = max(1, len(real)), max([*real, *synthetic, 1e-12])
    frame = Frame(left=0, right=280, top=6, bottom=106, up=(0.0, top))
    step = frame.right / cells
    gap = 0.0 if numeric else min(step * 0.2, 6)
    ends = [(i * step + gap / 2, (i + 1) * step - gap / 2) for i in range(cells)]
    bars = tuple(
        ((a, frame.bottom), (a, frame.y(s)), (b, frame.y(s)), (b, frame.bottom))
        for (a, b), s in zip(ends, real, strict=False)
        if s > 0
    )
    marks = tuple(((a, frame.y(s)), (b, frame.y(s))) for (a, b), s in zip(ends, synthetic, strict=False))
    return Canvas(
        width=280, height=110,
        title=f"Shares of {column}: real filled, synthetic as lines; distance {distance:.3f}",
        shapes=(
            Path(pieces=bars, fill=REAL, opacity=0.4),
            Path(pieces=marks, color=SYNTHETIC, width=2.5),
            Path(pieces=(((0, 106), (280, 106)),), color=AXIS),
        ),
    )  # fmt: skip


def curve_chart(
    title: str, x_title: str, x: Sequence[float], lines: Sequence[tuple[str, Sequence[float]]], ideal: bool = False
) -> Canvas:
    """Lines over a common axis, with the diagonal as the ideal where it is one."""
    low, high = (min(x), max(x)) if x else (0.0, 1.0)
    top = max([1e-12, 1.0 if ideal else 0.0, *(v for _, line in lines for v in line)])
    frame = Frame(left=44, right=312, top=8, bottom=184, across=(low, high), up=(0.0, top))
    shapes = frame.axes(
        x_title, [(44, f"{low:.3g}"), (312, f"{high:.3g}")], [(10, f"{top:.3g}"), (184, "0")]
    )  # fmt: skip
    if ideal:
        shapes.append(Path(pieces=((frame.at(0, 0), frame.at(1, 1)),), color=AXIS, dash="3 3"))
    for at, (_, line) in enumerate(lines):
        points = tuple(frame.at(a, b) for a, b in zip(x, line, strict=True))
        shapes.append(Path(pieces=(points,), color=line_color(at), width=2.2, dash=DASHES[at % len(DASHES)]))
    return Canvas(width=320, height=220, title=title, shapes=tuple(shapes))


def learning_chart(real: float, synthetic: float, noise: float, span: tuple[float, float]) -> Canvas:
    """Two bars on one scale, the noise of the real one as a whisker."""
    frame = Frame(left=0, right=260, top=0, bottom=26, across=span)
    zero = frame.x(0.0)

    def bar(value: float, y: float, color: str) -> Path:
        end = frame.x(value)
        return Path(pieces=(((zero, y), (end, y), (end, y + 10), (zero, y + 10)),), fill=color, opacity=0.8)

    whisker = ((frame.x(real - noise), 7.0), (frame.x(real + noise), 7.0))
    return Canvas(
        width=260, height=26, title=f"real {real:.3f}, synthetic {synthetic:.3f}", role="bar",
        shapes=(
            bar(real, 2, REAL), bar(synthetic, 14, SYNTHETIC), Path(pieces=(whisker,), color="#000", width=1.5),
            Path(pieces=(((zero, 0), (zero, 26)),), color=AXIS),
        ),
    )  # fmt: skip


def interval_chart(title: str, ranges: Sequence[Range | None], ideal: float | None) -> Canvas:
    """Attack, control and baseline as intervals on one scale, and the ideal as a dashed line."""
    shown = [(found, color) for found, color in zip(ranges, (SYNTHETIC, REAL, AXIS), strict=True) if found is not None]
    ends = [end for found, _ in shown for end in (found.value, found.low, found.high) if math.isfinite(end)]
    ends += [] if ideal is None else [ideal]
    height = 10 * len(shown) + 6
    frame = Frame(left=6, right=254, top=0, bottom=height, across=(min(ends), max(ends)))
    shapes: list[Shape] = []
    if ideal is not None:
        shapes.append(Path(pieces=(((frame.x(ideal), 0), (frame.x(ideal), height)),), color="#000", dash="2 2"))
    for at, (found, color) in enumerate(shown):
        y = 8.0 + 10 * at
        line = ((frame.x(found.low), y), (frame.x(found.high), y))
        shapes += [
            Path(pieces=(line,), color=color, width=3, opacity=0.6),
            Dot(x=frame.x(found.value), y=y, radius=3.5, fill=color),
        ]
    return Canvas(width=260, height=height, title=title, shapes=tuple(shapes), role="bar")


def epsilon_chart(title: str, lines: Sequence[tuple[str, Sequence[Budgeted]]]) -> Canvas:
    """A measure over epsilon (on a logarithmic scale) with intervals; systems without epsilon as horizontal lines.

    Args:
        title: The measure.
        lines: Each system with its points: epsilon, mean, half width of the interval.
    """
    points = [point for _, found in lines for point in found]
    budgets = sorted({epsilon for epsilon, _, _ in points if epsilon is not None})
    logs = [math.log(epsilon) for epsilon in budgets] or [0.0]
    # An interval may reach beyond what the measure can be; the axis does not follow it there.
    low, high = min([0.0, *(m for _, m, _ in points)]), max([1e-12, *(m + (half or 0) for _, m, half in points)])
    frame = Frame(left=50, right=332, top=10, bottom=190, up=(low, high))
    alone = (logs[0] - 1, logs[0] + 1)
    place = Frame(left=64, right=318, top=0, bottom=0, across=(logs[0], logs[-1]) if len(logs) > 1 else alone)
    shapes = frame.axes(
        "epsilon (log scale)", [(place.x(math.log(e)), f"{e:g}") for e in budgets],
        [(12, f"{high:.3g}"), (190, f"{low:.3g}")],
    )  # fmt: skip
    for at, (name, found) in enumerate(lines):
        color, dash = line_color(at), DASHES[at % len(DASHES)]
        known = [(place.x(math.log(e)), m, half) for e, m, half in found if e is not None]
        flat = [((frame.left, frame.y(m)), (frame.right, frame.y(m))) for e, m, _ in found if e is None]
        pieces = (tuple((x, frame.y(m)) for x, m, _ in known),) if known else tuple(flat)
        shapes.append(Path(pieces=pieces, color=color, width=2, dash=dash, title=name))
        shapes += [Dot(x=x, y=frame.y(m), radius=3.2, fill=color, title=name) for x, m, _ in known]
        whiskers = tuple(((x, frame.y(m - half)), (x, frame.y(m + half))) for x, m, half in known if half)
        shapes += [Path(pieces=whiskers, color=color)] if whiskers else []
    return Canvas(width=340, height=230, title=f"{title} over epsilon", shapes=tuple(shapes) if points else ())


Table = Mapping[str, Floats]
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


def _span(columns: Sequence[Floats]) -> tuple[float, float]:
    values = np.concatenate(columns)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _histograms(columns: Sequence[Floats], span: tuple[float, float], x: float, y: float) -> list[Shape]:
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
    first: Floats, second: Floats, across: tuple[float, float], up: tuple[float, float],
    color: str, x: float, y: float,
) -> Picture:  # fmt: skip
    """Rows as pixels: darker where there are more of them."""
    known = np.isfinite(first) & np.isfinite(second)
    counts = np.histogram2d(first[known], second[known], DOTS, (across, up))[0].T[::-1]
    depth = np.where(counts > 0, 0.35 + 0.65 * np.sqrt(counts / max(1.0, counts.max())), 0.0)
    rows = tuple(tuple(tint(color, d) for d in row) for row in depth.tolist())
    return Picture(x=x, y=y, width=SIDE, height=SIDE, rows=rows)

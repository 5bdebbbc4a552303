"""Charts with axes: curves, bars, intervals, measures over epsilon, and risk against utility."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sklar.report.charts.canvas import Anchor, Canvas, Dot, Group, Label, Path, Point, Shape, make_rectangle
from sklar.report.colours import AXIS, INK, LINES, PAPER, REAL, SOFT, SYNTHETIC

LETTER = 6.3
"""Average width in pixels of a letter of size 11."""
DASHES = ("", "6 3", "2 2", "8 2 2 2", "1 3", "")
Budgeted = tuple[float | None, float, float | None]
"""Epsilon, or None without a budget; mean; half width of its interval, if it has one."""
Triple = tuple[float, float, float]
"""A value and its interval."""
TICKS = 5
"""Number of ticks along either axis of the trade-off."""
STYLE = (
    f".tradeoff text{{font:11px system-ui,sans-serif;fill:var(--soft,{SOFT})}}"
    f".tradeoff g.point:hover .name,.tradeoff g.point:focus .name{{font-weight:700;fill:var(--ink,{INK})}}"
    ".tradeoff g.point:hover path,.tradeoff g.point:focus path{opacity:1}"
)


class Range(Protocol):
    """A number and its interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def line_colour(at: int) -> str:
    """Return the colour of a line, for its legend."""
    return LINES[at % len(LINES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A rectangle of the canvas with the numbers of its edges; points beyond are drawn at the edge."""

    left: float
    right: float
    top: float
    bottom: float
    across: tuple[float, float] = (0.0, 1.0)
    up: tuple[float, float] = (0.0, 1.0)

    def x(self, value: float) -> float:
        """Return the horizontal position of a number."""
        return self.left + (self.right - self.left) * _scale_to_axis(value, self.across)

    def y(self, value: float) -> float:
        """Return the vertical position of a number."""
        return self.bottom - (self.bottom - self.top) * _scale_to_axis(value, self.up)

    def at(self, x: float, y: float) -> Point:
        """Return the position of a point."""
        return self.x(x), self.y(y)

    def axes(self, title: str, x: Sequence[tuple[float, str]], y: Sequence[tuple[float, str]]) -> list[Shape]:
        """Draw both axes with numbers beside them, and a title below."""
        line = Path(pieces=(((self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)),), colour=AXIS)
        below = [Label(x=at, y=self.bottom + 14, text=text, anchor=_anchor(at, text, self)) for at, text in x]
        beside = [Label(x=self.left - 4, y=min(at + 4, self.bottom), text=text, anchor="end") for at, text in y]
        middle = Label(x=(self.left + self.right) / 2, y=self.bottom + 30, text=title, anchor="middle")
        return [line, *below, *beside, middle]


def _scale_to_axis(value: float, span: tuple[float, float]) -> float:
    low, high = span
    return (min(max(value, low), high) - low) / ((high - low) or 1.0)


def _anchor(at: float, text: str, frame: Frame) -> Anchor:
    """Return the anchor of a text, which keeps it inside the axis."""
    half = LETTER * len(text) / 2
    return "start" if at == frame.left else "end" if at == frame.right or at + half > frame.right + 8 else "middle"


def curve_chart(
    title: str, x_title: str, x: Sequence[float], lines: Sequence[tuple[str, Sequence[float]]], ideal: bool = False
) -> Canvas:
    """Draw lines over a common axis, with the diagonal if it is the ideal."""
    low, high = (min(x), max(x)) if x else (0.0, 1.0)
    top = max([1e-12, 1.0 if ideal else 0.0, *(v for _, line in lines for v in line)])
    frame = Frame(left=44, right=312, top=8, bottom=184, across=(low, high), up=(0.0, top))
    shapes = frame.axes(x_title, [(44, f"{low:.3g}"), (312, f"{high:.3g}")], [(10, f"{top:.3g}"), (184, "0")])
    if ideal:
        shapes.append(Path(pieces=((frame.at(0, 0), frame.at(1, 1)),), colour=AXIS, dash="3 3"))
    for at, (_, line) in enumerate(lines):
        points = tuple(frame.at(a, b) for a, b in zip(x, line, strict=True))
        shapes.append(Path(pieces=(points,), colour=line_colour(at), width=2.2, dash=DASHES[at % len(DASHES)]))
    details = [
        f"{name} {line[len(line) // 2]:.2g} at {x[len(x) // 2]:.2g} and {line[-1]:.2g} at the end"
        for name, line in lines
        if line
    ]
    return Canvas(width=320, height=220, title=_with_details(title, details), shapes=tuple(shapes))


def _with_details(title: str, parts: Sequence[str]) -> str:
    """Return a text alternative from a title and findings."""
    return f"{title}: {'; '.join(parts)}" if parts else title


class Cumulative(Protocol):
    """A distribution function: the share of cases up to each place of a common axis."""

    @property
    def source(self) -> str: ...
    @property
    def cdf(self) -> Sequence[float]: ...


def cdf_chart(title: str, errors: Sequence[float], lines: Sequence[Cumulative]) -> Canvas:
    """Return distribution functions of errors, on a logarithmic axis."""
    logs = [math.log10(error) for error in errors]
    frame = Frame(left=44, right=312, top=8, bottom=184, across=(logs[0], logs[-1]))
    tens = range(math.ceil(logs[0] - 1e-9), math.floor(logs[-1]) + 1)
    ticks = [(frame.x(ten), f"{10.0**ten:g}") for ten in tens]
    shapes = frame.axes("absolute error in rows (log scale)", ticks, [(10, "1"), (184, "0")])
    for at, line in enumerate(lines):
        points = tuple(frame.at(x, y) for x, y in zip(logs, line.cdf, strict=True))
        shapes.append(Path(pieces=(points,), colour=line_colour(at), width=2.2, dash=DASHES[at % len(DASHES)]))
    halves = [int(np.searchsorted(line.cdf, 0.5)) for line in lines]
    details = [f"{line.source} {errors[min(at, len(errors) - 1)]:.2g}" for line, at in zip(lines, halves, strict=True)]
    title = _with_details(f"{title}, error in rows that half of the queries stay below", details)
    return Canvas(width=320, height=220, title=title, shapes=tuple(shapes))


def learning_chart(real: float, synthetic: float, noise: float, span: tuple[float, float]) -> Canvas:
    """Draw two bars on one scale, the noise of the real one as a whisker."""
    frame = Frame(left=0, right=260, top=0, bottom=26, across=span)
    zero = frame.x(0.0)

    def bar(value: float, y: float, colour: str) -> Path:
        return Path(pieces=(make_rectangle(zero, y, frame.x(value), y + 10),), fill=colour, opacity=0.8)

    whisker = ((frame.x(real - noise), 7.0), (frame.x(real + noise), 7.0))
    return Canvas(
        width=260, height=26, title=f"real {real:.3f}, synthetic {synthetic:.3f}", role="bar",
        shapes=(
            bar(real, 2, REAL), bar(synthetic, 14, SYNTHETIC), Path(pieces=(whisker,), colour=INK, width=1.5),
            Path(pieces=(((zero, 0), (zero, 26)),), colour=AXIS),
        ),
    )  # fmt: skip


def interval_chart(title: str, ranges: Sequence[Range | None], ideal: float | None) -> Canvas:
    """Draw attack, control and baseline as intervals on one scale, and the ideal as a dashed line."""
    shown = [
        (found, colour) for found, colour in zip(ranges, (SYNTHETIC, REAL, AXIS), strict=True) if found is not None
    ]
    ends = [end for found, _ in shown for end in (found.value, found.low, found.high) if math.isfinite(end)]
    ends += [] if ideal is None else [ideal]
    height = 10 * len(shown) + 6
    frame = Frame(left=6, right=254, top=0, bottom=height, across=(min(ends), max(ends)))
    shapes: list[Shape] = []
    if ideal is not None:
        shapes.append(Path(pieces=(((frame.x(ideal), 0), (frame.x(ideal), height)),), colour=INK, dash="2 2"))
    for at, (found, colour) in enumerate(shown):
        y = 8.0 + 10 * at
        line = ((frame.x(found.low), y), (frame.x(found.high), y))
        shapes += [
            Path(pieces=(line,), colour=colour, width=3, opacity=0.6),
            Dot(x=frame.x(found.value), y=y, radius=3.5, fill=colour),
        ]
    named = zip(("attack", "control", "baseline"), ranges, strict=True)
    details = [f"{name} {found.value:.3f} ({found.low:.3f} to {found.high:.3f})" for name, found in named if found]
    details += [] if ideal is None else [f"ideal {ideal:g}"]
    return Canvas(width=260, height=height, title=_with_details(title, details), shapes=tuple(shapes), role="bar")


def epsilon_chart(title: str, lines: Sequence[tuple[str, Sequence[Budgeted]]], legend: bool = False) -> Canvas:
    """Draw a measure over epsilon (logarithmic) with intervals; systems without epsilon are horizontal lines.

    A single chart has a legend; several on one page share theirs.
    """
    points = [point for _, found in lines for point in found]
    budgets = sorted({epsilon for epsilon, _, _ in points if epsilon is not None})
    logs = [math.log(epsilon) for epsilon in budgets] or [0.0]
    # An interval may exceed the range of the measure; the axis does not follow it there.
    low, high = min([0.0, *(m for _, m, _ in points)]), max([1e-12, *(m + (half or 0) for _, m, half in points)])
    frame = Frame(left=50, right=332, top=10, bottom=190, up=(low, high))
    alone = (logs[0] - 1, logs[0] + 1)
    place = Frame(left=64, right=318, top=0, bottom=0, across=(logs[0], logs[-1]) if len(logs) > 1 else alone)
    shapes = frame.axes(
        "epsilon (log scale)", _with_room([(place.x(math.log(e)), f"{e:g}") for e in budgets]),
        [(12, f"{high:.3g}" if high > 1e-12 else ""), (190, f"{low:.3g}")],
    )  # fmt: skip
    for at, (name, found) in enumerate(lines):
        colour, dash = line_colour(at), DASHES[at % len(DASHES)]
        known = [(place.x(math.log(e)), m, half) for e, m, half in found if e is not None]
        flat = [((frame.left, frame.y(m)), (frame.right, frame.y(m))) for e, m, _ in found if e is None]
        pieces = (tuple((x, frame.y(m)) for x, m, _ in known),) if known else tuple(flat)
        shapes.append(Path(pieces=pieces, colour=colour, width=2, dash=dash, title=name))
        shapes += [Dot(x=x, y=frame.y(m), radius=3.2, fill=colour, title=name) for x, m, _ in known]
        whiskers = tuple(((x, frame.y(m - half)), (x, frame.y(m + half))) for x, m, half in known if half)
        shapes += [Path(pieces=whiskers, colour=colour)] if whiskers else []
    height = 230
    if legend:
        for at, (name, _) in enumerate(lines):
            shapes.append(Dot(x=58, y=height + 10, radius=4, fill=line_colour(at)))
            shapes.append(Label(x=68, y=height + 14, text=name))
            height += 18
        height += 20
        shapes.append(Label(x=170, y=height - 8, text=title, anchor="middle"))
    details = [f"{name} " + ", ".join(_describe_at_budget(e, m) for e, m, _ in found) for name, found in lines]
    title = _with_details(f"{title} over epsilon", details)
    return Canvas(width=340, height=height, title=title, shapes=tuple(shapes) if points else ())


def _with_room(marks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return texts below an axis that do not overlap: round numbers, which are short, first."""
    kept: list[tuple[float, str]] = []
    for x, text in sorted(marks, key=lambda mark: (len(mark[1]), mark[0])):
        if all(abs(x - other) > LETTER * (len(text) + len(beside) + 2) / 2 for other, beside in kept):
            kept.append((x, text))
    return sorted(kept)


def _describe_at_budget(epsilon: float | None, mean: float) -> str:
    return f"{mean:.3g}" if epsilon is None else f"{mean:.3g} at {epsilon:g}"


def box_chart(title: str, boxes: Sequence[tuple[str, Sequence[float]]]) -> Canvas:
    """Draw box plots on one scale; each has a name, minimum, quartiles and maximum."""
    ends = [value for _, five in boxes for value in five if math.isfinite(value)] or [0.0]
    low, high = min(ends), max(ends)
    bottom = 8.0 + 16 * len(boxes)
    frame = Frame(left=150, right=560, top=4, bottom=bottom, across=(low, high))
    shapes = frame.axes(title, [(frame.left, f"{low:.3g}"), (frame.right, f"{high:.3g}")], [])
    if low < 0 < high:
        shapes.append(Path(pieces=(((frame.x(0.0), 4), (frame.x(0.0), bottom)),), colour=AXIS, dash="2 2"))
    for at, (name, five) in enumerate(boxes):
        y, (least, first, middle, third, most) = 16.0 + 16 * at, map(frame.x, five)
        whiskers = ((least, y), (first, y)), ((third, y), (most, y))
        details = f"{name}: median {five[2]:.3g}, quartiles {five[1]:.3g} and {five[3]:.3g}"
        shapes += [
            Path(pieces=whiskers, colour=SYNTHETIC),
            Path(pieces=(make_rectangle(first, y - 5, third, y + 5),), colour=SYNTHETIC, fill=SYNTHETIC, opacity=0.4),
            Path(pieces=(((middle, y - 5), (middle, y + 5)),), colour=INK, width=1.5, title=details),
            Label(x=frame.left - 6, y=y + 4, text=name, anchor="end"),
        ]
    title = _with_details(title, [f"{name} median {five[2]:.3g}" for name, five in boxes])
    return Canvas(width=600, height=bottom + 36, title=title, shapes=tuple(shapes), role="boxes")


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeoffPoint:
    """One release: a method, level or epsilon. Points of a group (levels or epsilons of one method) are joined."""

    name: str
    group: str
    utility: Triple
    risk: Triple


@dataclass(frozen=True, slots=True, kw_only=True)
class Tradeoff:
    """Releases by utility and risk; a risk is better "higher" (a privacy gain) or "lower" (a privacy score or MAB)."""

    points: tuple[TradeoffPoint, ...]
    utility_title: str
    risk_title: str
    better_utility: str = "higher"
    better_risk: str = "lower"

    @property
    def best(self) -> tuple[TradeoffPoint, ...]:
        """The undominated points: no other one is as good in both respects and better in one."""
        up, out = (1 if better == "higher" else -1 for better in (self.better_utility, self.better_risk))
        pairs = [(up * p.utility[0], out * p.risk[0]) for p in self.points]
        return tuple(
            point
            for point, (u, v) in zip(self.points, pairs, strict=True)
            if not any(a >= u and b >= v and (a > u or b > v) for a, b in pairs) and not math.isnan(u + v)
        )


def tradeoff_chart(plot: Tradeoff) -> Canvas:
    """Draw the plot: points have tooltips with all numbers; undominated points are filled."""
    frame = Frame(
        left=64, right=624, top=16, bottom=368, across=_span([p.utility for p in plot.points]),
        up=_span([p.risk for p in plot.points]),
    )  # fmt: skip
    title = f"{plot.utility_title} ({plot.better_utility} is better)"
    beside = f"{plot.risk_title} ({plot.better_risk} is better)"
    below = [(frame.x(v), f"{v:.3g}") for v in np.linspace(*frame.across, TICKS)]
    shapes = frame.axes(title, below, [(frame.y(v), f"{v:.3g}") for v in np.linspace(*frame.up, TICKS)])
    shapes.append(Label(x=14, y=(frame.top + frame.bottom) / 2, text=beside, anchor="middle", turned=True))
    best = plot.best
    for at, group in enumerate(dict.fromkeys(point.group for point in plot.points)):
        chosen = [point for point in plot.points if point.group == group]
        line = tuple(frame.at(p.utility[0], p.risk[0]) for p in chosen)
        shapes += [Path(pieces=(line,), colour=line_colour(at), opacity=0.4)] if len(line) > 1 else []
        shapes += [_draw_point(point, point in best, line_colour(at), frame) for point in chosen]
    label = f"{plot.risk_title} against {plot.utility_title}; undominated: {', '.join(p.name for p in best)}"
    return Canvas(width=640, height=420, title=label, shapes=tuple(shapes), role="tradeoff", style=STYLE)


def _draw_point(point: TradeoffPoint, best: bool, colour: str, frame: Frame) -> Shape:
    (u, u_low, u_high), (r, r_low, r_high) = point.utility, point.risk
    details = (
        f"{point.name}: utility {u:.3f} ({u_low:.3f} to {u_high:.3f}), risk {r:.3f} ({r_low:.3f} to {r_high:.3f})"
        f"{', undominated' if best else ''}"
    )
    x, y = frame.at(u, r)
    bars = (frame.at(u_low, r), frame.at(u_high, r)), (frame.at(u, r_low), frame.at(u, r_high))
    return Group(
        title=details,
        shapes=(
            Path(pieces=bars, colour=colour, width=1.5, opacity=0.25),
            Dot(x=x, y=y, radius=5.5, fill=colour if best else PAPER, colour=colour),
            Label(x=x + 8, y=y - 7, text=point.name, role="name"),
        ),
    )


def _span(values: Sequence[Triple]) -> tuple[float, float]:
    """Return a range of all points, and of their intervals if these are finite and not far beyond the points."""
    centres = [v[0] for v in values if math.isfinite(v[0])] or [0.0]
    low, high = min(centres), max(centres)
    room = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-6)
    ends = [end for v in values for end in v[1:] if math.isfinite(end) and low - room <= end <= high + room]
    low, high = min([low, *ends]), max([high, *ends])
    return low - 0.06 * (high - low or room), high + 0.06 * (high - low or room)

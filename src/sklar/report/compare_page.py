"""The report on a comparison: one self-contained HTML page, and its drawings of utility over epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from sklar.report import colors
from sklar.report.compare_facts import CompareFacts, PlotFact
from sklar.report.drawing import DASHES, line_color
from sklar.report.tradeoff import tradeoff_svg

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 340, 230, 50, 40, 10


def render_comparison(facts: CompareFacts) -> str:
    """The page."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("sklar.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    order = [system.name for system in facts.systems]
    shown: dict[str, Any] = environment.globals  # type: ignore[assignment]
    shown.update(
        colors=colors, figure=figure, spread=spread, epsilon_text=epsilon_text, seconds=seconds, gigabytes=gigabytes,
        line_color=lambda name: line_color(order.index(name)),
        epsilon_drawing=lambda fact: Markup(epsilon_drawing(fact, order)),
        tradeoff_drawing=lambda fact: Markup(tradeoff_svg(fact)),
    )  # fmt: skip
    return environment.get_template("compare.html").render(facts=facts)


def figure(value: float | None) -> str:
    """A number with four digits, or a dash."""
    return "-" if value is None else f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"


def spread(half: float | None) -> str:
    """Half an interval."""
    return "" if half is None else f"± {figure(half)}"


def epsilon_text(epsilon: float | None) -> str:
    """An epsilon, or a dash for systems without one."""
    return "-" if epsilon is None else f"{epsilon:g}"


def seconds(value: float | None) -> str:
    """A time."""
    return "-" if value is None else f"{value:.1f} s"


def gigabytes(value: float | None) -> str:
    """An amount of memory."""
    return "-" if value is None else f"{value / 1e9:.2f} GB"


def epsilon_drawing(fact: PlotFact, order: Sequence[str]) -> str:
    """A measure over epsilon (on a logarithmic scale) with intervals; systems without epsilon as horizontal lines."""
    budgets = sorted({e for line in fact.lines for e, _, _ in line.points if e is not None})
    heights = [
        y for line in fact.lines for _, mean, half in line.points for y in (mean - (half or 0), mean + (half or 0))
    ]
    if not heights:
        return ""
    # An interval may reach beyond what the measure can be; the axis does not follow it there.
    low, high = min([0.0, *(mean for line in fact.lines for _, mean, _ in line.points)]), max([*heights, 1e-12])
    axis = _Axis(budgets, low, high)
    label = f"{fact.title} over epsilon"
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">']
    parts.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - 8}" stroke="#767676" fill="none"/>')
    for line in fact.lines:
        at = order.index(line.system)
        parts.append(_line(line.points, axis, line_color(at), DASHES[at % len(DASHES)], line.system))
    parts += [_text(axis.x(e), HEIGHT - BOTTOM + 14, f"{e:g}", "middle") for e in budgets]
    parts += [
        _text(LEFT - 4, TOP + 6, f"{high:.3g}", "end"), _text(LEFT - 4, HEIGHT - BOTTOM, f"{low:.3g}", "end"),
        _text((WIDTH + LEFT) / 2, HEIGHT - 8, "epsilon (log scale)", "middle"),
    ]  # fmt: skip
    return "".join(parts) + "</svg>"


class _Axis:
    """Places of epsilons and values."""

    def __init__(self, budgets: Sequence[float], low: float, high: float):
        self._logs = [math.log(e) for e in budgets] or [0.0]
        self.low, self._high = low, high

    def x(self, epsilon: float) -> float:
        width = (max(self._logs) - min(self._logs)) or 1.0
        share = (math.log(epsilon) - min(self._logs)) / width if len(self._logs) > 1 else 0.5
        return round(LEFT + 14 + (WIDTH - LEFT - 36) * share, 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / ((self._high - self.low) or 1.0)
        return round(TOP + (HEIGHT - BOTTOM - TOP) * (1 - share), 1)


def _line(
    points: Sequence[tuple[float | None, float, float | None]], axis: _Axis, color: str, dash: str, name: str
) -> str:
    style = f'stroke="{color}" stroke-width="2" stroke-dasharray="{dash}" fill="none"'
    title = f"<title>{escape(name)}</title>"
    known = [(axis.x(e), mean, half) for e, mean, half in points if e is not None]
    if not known:
        return "".join(f'<path d="M{LEFT} {axis.y(mean)}H{WIDTH - 8}" {style}>{title}</path>' for _, mean, _ in points)
    out = [f'<polyline points="{" ".join(f"{x},{axis.y(mean)}" for x, mean, _ in known)}" {style}>{title}</polyline>']
    for x, mean, half in known:
        out.append(f'<circle cx="{x}" cy="{axis.y(mean)}" r="3.2" fill="{color}">{title}</circle>')
        if half:
            out.append(f'<path d="M{x} {axis.y(max(mean - half, axis.low))}V{axis.y(mean + half)}" stroke="{color}"/>')
    return "".join(out)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'

"""The privacy-utility plot: what each release is worth against what an attack gets out of it; the best are marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sklar.errors import MissingExtraError
from sklar.report.drawing import LINES

Scale = Callable[[float], float]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 420, 64, 52, 16, 16


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
    utility: tuple[float, float, float]
    risk: tuple[float, float, float]


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


def undominated(plot: Tradeoff) -> tuple[bool, ...]:
    """Which points no other point beats: none is as good in both respects and better in one."""
    one = [p.utility[0] if plot.better_utility == "higher" else -p.utility[0] for p in plot.points]
    two = [p.risk[0] if plot.better_risk == "higher" else -p.risk[0] for p in plot.points]
    pairs = list(zip(one, two, strict=True))
    return tuple(
        not any(a >= u and b >= v and (a > u or b > v) for a, b in pairs) and not math.isnan(u + v) for u, v in pairs
    )


def tradeoff_svg(plot: Tradeoff) -> str:
    """The plot as one SVG: hover a point (or read its title) for all its numbers; undominated points are filled."""
    if not plot.points:
        return ""
    spans = [_span([p.utility for p in plot.points]), _span([p.risk for p in plot.points])]

    def x(value: float) -> float:
        low, high = spans[0]
        return LEFT + (WIDTH - LEFT - RIGHT) * (min(max(value, low), high) - low) / (high - low)

    def y(value: float) -> float:
        low, high = spans[1]
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (min(max(value, low), high) - low) / (high - low)

    groups = list(dict.fromkeys(point.group for point in plot.points))
    best = undominated(plot)
    label = f"{plot.risk_title} against {plot.utility_title}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="tradeoff" role="img" '
        f'aria-label="{escape(label)}">',
        STYLE,
        *_axes(plot, spans, x, y),
    ]
    for at, group in enumerate(groups):
        chosen = [(p, b) for p, b in zip(plot.points, best, strict=True) if p.group == group]
        parts.append(_group(chosen, LINES[at % len(LINES)], x, y))
    return "".join(parts) + "</svg>"


STYLE = (
    "<style>.tradeoff text{font:11px system-ui,sans-serif;fill:#555}.tradeoff .name{opacity:.55}"
    ".tradeoff g.point:hover .name,.tradeoff g.point:focus .name{opacity:1;font-weight:700;fill:#000}"
    ".tradeoff .bar{opacity:.25}.tradeoff g.point:hover .bar,.tradeoff g.point:focus .bar{opacity:1}</style>"
)


def _group(chosen: Sequence[tuple[TradeoffPoint, bool]], color: str, across: Scale, up: Scale) -> str:
    line = " ".join(f"{across(p.utility[0]):.1f},{up(p.risk[0]):.1f}" for p, _ in chosen)
    parts = [f'<polyline points="{line}" fill="none" stroke="{color}" stroke-opacity=".4"/>' if len(chosen) > 1 else ""]
    for point, best in chosen:
        (u, u_low, u_high), (r, r_low, r_high) = point.utility, point.risk
        told = (
            f"{point.name}: utility {u:.3f} ({u_low:.3f} to {u_high:.3f}), risk {r:.3f} ({r_low:.3f} to {r_high:.3f})"
            f"{', undominated' if best else ''}"
        )
        cx, cy = across(u), up(r)
        bars = (
            f'<path class="bar" d="M{across(u_low):.1f} {cy:.1f}H{across(u_high):.1f}M{cx:.1f} {up(r_low):.1f}'
            f'V{up(r_high):.1f}" stroke="{color}" stroke-width="1.5" fill="none"/>'
        )
        fill = color if best else "#fff"
        parts.append(
            f'<g class="point" tabindex="0"><title>{escape(told)}</title>{bars}'
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5.5" fill="{fill}" stroke="{color}" stroke-width="2"/>'
            f'<text class="name" x="{cx + 8:.1f}" y="{cy - 7:.1f}">{escape(point.name)}</text></g>'
        )
    return "".join(parts)


def _axes(plot: Tradeoff, spans: Sequence[tuple[float, float]], across: Scale, up: Scale) -> list[str]:
    bottom = HEIGHT - BOTTOM
    out = [f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" stroke="#767676" fill="none"/>']
    for value in _ticks(*spans[0]):
        out.append(f'<text x="{across(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value:.3g}</text>')
    for value in _ticks(*spans[1]):
        out.append(f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    middle, height = (LEFT + WIDTH - RIGHT) / 2, (TOP + bottom) / 2
    one = f"{plot.utility_title} ({plot.better_utility} is better)"
    two = f"{plot.risk_title} ({plot.better_risk} is better)"
    out.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(one)}</text>')
    turned = f'x="14" y="{height:.0f}" text-anchor="middle" transform="rotate(-90 14 {height:.0f})"'
    out.append(f"<text {turned}>{escape(two)}</text>")
    return out


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    return [low + (high - low) * at / (count - 1) for at in range(count)]


def _span(values: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """A range that holds all points, and their intervals where these are finite and not far beyond the points."""
    centers = [v[0] for v in values if math.isfinite(v[0])] or [0.0]
    low, high = min(centers), max(centers)
    room = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-6)
    ends = [end for v in values for end in v[1:] if math.isfinite(end) and low - room <= end <= high + room]
    low, high = min([low, *ends]), max([high, *ends])
    return low - 0.06 * (high - low or room), high + 0.06 * (high - low or room)


def tradeoff_png(plot: Tradeoff) -> bytes:
    """The same plot as a PNG image, by matplotlib."""
    import io

    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("PNG images need matplotlib: pip install 'sklar[eval]'.") from None
    figure = Figure(figsize=(7.2, 4.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    best, groups = undominated(plot), list(dict.fromkeys(point.group for point in plot.points))
    for at, group in enumerate(groups):
        chosen = [(p, b) for p, b in zip(plot.points, best, strict=True) if p.group == group]
        _draw(axes, chosen, LINES[at % len(LINES)])
    axes.set_xlabel(f"{plot.utility_title} ({plot.better_utility} is better)")
    axes.set_ylabel(f"{plot.risk_title} ({plot.better_risk} is better)")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _draw(axes: Any, chosen: Sequence[tuple[TradeoffPoint, bool]], color: str) -> None:
    axes.plot([p.utility[0] for p, _ in chosen], [p.risk[0] for p, _ in chosen], color=color, alpha=0.4, linewidth=1)
    for point, best in chosen:
        errors = [[[max(0.0, v[0] - v[1])], [max(0.0, v[2] - v[0])]] for v in (point.utility, point.risk)]
        fill = color if best else "white"
        axes.errorbar(
            point.utility[0], point.risk[0], xerr=errors[0], yerr=errors[1], fmt="o", color=color, ecolor=color + "55",
            markerfacecolor=fill, markersize=7,
        )  # fmt: skip
        axes.annotate(point.name, (point.utility[0], point.risk[0]), xytext=(6, 5), textcoords="offset points", size=8)

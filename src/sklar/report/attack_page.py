"""Attacks to one self-contained HTML page for the custodian: no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sklar.report.attack_facts import AttackFact, NumberFact, Range
from sklar.report.colors import REAL, SYNTHETIC
from sklar.report.tradeoff import Tradeoff, tradeoff_svg


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackPageFacts:
    """One report on attacks."""

    notice: str
    label: str
    rows: tuple[tuple[str, int], ...]
    confidence: float
    version: str
    attacks: tuple[AttackFact, ...]
    tradeoff: Tradeoff | None = None


def render_attacks(facts: AttackPageFacts) -> str:
    """The page."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("sklar.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    plot = "" if facts.tradeoff is None else tradeoff_svg(facts.tradeoff)
    return environment.get_template("attacks.html").render(
        facts=facts, interval=interval, bars=lambda fact: Markup(interval_bars(fact)), plot=Markup(plot)
    )


def interval(found: Range | None) -> str:
    """A number with its interval, or a dash."""
    if found is None:
        return "-"
    value, low, high = found
    return f"{value:.3f}" if low == high else f"{value:.3f} ({low:.3f} to {high:.3f})"


def interval_bars(fact: NumberFact) -> str:
    """Attack, control and baseline as intervals on one scale."""
    lines = [(fact.attack, SYNTHETIC), (fact.control, REAL), (fact.baseline, "#767676")]
    shown = [(found, color) for found, color in lines if found is not None]
    ends = [end for found, _ in shown for end in _finite(found)] + ([] if fact.ideal is None else [fact.ideal])
    low, high = min(ends), max(ends)
    room = (high - low) or 1.0

    def x(value: float) -> float:
        return round(6 + 248 * (min(max(value, low), high) - low) / room, 1)

    parts = [f'<svg viewBox="0 0 260 {10 * len(shown) + 6}" role="img" aria-label="{escape(fact.title)}" class="bar">']
    if fact.ideal is not None:
        parts.append(f'<path d="M{x(fact.ideal)} 0V{10 * len(shown) + 6}" stroke="#000" stroke-dasharray="2 2"/>')
    for at, (found, color) in enumerate(shown):
        y = 8 + 10 * at
        parts.append(f'<path d="M{x(found[1])} {y}H{x(found[2])}" stroke="{color}" stroke-width="3" opacity=".6"/>')
        parts.append(f'<circle cx="{x(found[0])}" cy="{y}" r="3.5" fill="{color}"/>')
    return "".join(parts) + "</svg>"


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if abs(value) < 1e300]

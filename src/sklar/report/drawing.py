"""Small drawings as inline SVG: margins, curves and bars. Texts are escaped; sizes are in user units."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sklar.report.colors import REAL, SYNTHETIC
from sklar.report.facts import CurveFact, MarginFact

WIDTH, HEIGHT = 280, 110
LINES = (SYNTHETIC, REAL, "#009E73", "#CC79A7", "#56B4E9", "#000000")
DASHES = ("", "6 3", "2 2", "8 2 2 2", "1 3", "")


def margin_drawing(fact: MarginFact) -> str:
    """Cells of a column: the real shares filled, the synthetic ones as a line with marks."""
    cells, top = max(1, len(fact.real)), max([*fact.real, *fact.synthetic, 1e-12])
    step = WIDTH / cells

    def y(share: float) -> float:
        return round(HEIGHT - 4 - (HEIGHT - 10) * share / top, 1)

    gap = 0.0 if fact.numeric else min(step * 0.2, 6)
    bars = "".join(
        f"M{_n(i * step + gap / 2)} {HEIGHT - 4}V{y(s)}h{_n(step - gap)}V{HEIGHT - 4}Z"
        for i, s in enumerate(fact.real)
        if s > 0
    )
    marks = "".join(f"M{_n(i * step + gap / 2)} {y(s)}h{_n(step - gap)}" for i, s in enumerate(fact.synthetic))
    title = f"Shares of {fact.column}: real filled, synthetic as lines; distance {fact.distance:.3f}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'<path d="{bars}" fill="{REAL}" fill-opacity=".4"/>'
        f'<path d="{marks}" stroke="{SYNTHETIC}" stroke-width="2.5" fill="none"/>'
        f'<path d="M0 {HEIGHT - 4}H{WIDTH}" stroke="#767676"/></svg>'
    )


def curve_drawing(fact: CurveFact) -> str:
    """Lines over a common axis, with the diagonal as the ideal where it is one."""
    width, height, left, bottom = 320, 220, 44, 36
    low, high = (min(fact.x), max(fact.x)) if fact.x else (0.0, 1.0)
    heights: list[float] = [v for _, line in fact.lines for v in line]
    top = max([1e-12, 1.0 if fact.ideal else 0.0, *heights])

    def place(x: float, y: float) -> str:
        across = left + (width - left - 8) * (x - low) / ((high - low) or 1.0)
        return f"{_n(across)},{_n(8 + (height - bottom - 8) * (1 - y / top))}"

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(fact.title)}">']
    parts.append(f'<path d="M{left} 8V{height - bottom}H{width - 8}" stroke="#767676" fill="none"/>')
    if fact.ideal:
        parts.append(f'<polyline points="{place(0, 0)} {place(1, 1)}" stroke="#767676" stroke-dasharray="3 3"/>')
    for at, (_, line) in enumerate(fact.lines):
        points = " ".join(place(x, y) for x, y in zip(fact.x, line, strict=True))
        color, dash = LINES[at % len(LINES)], DASHES[at % len(DASHES)]
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.2" stroke-dasharray="{dash}"/>'
        )
    parts += [
        _text(left - 4, 14, f"{top:.3g}", "end"), _text(left - 4, height - bottom, "0", "end"),
        _text(left, height - bottom + 14, f"{low:.3g}", "start"),
        _text(width - 8, height - bottom + 14, f"{high:.3g}", "end"),
        _text((width + left) / 2, height - 6, fact.x_title, "middle"),
    ]  # fmt: skip
    return "".join(parts) + "</svg>"


def line_color(at: int) -> str:
    """The color of a line, for its legend."""
    return LINES[at % len(LINES)]


def learning_bar(real: float, synthetic: float, noise: float, low: float, high: float) -> str:
    """Two bars on one scale, the noise of the real one as a whisker."""
    width, height = 260, 26

    def x(value: float) -> float:
        return round(width * (min(max(value, low), high) - low) / ((high - low) or 1.0), 1)

    zero = x(0.0)
    label = f"real {real:.3f}, synthetic {synthetic:.3f}"
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}" class="bar">'
        f"{_bar(zero, x(real), 2, REAL)}{_bar(zero, x(synthetic), 14, SYNTHETIC)}"
        f'<path d="M{x(real - noise)} 7H{x(real + noise)}" stroke="#000" stroke-width="1.5"/>'
        f'<path d="M{zero} 0V{height}" stroke="#767676"/></svg>'
    )


def _bar(zero: float, end: float, y: int, color: str) -> str:
    place = f'x="{min(zero, end)}" y="{y}" width="{_n(abs(end - zero))}" height="10"'
    return f'<rect {place} fill="{color}" fill-opacity=".8"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _n(value: float) -> str:
    """A short number."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def stacked_parts(parts: Sequence[tuple[str, float]]) -> str:
    """Parts of a sum as lengths on one bar."""
    width, total = 320.0, sum(v for _, v in parts) or 1.0
    out, at = ['<svg viewBox="0 0 320 22" role="img" aria-label="parts of the sum">'], 0.0
    for i, (_, value) in enumerate(parts):
        size = width * value / total
        out.append(f'<rect x="{_n(at)}" y="2" width="{_n(size)}" height="18" fill="{LINES[i]}" fill-opacity=".75"/>')
        at += size
    return "".join(out) + "</svg>"

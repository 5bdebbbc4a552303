"""Facts to one self-contained HTML page: no script, no network, prints well."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from sklar.report import colors
from sklar.report.attack_page import interval, interval_bars
from sklar.report.colors import diverge, shade
from sklar.report.drawing import curve_drawing, learning_bar, line_color, margin_drawing
from sklar.report.facts import LearnedFact, MarginFact, MatrixFact, PairFact, ReportFacts
from sklar.report.pixels import grid_image

FIRST_MARGINS = 12
"""Columns that are shown at once; the others are folded."""
GRADES = {"sampling": "at the floor", "good": "good", "fair": "fair", "poor": "poor", "none": "none"}


def render(facts: ReportFacts) -> str:
    """The page."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("sklar.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    shown: dict[str, Any] = environment.globals  # type: ignore[assignment]
    shown.update(
        colors=colors, grades=GRADES, number=number, first_margins=FIRST_MARGINS, line_color=line_color,
        margin_card=lambda fact: Markup(margin_card(fact)),
        curve_drawing=lambda fact: Markup(curve_drawing(fact)),
        bar=lambda rows, row: Markup(bar(rows, row)),
        matrix_image=matrix_image, pair_image=pair_image, interval=interval,
        interval_bars=lambda fact: Markup(interval_bars(fact)),
    )  # fmt: skip
    return environment.get_template("report.html").render(facts=facts)


def number(value: float | None) -> str:
    """A number with three digits after the point, or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3f}"


def margin_card(fact: MarginFact) -> str:
    """One column: its drawing, and what its axis means."""
    floor = "" if fact.floor is None else f" ({fact.floor:.3f})"
    if fact.numeric:
        nulls = [f"null {r:.1%} / {s:.1%}" for label, r, s in zip(fact.labels, fact.real, fact.synthetic) if label]  # noqa: B905
        axis = " ".join([f"{fact.low} to {fact.high}", *nulls])
    else:
        shown = [label for label in fact.labels if label][:4]
        more = len(fact.labels) - len(shown)
        axis = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return (
        f"<figure><strong>{escape(fact.column)}</strong> <span class='soft'>d {fact.distance:.3f}{floor}</span>"
        f"{margin_drawing(fact)}<figcaption>{escape(axis)}</figcaption></figure>"
    )


def matrix_image(fact: MatrixFact, which: str) -> str:
    """Correlations as an image."""
    if which == "difference":
        rows = [
            [abs(b) - abs(a) for a, b in zip(one, two, strict=True)]
            for one, two in zip(fact.real, fact.synthetic, strict=True)
        ]
        return grid_image(rows, lambda value: diverge(value, 0.5))
    return grid_image(fact.real if which == "real" else fact.synthetic, lambda value: shade(abs(value)))


def pair_image(fact: PairFact, which: str) -> str:
    """Joint shares as an image; both tables on the scale of the real one, by square roots so that rare cells show."""
    top = max((x for row in fact.real for x in row), default=0.0) ** 0.5
    rows: Sequence[Sequence[float]] = fact.real if which == "real" else fact.synthetic
    return grid_image([list(row) for row in reversed(rows)], lambda value: shade(value**0.5, top))


def bar(rows: Sequence[LearnedFact], row: LearnedFact) -> str:
    """The bars of one measure, on the scale of all learners."""
    same: list[Any] = [r for r in rows if r.measure == row.measure]
    high = max([1.0 if row.measure != "rmse" else 0.0, *(max(r.real, r.synthetic) for r in same)])
    low = min([0.0, *(max(-1.0, min(r.real, r.synthetic)) for r in same)])
    return learning_bar(row.real, row.synthetic, row.noise, low, high)

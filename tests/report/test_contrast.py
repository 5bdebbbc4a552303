"""WCAG 2.2 AA, computed from the pages' own styles: every text on every ground, and every mark on the paper."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

import sklar
from sklar.report.charts.canvas import to_svg
from sklar.report.charts.trees import draw_vine
from sklar.report.colours import LINES, PAPER, THEME, theme_colour
from sklar.report.page import render
from tests.report.test_page import page

TEXT, MARK = 4.5, 3.0
"""Least contrast of texts (success criterion 1.4.3) and of what must be seen to understand a picture (1.4.11)."""
MODES = ("light", "dark")
PAGES = ("report", "attacks", "compare", "public", "plan")
Tokens = dict[str, str]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    """Contrast ratio, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One page of each kind; all of a kind have the same styles, whatever was found."""
    path = tmp_path_factory.mktemp("pages") / "a.custodian.html"
    rows = {"age": [20, 30, 40] * 40, "sex": ["F", "M", "F"] * 40}
    schema = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
    sklar.attack("copies", rows, rows, schema).html(path)
    measure = SimpleNamespace(title="Error", better="lower", says="Says.")
    standing = SimpleNamespace(rank=1, system="dp", mean=0.5, half=0.1, folds=2, first=True)
    found = SimpleNamespace(
        real_rows=1, columns=2, settings=SimpleNamespace(folds=2, delta=0, target=None), advice="Think.", systems=(),
        failures=(), notes=("Note.",), measures=(measure,), lines=lambda _: [("dp", [(1.0, 0.5, 0.1)])],
        tradeoffs={}, budgets=(1.0,), standings=lambda *_: (standing,),
    )  # fmt: skip
    compared = render("compare.html", title="t", notice="n", version="0", found=found, rule="r", made="m")
    public = {name: path.with_name(f"{name}.public.html") for name in ("public", "plan")}
    sklar.fit(rows, schema, method="independent", epsilon=9.0).report(public["public"])
    sklar.plan(schema, epsilon=1.0).write(public["plan"])
    told = {name: written.read_text() for name, written in public.items()}
    return {"report": page(4), "attacks": path.read_text(), "compare": compared, **told}


def style_of(html: str) -> str:
    return re.sub(r"\s+", " ", html.partition("<style>")[2].partition("</style>")[0])


def tokens(style: str, mode: str) -> Tokens:
    """The variables of a mode: those of the first :root, or of the one inside the dark media query."""
    start = style.index("prefers-color-scheme: dark") if mode == "dark" else 0
    block = style[style.index(":root", start) :].partition("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-fA-F]{6})", block))


def used(html: str, what: str) -> set[str]:
    """Variables that a property of any rule or element is set to."""
    return set(re.findall(rf"(?<![\w-]){what}\s*[:=]\s*\"?var\(--([\w-]+)", html))


def failures(html: str, mode: str, found: Tokens | None = None) -> list[str]:
    """Texts and marks with too little contrast."""
    colours = found or tokens(style_of(html), mode)
    style = style_of(html)
    grounds = {name for name in used(style, "background") if name not in ("real", "synthetic")}
    texts = used(style, "color") | {"soft"}
    marks = used(html, "stroke") | used(html, "fill") | used(style, "border-left") - {"line"}
    faults = [
        f"{mode}: {text} on {ground}"
        for text in texts for ground in grounds if contrast(colours[text], colours[ground]) < TEXT
    ]  # fmt: skip
    return faults + [
        f"{mode}: {mark}" for mark in marks - {"paper"} if contrast(colours[mark], colours["paper"]) < MARK
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PAGES)
def test_texts_and_marks_can_be_read(pages: dict[str, str], name: str, mode: str) -> None:
    html = pages[name]
    assert failures(html, mode) == []
    assert {"ink", "soft", "alarm", "link"} <= used(style_of(html), "color")
    assert {"paper", "wash", "alarm-wash", "good-wash"} <= used(style_of(html), "background")


def test_the_check_would_fail(pages: dict[str, str]) -> None:
    """Colours of Okabe and Ito as they are: orange texts and light blue lines have too little contrast on white."""
    found = tokens(style_of(pages["report"]), "light") | {"synthetic-text": "#D55E00", "soft": "#999999"}
    faults = failures(pages["report"], "light", found)
    assert "light: synthetic-text on paper" in faults and "light: soft on paper" in faults
    assert contrast("#56B4E9", PAPER) < MARK < contrast("#000000", PAPER) == pytest.approx(21)


@pytest.mark.parametrize("name", PAGES)
def test_colours_come_from_the_theme_alone(pages: dict[str, str], name: str) -> None:
    """What is not in the theme would not turn dark; opacity would thin texts unseen by the check above."""
    style = style_of(pages[name])
    rules = re.sub(r":root \{.*?\}", "", style)
    assert not re.findall(r"#[0-9a-fA-F]{3,6}\b", rules)
    assert "opacity" not in rules
    body = pages[name].partition("</style>")[2]
    assert not re.findall(r'style="[^"]*#[0-9a-fA-F]{3}', body)
    assert not re.findall(r'(?:fill|stroke)="#', body)


@pytest.mark.parametrize("mode", [0, 1])
def test_lines_of_charts_can_be_told_from_the_paper_in_both_modes(mode: int) -> None:
    names = [re.sub(r"var\(--([\w-]+)\)", r"\1", theme_colour(line)) for line in LINES]
    assert set(names) <= set(THEME)
    assert all(contrast(THEME[name][mode], THEME["paper"][mode]) >= MARK for name in names)


def test_texts_of_drawings_on_their_own_can_be_read() -> None:
    edge = {"first": "a", "second": "b", "given": (), "family": "frank", "tau": -0.4}
    svg = to_svg(draw_vine(["a", "b"], [[edge]]))
    texts = re.findall(r'<text [^>]*fill="(#[0-9a-fA-F]{6})"', svg)
    assert texts and all(contrast(colour, PAPER) >= TEXT for colour in texts)
    assert PAPER in svg


@pytest.mark.parametrize("name", PAGES)
def test_heads_of_tables_say_what_they_head(pages: dict[str, str], name: str) -> None:
    heads = re.findall(r"<th\b[^>]*>", pages[name])
    assert all("scope=" in head for head in heads) and heads
    pictures = re.findall(r"<svg [^>]*>", pages[name])
    assert pictures
    assert all(re.search(r'role="img" aria-label="[^"]{10,}"', picture) for picture in pictures)

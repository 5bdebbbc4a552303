"""The page stands alone, escapes what it is told, and stays light with many columns."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from sklar.report.colors import diverge, shade
from sklar.report.facts import (
    CurveFact,
    GEpsilonFact,
    LearnedFact,
    MarginFact,
    MatrixFact,
    PairFact,
    ReportFacts,
    ScoreFact,
    TableFact,
    WorstFact,
)
from sklar.report.page import render
from sklar.report.pixels import grid_image

EVIL = "<script>alert(1)</script>\"'&"
SCORE = ScoreFact(
    name="tvd1", title="Single columns", says="Says.", reference="Ref", value=0.1, floor=0.05, better="lower",
    grade="fair", rows=100, reason=None,
)  # fmt: skip


def facts(columns: int, name: str = "column") -> ReportFacts:
    names = tuple(f"{name} {i}" for i in range(columns))
    margin = MarginFact(
        column=name, kind="real", labels=("",) * 32, real=(1 / 32,) * 32, synthetic=(1 / 32,) * 32, numeric=True,
        low="0", high="1", distance=0.0, floor=None,
    )  # fmt: skip
    label = replace(margin, labels=(EVIL, "b"), real=(0.5, 0.5), synthetic=(0.0, 1.0), numeric=False)
    row = (*(0.5,) * (columns - 1), math.nan)
    table = TableFact(
        name=name, rows=10, verdict=(f"Fine {name}.",), warnings=(name,), claim=name,
        scores=(SCORE, replace(SCORE, value=None, floor=None, grade="none", reason="because.")),
        margins=(label, *(replace(margin, column=n) for n in names[1:])),
        matrix=MatrixFact(measure="phi_k", columns=names, real=(row,) * columns, synthetic=(row,) * columns),
        worst_columns=(), worst_pairs=(WorstFact(columns=names[:2], value=0.2, floor=None),),
        pairs=(PairFact(columns=(name, "b"), real=((0.1, 0.2),), synthetic=((0.0, 0.3),)),),
        curves=(CurveFact(title=name, x_title="x", y_title="y", x=(0.0, 1.0), lines=((name, (0, 1)),), ideal=True),),
        learning_title=name, learned=(LearnedFact(learner="tree", measure="auc", real=0.8, synthetic=0.7, noise=0.01),),
        g_epsilon=GEpsilonFact(
            mu=0.1, mu_mean=0.1, delta=0.1, nu=0.1, weights=(1.0, 1.0, 1.0), targets=(name,), learners=("tree",),
            g_epsilon=0.2, g_epsilon_plus=0.3,
        ),
        unchecked=(name,),
    )  # fmt: skip
    return ReportFacts(
        title=name, notice="For the custodian: computed from real rows, not private.", real_rows=12_345,
        holdout_rows=None, columns=columns, version="0", tables=(table,),
    )  # fmt: skip


class Balanced(HTMLParser):
    """Counts open tags and collects addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "data", "action")]
        if tag not in ("meta", "img", "br", "path", "rect", "polyline", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_texts_are_escaped_everywhere() -> None:
    page = render(facts(4, EVIL))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_page_is_well_formed_and_asks_for_nothing() -> None:
    reader = Balanced()
    page = render(facts(20))
    reader.feed(page)
    assert reader.open == []
    assert all(address.startswith(("data:image/png", "#")) for address in reader.addresses)
    assert not re.search(r"@import|url\(|https?:", page)


def test_what_does_not_apply_says_why() -> None:
    page = render(facts(4))
    assert "Not computed: because." in page
    assert "12,345 real rows" in page
    assert "For the custodian: computed from real rows, not private." in page


def test_a_hundred_columns_stay_light() -> None:
    assert len(render(facts(100)).encode()) < 400_000


def test_images_hold_the_colors() -> None:
    raw = base64.b64decode(grid_image([[0.0, 1.0], [0.5, math.nan]], shade).split(",")[1])
    assert struct.unpack(">II", raw[16:24]) == (2, 2)
    start = raw.index(b"IDAT") + 4
    pixels = zlib.decompress(raw[start : raw.index(b"IEND") - 8])
    assert pixels[1:4] == bytes(shade(0.0)) == b"\xff\xff\xff"
    assert pixels[11:14] == bytes(shade(math.nan))


@pytest.mark.parametrize("value", [-2.0, -0.3, 0.0, 0.3, 2.0])
def test_color_scales_are_monotone_and_bounded(value: float) -> None:
    assert all(0 <= x <= 255 for x in (*shade(value), *diverge(value)))
    assert sum(shade(0.2)) > sum(shade(0.9))
    assert diverge(0.0) == (255, 255, 255)

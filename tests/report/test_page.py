"""The page stands alone, escapes what it is told, and stays light with many columns."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from sklar.lab.intervals import Estimate, exact_estimate
from sklar.lab.learning.transfer import Learned, Transfer
from sklar.lab.metrics.correlations.matrices import Correlations
from sklar.lab.metrics.g_epsilon import GEpsilon
from sklar.lab.metrics.moments import ColumnMoments, ColumnSummary
from sklar.lab.metrics.offices.coefficients import Coefficient, ComparedRegression
from sklar.lab.metrics.offices.disclosure import Disclosure, Uniques
from sklar.lab.metrics.offices.propensity import Propensity
from sklar.lab.metrics.queries import Answered, ErrorLine, QueryProfiles, QuerySet
from sklar.lab.metrics.score import About, Part, Score, not_applicable
from sklar.lab.metrics.subgroups import Subgroup, Subgroups
from sklar.lab.metrics.support import Support
from sklar.lab.overview import MarginPicture, Overview, PairPicture
from sklar.notebook import interval_text
from sklar.report.charts.canvas import image_address
from sklar.report.colours import diverge, shade
from sklar.report.page import format_figure, format_number, format_setting, learning_span, make_sentence, render
from sklar.schema import Real

EVIL = "<script>alert(1)</script>\"'&"
ABOUT = About(
    name="tvd1", title="Single columns", says="Says.", reference="Ref", lower=0.0, upper=1.0, better="lower", good=0.03,
    fair=0.2,
)  # fmt: skip
SCORE = Score(about=ABOUT, value=0.1, floor=0.05, rows=100)


def page(columns: int, name: str = "column") -> str:
    names = tuple(f"{name} {i}" for i in range(columns))
    margin = MarginPicture(
        column=name, kind="real", labels=tuple(f"{i} to {i + 1}" for i in range(32)), real=(1 / 32,) * 32,
        synthetic=(1 / 32,) * 32, numeric=True, ticks=((0.0, name), (0.5, "16")), distance=0.0, floor=None,
    )  # fmt: skip
    label = replace(margin, labels=(EVIL, "b"), real=(0.5, 0.5), synthetic=(0.0, 1.0), numeric=False)
    matrix = np.full((columns, columns), 0.5)
    matrix[:, -1] = math.nan
    g = GEpsilon(
        mu=0.1, mu_mean=0.1, delta=0.1, nu=0.1, weights=(1.0, 1.0, 1.0), targets=(name,), learners=("tree",),
        measures=("r2",), g_epsilon=0.2, score=SCORE,
    )  # fmt: skip
    learned = Transfer(
        target=name, task="classification", folds=3, score=SCORE,
        results=(Learned(learner="tree", measure="auc", real=0.8, synthetic=0.7, noise=0.01),),
    )  # fmt: skip
    support = Support(
        precision=SCORE, recall=SCORE, levels=(0.0, 1.0), precision_curve=(0.0, 1.0), recall_curve=(0.0, 1.0)
    )
    line = ErrorLine(share=1.0, average=12_345.0, largest=2e9)
    answered = Answered(source=name, lines=(line,) * 3, cdf=(0.0, 1.0))
    asked = QuerySet(name=name, queries=7, errors=(0.1, 2e9), answered=(answered,))
    seen = Overview(
        margins=(label, *(replace(margin, column=n) for n in names[1:])),
        matrix=Correlations(measure="phi_k", columns=names, real=matrix, synthetic=matrix),
        pairs=(
            PairPicture(
                columns=(name, "b"),
                real=np.array([[0.1, 0.2]]),
                synthetic=np.array([[0.0, 0.3]]),
                labels=((name,), ("x", EVIL)),
                ticks=(((0.5, name),), ((0.25, "x"), (0.75, EVIL))),
            ),
        ),
        queries=QueryProfiles(epsilon=0.99, delta=1e-9, sets=(asked,)),
    )
    told = Disclosure(
        target=name, keys=(name,), in_original=0.1, in_synthetic=0.1, keys_in_synthetic=0.1, disclosive=0.1,
        correct=0.0625, in_both=0.1, attributed=0.1,
    )  # fmt: skip
    lone = Uniques(keys=(name,), in_original=0.1, in_synthetic=0.1, keys_in_synthetic=0.1, replicated=0.0625)
    scored = Propensity(pmse=0.01, expected=0.005, ratio=2.0, coefficients=3)
    term = Coefficient(term=name, real=1.0, real_error=0.1, synthetic=0.9, synthetic_error=0.2, overlap=-0.25)
    fitted = ComparedRegression(outcome=name, model="linear", terms=(term,))
    scores = {
        "tvd1": SCORE, "tvd2": replace(SCORE, parts=(Part(columns=names[:2], value=0.2),)),
        "ks": not_applicable(ABOUT, "because."), "alpha_precision": replace(SCORE, behind=support),
        "learning": replace(SCORE, behind=learned), "g_epsilon_plus": replace(SCORE, behind=g),
        "replicated_uniques": replace(SCORE, behind=lone, reason=f"keys: {name}."),
        "disco": replace(SCORE, behind=told), "pmse_ratio": replace(SCORE, behind=scored),
        "interval_overlap": replace(SCORE, behind=fitted),
    }  # fmt: skip
    group = Subgroup(value=name, rows=(12, 3), shares=(0.5, 0.2), tvd1=0.1, tvd1_floor=0.05, furthest=name)
    one = ColumnMoments(null=0.25, mean=12.0, sd=3.0, quantiles=(1.0,) * 7)
    both = ColumnSummary(column=name, facts=Real(0, 1), real=one, synthetic=one, shifts=(0.0,) * 4, floor=0.01)
    lost = ColumnMoments(null=1.0)
    summaries = (replace(both, synthetic=lost), *(replace(both, column=n) for n in names[1:]))
    table = SimpleNamespace(
        name=name, rows={"real": 12_345, "synthetic": 10}, verdict=(f"Fine {name}.",), warnings=(name,), claim=name,
        next_step=f"Rest, {name}",
        schema=SimpleNamespace(modelled=names), scores=scores, overview=seen, unchecked=(name,), attacks=(),
        columns=summaries, subgroups=(Subgroups(by=name, groups=(group,), more=2),),
    )  # fmt: skip
    notice = "For the custodian: computed from real rows, not private."
    return render("report.html", title=name, notice=notice, version="0", tables=[table])


class Balanced(HTMLParser):
    """Counts open tags and collects addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "data", "action")]
        if tag not in ("meta", "img", "br", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_texts_are_escaped_everywhere() -> None:
    found = page(4, EVIL)
    assert "<script" not in found
    assert "&lt;script&gt;" in found


def test_the_page_is_well_formed_and_asks_for_nothing() -> None:
    reader = Balanced()
    found = page(20)
    reader.feed(found)
    assert reader.open == []
    assert all(address.startswith(("data:image/png", "#")) for address in reader.addresses)
    assert not re.search(r"@import|url\(|https?:", found)


def test_what_does_not_apply_says_why() -> None:
    found = page(4)
    assert "Not computed: because." in found
    assert "12,345 real rows" in found
    assert "What to do next:</strong> Rest, column" in found
    assert all(text in found for text in ("6.25%", "-0.25", "12 (50.0%)", "2 rarer values"))
    assert "25.0%" in found and "100.0%" in found
    assert "For the custodian: computed from real rows, not private." in found


def test_a_hundred_columns_stay_light() -> None:
    assert len(page(100).encode()) < 400_000


def test_images_hold_the_colours() -> None:
    raw = base64.b64decode(
        image_address([[shade(x) for x in row] for row in ([0.0, 1.0], [0.5, math.nan])]).split(",")[1]
    )
    assert struct.unpack(">II", raw[16:24]) == (2, 2)
    start = raw.index(b"IDAT") + 4
    pixels = zlib.decompress(raw[start : raw.index(b"IEND") - 8])
    assert pixels[1:4] == bytes(shade(0.0)) == b"\xff\xff\xff"
    assert pixels[11:14] == bytes(shade(math.nan))


@pytest.mark.parametrize("value", [-2.0, -0.3, 0.0, 0.3, 2.0])
def test_colour_scales_are_monotone_and_bounded(value: float) -> None:
    assert all(0 <= x <= 255 for x in (*shade(value), *diverge(value)))
    assert sum(shade(0.2)) > sum(shade(0.9))
    assert diverge(0.0) == (255, 255, 255)


def test_numbers_as_texts() -> None:
    assert [format_number(x) for x in (None, 0.12345, -3.0, 12_345.6)] == ["-", "0.123", "-3.000", "12,346"]
    assert [format_figure(x) for x in (None, 0.12345, 12.345678, 123_456.0)] == ["-", "0.1235", "12.35", "1.235e+05"]
    assert interval_text(None) == "-" and interval_text(exact_estimate(0.5)) == "0.500"
    assert interval_text(Estimate(value=0.5, low=0.4, high=0.6)) == "0.500 (0.400 to 0.600)"
    assert make_sentence("both <peak>") == "Both <peak>."
    assert format_setting(["a", (1, 2.5), None]) == "a, 1, 2.5, None"


def test_all_learners_share_the_scale_of_a_measure() -> None:
    found = [
        Learned(learner=learner, measure=measure, real=real, synthetic=synthetic, noise=0.0)
        for learner, measure, real, synthetic in (
            ("a", "r2", 0.5, -7.0),
            ("b", "r2", 0.9, 0.1),
            ("a", "rmse", 3.0, 4.0),
        )
    ]
    assert learning_span(found, "r2") == (-1.0, 1.0)
    assert learning_span(found, "rmse") == (0.0, 4.0)

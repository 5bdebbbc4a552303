"""Pictures of two tables: marks lie where the numbers say, axes have texts that fit, and what is seen is told."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sklar.lab.overview import MarginPicture, PairPicture
from sklar.report.charts.canvas import Canvas, Label, Path, Picture, to_svg
from sklar.report.charts.compared import (
    LETTER,
    MAX_NAMED_COLUMNS,
    MAX_TOOLTIP_COLUMNS,
    margin_chart,
    matrix_chart,
    pair_chart,
)
from sklar.report.colours import REAL, SYNTHETIC, diverge, shade

MARGIN = MarginPicture(
    column="a <b>", kind="integer", labels=("0", "1", "2", "3"), real=(0.1, 0.4, 0.0, 0.5),
    synthetic=(0.2, 0.8, 0.0, 0.0), numeric=True, ticks=((0.0, "0"), (0.75, "3")), distance=0.5, floor=None,
)  # fmt: skip


def shapes(canvas: Canvas, kind: type) -> list:  # type: ignore[type-arg]
    ElementTree.fromstring(to_svg(canvas, inline=True))
    return [shape for shape in canvas.shapes if isinstance(shape, kind)]


def test_bars_and_lines_of_a_margin_are_as_high_as_the_shares() -> None:
    canvas = margin_chart(MARGIN)
    bars, lines, *_ = shapes(canvas, Path)
    assert (bars.fill, lines.colour) == (REAL, SYNTHETIC)
    heights = [max(y for _, y in piece) - min(y for _, y in piece) for piece in bars.pieces]
    assert heights == pytest.approx([92 * share / 0.8 for share in MARGIN.real if share])
    assert [piece[0][1] for piece in lines.pieces] == pytest.approx([106 - 92 * s / 0.8 for s in MARGIN.synthetic])
    assert bars.pieces[0][-1][0] == bars.pieces[1][0][0]  # numbers touch, labels do not
    apart = shapes(margin_chart(replace(MARGIN, numeric=False)), Path)[0]
    assert apart.pieces[0][-1][0] < apart.pieces[1][0][0]
    assert {"80%", "0", "3"} <= {label.text for label in shapes(canvas, Label)}
    assert canvas.title == f"a <b>: {MARGIN.seen}"
    margin_chart(replace(MARGIN, labels=(), real=(), synthetic=(), ticks=()))


def test_a_bar_that_towers_is_cut_and_told() -> None:
    real, synthetic = (0.9, 0.04, 0.05, 0.01), (0.88, 0.05, 0.05, 0.02)
    canvas = margin_chart(replace(MARGIN, real=real, synthetic=synthetic))
    bars = shapes(canvas, Path)[0]
    top, second = (min(y for _, y in bars.pieces[at]) for at in (0, 2))
    assert top == 14 and second == pytest.approx(106 - 92 / 1.3)
    assert "↑ 90% / 88%" in {label.text for label in shapes(canvas, Label)}
    whole = margin_chart(replace(MARGIN, real=real, synthetic=synthetic, numeric=False))
    assert not any("↑" in label.text for label in shapes(whole, Label))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_texts_below_an_axis_never_overlap(count: int) -> None:
    ticks = tuple(((at + 0.5) / count, "a very long label" * (at + 1)) for at in range(count))
    found = [label for label in shapes(margin_chart(replace(MARGIN, ticks=ticks)), Label) if label.y > 106]
    ends = [(label.x - len(label.text) * LETTER / 2, label.x + len(label.text) * LETTER / 2) for label in found]
    assert found and all(a[1] <= b[0] + 1e-9 for a, b in pairwise(ends))
    assert all(len(label.text) >= 6 for label in found)


def test_pairs_are_on_the_scale_of_the_real_ones_with_the_first_column_upwards() -> None:
    real, synthetic = np.array([[0.25, 0.0], [0.0, 0.01]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    pair = PairPicture(
        columns=("x", "y"), real=real, synthetic=synthetic, labels=(("low", "high"), ("left", "right")),
        ticks=(((0.25, "low"), (0.75, "high")), ((0.25, "left"), (0.75, "right"))),
    )  # fmt: skip
    canvas = pair_chart(pair)
    one, two = shapes(canvas, Picture)
    assert one.rows == ((shade(0.0), shade(0.2)), (shade(1.0), shade(0.0)))
    assert two.rows[1][0] == shade(1.0)
    texts = {label.text: label for label in shapes(canvas, Label)}
    assert texts["high"].y < texts["low"].y < texts["left"].y and texts["low"].x < one.x
    assert canvas.title == "x and y: both are densest at low and left; 38.0% of the synthetic rows would have to move"


def test_matrices_name_their_columns_and_cells_tell_their_numbers() -> None:
    names, real = ("age", "income"), [[1.0, -0.4], [-0.4, math.nan]]
    synthetic = [[1.0, 0.9], [0.9, 1.0]]
    plain, gap = (matrix_chart("phi_k", names, real, synthetic, shown) for shown in ("real", "difference"))
    assert shapes(plain, Picture)[0].rows[0] == (shade(1.0), shade(0.4))
    assert shapes(gap, Picture)[0].rows[0] == (diverge(0.0), diverge(1.0))
    assert [label.text for label in shapes(plain, Label)] == ["age", "age", "income", "income"]
    assert shapes(plain, Picture)[0].titles[0][1] == "age, income: -0.40 real, 0.90 synthetic"
    assert plain.title.startswith("phi_k, real: strongest: age and income, -0.40 real and 0.90 synthetic")


@pytest.mark.parametrize(
    ("count", "texts", "hovered"),
    [(MAX_TOOLTIP_COLUMNS, MAX_TOOLTIP_COLUMNS, True), (MAX_NAMED_COLUMNS, MAX_NAMED_COLUMNS, False), (100, 10, 0)],
)
def test_many_columns_stay_readable_and_light(count: int, texts: int, hovered: bool) -> None:
    names, matrix = [f"column {i}" for i in range(count)], np.eye(count).tolist()
    canvas = matrix_chart("phi_k", names, matrix, matrix, "real")
    assert len(shapes(canvas, Label)) == 2 * texts and bool(shapes(canvas, Picture)[0].titles) == hovered
    assert min(label.size for label in shapes(canvas, Label)) >= 11
    assert len(to_svg(canvas)) < 80_000

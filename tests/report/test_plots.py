"""The charts of the reports: marks lie where the numbers say, nothing leaves the frame, and odd numbers do no harm."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest

from sklar.lab.intervals import Estimate, exact_estimate
from sklar.report.charts.canvas import Canvas, Dot, Label, Path, to_svg
from sklar.report.charts.plots import (
    DASHES,
    Frame,
    box_chart,
    curve_chart,
    epsilon_chart,
    interval_chart,
    learning_chart,
    line_colour,
)
from sklar.report.colours import AXIS, LINES, SYNTHETIC


def paths(canvas: Canvas) -> list[Path]:
    return [shape for shape in canvas.shapes if isinstance(shape, Path)]


def points(canvas: Canvas) -> Iterator[tuple[float, float]]:
    for shape in canvas.shapes:
        if isinstance(shape, Path):
            yield from (point for piece in shape.pieces for point in piece)
        elif isinstance(shape, Dot):
            yield shape.x, shape.y


def assert_inside(canvas: Canvas) -> None:
    """Well-formed, told in words, and all marks on the canvas."""
    root = ElementTree.fromstring(to_svg(canvas))
    assert root.attrib["aria-label"] == canvas.title != ""
    assert all(0 <= x <= canvas.width and 0 <= y <= canvas.height for x, y in points(canvas))


def test_a_frame_takes_its_edges_to_the_ends_of_its_numbers_and_clips_the_rest() -> None:
    frame = Frame(left=10, right=110, top=5, bottom=55, across=(-1.0, 1.0), up=(0.0, 2.0))
    assert frame.at(-1, 0) == (10, 55) and frame.at(1, 2) == (110, 5) and frame.at(0, 1) == (60, 30)
    assert frame.at(-9, 9) == (10, 5)
    assert Frame(left=0, right=1, top=0, bottom=1, across=(3.0, 3.0)).x(3.0) == 0.0


def test_curves_run_through_their_points_and_the_ideal_is_the_diagonal() -> None:
    canvas = curve_chart("t", "level", [0.0, 0.5, 1.0], [("a", [0.0, 0.5, 1.0]), ("b", [1.0, 0.0, 0.2])], True)
    _, ideal, first, second = paths(canvas)
    assert_inside(canvas)
    assert ideal.dash and (ideal.pieces[0][0], ideal.pieces[0][-1]) == (first.pieces[0][0], first.pieces[0][-1])
    assert first.pieces[0][1][1] == pytest.approx((8 + 184) / 2)
    assert canvas.title == "t: a 0.5 at 0.5 and 1 at the end; b 0 at 0.5 and 0.2 at the end"
    assert (first.colour, second.colour) == LINES[:2] and (first.dash, second.dash) == DASHES[:2]
    assert_inside(curve_chart("no lines", "x", [], [], False))
    lowest = paths(curve_chart("flat", "x", [0.5, 0.9], [("zero", [0.0, 0.0])], False))[-1]
    assert {y for _, y in lowest.pieces[0]} == {184}


def test_lines_beyond_the_palette_begin_anew() -> None:
    assert [line_colour(at) for at in range(len(LINES) + 1)] == [*LINES, LINES[0]]


def test_bars_of_learning_share_a_scale_that_may_go_below_zero() -> None:
    canvas = learning_chart(0.5, -0.5, 0.1, (-1.0, 1.0))
    real, synthetic, whisker, zero = paths(canvas)
    assert_inside(canvas)
    middle = zero.pieces[0][0][0]
    assert (
        middle == 130
        and {x for x, _ in real.pieces[0]} == {130, 195}
        and {x for x, _ in synthetic.pieces[0]} == {130, 65}
    )
    assert [x for x, _ in whisker.pieces[0]] == pytest.approx([182, 208])


def test_intervals_stand_below_each_other_on_one_scale() -> None:
    attack, baseline = Estimate(value=0.6, low=0.5, high=0.8), exact_estimate(0.4)
    canvas = interval_chart("t", [attack, None, baseline], 0.4)
    dots = [shape for shape in canvas.shapes if isinstance(shape, Dot)]
    ideal, *lines = paths(canvas)
    assert_inside(canvas)
    assert [dot.fill for dot in dots] == [SYNTHETIC, AXIS] and dots[0].y < dots[1].y
    assert lines[0].pieces[0][0][0] < dots[0].x < lines[0].pieces[0][-1][0] == 254
    assert dots[1].x == ideal.pieces[0][0][0] == 6
    assert canvas.title == "t: attack 0.600 (0.500 to 0.800); baseline 0.400 (0.400 to 0.400); ideal 0.4"
    unbounded = Estimate(value=0.2, low=-math.inf, high=math.inf)
    assert_inside(interval_chart("t", [unbounded, unbounded, None], None))


def test_measures_over_epsilon_are_on_a_logarithmic_scale() -> None:
    lines = [("dp", [(0.1, 0.9, 0.05), (1.0, 0.5, None), (10.0, 0.2, 0.1)]), ("plain", [(None, 0.1, 0.02)])]
    canvas = epsilon_chart("error", lines)
    dots = [shape for shape in canvas.shapes if isinstance(shape, Dot)]
    assert_inside(canvas)
    assert dots[1].x - dots[0].x == pytest.approx(dots[2].x - dots[1].x) and dots[0].y < dots[1].y < dots[2].y
    assert {dot.title for dot in dots} == {"dp"}
    assert canvas.title == "error over epsilon: dp 0.9 at 0.1, 0.5 at 1, 0.2 at 10; plain 0.1"
    flat = next(path for path in paths(canvas) if path.title == "plain")
    assert len({y for _, y in flat.pieces[0]}) == 1 and {x for x, _ in flat.pieces[0]} == {50, 332}
    whiskers = next(path for path in paths(canvas) if path.colour == LINES[0] and not path.title)
    assert len(whiskers.pieces) == 2
    assert {"0.1", "1", "10"} <= {shape.text for shape in canvas.shapes if isinstance(shape, Label)}
    crowded = epsilon_chart("error", [("dp", [(e, 0.0, None) for e in (0.05, 0.5, 0.55, 1.0, 1.2, 2.7, 3.0)])])
    below = [shape.text for shape in crowded.shapes if isinstance(shape, Label)]
    assert {"0.05", "0.5", "1", "3"} <= set(below) and not {"0.55", "1.2", "2.7"} & set(below)
    assert "1e-12" not in below  # nothing but zeros has no scale
    assert_inside(epsilon_chart("one budget", [("dp", [(1.0, 0.5, 0.1)])]))
    assert epsilon_chart("nothing", []).shapes == ()


def test_boxes_lie_on_one_scale() -> None:
    canvas = box_chart("MAB <x>", [("level 1", [0, 1, 2, 3, 4]), ("level & 5", [-4, -1, 0, 1, 2])])
    assert_inside(canvas)
    boxes = [path for path in paths(canvas) if path.fill == SYNTHETIC]
    ends = [(min(x for x, _ in box.pieces[0]), max(x for x, _ in box.pieces[0])) for box in boxes]
    frame = Frame(left=150, right=560, top=0, bottom=0, across=(-4.0, 4.0))
    assert ends == [(frame.x(1), frame.x(3)), (frame.x(-1), frame.x(1))]
    middle = [path.pieces[0][0][0] for path in paths(canvas) if path.title]
    assert middle == [frame.x(2), frame.x(0)]
    assert_inside(box_chart("one value", [("only", [1.0] * 5)]))
    assert_inside(box_chart("nothing", []))

"""Matrices level by level and contours of pair copulas: one panel a title, colours by value, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import pyvinecopulib as pv

from sklar.errors import UsageError
from sklar.report.charts.canvas import Canvas, Label, Picture, to_svg
from sklar.report.charts.grids import CONTOURS, DENSITY_POINTS, PANELS_ACROSS, draw_contours, draw_levels
from sklar.report.colours import diverge, shade

NAMES = ("age", "income", "<b>")


def pictures(canvas: Canvas) -> list[Picture]:
    return [shape for shape in canvas.shapes if isinstance(shape, Picture)]


def texts(canvas: Canvas) -> list[str]:
    return [shape.text for shape in canvas.shapes if isinstance(shape, Label)]


def test_every_level_is_a_matrix_with_all_columns_beside_it() -> None:
    matrix = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, np.nan], [0.0, np.nan, 1.0]])
    canvas = draw_levels({f"level {at}": matrix for at in range(PANELS_ACROSS + 1)}, NAMES, label="NO DP GUARANTEE")
    found = pictures(canvas)
    assert len(found) == PANELS_ACROSS + 1 and found[-1].x == found[0].x and found[-1].y > found[0].y
    assert found[0].rows == tuple(tuple(diverge(value) for value in row) for row in matrix.tolist())
    assert all(texts(canvas).count(name) == 2 * len(found) for name in NAMES)
    assert texts(canvas)[-1].endswith("NO DP GUARANTEE")
    assert all(p.x + p.width <= canvas.width and p.y + p.height <= canvas.height for p in found)
    assert "&lt;b&gt;" in to_svg(canvas)


@pytest.mark.parametrize("matrices", [{}, {"one": np.eye(2)}])
def test_levels_without_a_square_matrix_are_refused(matrices: dict[str, np.ndarray]) -> None:
    with pytest.raises(UsageError, match="square matrix"):
        draw_levels(matrices, NAMES)


def test_contours_are_those_of_the_density() -> None:
    """Of independent normals: circles, densest in the middle, where the density is 1 / (2 pi)."""
    (picture,) = pictures(draw_contours({"a, b\nindep": pv.Bicop()}))
    middle, rows = DENSITY_POINTS // 2, picture.rows
    assert len(rows) == len(rows[0]) == DENSITY_POINTS
    assert rows[middle][middle] == shade(sum(level <= 1 / (2 * np.pi) for level in CONTOURS) / len(CONTOURS))
    assert rows[0][0] == shade(0.0)
    assert rows == tuple(zip(*rows, strict=True)) == rows[::-1]


def test_positive_dependence_rises_to_the_right() -> None:
    (picture,) = pictures(draw_contours({"x": pv.Bicop(pv.BicopFamily.gaussian, 0, np.array([[0.8]]))}))
    quarter = DENSITY_POINTS // 4
    assert sum(picture.rows[quarter][-quarter]) < sum(picture.rows[quarter][quarter])


def test_the_first_column_goes_to_the_right_and_the_second_upwards() -> None:
    """A Clayton copula turned by 90 degrees has its tail where the first is high and the second low."""
    (picture,) = pictures(draw_contours({"x": pv.Bicop(pv.BicopFamily.clayton, 90, np.array([[3.0]]))}))
    at = DENSITY_POINTS // 6
    assert sum(picture.rows[-at][-at]) < sum(picture.rows[at][at])


def test_lines_of_a_title_stand_above_each_other() -> None:
    canvas = draw_contours({"a, b | c\nfrank": pv.Bicop()}, label="claim")
    first, second = (shape for shape in canvas.shapes if isinstance(shape, Label) and shape.text != "claim")
    assert (first.text, second.text) == ("a, b | c", "frank") and first.y < second.y < pictures(canvas)[0].y
    assert canvas.title == "a, b | c frank"


def test_a_vine_of_independent_pairs_has_nothing_to_draw() -> None:
    with pytest.raises(UsageError, match="independent"):
        draw_contours({})

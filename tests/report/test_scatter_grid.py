"""Scatter grids: pictures of rows as pixels, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.report.charts.canvas import Path, Picture, to_svg
from sklar.report.charts.grids import scatter_grid


def rows(seed: int, columns: str = "abc") -> dict[str, np.ndarray]:
    z = np.random.default_rng(seed).normal(size=(300, len(columns))).cumsum(axis=1)
    return {name: z[:, at] for at, name in enumerate(columns)}


def test_every_pair_is_a_picture_and_every_column_a_histogram() -> None:
    shapes = scatter_grid(rows(0)).shapes
    assert sum(isinstance(shape, Picture) for shape in shapes) == 6
    assert sum(isinstance(shape, Path) and shape.fill != "none" for shape in shapes) == 3
    both = scatter_grid(rows(0), real=rows(1))
    assert "below the diagonal: real rows (not private)" in to_svg(both)


def test_a_row_is_a_dot_where_it_lies() -> None:
    """One row low in a and high in b, one the other way round: dots at the upper left and the lower right."""
    below = {"a": np.array([0.0, 1.0]), "b": np.array([1.0, 0.0])}
    picture = next(s for s in scatter_grid(below).shapes if isinstance(s, Picture) and s.y > s.x)
    white = (255, 255, 255)
    dots = {(i, j) for i, row in enumerate(picture.rows) for j, colour in enumerate(row) if colour != white}
    assert dots == {(0, 0), (len(picture.rows) - 1, len(picture.rows) - 1)}


def test_nulls_and_constants_do_no_harm() -> None:
    to_svg(scatter_grid({"a": np.full(5, np.nan), "b": np.ones(5)}))


def test_refusals() -> None:
    with pytest.raises(UsageError, match="2 to 8"):
        scatter_grid({"a": np.zeros(3)})
    with pytest.raises(UsageError, match="same columns"):
        scatter_grid(rows(0, "ab"), real=rows(1, "ac"))

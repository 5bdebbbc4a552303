"""Wide cells follow the slope of their neighbours: masses stay, codes of one number stay together."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.bins import BinLayout, cell_starts, lay_out_column, with_unit
from sklar.model.margins.fit import chained_cells
from sklar.model.margins.slopes import agreed_slopes, tilt_cells
from sklar.schema.numbers import Real

NONE = np.zeros(0, dtype=np.int64)


def cells_of(layout: BinLayout) -> tuple[np.ndarray, np.ndarray]:
    starts = cell_starts(layout, layout.coarse, NONE)
    return starts, chained_cells(layout, starts, NONE)


def falling(layout: BinLayout, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cells with the exact masses of an exponential density, and that of every code."""
    edges = np.concatenate([[0.0], np.cumsum(layout.width)])
    exact = np.zeros(layout.size)
    exact[: layout.values] = np.exp(-rate * edges[:-1]) - np.exp(-rate * edges[1:])
    starts, chained = cells_of(layout)
    return starts, chained, np.add.reduceat(exact, starts), exact


@pytest.mark.parametrize("rate", [15.0, 60.0])
def test_an_exponential_density_is_followed_inside_its_cells(rate: float):
    layout = lay_out_column(Real(0, 1, nullable=True))
    starts, chained, mass, exact = falling(layout, rate)
    after, parts = tilt_cells(layout, starts, mass, chained)
    np.testing.assert_allclose(np.add.reduceat(parts, np.searchsorted(after, starts)), mass, atol=1e-15)

    def dense(begin: np.ndarray, held: np.ndarray) -> np.ndarray:
        width = np.diff(np.append(begin, layout.size))
        return np.repeat(held / width, width)

    second = starts[1]  # the first cell stays flat: its mode may lie inside
    errors = [np.abs(dense(*cells) - exact)[second:].sum() for cells in ((starts, mass), (after, parts))]
    assert errors[1] < 0.3 * errors[0]


def test_slopes_that_disagree_are_not_believed():
    edges = np.arange(6.0)
    slopes = agreed_slopes(edges[:-1], edges[1:], np.array([1.0, 4.0, 9.0, 3.0, 1.0]))
    assert slopes[2] == 0 and slopes[1] == pytest.approx(np.log(9 / 4)) and slopes[3] == pytest.approx(-np.log(3))
    assert slopes[0] > 0 and slopes[4] < 0
    outward = agreed_slopes(edges[:-1], edges[1:], np.array([9.0, 4.0, 3.0, 4.0, 9.0]))
    assert outward[0] == 0 and outward[4] == 0  # the mode may lie inside the outermost cell


def test_flat_and_empty_cells_stay_whole():
    layout = lay_out_column(Real(1, 2))
    starts, chained = cells_of(layout)
    for mass in (np.full(len(starts), 1 / len(starts)), np.eye(len(starts))[0]):
        after, parts = tilt_cells(layout, starts, mass, chained)
        assert np.array_equal(after, starts) and np.array_equal(parts, mass)


def test_no_part_cuts_through_a_number():
    column = Real(0, 60)
    layout = with_unit(lay_out_column(column), column, 0)
    starts, chained, mass, _ = falling(layout, 20.0)
    after, _ = tilt_cells(layout, starts, mass, chained)
    inside = after[(after > 0) & (after < layout.values)]
    assert np.all(layout.anchor[inside] != layout.anchor[inside - 1])


def test_cells_of_no_width_are_no_trouble() -> None:
    """Weights of single numbers can leave next to no room between two cells: their slopes are beyond all bounds."""
    place = np.array([0.0, 1e-290, 2e-290, 3e-290])
    slopes = agreed_slopes(place[:-1], place[1:], np.array([1.0, 4.0, 1e-200]))
    assert np.isfinite(slopes).all()

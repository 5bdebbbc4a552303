"""Cells of pictures: every row has one, skewed columns can be seen, years read as years, ticks lie where they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.lab.scales import MIN_TICK_DISTANCE, PictureScale, make_scale, number_text, round_numbers, short_text
from sklar.lab.tables.reading import read_table
from sklar.schema import Column

RNG = np.random.default_rng(0)


def scale_of(column: Column, values: object, synthetic: object = None) -> tuple[PictureScale, np.ndarray]:
    """The scale of a column, and the share of rows in each of its cells."""
    schema = sklar.Schema({"x": column})
    one, two = (
        read_table(pd.DataFrame({"x": x}), schema, np.random.default_rng(0), role="real")
        for x in (values, values if synthetic is None else synthetic)
    )
    scale = make_scale("x", one, two)
    cells = scale.cells(one, "x")
    assert len(scale.labels) == (len(scale.edges) - 1 if len(scale.edges) else len(scale.labels))
    assert all(b[0] - a[0] >= MIN_TICK_DISTANCE for a, b in pairwise(scale.ticks)) or not column.numeric
    return scale, np.bincount(cells[cells >= 0], minlength=len(scale.labels)) / len(cells)


def test_even_columns_have_equal_cells_of_equally_many_whole_numbers() -> None:
    scale, shares = scale_of(sklar.Integer(16, 100), RNG.integers(16, 101, 5_000))
    assert scale.note == "" and set(np.diff(scale.edges)) == {3.0} and shares.sum() == pytest.approx(1)
    assert scale.labels[0] == "16 to 18" and [text for _, text in scale.ticks] == ["25", "50", "75", "100"]
    place = next(place for place, text in scale.ticks if text == "50")
    assert scale.edges[0] + place * (scale.edges[-1] - scale.edges[0]) == pytest.approx(50)
    few, _ = scale_of(sklar.Integer(0, 5), [0] * 99 + [5])
    assert few.labels == ("0", "1", "2", "3", "4", "5") and few.note == ""


@pytest.mark.parametrize("spike", [0, 3_000])
def test_skewed_columns_are_seen_on_a_logarithmic_scale(spike: int) -> None:
    values = np.concatenate([np.exp(RNG.normal(8, 1.5, 2_000)), np.zeros(spike)])
    scale, shares = scale_of(sklar.Real(0, 10_000_000), values)
    assert scale.note == "logarithmic scale" and shares.sum() == pytest.approx(1)
    rest = np.sort(shares[1:] if spike else shares)
    assert rest[-4:].sum() < 0.5 * rest.sum()  # of equal cells, the first alone would hold nearly all
    places = {text: place for place, text in scale.ticks}
    assert {"0", "1000", "100k"} <= set(places)
    middle = np.interp(1e4, scale.edges, np.linspace(0, 1, len(scale.edges)))
    assert middle == pytest.approx((places["1000"] + places["100k"]) / 2, abs=0.02)


def test_a_range_far_wider_than_its_values_is_not_drawn_empty() -> None:
    scale, shares = scale_of(sklar.Real(-1e6, 1e6), RNG.normal(50, 3, 4_000), RNG.normal(50, 300, 4_000))
    assert "tails" in scale.note and np.sort(shares)[-4:].sum() < 0.6
    assert scale.edges[0] < -300 and scale.edges[-1] > 300  # the other table has its tails in the outermost cells


def test_years_and_moments_read_as_such() -> None:
    years, _ = scale_of(sklar.Integer(1990, 2024), RNG.integers(1990, 2025, 500))
    assert all(text.isdigit() and len(text) == 4 for _, text in years.ticks)
    assert number_text(sklar.Integer(0, 9_999), 2019.0) == "2019"
    assert number_text(sklar.Real(0, 1e6), 123_456) == "123,456"
    days = pd.date_range("2015-01-01", "2023-12-31", 900)
    dates, shares = scale_of(sklar.Datetime("2015-01-01", "2023-12-31"), days)
    assert [text for _, text in dates.ticks] == ["2016", "2018", "2020", "2022"] and shares.sum() == pytest.approx(1)
    assert dates.labels[0].startswith("2015-01-01 to 2015-04")
    short_span, _ = scale_of(sklar.Datetime("2023-01-01", "2023-03-31"), pd.date_range("2023-01-01", periods=90))
    assert short_span.ticks[0] == (0.0, "2023-01-01")
    last, _ = scale_of(sklar.Datetime("9990-01-01", "9999-12-31"), ["9999-12-31"] * 40)
    assert last.labels[-1].endswith("9999-12-31")


def test_nulls_and_unlisted_labels_have_no_cell() -> None:
    schema = sklar.Schema(
        {"x": sklar.Real(0, 1, nullable=True), "y": sklar.Category(["a", "b"], other="else", nullable=True)}
    )
    frame = pd.DataFrame({"x": [0.0, 1.0, None, 2.0], "y": ["a", "b", "zzz", None]})
    table = read_table(frame, schema, np.random.default_rng(0), role="real")
    x, y = (make_scale(name, table, table) for name in ("x", "y"))
    assert x.cells(table, "x").tolist() == [0, 31, -1, 31]
    assert y.cells(table, "y").tolist() == [0, 1, -1, -1] and y.labels == ("a", "b")


def test_many_labels_are_named_every_so_many() -> None:
    labels = [f"l{i}" for i in range(26)]
    scale, _ = scale_of(sklar.Category(labels), labels)
    assert [text for _, text in scale.ticks] == labels[::5]


def test_round_numbers() -> None:
    assert round_numbers(0, 10) == [0, 2.5, 5, 7.5, 10] and round_numbers(0, 3, whole=True) == [0, 1, 2, 3]
    assert round_numbers(7, 7) == [7] and round_numbers(-3, 3)[0] == -2
    assert round_numbers(0.0, 5e-324) == [0.0] and len(round_numbers(-1e308, 1.7e308)) > 2
    assert [short_text(x) for x in (2019, 250_000, 1_500_000, 2e9, -12_500, 0.25)] == [
        "2019", "250k", "1.5M", "2G", "-12.5k", "0.25",
    ]  # fmt: skip

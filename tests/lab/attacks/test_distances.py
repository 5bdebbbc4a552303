"""Compiled distances agree with slow ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.lab.attacks.distances import (
    bound_diameter,
    hamming_histograms,
    nearest_points,
    pack_table,
    row_points,
    within_radii,
)
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable, coarse_codes, coarse_grid, ordered_values
from tests.lab.attacks.people import SCHEMA, people


def table(frame: pd.DataFrame, schema: sklar.Schema = SCHEMA) -> ExactTable:
    return read_table(frame, schema, np.random.default_rng(0), role="real")


@pytest.mark.parametrize("labels", [3, 400, 70_000])
def test_hamming_in_lanes_of_every_width(labels: int) -> None:
    rng = np.random.default_rng(labels)
    names = [f"v{i}" for i in range(labels)]
    schema = sklar.Schema({**{f"c{i}": sklar.Integer(0, 5) for i in range(9)}, "wide": sklar.Category(names)})

    def draw(rows: int) -> ExactTable:
        wide = [names[i] for i in rng.choice([0, 1, labels // 2, labels - 1], rows)]
        return table(pd.DataFrame({**{f"c{i}": rng.integers(0, 6, rows) for i in range(9)}, "wide": wide}), schema)

    one, two, grid = draw(70), draw(90), coarse_grid(schema)
    a, b = coarse_codes(one, grid).T, coarse_codes(two, grid).T
    slow = (a[:, None, :] != b[None, :, :]).sum(axis=2)
    found = hamming_histograms(pack_table(one, grid), pack_table(two, grid))
    assert np.array_equal(found, np.stack([np.bincount(row, minlength=11) for row in slow]))


def slow_distances(real: ExactTable, one: ExactTable, two: ExactTable) -> np.ndarray:
    total = np.zeros((one.rows, two.rows))
    for name in real.names:
        if not real.schema[name].ordered:
            total += one.codes[name][:, None] != two.codes[name][None, :]
            continue
        own = ordered_values(real, name)
        center, spread = np.nanmean(own), np.nanstd(own)
        x, y = ordered_values(one, name), ordered_values(two, name)
        a, b = ((np.where(np.isnan(v), center, v) - center) / spread for v in (x, y))
        total += (a[:, None] - b[None, :]) ** 2 + (np.isnan(x)[:, None] != np.isnan(y)[None, :])
    return np.sqrt(total)


def test_mixed_distances_agree_with_slow_ones() -> None:
    real, one, two = table(people(200, 0)), table(people(70, 1)), table(people(150, 2))
    slow = slow_distances(real, one, two)
    a, b = row_points(real, [one, two])
    distance, place = nearest_points(a, b)
    assert np.allclose(distance, slow.min(axis=1)) and np.array_equal(place, slow.argmin(axis=1))
    radii = np.array([0.5, 1.5, 2.5])
    counts, scores = within_radii(a, b, radii, 10.0, 1e-12)
    for at, radius in enumerate(radii):
        inside = slow <= radius
        assert np.array_equal(counts[:, at], inside.sum(axis=1))
        assert np.allclose(scores[:, at], (-np.log(slow / 10 + 1e-12) * inside).sum(axis=1))
    assert bound_diameter([a, b]) >= slow.max()


def test_a_row_is_not_its_own_neighbor() -> None:
    real = table(people(80, 0))
    (own,) = row_points(real, [real])
    distance, place = nearest_points(own, own, own=np.arange(80))
    slow = slow_distances(real, real, real)
    np.fill_diagonal(slow, np.inf)
    assert np.allclose(distance, slow.min(axis=1)) and (place != np.arange(80)).all()


def test_a_table_of_labels_only_and_of_numbers_only() -> None:
    labels = sklar.Schema({"sex": sklar.Category(["F", "M"]), "region": sklar.Category(["a", "b"])})
    frame = pd.DataFrame({"sex": ["F", "M"], "region": ["a", "b"]})
    one = table(frame, labels)
    (a,) = row_points(one, [one])
    assert nearest_points(a, a)[0].tolist() == [0.0, 0.0]
    numbers = sklar.Schema({"x": sklar.Real(0, 1)})
    two = table(pd.DataFrame({"x": [0.0, 1.0]}), numbers)
    (b,) = row_points(two, [two])
    assert nearest_points(b, b, own=np.arange(2))[0] == pytest.approx([2.0, 2.0])

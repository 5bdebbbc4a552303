"""Dependence from value to value: a column that follows from another's remainder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.pairs import counts_every_cell
from sklar.model.axis import lay_out


def axis(cells: int, *, nested: bool = False, lightest: float | None = None) -> VineAxis:
    mass = np.full(cells, 1 / cells)
    if lightest is not None:
        mass = np.append(np.full(cells - 1, (1 - lightest) / (cells - 1)), lightest)
    scale = lay_out(np.arange(cells), mass, cells, nominal=False)
    coarse = np.zeros((2, cells), dtype=np.int64) if nested else None
    return VineAxis(name="x", scale=scale, coarse=coarse, ordered=True, numeric=True)


def test_all_cells_are_counted_where_they_are_worth_their_noise():
    assert counts_every_cell([axis(121), axis(4)], most=31.2)
    assert not counts_every_cell([axis(122), axis(4)], most=31.2)
    assert not counts_every_cell([axis(2_000), axis(2_000)], most=1e6)
    assert not counts_every_cell([axis(121, nested=True), axis(4)], most=31.2)


def test_cells_of_a_rare_class_must_be_worth_their_noise_too():
    assert counts_every_cell([axis(2), axis(100)], most=21.0)
    assert not counts_every_cell([axis(2, lightest=0.03), axis(100)], most=21.0)
    assert counts_every_cell([axis(2, lightest=0.03), axis(100)], most=82.0)
    assert counts_every_cell([axis(3, lightest=0.001), axis(100)], most=21.0)


@pytest.mark.slow
def test_a_remainder_is_kept_if_there_are_rows_enough():
    rng = np.random.default_rng(3)
    day = rng.integers(-60, 60, 100_000)
    frame = pd.DataFrame({"day": day, "quarter": day % 4 + 1, "other": rng.normal(5, 1, len(day)).round(2)})
    columns = {"day": sklar.Integer(-60, 60), "quarter": sklar.Integer(1, 4), "other": sklar.Real(0, 10, decimals=2)}
    model = sklar.fit(frame, sklar.Schema(columns), epsilon=1, delta=1e-9)
    drawn = model.sample(20_000, seed=1).to_pandas()
    broken = np.mean(drawn["day"].astype(int) % 4 + 1 != drawn["quarter"].astype(int))
    assert broken < 0.05

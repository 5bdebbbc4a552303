"""Samples of columns of multiples: every value is one, inside the bounds, also under conditions, rules and in files."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.errors import UsageError
from sklar.sample.draw import draw_sample
from sklar.schema import AtMost, Integer, Real, Schema

COLUMNS = {
    "loan": Integer(150, 9_950, step=100),
    "wide": Integer(-(10**12), 10**12, step=250),
    "dose": Real(0.1, 4.9, step=0.25),
    "price": Real(-1e6, 1e6, step=0.05),
    "rough": Real(0, 1_000, step=100, edges=[0, 120, 130, 1_000]),
}
STEPS = {"loan": 100, "wide": 250, "dose": 0.25, "price": 0.05, "rough": 100}


@pytest.mark.parametrize("name", COLUMNS)
def test_all_values_are_multiples_inside_the_bounds(fake_model, name):
    schema = Schema({name: COLUMNS[name]})
    values = draw_sample(fake_model(schema), schema, 20_000, seed=1)[0][name].data
    step, column = STEPS[name], COLUMNS[name]
    assert values.min() >= column.lower and values.max() <= column.upper
    np.testing.assert_allclose(values / step, np.rint(values / step), rtol=0, atol=1e-6)
    if name in ("loan", "dose"):
        assert len(np.unique(values)) == (98 if name == "loan" else 19)
    if name == "price":  # as people write them: no 0.15000000000000002
        assert all(len(repr(x).split(".")[1]) <= 2 for x in values.tolist())


def test_multiples_of_a_cell_are_equally_likely(fake_model):
    schema = Schema({"x": Integer(0, 999, step=10, bins=5)})
    values = draw_sample(fake_model(schema), schema, 100_000, seed=2)[0]["x"].data
    counts = np.unique(values, return_counts=True)[1]
    assert len(counts) == 100
    assert ((counts - 1_000) ** 2 / 1_000).sum() < 200  # chi-square of 99 degrees: beyond 200 in 1e-8


def test_conditions_keep_to_multiples(fake_model):
    schema = Schema(COLUMNS)
    given = {"loan": (330, 720), "dose": (0.6, 1.3), "wide": (1_000, 2_400)}
    table = draw_sample(fake_model(schema), schema, 3_000, seed=3, given=given)[0]
    assert np.unique(table["loan"].data).tolist() == [400, 500, 600, 700]
    assert np.unique(table["dose"].data).tolist() == [0.75, 1.0, 1.25]
    assert np.unique(table["wide"].data).tolist() == [1_000, 1_250, 1_500, 1_750, 2_000, 2_250]
    shares = np.unique(table["loan"].data, return_counts=True)[1] / 3_000
    np.testing.assert_allclose(shares, 0.25, atol=0.05)  # more than six standard deviations
    ends = draw_sample(fake_model(schema), schema, 3_000, seed=3, given={"dose": (0.75, 1.25)})[0]["dose"].data
    np.testing.assert_allclose(np.unique(ends, return_counts=True)[1] / 3_000, 1 / 3, atol=0.06)
    points = draw_sample(fake_model(schema), schema, 500, seed=3, given={"loan": [400, 700], "dose": 2.5})[0]
    assert set(points["loan"].data.tolist()) == {400, 700} and set(points["dose"].data.tolist()) == {2.5}
    for asked in ({"loan": 450}, {"loan": (410, 480)}, {"dose": 0.8}, {"dose": (0.8, 0.9)}):
        with pytest.raises(UsageError, match="multiples of"):
            draw_sample(fake_model(schema), schema, 10, given=asked)


def test_rows_that_are_mended_stay_on_multiples(fake_model):
    columns = {"low": Integer(0, 1_000, step=100), "high": Integer(0, 1_000, step=250), "r": Real(0, 1_000, step=50)}
    schema = Schema(columns, rules=[AtMost(low="low", high="high"), AtMost(low="high", high="r")])
    mass = {"low": np.eye(11)[10] + 1e-9, "high": np.eye(5)[0] + 1e-9}
    table = draw_sample(fake_model(schema, mass), schema, 400, seed=4)[0]
    low, high, real = (table[name].data for name in columns)
    assert (low <= high).all() and (high <= real).all()
    assert (low % 100 == 0).all() and (high % 250 == 0).all() and (real % 50 == 0).all()


def test_a_fit_keeps_the_step_and_files_show_whole_numbers(tmp_path):
    rng = np.random.default_rng(5)
    data = {"loan": rng.integers(10, 300, 3_000) * 100, "fee": rng.integers(0, 400, 3_000) * 50.0}
    schema = sklar.Schema({"loan": sklar.Integer(0, 50_000, step=100), "fee": sklar.Real(0, 30_000, step=50)})
    model = sklar.fit(data, schema, method="vine", epsilon=5.0, delta=1e-9)
    model.save(tmp_path / "m.sklar")
    table = sklar.load(tmp_path / "m.sklar").sample(2_000, seed=1).to_pandas()
    assert (table.loan % 100 == 0).all() and (table.fee % 50 == 0).all() and table.loan.nunique() > 150
    model.write_rows(tmp_path / "out.csv", 200, seed=1)
    assert ".0" not in (tmp_path / "out.csv").read_text()

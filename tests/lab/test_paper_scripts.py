"""The settings with which the reproductions of TVineSynth fit its three vines are settings that those take."""

import numpy as np
import pandas as pd
import pytest

import sklar
from benchmarks.papers.tvine_levels import RESPONSE, Tables


def small_tables():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]])
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], RESPONSE: (x[:, 0] > 0).astype(int)})
    schema = sklar.Schema({**{name: sklar.Real(-8, 8) for name in "abc"}, RESPONSE: sklar.Integer(0, 1)})
    return Tables(train=frame, test=frame, sensitive=("a", "b"), levels=(1, 2), order_for=("a",), schema=schema,
                  outlying={"a": (1,), "b": (2,)}, random=(3,))  # fmt: skip


@pytest.mark.parametrize("method", ["tvine", "rvine", "rvine-star1"])
def test_every_vine_of_the_paper_takes_its_settings(method):
    tables = small_tables()
    model = sklar.fit(tables.train, tables.schema, method=method, no_guarantee=True, **tables.settings(method))
    assert model.sample(20, seed=0).num_rows == 20

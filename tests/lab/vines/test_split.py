"""One vine for each value of the response: what a single vine cannot hold, it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.baselines.levels import at_level, truncation_levels
from sklar.lab.baselines.tvine import group_values

OPTIONS: dict[str, Any] = {
    "method": "tvine", "target": "y", "sensitive": ["a"], "families": "gaussian", "margins": "smoothed",
    "conditional_root": True, "no_guarantee": True,
}  # fmt: skip


def mixture(rows: int, seed: int) -> pa.Table:
    """Two groups with opposite correlations: their mixture has none."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.4
    a, b, c = rng.standard_normal((3, rows))
    return pa.table({"a": a, "b": np.where(y, 0.8, -0.8) * a + 0.6 * b + y, "c": c, "y": y})


SCHEMA = sklar.Schema({"a": sklar.Real(-6, 6), "b": sklar.Real(-8, 8), "c": sklar.Real(-6, 6), "y": sklar.Boolean()})


def by_group(table: pa.Table) -> list[float]:
    frame = table.to_pandas()
    return [float(frame[frame.y == value][["a", "b"]].corr().iloc[0, 1]) for value in (False, True)]


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(mixture(1_500, 1), SCHEMA, **OPTIONS)


def test_dependence_that_changes_sign_is_kept(model: sklar.Model) -> None:
    assert np.allclose(by_group(model.sample(4_000, seed=1)), [-0.8, 0.8], atol=0.06)
    one = sklar.fit(mixture(1_500, 1), SCHEMA, **{**OPTIONS, "conditional_root": False})
    assert np.abs(by_group(one.sample(4_000, seed=1))).max() < 0.5


def test_levels_count_the_tree_of_the_response(model: sklar.Model, tmp_path: Path) -> None:
    assert truncation_levels(model) == (1, 2, 3)
    first = at_level(model, 1)
    assert np.abs(by_group(first.sample(4_000, seed=1))).max() < 0.06
    assert len(first.inspect()["structure"]["trees"]) == 1
    told = model.inspect()["structure"]["trees"]
    assert [len(tree["edges"]) + tree["independent"] for tree in told] == [3, 2, 1]
    assert all(edge["given"][0] == "y" for tree in told[1:] for edge in tree["edges"])
    at_level(model, 2, drop=True).save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert truncation_levels(again) == (1, 2)
    assert again.sample(30, seed=4).equals(at_level(model, 2).sample(30, seed=4))


def test_margins_and_conditions_hold(model: sklar.Model) -> None:
    real, drawn = mixture(1_500, 1).to_pandas(), model.sample(3_000, seed=2).to_pandas()
    assert drawn.y.mean() == pytest.approx(real.y.mean(), abs=0.001)
    assert drawn.b.quantile([0.1, 0.5, 0.9]).to_numpy() == pytest.approx(
        real.b.quantile([0.1, 0.5, 0.9]).to_numpy(), abs=0.15
    )
    given = model.sample(800, seed=3, given={"a": (1, 6), "b": (1, 8)}).to_pandas()
    free = model.sample(40_000, seed=5, iid=True).to_pandas()
    inside = free[(free.a > 1) & (free.b > 1)]
    assert given.a.min() >= 1 and given.b.min() >= 1
    assert given.y.mean() == pytest.approx(inside.y.mean(), abs=0.06)
    assert model.sample(50, seed=3, given={"y": True}).to_pandas().y.all()


def test_rare_values_share_a_part() -> None:
    codes = np.repeat([0, 1, 2, 3, 4], [500, 300, 150, 60, 10])
    assert group_values(codes) == [[0], [1], [2, 3, 4]]
    assert group_values(np.repeat([0, 1, 2], [500, 300, 10])) == [[0], [1, 2]]


def test_a_response_of_many_values_is_not_split() -> None:
    with pytest.raises(UsageError, match="conditional_root needs a response"):
        sklar.fit(mixture(500, 1), SCHEMA, **{**OPTIONS, "target": "c"})

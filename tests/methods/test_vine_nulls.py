"""Columns that are null together stay so in the rows of a vine; columns that are not, do not become so."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.nulls import link_again, link_nulls, null_tables
from sklar.model.axis import lay_out
from sklar.model.pairs.tables import MeasuredTable
from tests.golden.cases import scripted_fit

ROWS = 6_000


def axis(name: str, missing: float) -> VineAxis:
    mass = np.append(np.full(20, (1 - missing) / 20), missing)
    scale = lay_out(np.arange(21), mass, 21, nominal=False)
    return VineAxis(name=name, scale=scale, coarse=None, ordered=True, numeric=True, null=20)


def measured(axes: list[VineAxis], pair: tuple[int, int], together: float, sigma: float) -> MeasuredTable:
    groups = tuple(axes[column].groups(8, 10.0, ROWS) for column in pair)
    first, second = (group.mass for group in groups)
    exact = np.outer(first, second)
    change = np.outer(*(np.append(-m[:-1] / m[:-1].sum(), 1.0) for m in (first, second)))
    counts = ROWS * (exact + together * change)
    tops = axes[pair[0]].top, axes[pair[1]].top
    return MeasuredTable(columns=pair, groups=groups, counts=counts, sigma=sigma, tops=tops)


def test_nulls_have_a_group_of_their_own_unless_they_are_too_few():
    assert axis("x", 0.04).groups(8, 40.0, ROWS).mass[-1] == pytest.approx(0.04)
    assert axis("x", 0.001).groups(8, 40.0, ROWS).mass[-1] > 0.05


def test_tables_tell_which_nulls_come_together():
    axes = [axis("a", 0.05), axis("b", 0.04), axis("c", 0.06)]
    pairs = link_nulls([measured(axes, (0, 1), 0.03, 30.0), measured(axes, (1, 2), 0.0, 30.0)], ROWS)
    fine = link_again([measured(axes, (0, 1), 0.03, 30.0)], pairs, ROWS)
    before, after = pairs[0].nulls, fine[0].nulls
    assert before is not None and after is not None and after.variance == pytest.approx(before.variance / 2)
    (table,) = null_tables(axes, pairs, fine, ROWS)
    assert table.columns == (0, 1) and table.counts.shape == (2, 2)
    np.testing.assert_allclose(table.counts.sum(axis=1) / ROWS, [0.95, 0.05])
    assert table.counts[1, 1] == pytest.approx(ROWS * (0.05 * 0.04 + 0.03), rel=0.15)


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("together", [True, False])
def test_a_fit_keeps_what_is_null_together(together: bool, labels: bool, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    left, right = rng.random(ROWS) < 0.05, rng.random(ROWS) < 0.05
    right = left if together else right
    z = rng.normal(size=(ROWS, 3)).clip(-4, 4)
    frame = {
        "a": pa.array(z[:, 0], mask=left), "b": pa.array(z[:, 1], mask=right), "c": pa.array(z[:, 2])
    }  # fmt: skip
    columns: dict[str, sklar.Column] = {name: sklar.Real(-4, 4, nullable=name != "c") for name in frame}
    if labels:
        frame["b"] = pa.array(np.array(["u", "v", "w"])[np.digitize(z[:, 1], [-0.5, 1.2])], mask=right)
        columns["b"] = sklar.Category(["u", "v", "w"], nullable=True)
    schema = sklar.Schema(columns)
    model = scripted_fit(pa.table(frame), schema, {"method": "vine", "epsilon": 1.0, "delta": 1e-9}, monkeypatch)
    for iid in (False, True):
        made = model.sample(ROWS, seed=1, iid=iid)
        first, second = (made[name].is_null().to_numpy(zero_copy_only=False) for name in ("a", "b"))
        share = (first & second).sum() / first.sum()
        assert share > 0.7 if together else share < 0.25

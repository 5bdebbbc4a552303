"""What public rules leave to no row has no mass in a fitted vine, before any row is mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.calibrate import soft_tables
from sklar.methods.vine.structure import find_structure
from sklar.model.axis import lay_out
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.vine.calibration import EMPTY_CELL_LOG_WEIGHT, calibrate
from sklar.schema.rules import Expression, Never, Together
from sklar.schema.rules.impossible import find_structural_zeros
from tests.contracts import stays
from tests.golden.cases import scripted_fit

ROWS = 4_000


def axis(name: str, mass: list[float], null: int | None = None) -> VineAxis:
    scale = lay_out(np.arange(len(mass)), np.array(mass), len(mass), nominal=False)
    return VineAxis(name=name, scale=scale, coarse=None, ordered=True, numeric=False, null=null)


def drawn(model: sklar.Model, rows: int = 20_000) -> list[np.ndarray]:
    """Codes as the model draws them, in both ways."""
    table_model = model.table_model
    return [draw(rows, np.random.default_rng(3)) for draw in (table_model.simulate_rounded, table_model.simulate)]


def broken(model: sklar.Model, codes: np.ndarray) -> int:
    """Rows of codes that have what the rules on coordinates leave to none."""
    schema = model.coordinates.schema
    found = np.zeros(len(codes), bool)
    for table in find_structural_zeros(schema, schema.rules):
        at = [schema.modelled.index(name) for name in table.columns]
        found |= table.empty[tuple(one[codes[:, j]] for j, one in zip(at, table.classes, strict=True))]
    return int(found.sum())


def visits(rows: int = ROWS) -> pd.DataFrame:
    """Wards of which one has no strong pain and one no children; drugs asked only of some, doses with them."""
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, rows)
    ward = np.where(age < 16, "children", rng.choice(["surgery", "heart", "eyes"], rows))
    pain = rng.choice(["none", "some", "strong"], rows, p=[0.5, 0.3, 0.2])
    pain = np.where((ward == "eyes") & (pain == "strong"), "some", pain)
    asked = (ward == "heart") & (rng.random(rows) < 0.9)
    return pd.DataFrame(
        {
            "age": age,
            "ward": ward,
            "pain": pain,
            "drug": pd.Series(rng.choice(["a", "b"], rows)).where(asked),
            "dose": pd.Series(rng.gamma(3, 10, rows).clip(0, 200).round(1)).where(asked),
            "day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1400, rows), unit="D")).where(asked),
        }
    )


def rules_of_visits() -> sklar.Schema:
    columns: dict[str, Any] = {
        "age": sklar.Integer(0, 99),
        "ward": sklar.Category(["children", "surgery", "heart", "eyes"]),
        "pain": sklar.Ordinal(["none", "some", "strong"]),
        "drug": sklar.Category(["a", "b"], nullable=True),
        "dose": sklar.Real(0, 200, decimals=1, nullable=True),
        "day": sklar.Datetime("2020-01-01", "2023-12-31", nullable=True),
    }
    return sklar.Schema(
        columns,
        rules=[
            Never(values={"ward": "eyes", "pain": "strong"}),
            Together(columns=["drug", "dose", "day"], only_if={"ward": "heart"}),
            Expression("ward != 'children' or age < 16"),
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.7, 3.0])
@pytest.mark.parametrize("target", [None, "ward"])
def test_nothing_forbidden_is_drawn(epsilon: float, target: str | None, monkeypatch: pytest.MonkeyPatch):
    case = {"method": "vine", "epsilon": epsilon, "delta": 1e-9, "target": target}
    model = scripted_fit(visits(), rules_of_visits(), case, monkeypatch)
    for codes in drawn(model):
        assert broken(model, codes) == 0


@pytest.mark.slow
def test_rows_of_a_table_with_every_rule_need_no_mending(monkeypatch: pytest.MonkeyPatch):
    model = scripted_fit(stays.stays(ROWS), stays.schema(), {"method": "vine", "epsilon": 1.0}, monkeypatch)
    real = stays.stays(ROWS)
    for codes in drawn(model):
        assert broken(model, codes) == 0
    made = model.sample(20_000, seed=1).to_pandas()
    filled, asked = made["cigarettes"].notna(), made["smoker"].astype(bool)
    wanted = real["cigarettes"].notna()[real["smoker"]].mean()
    assert filled[asked].mean() == pytest.approx(wanted, abs=0.08)


def test_columns_null_together_have_one_share_of_nulls(monkeypatch: pytest.MonkeyPatch):
    case = {"method": "vine", "epsilon": 0.7, "delta": 1e-9}
    model = scripted_fit(visits(), rules_of_visits(), case, monkeypatch)
    schema, shares = model.coordinates.schema, dict[str, float]()
    for margin in model.table_model.margins:
        code = schema[margin.column].null_code
        if code is not None:
            shares[margin.column] = float(margin.dense()[code])
    assert list(shares) == ["drug", "dose", "day (year)", "day (month)", "day (weekday)"]
    assert max(shares.values()) == pytest.approx(min(shares.values()), abs=1e-9)


def test_groups_are_empty_where_all_of_their_cells_are():
    axes = [axis("a", [0.3, 0.3, 0.4]), axis("b", [0.5, 0.3, 0.2], null=2), axis("c", [0.6, 0.4], null=1)]
    schema = sklar.Schema(
        {"a": sklar.Integer(0, 2), "b": sklar.Integer(0, 1, nullable=True), "c": sklar.Integer(5, 5, nullable=True)},
        rules=[Never(values={"a": 0, "b": 1}), Never(values={"a": 1, "b": 1}), Together(columns=["b", "c"])],
    )
    structure = find_structure(schema, axes)
    groups = axes[0].groups(2, 0.0, 100), axes[1].groups(3, 0.0, 100), axes[2].groups(2, 0.0, 100)
    assert groups[0].lookup.tolist() == [0, 0, 1]
    expected = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(structure.possible((0, 1), groups[:2]), expected)
    np.testing.assert_array_equal(structure.possible((1, 2), groups[1:]), [[1, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(structure.possible((1, 0), (groups[1], groups[0])), expected.T)
    triple = structure.possible((0, 1, 2), groups)
    pair = structure.possible((1, 2), groups[1:])
    assert triple is not None and pair is not None
    np.testing.assert_array_equal(triple, expected[:, :, None] * pair)
    assert structure.possible((0, 2), (groups[0], groups[2])) is None
    halves = groups[0], axes[1].groups(2, 0.0, 100)
    assert halves[1].lookup.tolist() == [0, 1, 1]
    np.testing.assert_allclose(structure.possible((0, 1), halves), [[1.0, 0.4], [1.0, 1.0]])  # .3 of .5 is forbidden
    assert {table.columns for table in structure.tables(100.0)} == {(0, 1), (1, 2)}


def test_the_calibration_leaves_empty_cells_empty_and_meets_the_others():
    rng, rows = np.random.default_rng(1), 1_000.0
    axes = [axis("a", [0.5, 0.5]), axis("b", [0.5, 0.5])]
    groups = tuple(one.groups(2, 0.0, rows) for one in axes)
    empty = np.array([[False, True], [False, False]])
    counts = np.array([[500.0, 80.0], [200.0, 300.0]])  # the noise says 80 where no row can be
    table = MeasuredTable(columns=(0, 1), groups=groups, counts=counts, sigma=1.0, possible=1.0 - empty)
    draft = soft_tables([table], rows)
    cells = rng.integers(0, 4, (1, 50_000)).astype(np.uint16)
    tilt, weights = calibrate(draft.partitions, draft.tables, cells)
    share = np.bincount(cells[0], weights, 4)
    assert share[1] < 1e-15 and tilt.tables[0].dual[1] == EMPTY_CELL_LOG_WEIGHT
    np.testing.assert_allclose(share[[0, 2, 3]], [0.5, 0.2, 0.3], atol=1e-3)

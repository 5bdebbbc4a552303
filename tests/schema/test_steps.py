"""Columns of multiples: what is declared, what is refused, and which grid it makes."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.errors import SchemaError
from sklar.schema.table import schema_from_toml, schema_to_toml


def test_every_multiple_is_a_cell_of_its_own() -> None:
    grid = sklar.Integer(0, 100_000, step=100).grid
    assert grid.cells == 1_001 and (grid.widths == 100).all()
    assert grid.code(np.array([0, 99, 100, 100_000, 10**9])).tolist() == [0, 0, 1, 1_000, 1_000]
    odd = sklar.Integer(130, 999, step=250).grid
    assert odd.starts.tolist() == [250, 500, 750] and odd.code(np.array([130, 250, 999])).tolist() == [0, 0, 2]
    real = sklar.Real(0, 10, step=0.25).grid
    assert real.cells == 41 and real.code(np.array([0.0, 0.12, 0.13, 9.9, 10.0])).tolist() == [0, 0, 1, 40, 40]
    wide = sklar.Real(0, 1_000_000, step=0.05).grid
    assert wide.cells == 2_048


def test_coarser_grids_are_cut_between_multiples() -> None:
    for column in (
        sklar.Integer(0, 10_000, step=50, bins=7),
        sklar.Integer(-10, 10_000, step=50, edges=[-10, 120, 130, 10_001]),
        sklar.Integer(0, 10**9, step=1_000, atoms=[5_000]),
    ):
        assert (column.grid.starts % column.step == 0).all() and (np.diff(column.grid.starts) > 0).all()
    assert sklar.Integer(0, 10**9, step=1_000, bins=50, atoms=[5_000]).grid.is_atom.sum() == 1


def test_negative_decimals_are_a_step() -> None:
    column = sklar.Real(0, 90_000, decimals=-3, source={"decimals": "public"})
    assert column == sklar.Real(0, 90_000, step=1_000, source={"step": "public"})
    assert column.whole and sklar.Real(0, 9, decimals=0).whole and not sklar.Real(0, 9, step=0.5).whole


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        (sklar.Integer(0, 10, step=0), "step must be a positive whole number"),
        (sklar.Integer(0, 10, step=2.5), "step must be a positive whole number"),  # type: ignore[arg-type]
        (sklar.Integer(0, 10, step=True), "step must be a positive whole number"),
        (sklar.Real(0, 10, step=-1), "step must be a positive number"),
        (sklar.Real(0, 10, step=float("nan")), "step must be a positive number"),
        (sklar.Real(0, 10, step="x"), "step must be a positive number"),  # type: ignore[arg-type]
        (sklar.Integer(101, 199, step=100), "no multiple of the step 100 lies between"),
        (sklar.Real(0.1, 0.2, step=1), "no multiple of the step 1 lies between"),
        (sklar.Real(0, 1e15, step=1e-6), "step is too small for these bounds"),
        (sklar.Integer(0, 10, step=5, atoms=[3]), "atoms must be multiples of the step 5"),
        (sklar.Real(0, 10, step=5, decimals=1), "give decimals or step, not both"),
    ],
)
def test_a_step_that_cannot_be_is_refused(column: sklar.Integer | sklar.Real, fault: str) -> None:
    with pytest.raises(SchemaError, match=fault):
        sklar.Schema({"x": column})


def test_the_file_says_the_same() -> None:
    columns = {
        "loan": sklar.Integer(0, 90_000, step=100, source={"step": "from-rows"}),
        "dose": sklar.Real(0, 5, step=0.05, nullable=True),
    }
    schema = sklar.Schema(columns)
    text = schema_to_toml(schema)
    assert "step = 100" in text and "step = 0.05" in text
    assert schema_from_toml(text) == schema
    assert ("loan", "step") in schema.facts_by_provenance("from-rows")
    again = schema_from_toml(text.replace("step = 0.05", "decimals = -1").replace("upper = 5.0", "upper = 50.0"))
    assert again["dose"] == sklar.Real(0, 50, step=10, nullable=True)

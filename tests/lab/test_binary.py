"""Binary tables are evaluated by counting queries: cells from names, the real rows beside, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.lab.binary import parse_binary_columns
from sklar.sample.binary import binary_names

SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(0, 99), "dose": sklar.Real(0, 1, nullable=True), "sex": sklar.Category(["F", "M"]),
        "a=b": sklar.Boolean(),
    }
)  # fmt: skip


def table(rows: int = 3_000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    dose = rng.beta(2, 5, rows)
    dose[rng.random(rows) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows), "dose": dose, "sex": rng.choice(["F", "M"], rows),
            "a=b": np.nan_to_num(dose, nan=1.0) > 0.3,
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(table(), SCHEMA, method="cop", bins=8, no_guarantee=True)


def exact_bits(model: sklar.Model, frame: pd.DataFrame) -> pd.DataFrame:
    """The real rows as a binary table, made by hand from the model's cells."""
    grids = {"age": frame["age"], "sex": frame["sex"].map({"F": 0, "M": 1}), "a=b": frame["a=b"].astype(int)}
    dose = SCHEMA["dose"].grid.code(frame["dose"].fillna(0).to_numpy())  # type: ignore[attr-defined]
    grids["dose"] = pd.Series(np.where(frame["dose"].isna(), SCHEMA["dose"].null_code, dose))
    columns = []
    for name, first in zip(SCHEMA.modelled, model.table_model.binary_codes(), strict=True):  # type: ignore[attr-defined]
        stops = [*first[1:], SCHEMA.size(name)]
        columns += [((grids[name] >= a) & (grids[name] < b)).astype(int) for a, b in zip(first, stops, strict=True)]
    return pd.concat(columns, axis=1, keys=binary_names(SCHEMA, model.table_model))  # type: ignore[arg-type]


def test_names_tell_the_cells_of_the_model(model: sklar.Model) -> None:
    found = parse_binary_columns(SCHEMA, binary_names(SCHEMA, model.table_model))  # type: ignore[arg-type]
    for cells, first in zip(found.values(), model.table_model.binary_codes(), strict=True):  # type: ignore[attr-defined]
        assert [a for a, _ in cells] == first.tolist()
    assert all(cells[-1][1] == SCHEMA.size(name) for name, cells in found.items())


def test_the_real_rows_themselves_have_no_error(model: sklar.Model) -> None:
    found = sklar.lab.evaluate_binary(table(), exact_bits(model, table()), SCHEMA)
    for part in found.queries.sets:
        assert part.answered[0].lines[-1].largest == pytest.approx(0.0, abs=1e-6)


def test_one_bit_off_is_one_row(model: sklar.Model) -> None:
    bits = exact_bits(model, table())
    bits.iloc[0, 0] = 1 - bits.iloc[0, 0]
    found = sklar.lab.evaluate_binary(table(), bits, SCHEMA)
    assert found.queries.sets[0].answered[0].lines[-1].largest == pytest.approx(1.0)


@pytest.mark.slow
def test_a_sample_is_close_and_other_rows_are_not(model: sklar.Model, tmp_path: Path) -> None:
    def error(frame: object) -> float:
        return sklar.lab.evaluate_binary(table(), frame, SCHEMA).queries.sets[0].answered[0].lines[-1].average

    near = model.sample(20_000, seed=0, binary=True)
    far = near.to_pandas()
    far[:] = 1
    assert error(near) < 40 < error(far)
    table().to_csv(tmp_path / "real.csv", index=False)
    SCHEMA.write(tmp_path / "s.toml")
    model.write_rows(tmp_path / "bits.parquet", 5_000, seed=1, binary=True)
    words = ["evaluate", str(tmp_path / "real.csv"), str(tmp_path / "bits.parquet"), "-s", str(tmp_path / "s.toml")]
    told = CliRunner().invoke(app, [*words, "--binary", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["rows"] == {"real": 3_000, "synthetic": 5_000}
    shown = CliRunner().invoke(app, [*words, "--binary"])
    assert shown.exit_code == 0 and "Q1" in shown.output and "Q3" in shown.output
    refused = CliRunner().invoke(app, [*words, "--binary", "--target", "sex"])
    assert refused.exit_code == 1 and "--target is not available" in refused.output


@pytest.mark.parametrize("change", ["values", "more", "less", "order"])
def test_other_tables_are_refused(model: sklar.Model, change: str) -> None:
    bits = exact_bits(model, table())
    other = {
        "values": table(), "more": bits.assign(**{"more=1": 0}), "less": bits.drop(columns="sex=M"),
        "order": bits[bits.columns[::-1]],
    }  # fmt: skip
    with pytest.raises(sklar.errors.UsageError, match="not a binary table of this schema"):
        sklar.lab.evaluate_binary(table(), other[change], SCHEMA)

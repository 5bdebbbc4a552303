"""Rules that shape the fit: every DP method measures coordinates at the price of tables, and the rules always hold."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError
from tests.contracts import stays
from tests.contracts.record_replay import compare, record
from tests.tiers import slow_unless

METHODS: dict[str, dict[str, Any]] = {
    "independent": {},
    "vine": {"epsilon": 5.0},
    "few rows": {"method": "vine", "epsilon": 0.2},
    "with a target": {"method": "vine", "epsilon": 5.0, "target": "region"},
    "dpcopula-kendall": {"neighbours": "replace"},
    "dpcopula-mle": {"epsilon": 400.0, "k": 0.1, "block_rows": 20},
    "dpcopula-hybrid": {"small": 7, "bins": 8, "ranks": 3},  # by default two million draws of noise, a minute a fit
    "dpc-gauss": {"bins": 4, "rounds": 0},
    "dpc-laplace": {"bins": 4, "rounds": 0},
}


def settings(case: str) -> dict[str, Any]:
    return {"schema": stays.schema(), "method": case, "epsilon": 1.0, **METHODS[case]}


@pytest.mark.slow
@pytest.mark.parametrize("case", METHODS)
def test_record_and_replay(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    base, odd = stays.stays(250), stays.odd_stays()
    relation = "replace" if case.startswith("dp") else "add-remove"
    kept = base.iloc[1:] if relation == "replace" else base
    wanted = {**settings(case), "neighbours": relation}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = record(monkeypatch, data=base, **wanted)
        for at in range(len(odd)) if case == "independent" else (0, 2):
            other = pd.concat([kept, odd.iloc[[at]]], ignore_index=True)
            assert compare(first, record(monkeypatch, first, data=other, **wanted)) == []


@cache
def fitted(case: str, rows: int = 6000) -> sklar.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = settings(case)
        return sklar.fit(stays.stays(rows), wanted.pop("schema"), **wanted)


@cache
def drawn(case: str) -> pd.DataFrame:
    return fitted(case).sample(50_000, seed=4).to_pandas()


def broken(table: pa.Table) -> int:
    """Rows that break a rule, told from the table that people get."""
    frame = table.to_pandas(date_as_object=False)
    bad = frame["left"].notna() & (frame["left"] < frame["admitted"])
    bad |= frame["region"] != frame["town"].map({**stays.REGIONS, "other": "other"})
    bad |= frame["walks"].astype(int) + (frame["rides"] == 1) + (frame["carried"] == 1) != 1
    bad |= ~frame["carried"].isin([0, 1])
    cents = (100 * frame[["room", "meals", "bill"]]).round().astype(int)
    bad |= cents["room"] + cents["meals"] != cents["bill"]
    bad |= frame["bill"] != cents["bill"] / 100
    bad |= (frame["owed"] - frame["room"] - 0.5 * frame["meals"] - 2.5).abs() > 0.005 + 1e-9
    bad |= (frame["paid"] < 0.2 * frame["room"]) | (frame["paid"] > frame["room"])
    bad |= frame["cigarettes"].isna() != frame["since"].isna()
    bad |= frame["cigarettes"].notna() & ~frame["smoker"]
    return int(bad.sum())


@pytest.mark.parametrize("case", slow_unless(("independent", "few rows").__contains__, METHODS))
def test_rules_hold_in_every_row(case: str) -> None:
    table = fitted(case).sample(10_000, seed=1)
    assert broken(table) == 0 and table.num_rows == 10_000
    assert table.schema.names == list(stays.COLUMNS)
    for given in ({"region": "N", "bill": (0, 200)}, {"paid": (20, 60)}, {"walks": False, "cigarettes": (1, 30)}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the noise made such rows rare, some are copies
            found = fitted(case).sample(1_000, seed=2, given=given)
        assert broken(found) == 0 and found.num_rows == 1_000


@pytest.mark.slow
def test_rules_hold_in_streams_parts_and_conditional_samples(tmp_path: Path) -> None:
    model = fitted("vine")
    assert sum(broken(pa.Table.from_batches([batch])) for batch in model.stream(150_000, seed=2)) == 0
    model.write_rows(tmp_path / "parts", 70_000, seed=2, part_rows=65_536, workers=1)
    import pyarrow.dataset

    assert broken(pyarrow.dataset.dataset(tmp_path / "parts", format="parquet").to_table()) == 0
    march: dict[str, Any] = {"left": ("2016-03-01", "2016-04-30")}
    asked: list[dict[str, Any]] = [
        {"region": "W"}, {"left": None}, march, {"region": "S", "town": "c"}, {"carried": 1},
        {"walks": False, "rides": 0}, {"cigarettes": (1, 10)}, {"since": None, "smoker": True}, {"bill": (0, 100)},
    ]  # fmt: skip
    for given in asked:
        found = model.sample(2000, seed=3, given=given)
        assert broken(found) == 0 and found.num_rows == 2000
    days = model.sample(500, seed=3, given=march).column("left").to_pylist()
    assert min(days) >= pd.Timestamp("2016-03-01").date() and max(days) <= pd.Timestamp("2016-04-30").date()
    towns = model.sample(500, seed=3, given={"region": "W"}).column("town").unique().to_pylist()
    assert sorted(towns) == ["e", "f"]


@pytest.mark.slow
def test_a_model_file_knows_its_coordinates(tmp_path: Path) -> None:
    model = fitted("vine")
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert again.schema == model.schema and again.coordinates == model.coordinates
    assert again.sample(500, seed=1).equals(model.sample(500, seed=1))
    told = [margin["column"] for margin in model.inspect()["margins"]]
    assert told == stays.MEASURED


@pytest.mark.parametrize("case", slow_unless("independent".__eq__, ["independent", "vine"]))
def test_lengths_are_right(case: str) -> None:
    real, table = stays.stays(20_000, seed=5), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sklar.fit(real, stays.schema(), method=case, epsilon=1.0)
    table = model.sample(50_000, seed=1).to_pandas(date_as_object=False)
    quantiles = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95]
    want, got = (((t["left"] - t["admitted"]).dt.days).quantile(quantiles).to_numpy() for t in (real, table))
    assert want[2] == 3 and np.abs(got - want).max() <= np.maximum(1, 0.15 * want).max()
    assert got[2] in (3, 4)
    assert abs(table["left"].isna().mean() - 0.1) < 0.02


@pytest.mark.slow
def test_what_rules_took_apart_keeps_its_shares() -> None:
    real, table = stays.stays(6000), drawn("vine")
    for name, on in (("walks", True), ("rides", 1), ("carried", 1)):
        assert abs((real[name] == on).mean() - (table[name] == on).mean()) < 0.03
    assert abs(real["cigarettes"].isna().mean() - table["cigarettes"].isna().mean()) < 0.03
    assert abs(real["smoker"].mean() - table["smoker"].mean()) < 0.03
    assert abs(real["bill"].mean() - table["bill"].mean()) < 0.1 * real["bill"].std()


@pytest.mark.parametrize("case", slow_unless("independent".__eq__, ["independent", "vine"]))
def test_a_skip_pattern_fills_as_many_rows_as_there_were(case: str) -> None:
    """Even a model that knows nothing of the dependence does, since only such rows can be filled."""
    real, table = stays.stays(6000), drawn(case)
    filled = [t["cigarettes"].notna()[t["smoker"]].mean() for t in (real, table)]
    assert abs(filled[0] - filled[1]) < 0.08


def noise_of(schema: sklar.Schema, method: str) -> list[float]:
    lines = sklar.plan(schema, method=method, epsilon=1.0, rows=5000).lines
    return [line.std for line in lines]


@pytest.mark.parametrize("method", ["vine", "independent", "dpcopula-kendall", "dpc-gauss"])
def test_a_computed_column_costs_nothing(method: str) -> None:
    columns = dict(stays.COLUMNS)
    region = columns.pop("region")
    others = [rule for rule in stays.RULES if rule.kind != "function"]
    without = sklar.Schema(columns, others)
    assert noise_of(stays.schema(), method) == noise_of(without, method)
    unruled = sklar.Schema({**columns, "region": region}, others)
    assert sum(noise_of(unruled, method)) > sum(noise_of(without, method))


def test_error_bars_of_a_function_are_those_of_its_argument() -> None:
    model = fitted("vine")
    one, other = (model.interval(given, seed=1) for given in ({"region": "W"}, {"town": ["e", "f"]}))
    assert one == other
    with pytest.raises(UsageError, match="computed from 'left - admitted'"):
        model.interval({"left": ("2016-03-01", "2016-04-30")})


def test_methods_without_a_guarantee_keep_to_the_columns() -> None:
    model = sklar.fit(stays.stays(800), stays.schema(), method="plain-gaussian", no_guarantee=True)
    assert model.coordinates.plain and broken(model.sample(3000, seed=1)) == 0

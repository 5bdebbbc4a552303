"""Datetimes keep their calendar: year, month, weekday and hour are measured, paired, and agree in every moment."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sklar
from sklar.rows.encode.coordinates import coordinate_encoder
from sklar.schema.coordinates import coordinates

SEEN = sklar.Datetime("2019-01-01T00:00", "2023-12-31T23:59", resolution="minute", nullable=True)
SCHEMA = sklar.Schema({"seen": SEEN, "ill": sklar.Boolean()})
PARTS = ("seen (year)", "seen (month)", "seen (weekday)", "seen (hour)")


def moments(rows: int, seed: int = 1) -> pa.Table:
    """More ill people in winter, nobody at night, few at weekends, some without a date."""
    rng = np.random.default_rng(seed)
    days = np.arange("2019-01-01", "2024-01-01", dtype="datetime64[D]")
    weight = np.where((days.astype(int) + 3) % 7 >= 5, 0.3, 1.0)
    day = rng.choice(days, rows, p=weight / weight.sum())
    minute = rng.integers(8 * 60, 18 * 60, rows)
    winter = np.isin(day.astype("datetime64[M]").astype(int) % 12, [11, 0, 1])
    seen = day.astype("datetime64[s]") + minute.astype("timedelta64[m]")
    gone = rng.random(rows) < 0.1
    return pa.table({"seen": pa.array(seen, mask=gone), "ill": rng.random(rows) < np.where(winter, 0.8, 0.2)})


@cache
def fitted(method: str = "vine", **more: Any) -> sklar.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sklar.fit(moments(8_000), SCHEMA, method=method, epsilon=20.0, **more)


def shares(table: pa.Table) -> dict[str, float]:
    seen = table["seen"].drop_null().to_numpy()
    month, hour = seen.astype("datetime64[M]").astype(int) % 12 + 1, seen.astype("datetime64[h]").astype(int) % 24
    ill = table.filter(pc.is_valid(table["seen"]))["ill"].to_numpy()
    winter = np.isin(month, [12, 1, 2])
    return {
        "weekend": float(((seen.astype("datetime64[D]").astype(int) + 3) % 7 >= 5).mean()),
        "night": float(((hour < 7) | (hour >= 19)).mean()),
        "ill in winter": float(ill[winter].mean()),
        "ill in summer": float(ill[~winter].mean()),
        "null": table["seen"].null_count / table.num_rows,
    }


def test_a_datetime_is_measured_by_its_parts() -> None:
    by = coordinates(SCHEMA)
    assert by.schema.modelled == (*PARTS, "ill")
    assert [by.schema.size(name) for name in PARTS] == [6, 13, 8, 25]
    assert by.find_coordinate("seen") == "seen (year)"
    assert coordinates(sklar.Schema({"born": sklar.Datetime("1920-01-01", "2009-12-31")})).plain
    assert coordinates(sklar.Schema({"seen": sklar.Datetime("2019-01-01", "2023-12-31", calendar=[])})).plain
    assert coordinates(sklar.Schema({"seen": sklar.Datetime("2019-01-01", "2023-12-31", bins=60)})).plain


def test_codes_are_those_of_the_standard_library() -> None:
    by, table = coordinates(SCHEMA), moments(500)
    read = {part.name: coordinate_encoder(by, part)(table["seen"]) for part in by.parts[:4]}
    for i, moment in enumerate(table["seen"].to_pylist()):
        expected = (
            [5, 12, 7, 24] if moment is None else [moment.year - 2019, moment.month - 1, moment.weekday(), moment.hour]
        )
        assert [int(read[name][i]) for name in PARTS] == expected


@pytest.mark.slow
def test_season_week_and_hours_are_kept() -> None:
    real, synthetic = shares(moments(8_000)), shares(fitted().sample(40_000, seed=3))
    for name, share in real.items():
        assert synthetic[name] == pytest.approx(share, abs=0.02 + 0.1 * share), name


def test_columns_drawn_on_their_own_keep_the_calendar_of_the_column() -> None:
    real, synthetic = shares(moments(8_000)), shares(fitted("independent").sample(40_000, seed=3))
    assert synthetic["weekend"] == pytest.approx(real["weekend"], abs=0.03)
    assert synthetic["ill in winter"] == pytest.approx(synthetic["ill in summer"], abs=0.05)  # that is lost


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        ("2020-02-10", "2020-02-20T23:59"),
        ("2021-12-24T10:00", "2021-12-24T11:30"),
        ("2019-01-01", "2023-12-31T23:59"),
        ["2022-03-03T09:15", "2023-06-01T12:00"],
    ],
)
@pytest.mark.filterwarnings("ignore:rows that meet all conditions are so rare:sklar.errors.SklarWarning")
def test_conditions_on_moments_hold(given: Any) -> None:
    table = fitted().sample(300, given={"seen": given}, seed=5)
    seen = table["seen"].to_numpy()
    if isinstance(given, tuple):
        low, high = (np.datetime64(end) for end in given)
        assert ((seen >= low) & (seen <= high)).all()
    else:
        assert set(seen) <= {np.datetime64(point) for point in given}


def test_conditions_on_null() -> None:
    table = fitted().sample(200, given={"seen": None}, seed=5)
    assert table["seen"].null_count == 200


def test_counts_of_moments_were_not_released() -> None:
    model = fitted()
    assert model.interval({"ill": True}).low > 0
    with pytest.raises(sklar.errors.UsageError, match="computed from 'seen \\(year\\)' and others"):
        model.interval({"seen": ("2020-01-01", "2020-12-31")})


@pytest.mark.slow
def test_a_model_file_knows_its_parts(tmp_path: Any) -> None:
    fitted().save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert again.sample(500, seed=9).equals(fitted().sample(500, seed=9))
    assert [margin["column"] for margin in again.inspect()["margins"]] == [*PARTS, "ill"]


@pytest.mark.parametrize(
    ("lower", "upper", "parts"), [("2020-01-01", "2020-01-01", ["weekday"]), ("2019-01-01", "2023-12-31", ["hour"])]
)
def test_a_calendar_that_there_is_not(lower: str, upper: str, parts: list[str]) -> None:
    with pytest.raises(
        sklar.errors.SchemaError, match="calendar lists parts that follow from its bounds and resolution"
    ):
        sklar.Schema({"day": sklar.Datetime(lower, upper, calendar=parts)})


def test_one_day_needs_no_calendar() -> None:
    schema = sklar.Schema({"day": sklar.Datetime("2020-01-01", "2020-01-01"), "x": sklar.Boolean()})
    table = pa.table({"day": ["2020-01-01"] * 200, "x": [True, False] * 100})
    assert set(map(str, sklar.fit(table, schema, epsilon=5.0).sample(50, seed=1)["day"].to_pylist())) == {"2020-01-01"}

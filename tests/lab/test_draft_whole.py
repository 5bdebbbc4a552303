"""A draft of a large table: what comes late in the file is seen, and each statement names its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.lab.drafting.moments import _round_bounds
from sklar.lab.drafting.sampling import sample_rows
from sklar.schema.numbers import Integer
from sklar.schema.reading import ReadOptions

ROWS, SEEN = 20_000, 4_000


def visits() -> pd.DataFrame:
    """Persons with ten visits; labels change late, and one row has the largest number, one a missing one."""
    rng = np.random.default_rng(1)
    at = np.arange(ROWS)
    fee = pd.Series(rng.integers(0, 40, ROWS)).astype("Int64")
    fee[ROWS - 3], fee[ROWS - 7] = 977, pd.NA
    return pd.DataFrame(
        {
            "patient_id": at // 10,
            "year": 2000 + at % 10,
            "ward": np.where(at < 0.8 * ROWS, rng.choice(["a", "b"], ROWS), "c"),
            "fee": fee,
            "level": rng.integers(0, 9, ROWS).astype(str),
        }
    )


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_late_values_are_drafted_and_persons_are_counted_in_all_rows(tmp_path: Path, form: str) -> None:
    data = visits()
    if form != "frame":
        place = tmp_path / f"visits.{form}"
        data.to_csv(place, index=False) if form == "csv" else data.to_parquet(place)
    draft = sklar.draft_schema(data if form == "frame" else place, rows=SEEN)
    assert draft["ward"].values == ("a", "b", "c")  # type: ignore[attr-defined]
    fee = draft["fee"]
    assert isinstance(fee, Integer) and fee.upper >= 977 and fee.nullable
    assert draft.person is not None and draft.person.key == "patient_id" and draft.person.rows == 10
    assert "of the 20,000 rows" in draft.remarks[-1] and "from all of them" in draft.remarks[-1]


def test_a_sample_has_runs_from_everywhere_and_no_more_rows_than_wanted() -> None:
    found = sample_rows(pd.DataFrame({"x": np.arange(ROWS)}), SEEN, ReadOptions())
    places = found.table.column("x").to_numpy()
    assert found.total == ROWS and SEEN // 2 < len(places) <= SEEN and found.is_partial
    assert np.histogram(places, bins=10, range=(0, ROWS))[0].min() >= len(places) // 20
    assert (np.diff(places) == 1).mean() > 0.8  # rows that stand together stay together
    few = sample_rows(pd.DataFrame({"x": np.arange(SEEN)}), SEEN, ReadOptions())
    assert few.table.num_rows == SEEN and not few.is_partial


def test_a_stream_that_is_read_once_says_what_it_does_not_know() -> None:
    import pyarrow as pa

    table = pa.Table.from_pandas(visits())
    draft = sklar.draft_schema(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), rows=SEEN)
    assert "other rows may have wider bounds" in draft.remarks[-1]


@pytest.mark.parametrize(
    ("first", "last", "resolution", "bounds"),
    [
        ("1935-06-03", "2002-03-09", "day", ("1935-01-01", "2002-12-31")),
        ("2020-04-17", "2023-02-11", "day", ("2020-04-01", "2023-02-28")),
        ("2019-01-02", "2023-12-29", "day", ("2019-01-01", "2023-12-31")),
        ("2021-01-15", "2021-03-20", "day", ("2021-01-15", "2021-03-20")),
        ("2024-02-28T10:12", "2024-03-01T12:30", "minute", ("2024-02-28T10:00:00", "2024-03-01T12:59:00")),
        ("2024-02-29", "2024-02-29", "day", ("2024-02-01", "2024-02-29")),
    ],
    ids=["decades", "three years", "whole years", "weeks", "days", "one day"],
)
def test_bounds_of_times_are_as_round_as_their_span_allows(
    first: str, last: str, resolution: str, bounds: tuple[str, str]
) -> None:
    from datetime import datetime

    assert _round_bounds(datetime.fromisoformat(first), datetime.fromisoformat(last), resolution) == bounds


def test_counts_from_one_keep_their_one() -> None:
    rng = np.random.default_rng(2)
    few = np.r_[1, rng.integers(20, 200, 1_999)]
    draft = sklar.draft_schema(pd.DataFrame({"n": few, "ten": np.resize(np.arange(1, 11), 2_000)}))
    assert (draft["n"].lower, draft["ten"].lower, draft["ten"].upper) == (1, 1, 10)  # type: ignore[attr-defined]


def test_groups_of_ages_are_a_rule_and_a_function_of_dates_is_a_note() -> None:
    rng = np.random.default_rng(3)
    age, day = (
        rng.integers(18, 90, 5_000),
        pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 5_000), "D"),
    )
    group = np.select([age < 30, age < 65], ["young", "middle"], "old")
    draft = sklar.draft_schema(pd.DataFrame({"age": age, "group": group, "day": day, "quarter": day.quarter}))
    (rule,) = [rule for rule in draft.rules if rule.kind == "function"]
    assert rule.describe() == "group is a function of age" and len(rule.pairs) == 121  # type: ignore[attr-defined]
    (asked,) = [question for question in draft.questions() if question.kind == "function"]
    assert "young for 0 to 29; middle for 30 to 64; old for 65 to 120" in asked.notes[1]
    assert any("follows from day" in note and "too many to list" in note for note in draft.notes["quarter"])

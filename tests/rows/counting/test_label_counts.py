"""Counts of labels are exact from the floor on, whatever the order, the layout and the memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sklar.rows.codes.label_counts as label_counts
from sklar.errors import SourceError
from sklar.rows import exact_label_counts, open_rows
from sklar.schema import Category, Schema

SCHEMA = Schema({"x": Category(["?"])})


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for small tables, and quicker."""
    monkeypatch.setattr(label_counts, "BUCKET_BYTES", 1 << 18)


def counted(values: object, floor: int = 1, **reader: object) -> dict[str, int]:
    table = pa.table({"x": values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)})
    return exact_label_counts(open_rows(table, SCHEMA, **reader), {"x": floor})["x"]  # type: ignore[arg-type]


@pytest.fixture
def words() -> list[str]:
    rng = np.random.default_rng(3)
    return [f"w{i}" for i in np.minimum(rng.zipf(1.3, 6000), 10**6)]


@pytest.mark.parametrize("floor", [1, 2, 7, 100])
@pytest.mark.parametrize("at_once", [1_000_000, 50])
@pytest.mark.parametrize("bucket_bytes", [1 << 18, 4 << 5])
def test_exact_from_the_floor_on(
    words: list[str], floor: int, at_once: int, bucket_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when almost all texts collide in 32 buckets, and when they are counted part by part."""
    monkeypatch.setattr(label_counts, "LABELS_PER_PASS", at_once)
    monkeypatch.setattr(label_counts, "BUCKET_BYTES", bucket_bytes)
    expected = {w: n for w, n in Counter(words).items() if n >= floor}
    found = counted(words, floor)
    assert found == expected
    assert list(found) == sorted(found)
    assert counted(sorted(words), floor) == found


def test_null_empty_and_long_texts_are_no_labels() -> None:
    longest = "l" * label_counts.MAX_LABEL_BYTES
    values = ["a", None, "", "NA", "n/a", longest, longest + "l", "é" * 100, "é" * 101]
    assert counted(values, null_values=["NA"]) == {"a": 1, "n/a": 1, longest: 1, "é" * 100: 1}


def test_bytes_that_are_not_utf8_are_no_labels() -> None:
    assert counted(pa.array([b"ok", b"\xff\xfe", b"ok"], pa.binary())) == {"ok": 2}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3, -4, 3, None]), {"-4": 1, "3": 2}),
        (pa.array([1.0, 1.0, 2.5, None, float("nan"), 1e300]), {"1": 2, "1e+300": 1, "2.5": 1}),
        (pa.array([0.1, 0.1], pa.float32()), {"0.1": 2}),
        (pa.array([True, False, True]), {"false": 1, "true": 2}),
        (pa.array(["a", "b", "a"]).dictionary_encode(), {"a": 2, "b": 1}),
        (pa.array(["a", "b", "a"], pa.string_view()), {"a": 2, "b": 1}),
        (pa.array(["a", "b", "a"], pa.large_string()).slice(1), {"a": 1, "b": 1}),
        (pa.array([[1], [2]]), {}),
    ],
    ids=str,
)
def test_values_are_spelled_as_a_list_of_labels_would_match_them(values: pa.Array, expected: dict[str, int]) -> None:
    assert counted(values) == expected
    if expected:
        schema = Schema({"x": Category(list(expected), nullable=True)})
        (batch,) = open_rows(pa.table({"x": values}), schema).code_matrix_batches(["x"])
        codes = Counter(batch[:, 0].tolist())
        assert [codes[i] for i in range(len(expected))] == list(expected.values())
        assert codes[schema["x"].other_code or 0] == 0


def test_several_columns_from_a_text_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": list("aabbbc"), "y": ["7", "7", "07", "", "7", "8"], "z": range(6)})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    schema = Schema({"x": Category(["?"]), "y": Category(["?"])})
    rows = open_rows(path, schema)
    assert exact_label_counts(rows, {"x": 2, "y": 1}) == {"x": {"a": 2, "b": 3}, "y": {"07": 1, "7": 3, "8": 1}}
    assert rows.passes == 2


def test_one_person_moves_one_label(words: list[str]) -> None:
    """Exact labels of neighbours: one entry by one, or one label more at the floor."""
    before = counted(words, 5)
    for extra in ("w1", "brand new", next(w for w, n in Counter(words).items() if n == 4)):
        after = counted([*words, extra], 5)
        changed = {w for w in {*before, *after} if before.get(w) != after.get(w)}
        assert changed <= {extra}
        assert after.get(extra, 5) - before.get(extra, 4) == 1


def test_a_stream_is_refused_before_it_is_read() -> None:
    reader = pa.table({"x": ["a"]}).to_reader()
    with pytest.raises(SourceError, match="only once"):
        open_rows(reader, SCHEMA).require_repeatable()


def test_a_bucket_that_is_full_stays_full() -> None:
    """After 2^32 rows a count that began anew would lose the label."""
    from sklar.counting.tallies import tally_buckets

    counts = np.array([2**32 - 2, 2**32 - 1, 0], dtype=np.uint32)
    tally_buckets(np.array([0, 0, 0, 1, 1, -1], dtype=np.int32), counts)
    assert counts.tolist() == [2**32 - 1, 2**32 - 1, 0]
    for floor in (2**32 - 1, 2**32, 2**40):
        assert label_counts._assign_passes(counts, floor).astype(bool).tolist() == [True, True, False]


@pytest.mark.parametrize("bucket_bytes", [1 << 18, 4 << 5])
def test_listed_labels_are_counted_below_the_floor_and_without_rows(
    words: list[str], bucket_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_counts, "BUCKET_BYTES", bucket_bytes)
    counts = Counter(words)
    rare = min(counts, key=lambda word: counts[word])
    listed = (rare, "w1", "absent", "NA")
    rows = open_rows(pa.table({"x": [*words, "NA"]}), SCHEMA, null_values=("NA",))  # type: ignore[arg-type]
    found = exact_label_counts(rows, {"x": 30}, {"x": listed})["x"]
    often = {word: count for word, count in counts.items() if count >= 30}
    assert found == {**often, rare: counts[rare], "w1": counts["w1"], "absent": 0, "NA": 0}
    assert list(found) == sorted(found)

"""Tables larger than memory: codes on private disk, folders of many files, files that change or are damaged."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sklar.counting import plans as grouping
from sklar.counting.blocks import MomentJob
from sklar.errors import SourceError
from sklar.release.blocks import BlockMeans
from sklar.release.scores import Scores
from sklar.rows import exact_counts, exact_ones, open_rows
from sklar.rows.codes.kept import KeptCodes
from sklar.rows.codes.table import read_ahead
from sklar.rows.sources import columnar as parquet
from sklar.schema import Boolean, Category, Integer, Real, Schema

MARK = "CANARY_7f3a"
SCHEMA = Schema(
    {
        "a": Integer(0, 999),
        "b": Real(0, 1),
        "c": Category(("x", "y", "z"), nullable=True),
        "d": Boolean(),
        "e": Boolean(),
    }
)
SPECS: list[Any] = [(("a", "c"), None), (("b",), None), (("d", "e"), None), ((), None)]


def table(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.integers(0, 1000, rows),
            "b": rng.random(rows),
            "c": pa.array(rng.choice(np.array(["x", "y", "z", None, MARK], dtype=object), rows).tolist()),
            "d": rng.random(rows) < 0.5,
            "e": rng.random(rows) < 0.1,
        }
    )


def counts(rows: Any) -> list[Any]:
    return [found.tolist() for found in exact_counts(rows, SPECS)]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return table(300_001)


@pytest.fixture(scope="module")
def file(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "people.parquet"
    pq.write_table(people, path, row_group_size=50_000)
    return path


@pytest.mark.parametrize("memory", [0, 300_000])
def test_codes_on_disk_are_the_same_and_leave_nothing(
    memory: int, people: pa.Table, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    real_open = os.open

    def watched(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        handle = real_open(path, flags, *rest, **more)
        if str(path).startswith(str(tmp_path)):
            opened.append(handle)
        return handle

    monkeypatch.setattr(os, "open", watched)
    rows = open_rows(file, SCHEMA, cache_bytes=memory, cache=tmp_path / "codes")
    assert counts(rows) == counts(open_rows(people, SCHEMA)) == counts(rows)
    assert np.array_equal(exact_ones(rows, ["d", "e"]), exact_ones(open_rows(people, SCHEMA), ["d", "e"]))
    assert rows.passes == 1 and rows.exact_rows == 300_001
    status = os.fstat(opened[-1])
    # No name in any folder: gone with the process, whatever ends it.
    assert status.st_nlink == 0 and stat.S_IMODE(status.st_mode) == 0o600 and status.st_size > 300_000
    assert os.listdir(tmp_path / "codes") == [] and stat.S_IMODE((tmp_path / "codes").stat().st_mode) == 0o700
    rows.close()
    with pytest.raises(OSError):
        os.fstat(opened[-1])


def test_a_stream_goes_to_disk_when_it_outgrows_the_memory(people: pa.Table, tmp_path: Path) -> None:
    rows = open_rows(people.to_reader(), SCHEMA, cache_bytes=0, cache=tmp_path / "codes")
    assert counts(rows) == counts(open_rows(people, SCHEMA))


def test_a_folder_that_others_can_see_is_refused(file: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(SourceError, match="chmod 700"):
        open_rows(file, SCHEMA, cache=tmp_path)


def test_a_full_disk_is_told(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(SourceError, match="no space left"):
        counts(open_rows(file, SCHEMA, cache_bytes=0, cache=tmp_path / "codes"))


@pytest.mark.parametrize("cache_bytes", [0, 1 << 30])
def test_a_pass_that_failed_half_way_leaves_nothing_to_count_twice(
    cache_bytes: int, people: pa.Table, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = open_rows(file, SCHEMA, cache_bytes=cache_bytes, cache=tmp_path / "codes")
    add, calls = KeptCodes.add, []

    def fail_once(self: KeptCodes, batch: Any) -> bool:
        calls.append(1)
        if len(calls) == 2:
            raise SourceError("half-way")
        return add(self, batch)

    monkeypatch.setattr(KeptCodes, "add", fail_once)
    with pytest.raises(SourceError, match="half-way"):
        rows.keep_codes()
    assert counts(rows) == counts(open_rows(people, SCHEMA))
    rows.close()
    assert counts(rows) == counts(open_rows(people, SCHEMA))  # read again rather than counted as empty


def test_progress_begins_anew_with_every_pass(file: Path, tmp_path: Path) -> None:
    told: list[float] = []
    rows = open_rows(file, SCHEMA, cache_bytes=0, progress=told.append)
    counts(rows), counts(rows)
    assert told.count(0.0) == rows.passes == 2 and told.count(1.0) == 2


def folder_of(place: Path, sizes: list[int]) -> Path:
    place.mkdir(exist_ok=True)
    for at, size in enumerate(sizes):
        pq.write_table(table(size, at), place / f"{at}.parquet")
    return place


def test_a_folder_with_files_without_rows(tmp_path: Path) -> None:
    told: list[float] = []
    rows = open_rows(folder_of(tmp_path, [500, 0, 700]), SCHEMA, progress=told.append)
    whole = pa.concat_tables([table(500, 0), table(700, 2)])
    assert counts(rows) == counts(open_rows(whole, SCHEMA))
    assert told == sorted(told) and told.count(0.0) == 1 and told[-1] == 1


def test_files_of_different_columns_in_a_folder(tmp_path: Path) -> None:
    folder_of(tmp_path, [10, 10])
    pq.write_table(table(10).drop_columns(["b"]), tmp_path / "1.parquet")
    with pytest.raises(SourceError, match=r"1\.parquet lacks column 'b'"):
        open_rows(tmp_path, SCHEMA)
    (tmp_path / "1.parquet").write_bytes(b"")
    with pytest.raises(SourceError, match=r"1\.parquet"):
        open_rows(tmp_path, SCHEMA)


def test_files_of_different_types_in_a_folder_are_read_by_the_same_rules(tmp_path: Path) -> None:
    folder_of(tmp_path, [10, 10])
    texts = table(10, 1).set_column(0, "a", table(10, 1)["a"].cast(pa.string()))
    expected = counts(open_rows(tmp_path, SCHEMA))
    pq.write_table(texts, tmp_path / "1.parquet")
    assert counts(open_rows(tmp_path, SCHEMA)) == expected


@pytest.mark.parametrize("change", ["touch", "grow", "new file", "gone"])
def test_a_folder_that_changes_between_passes(change: str, tmp_path: Path) -> None:
    folder_of(tmp_path, [10, 10])
    rows = open_rows(tmp_path, SCHEMA, cache_bytes=0)
    counts(rows)
    if change == "touch":
        os.utime(tmp_path / "1.parquet", ns=(1, 1))
    elif change == "grow":
        pq.write_table(table(20), tmp_path / "1.parquet")
    elif change == "new file":
        pq.write_table(table(20), tmp_path / "2.parquet")
    else:
        (tmp_path / "1.parquet").unlink()
    with pytest.raises(SourceError, match=r"changed|came"):
        counts(rows)


def test_a_file_that_changes_during_a_pass(people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(people, path, row_group_size=50_000)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 1000)
    rows = open_rows(path, SCHEMA, cache_bytes=0)
    for number, _ in enumerate(rows._source.column_batches(["a"])):
        if number == 3:
            os.utime(path, ns=(1, 1))
        if number == 20:
            break
    with pytest.raises(SourceError, match="changed"):
        counts(rows)


def test_a_damaged_row_group_in_the_middle(people: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(people, path, row_group_size=50_000, compression="snappy")
    group = pq.read_metadata(path).row_group(3).column(1)
    content = bytearray(path.read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    content[start : start + 2000] = b"\x99" * 2000
    path.write_bytes(content)
    before = threading.active_count()
    with pytest.raises(SourceError, match="could not be read to its end") as caught:
        counts(open_rows(path, SCHEMA, cache_bytes=0))
    assert MARK not in str(caught.value) and caught.value.__context__ is None
    assert threading.active_count() <= before


def test_rows_that_differ_from_pass_to_pass() -> None:
    import polars as pl

    sizes = iter([5, 6])
    lazy = pl.LazyFrame({"a": [1]}).map_batches(
        lambda _: pl.DataFrame({"a": [1] * next(sizes)}), schema={"a": pl.Int64}
    )
    rows = open_rows(lazy, Schema({"a": Integer(0, 9)}), cache_bytes=0)
    exact_counts(rows, [(("a",), None)])
    with pytest.raises(SourceError, match="other rows"):
        exact_counts(rows, [(("a",), None)])


def test_rows_with_equal_codes_meet_however_many_parts(people: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = Scores(columns=("a", "d"), lookups=(np.arange(1000, dtype=np.int32), np.array([0, 1], dtype=np.int32)))
    job = MomentJob(feature=BlockMeans(scores=scores, blocks=9, seed=4))
    whole = open_rows(people, SCHEMA).run_group_job(job)
    monkeypatch.setattr(grouping, "GROUP_BYTES", 300_000)
    rows = open_rows(people, SCHEMA)
    apart = rows.run_group_job(job)
    assert all(np.array_equal(a, b) for a, b in zip(whole, apart, strict=True)) and whole[0].sum() == 300_001


def test_reading_ahead_passes_errors_on_and_ends_with_its_reader() -> None:
    def items() -> Any:
        yield 1
        raise SourceError("no more")

    found: list[int] = []
    with pytest.raises(SourceError, match="no more"):
        found.extend(read_ahead(items()))
    closed = threading.Event()

    def endless() -> Any:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    ahead = read_ahead(endless())
    next(ahead)
    ahead.close()
    assert closed.is_set()

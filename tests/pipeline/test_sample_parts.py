"""Samples in parts: the rows of the stream whoever writes them, taken up after any end, refused if settings changed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.errors import OutputError, UsageError
from sklar.export import parts as parts_module
from sklar.sample.draw import BLOCK_ROWS
from tests.tiers import slow_unless

ROWS = 2 * BLOCK_ROWS + 1000


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    rng = np.random.default_rng(3)
    table = pa.table({"age": rng.integers(0, 90, 500), "sex": rng.choice(["F", "M"], 500), "w": rng.normal(70, 9, 500)})
    schema = sklar.Schema(
        {
            "key": sklar.Id(),
            "age": sklar.Integer(0, 99),
            "sex": sklar.Category(["F", "M"], nullable=True),
            "w": sklar.Real(0, 200),
        }
    )
    return sklar.fit(table, schema, method="independent", epsilon=5.0)


@pytest.fixture(scope="module")
def stream(model: sklar.Model) -> pa.Table:
    return pa.Table.from_batches(model.stream(ROWS, seed=7))


def written(folder: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("part-*.parquet"))])


def same(left: pa.Table, right: pa.Table) -> bool:
    return left.combine_chunks().equals(right.cast(left.schema).combine_chunks())


def hidden(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


@pytest.mark.parametrize(("workers", "part_rows"), slow_unless((1, 1).__eq__, [(1, 1), (2, 1), (1, 2 * BLOCK_ROWS)]))
def test_the_rows_are_those_of_the_stream(
    workers: int, part_rows: int, model: sklar.Model, stream: pa.Table, tmp_path: Path
) -> None:
    told: list[int] = []
    count = model.write_rows(tmp_path / "out", ROWS, seed=7, workers=workers, part_rows=part_rows, written=told.append)
    assert count == ROWS == sum(told) and same(stream, written(tmp_path / "out")) and not hidden(tmp_path / "out")


def test_a_finished_part_is_kept_and_the_rest_written(model: sklar.Model, stream: pa.Table, tmp_path: Path) -> None:
    model.write_rows(tmp_path, ROWS, seed=7, workers=1, part_rows=1)
    kept = (tmp_path / "part-00000.parquet").stat().st_mtime_ns
    (tmp_path / "part-00001.parquet").unlink()
    (tmp_path / ".part-00001.parquet.abc.tmp").write_bytes(b"half")
    model.write_rows(tmp_path, ROWS, workers=1, part_rows=1)  # the folder knows its seed
    assert same(stream, written(tmp_path)) and not hidden(tmp_path)
    assert (tmp_path / "part-00000.parquet").stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 8}, "seed"),
        ({"n": 10}, "number of rows"),
        ({"part_rows": 2 * BLOCK_ROWS}, "rows per part"),
        ({"given": {"sex": "F"}}, "conditions"),
    ],
)
def test_changed_settings_are_refused(change: dict[str, Any], words: str, model: sklar.Model, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"n": 20, "seed": 7, "part_rows": 1, "workers": 1}
    model.write_rows(tmp_path, **asked)
    before = (tmp_path / "part-00000.parquet").read_bytes()
    with pytest.raises(OutputError, match=words):
        model.write_rows(tmp_path, **(asked | change))
    assert (tmp_path / "part-00000.parquet").read_bytes() == before


def test_another_model_is_refused(model: sklar.Model, tmp_path: Path) -> None:
    model.write_rows(tmp_path, 20, seed=7, workers=1)
    other = sklar.fit(pa.table({"age": [1, 2]}), sklar.Schema({"age": sklar.Integer(0, 9)}), "independent", 1.0)
    with pytest.raises(OutputError, match="another model"):
        other.write_rows(tmp_path, 20, seed=7, workers=1)


def test_another_version_is_refused(model: sklar.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model.write_rows(tmp_path, 20, seed=7, workers=1)
    assert f"sklar {sklar.__version__}" in json.loads((tmp_path / parts_module.MANIFEST).read_text())["sampler"]
    (tmp_path / "part-00000.parquet").unlink()
    monkeypatch.setattr(np, "__version__", "9.9")
    with pytest.raises(OutputError, match="version of sklar or numpy"):
        model.write_rows(tmp_path, 20, seed=7, workers=1)
    assert not (tmp_path / "part-00000.parquet").exists()


def test_places_that_are_not_for_parts(model: sklar.Model, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        model.write_rows(tmp_path, 20)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / parts_module.MANIFEST).write_text("{")
    with pytest.raises(OutputError, match="damaged"):
        model.write_rows(tmp_path / "new", 20)
    with pytest.raises(OutputError):
        model.write_rows(tmp_path / "mine.txt", 20, workers=1)
    for asked in (
        {"n": 0},
        {"n": 5, "workers": 0},
        {"n": 5, "workers": -2},
        {"n": 5, "part_rows": -1},
        {"n": 5, "seed": -1},
    ):
        with pytest.raises(UsageError):
            model.write_rows(tmp_path / "other", **({"workers": 1} | asked))
    assert not (tmp_path / "other").exists()


def test_one_run_at_a_time(model: sklar.Model, tmp_path: Path) -> None:
    wanted = parts_module.Parts(model="x", seed=1, rows=5, part_rows=5)
    with (
        parts_module.open_parts(tmp_path, wanted, 1),
        pytest.raises(OutputError, match="another process"),
        parts_module.open_parts(tmp_path, wanted, 1),
    ):
        pass


def test_a_full_disk_leaves_whole_parts_only(
    model: sklar.Model, stream: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = parts_module._write_groups
    calls: list[int] = []

    def full(file: Any, *rest: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, *rest)

    monkeypatch.setattr(parts_module, "_write_groups", full)
    with pytest.raises(OutputError, match="no space left"):
        model.write_rows(tmp_path, ROWS, seed=7, workers=1, part_rows=1)
    assert [p.name for p in tmp_path.glob("*part*")] == ["part-00000.parquet"]
    model.write_rows(tmp_path, ROWS, seed=7, workers=1, part_rows=1)
    assert same(stream, written(tmp_path))


def test_a_disk_that_cannot_hold_the_rest_is_told_early(
    model: sklar.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_module.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    with pytest.raises(OutputError, match="GB free"):
        model.write_rows(tmp_path, ROWS, seed=7, workers=1, part_rows=1)


@pytest.mark.slow
def test_a_killed_run_is_taken_up(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    folder, rows = tmp_path / "out", 12 * BLOCK_ROWS
    command = [sys.executable, "-m", "sklar", "sample", str(tmp_path / "m.sklar"), "-n", str(rows), "-o", f"{folder}/",
               "--seed", "7", "--part-rows", str(BLOCK_ROWS), "--workers", "2"]  # fmt: skip
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while not list(folder.glob("part-*")) and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == rows and not hidden(folder)
    assert sum(pq.read_metadata(p).num_rows for p in folder.glob("part-*")) == rows
    first = pa.Table.from_batches(model.stream(BLOCK_ROWS, seed=7))
    assert same(first, pq.read_table(folder / "part-00000.parquet"))

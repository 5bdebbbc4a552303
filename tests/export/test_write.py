from __future__ import annotations

import os
import stat
import tempfile

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sklar.errors import OutputError, UsageError
from sklar.export.arrow import to_arrow
from sklar.export.atomic import atomic_file, require_writable
from sklar.export.write import require_table_output, write_stream, write_table


@pytest.mark.parametrize(
    ("suffix", "read"), [("parquet", pq.read_table), ("feather", feather.read_table), ("arrow", feather.read_table)]
)
def test_binary_files_read_back_equal(schema, sampled, tmp_path, suffix, read):
    table = to_arrow(schema, sampled)
    write_stream([table.slice(0, 100), table.slice(100)], tmp_path / f"out.{suffix}")
    assert read(tmp_path / f"out.{suffix}").cast(table.schema).equals(table)  # Parquet has no whole seconds


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather"])
def test_same_table_same_bytes_however_it_is_cut(schema, sampled, tmp_path, suffix):
    table = to_arrow(schema, sampled)
    for name in ("a", "b"):
        write_table(table, tmp_path / f"{name}.{suffix}", schema)
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_streamed_csv_equals_the_whole_one(schema, sampled, tmp_path):
    table, told = to_arrow(schema, sampled), []
    write_table(table, tmp_path / "whole.csv", schema)
    parts = (table.slice(i, 60) for i in range(0, 400, 60))
    write_stream(parts, tmp_path / "parts.csv", schema, rows=400, written=told.append)
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "parts.csv").read_bytes()
    assert sum(told) == 400


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_when_it_fails_half_way(tmp_path, error):
    (tmp_path / "out.csv").write_text("before")

    def tables():
        yield pa.table({"a": [1]})
        raise error

    with pytest.raises(error):
        write_stream(tables(), tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["out.csv"] and (tmp_path / "out.csv").read_text() == "before"


def test_a_new_file_has_the_usual_permissions(tmp_path):
    write_table(pa.table({"a": [1]}), tmp_path / "new.csv")
    (tmp_path / "other").touch()
    assert (tmp_path / "new.csv").stat().st_mode == (tmp_path / "other").stat().st_mode
    with atomic_file(tmp_path / "secret", mode=0o600) as file:
        file.write(b"x")
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600  # also while it is written
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0, 0o666)])
def test_the_umask_holds_and_is_left_alone(tmp_path, monkeypatch, mask, mode):
    before = os.umask(mask)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("between two calls other threads would write open files"))
    try:
        write_table(pa.table({"a": [1]}), tmp_path / "new.csv")
    finally:
        monkeypatch.undo()
        assert os.umask(before) == mask
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == mode


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(pa.table({"a": [1]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").read_text() == "a\n1\n"


def test_a_full_disk_is_told_and_the_device_survives():
    with pytest.raises(OutputError, match="cannot write /dev/full: no space left"):
        write_table(pa.table({"a": list(range(10_000))}), "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_places_that_cannot_be_written_are_refused_before_work(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        require_table_output(tmp_path / "folder.csv")
    with pytest.raises(OutputError, match="is a directory"):
        write_table(pa.table({"a": [1]}), tmp_path / "folder.csv")
    with pytest.raises(OutputError, match="does not exist"):
        require_table_output(tmp_path / "no" / "out.csv")
    with pytest.raises(OutputError, match="no such file"):
        write_table(pa.table({"a": [1]}), tmp_path / "no" / "out.csv")
    with pytest.raises(UsageError, match=r"must end in \.csv"):
        require_table_output(tmp_path / "out.ods")
    require_table_output("-")
    assert os.listdir(tmp_path) == ["folder.csv"]


@pytest.fixture
def nobody():
    """Root may write anywhere, so it becomes somebody who may not."""
    was = os.geteuid()
    os.seteuid(was or 65534)
    yield
    os.seteuid(was)


def test_a_read_only_folder_is_refused(nobody):
    with tempfile.TemporaryDirectory() as folder:  # not one of pytest's, whose own folders nobody else may enter
        os.chmod(folder, 0o555)
        with pytest.raises(OutputError, match="permission denied"):
            require_writable(os.path.join(folder, "out.csv"))


def test_more_rows_than_the_disk_holds_are_refused_after_the_first_batch(tmp_path):
    batches = iter([pa.table({"a": list(range(1000))})] * 3)
    with pytest.raises(OutputError, match="rows would need about"):
        write_stream(batches, tmp_path / "out.csv", rows=10**15)
    assert len(list(batches)) == 2 and not os.listdir(tmp_path)

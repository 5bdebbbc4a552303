"""The folder of a comparison: the folds, one file for each finished cell, logs and results. For the custodian only."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sklar.errors import OutputError, UsageError
from sklar.export.atomic import atomic_file, describe_reason, write_bytes
from sklar.lab.tables.table import ExactTable, as_arrow
from sklar.portable import open_file, try_lock
from sklar.sample.rng import substream
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

HEAD, LOCK, SCHEMA = "compare.json", ".lock", "schema.toml"
README = "PRIVATE.txt"
FOLDERS = ("cells", "folds", "logs", "work")
OWN_FILES = frozenset({*FOLDERS, LOCK, SCHEMA, README})
"""Files and folders of a comparison that ended before it wrote compare.json."""
MIN_ROWS_PER_FOLD = 10
"""Minimum number of rows per fold: with fewer, no metric is meaningful."""
WARNING = (
    "This folder contains real rows and results computed from them without noise. It is for the custodian only: "
    "nothing in it is private, and nothing in it may be published. Delete it when the comparison has been read.\n"
)


class Store:
    """A folder that only its owner can read; every file is written atomically."""

    def __init__(self, folder: str | PathLike[str]):
        self.folder = Path(os.path.abspath(folder))

    @contextmanager
    def opened(self) -> Generator[Store]:
        """Create the folder and lock out other comparisons while the block runs."""
        self._create_folders()
        handle = open_file(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not try_lock(handle):
                raise UsageError(f"another comparison is running in {self.folder}")
            yield self
        finally:
            os.close(handle)

    def _create_folders(self) -> None:
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise OutputError(f"cannot use {self.folder}: it is not a folder.")
            fresh = not self.folder.exists()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            others = {path.name for path in self.folder.iterdir()}
            if others - OWN_FILES and HEAD not in others:
                raise OutputError(f"cannot use {self.folder}: it is not empty and contains no comparison.")
            if not fresh:
                self.folder.chmod(0o700)
            for name in FOLDERS:
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot use the folder {self.folder}: {describe_reason(error)}.") from None

    def begin(self, table: str, schema: Schema, source: Mapping[str, Any]) -> None:
        """Record the table and schema of the comparison; reject a folder of another one."""
        known = _read_json(self.folder / HEAD)
        if known is None:
            self.write(README, WARNING.encode())
            schema.write(self.folder / SCHEMA)
            head = {"table": table, "schema": schema.fingerprint, "source": dict(source), "begun": format_now()}
            self.write(HEAD, _encode_json(head))
            return
        if known.get("schema") != schema.fingerprint:
            raise UsageError(
                f"{self.folder} contains a comparison with another schema, and results cannot be mixed. "
                "Name another folder, or delete this one."
            )
        if known.get("table") != table:
            raise UsageError(
                f"the table has changed since the comparison in {self.folder} began{_describe_change(known, source)}: "
                "results before and after cannot be mixed. Restore the old table, name another folder, or delete this "
                "one."
            )

    def schema(self) -> Schema:
        """Read the schema of the comparison."""
        return Schema.read(self.folder / SCHEMA)

    def cell(self, key: str) -> dict[str, Any] | None:
        """Read the result of a finished cell; None if there is none, or if its file is damaged."""
        return _read_json(self.folder / "cells" / f"{key}.json")

    def write_cell(self, key: str, result: Mapping[str, Any]) -> None:
        """Save the result of a cell."""
        self.write(f"cells/{key}.json", _encode_json(result))

    def write(self, name: str, data: bytes) -> None:
        """Write a file that only its owner can read."""
        write_bytes(self.folder / name, data, mode=0o600)

    def write_parquet(self, name: str, table: pa.Table) -> None:
        """Write a table that only its owner can read."""
        import pyarrow.parquet as pq

        with atomic_file(self.folder / name, mode=0o600) as file:
            pq.write_table(table, file)


def table_hash(table: ExactTable) -> str:
    """Hash all values under the schema, in row order. The hash depends on rows, so it stays in the folder."""
    digest = hashlib.sha256(str(table.total).encode())
    for name in table.names:
        digest.update(name.encode() + b"\0" + str(table.codes[name].dtype).encode())
        digest.update(table.codes[name].tobytes())
        if name in table.numbers:
            digest.update(table.numbers[name].tobytes())
    return digest.hexdigest()


def source_facts(data: Any) -> dict[str, Any]:
    """Return the size and modification time of a file, to detect changes; nothing for frames."""
    if not isinstance(data, str | PathLike):
        return {}
    path = Path(cast("str", data))
    try:
        stat = path.stat()
    except OSError:
        return {}
    return {"path": str(path.resolve()), "size": stat.st_size, "changed": _format_time(stat.st_mtime)}


def format_now() -> str:
    """Format the current time."""
    return _format_time(time.time())


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _describe_change(known: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    before = cast("dict[str, Any]", known.get("source") or {})
    if not source or not before or before.get("changed") == source.get("changed"):
        return ""
    return f" ({known.get('begun')}; the file was changed at {source['changed']})"


def _encode_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str, allow_nan=False).encode()


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def fold_files(store: Store, table: str, folds: int, seed: int, fold: int) -> tuple[Path, Path]:
    """Return the files of a fold: training rows and held-out rows."""
    stem = f"{table[:12]}-{folds}-{seed}-{fold}"
    return store.folder / "folds" / f"{stem}-train.parquet", store.folder / "folds" / f"{stem}-held.parquet"


def write_folds(store: Store, table: ExactTable, schema: Schema, key: str, folds: int, seed: int) -> None:
    """Write the folds that are missing."""
    if table.rows < folds * MIN_ROWS_PER_FOLD:
        raise UsageError(f"the table has too few rows for {folds} folds: each needs {MIN_ROWS_PER_FOLD} rows")
    member = substream(seed, 1).permutation(np.arange(table.rows) % folds)
    for fold in range(folds):
        train, held = fold_files(store, key, folds, seed, fold)
        for path, rows in ((train, member != fold), (held, member == fold)):
            if not path.exists():
                store.write_parquet(f"folds/{path.name}", as_arrow(schema, table.take(np.flatnonzero(rows))))


def modelled_schema(schema: Schema) -> Schema:
    """Return the schema of the modelled columns; comparisons ignore keys and ignored columns."""
    return Schema({name: schema[name] for name in schema.modelled}, schema.rules)

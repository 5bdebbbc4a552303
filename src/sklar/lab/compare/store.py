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
from sklar.export.atomic import atomic_file, reason, write_bytes
from sklar.lab.tables.table import ExactTable, as_arrow
from sklar.portable import open_file, try_lock
from sklar.sample.rng import substream
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

HEAD, LOCK, SCHEMA = "compare.json", ".lock", "schema.toml"
README = "PRIVATE.txt"
FOLDERS = ("cells", "folds", "logs", "work")
OWN = frozenset({*FOLDERS, LOCK, SCHEMA, README})
"""What a comparison that came to nothing may have left."""
LEAST_ROWS = 10
"""Rows of the smallest fold: fewer measure nothing."""
WARNING = (
    "This folder holds real rows and results computed from them without noise. It is for the custodian only: nothing "
    "in it is private, and nothing in it may be published. Delete it when the comparison has been read.\n"
)


class Store:
    """A folder that only its owner can read; every file in it appears whole or not at all."""

    def __init__(self, folder: str | PathLike[str]):
        self.folder = Path(os.path.abspath(folder))

    @contextmanager
    def opened(self) -> Generator[Store]:
        """Make the folder and keep other comparisons out of it while the block runs."""
        self._make()
        handle = open_file(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not try_lock(handle):
                raise UsageError(f"another comparison is running in {self.folder}")
            yield self
        finally:
            os.close(handle)

    def _make(self) -> None:
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise OutputError(f"cannot use {self.folder}: it is not a folder.")
            fresh = not self.folder.exists()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            others = {path.name for path in self.folder.iterdir()}
            if others - OWN and HEAD not in others:
                raise OutputError(f"cannot use {self.folder}: it is not empty and holds no comparison.")
            if not fresh:
                self.folder.chmod(0o700)
            for name in FOLDERS:
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot use the folder {self.folder}: {reason(error)}.") from None

    def begin(self, table: str, schema: Schema, source: Mapping[str, Any]) -> None:
        """Note which table and schema this is about; refuse a folder that is about others."""
        known = _read(self.folder / HEAD)
        if known is None:
            self.write(README, WARNING.encode())
            schema.write(self.folder / SCHEMA)
            head = {"table": table, "schema": schema.fingerprint, "source": dict(source), "begun": now()}
            self.write(HEAD, _encoded(head))
            return
        if known.get("schema") != schema.fingerprint:
            raise UsageError(
                f"{self.folder} holds a comparison with another schema, so their results cannot be mixed. "
                "Name another folder, or delete this one."
            )
        if known.get("table") != table:
            raise UsageError(
                f"the table has changed since the comparison in {self.folder} began{_change(known, source)}: results "
                "before and after cannot be mixed. Bring the old table back, name another folder, or delete this one."
            )

    def schema(self) -> Schema:
        """The schema of the comparison."""
        return Schema.read(self.folder / SCHEMA)

    def cell(self, key: str) -> dict[str, Any] | None:
        """The result of a finished cell; None if there is none, or if its file is damaged."""
        return _read(self.folder / "cells" / f"{key}.json")

    def write_cell(self, key: str, result: Mapping[str, Any]) -> None:
        """Keep the result of a cell."""
        self.write(f"cells/{key}.json", _encoded(result))

    def write(self, name: str, data: bytes) -> None:
        """Write a file that only its owner can read."""
        write_bytes(self.folder / name, data, mode=0o600)

    def write_parquet(self, name: str, table: pa.Table) -> None:
        """Write a table, likewise."""
        import pyarrow.parquet as pq

        with atomic_file(self.folder / name, mode=0o600) as file:
            pq.write_table(table, file)


def table_hash(table: ExactTable) -> str:
    """A hash of all values under the schema, in the order of the rows. It tells about rows: it stays in the folder."""
    digest = hashlib.sha256(str(table.total).encode())
    for name in table.names:
        digest.update(name.encode() + b"\0" + str(table.codes[name].dtype).encode())
        digest.update(table.codes[name].tobytes())
        if name in table.numbers:
            digest.update(table.numbers[name].tobytes())
    return digest.hexdigest()


def source_facts(data: Any) -> dict[str, Any]:
    """Size and time of a file, to tell when it was changed; nothing for frames."""
    if not isinstance(data, str | PathLike):
        return {}
    path = Path(cast("str", data))
    try:
        stat = path.stat()
    except OSError:
        return {}
    return {"path": str(path.resolve()), "size": stat.st_size, "changed": _time(stat.st_mtime)}


def now() -> str:
    """The time, for people."""
    return _time(time.time())


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _change(known: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    before = cast("dict[str, Any]", known.get("source") or {})
    if not source or not before or before.get("changed") == source.get("changed"):
        return ""
    return f" ({known.get('begun')}; the file was changed at {source['changed']})"


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str, allow_nan=False).encode()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def fold_files(store: Store, table: str, folds: int, seed: int, fold: int) -> tuple[Path, Path]:
    """Where the rows of a fold are: those to learn from, and those held out."""
    stem = f"{table[:12]}-{folds}-{seed}-{fold}"
    return store.folder / "folds" / f"{stem}-train.parquet", store.folder / "folds" / f"{stem}-held.parquet"


def write_folds(store: Store, table: ExactTable, schema: Schema, key: str, folds: int, seed: int) -> None:
    """Write the folds that are missing."""
    if table.rows < folds * LEAST_ROWS:
        raise UsageError(f"the table has too few rows for {folds} folds: {LEAST_ROWS} rows a fold are needed")
    member = substream(seed, 1).permutation(np.arange(table.rows) % folds)
    for fold in range(folds):
        train, held = fold_files(store, key, folds, seed, fold)
        for path, rows in ((train, member != fold), (held, member == fold)):
            if not path.exists():
                store.write_parquet(f"folds/{path.name}", as_arrow(schema, table.take(np.flatnonzero(rows))))


def modelled_schema(schema: Schema) -> Schema:
    """The schema of the columns that are modelled; keys and ignored columns play no part in a comparison."""
    return Schema({name: schema[name] for name in schema.modelled}, schema.rules)

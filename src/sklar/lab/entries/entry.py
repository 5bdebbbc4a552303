"""The file of an entry: a zip with entry.json, schema.toml, rows.parquet and, for Sklar, the release behind the rows.

entry.json names the table by checksums of its rows as the schema reads them, so that the file format does not matter.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sklar.errors import ModelFileError
from sklar.export.atomic import atomic_file
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable
from sklar.sample.rng import generator
from sklar.schema.table import Schema

FACTS, SCHEMA, ROWS, RELEASE = "entry.json", "schema.toml", "rows.parquet", "run.release.zip"
MAX_MEMBER_BYTES = 1 << 31
"""Larger members are refused unread."""
FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that the same entry has the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What an entry states.

    Attributes:
        table: Name of the table.
        real_sha256: Of the rows to learn from; see `rows_checksum`.
        test_sha256: Of the rows to test on, if any.
        target, area: As for `score_rows`.
        tool, version, settings: What made the rows.
        epsilon, delta: The promise; no epsilon means none.
        seconds, cpu, memory: Wall and CPU seconds, peak memory in MB.
        scores: By name.
    """

    table: str
    real_sha256: str
    test_sha256: str | None = None
    target: str | None = None
    area: str | None = None
    tool: str
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float | None
    delta: float
    seconds: float
    cpu: float
    memory: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFile:
    """An entry that was read: its facts, the text of its schema, and the bytes of its files."""

    facts: Entry
    schema: str
    rows: bytes
    release: bytes | None


def read_public(data: Any, schema: Schema, role: str = "real") -> ExactTable:
    """Read a public table whole."""
    return read_table(data, schema, generator(0), role=role, rows_kept=1 << 40)


def rows_checksum(table: ExactTable) -> str:
    """Return the SHA-256 of the rows: codes and numbers of each column, in order."""
    found = hashlib.sha256()
    for name in table.names:
        found.update(json.dumps([name, table.rows]).encode())
        found.update(np.ascontiguousarray(table.codes[name], dtype="<i8").tobytes())
        if name in table.numbers:
            found.update(np.ascontiguousarray(table.numbers[name], dtype="<f8").tobytes())
    return found.hexdigest()


def write_entry(path: str | PathLike[str], facts: Entry, schema: Schema, rows: Path, release: Path | None) -> None:
    """Write an entry; the same content gives the same bytes."""
    members = {FACTS: json.dumps(asdict(facts), indent=1, sort_keys=True).encode(), SCHEMA: schema.toml().encode(),
               ROWS: rows.read_bytes(), **({} if release is None else {RELEASE: release.read_bytes()})}  # fmt: skip
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, FIRST_MOMENT), content)


def read_entry(path: str | PathLike[str]) -> EntryFile:
    """Read an entry, or raise a `ModelFileError` that says what is wrong with the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {one.filename: one.file_size for one in archive.infolist()}
            if max(sizes.values(), default=0) > MAX_MEMBER_BYTES or not {FACTS, SCHEMA, ROWS} <= set(sizes):
                raise ValueError
            members = {name: archive.read(name) for name in (FACTS, SCHEMA, ROWS, RELEASE) if name in sizes}
        stated = json.loads(members[FACTS])
        if set(stated) != {one.name for one in fields(Entry)} or not isinstance(stated["scores"], dict):
            raise ValueError
        facts = Entry(**stated)
    except (OSError, ValueError, TypeError, zipfile.BadZipFile, KeyError):
        raise ModelFileError(f"{path} is not an entry of the benchmark") from None
    return EntryFile(
        facts=facts, schema=members[SCHEMA].decode(errors="replace"), rows=members[ROWS], release=members.get(RELEASE)
    )


def read_rows(content: bytes) -> Any:
    """Return the rows of an entry as an Arrow table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(io.BytesIO(content))
    except pa.ArrowException:
        raise ModelFileError("the rows of the entry are not a Parquet file") from None

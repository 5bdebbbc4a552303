"""A table as a folder of Parquet parts, written by any number of processes and resumable.

The folder's `_sklar.json` describes what is written: the model, the seed, the number of rows and of rows per part. A
part is written atomically, so an existing part is complete. Readers of such folders skip names that start with an
underscore or a dot.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO

import pyarrow as pa

from sklar.errors import OutputError
from sklar.export.atomic import PathLike, atomic_file, describe_reason, write_bytes
from sklar.portable import is_file_at, open_file, remove_locked, try_lock
from sklar.schema.columns import Boolean, Column, Id
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

MANIFEST = "_sklar.json"
LOCK = ".sklar.lock"
FORMAT = "sklar parts 1"
SETTINGS = {
    "model": "model",
    "seed": "seed",
    "rows": "number of rows",
    "part_rows": "number of rows per part",
    "given": "set of conditions",
    "sampler": "version of sklar or numpy",
}
"""Settings that must stay the same when a folder is resumed, and their names in messages."""
MAX_DICTIONARY_VALUES = 1 << 12
"""A dictionary of more values costs more time than it saves."""
ROW_GROUP_CELLS = 1 << 23
"""A row group is written when it has about this number of cells, which bounds memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The settings of a folder of parts.

    Attributes:
        model: Digest of the model.
        seed: The number that determines all random streams; None for any.
        rows: Number of rows of the table.
        part_rows: Rows of each part; the last may have fewer.
        given: Conditions on columns, as text.
        guarantee: The privacy guarantee, for readers of the folder.
        sampler: Software versions: others may draw other rows from the same seed.
    """

    model: str
    seed: int | None
    rows: int
    part_rows: int
    given: str = ""
    guarantee: str = ""
    sampler: str = ""

    @property
    def count(self) -> int:
        """Number of parts."""
        return -(-self.rows // self.part_rows)

    def rows_of(self, part: int) -> range:
        """Return the rows of one part by their position in the table."""
        return range(part * self.part_rows, min((part + 1) * self.part_rows, self.rows))


def part_path(folder: PathLike, part: int) -> str:
    """Return the path of a part."""
    return os.path.join(os.fspath(folder), f"part-{part:05d}.parquet")


def is_parts_output(path: PathLike) -> bool:
    """Return whether an output is a folder of parts: its name ends in a slash, or it has a manifest."""
    name = os.fspath(path)
    return name.endswith(("/", os.sep)) or os.path.exists(os.path.join(name, MANIFEST))


@contextmanager
def open_parts(folder: PathLike, wanted: Parts, fresh_seed: int) -> Generator[tuple[Parts, list[int]]]:
    """Start a folder, or resume one with the same settings; yield the settings and the missing parts.

    `fresh_seed` is used for a new folder if no seed is wanted; an existing folder keeps its own.
    """
    place = os.fspath(folder)
    try:
        os.makedirs(place, exist_ok=True)
        with _locked(place):
            parts = _begin(place, wanted, fresh_seed)
            _sweep(place)
            yield parts, [part for part in range(parts.count) if not os.path.exists(part_path(place, part))]
    except OSError as error:
        raise OutputError(f"cannot write to the folder {place}: {describe_reason(error)}.") from None


def write_part(folder: PathLike, part: int, tables: Iterable[pa.Table], types: pa.Schema, schema: Schema) -> int:
    """Write one part atomically; return its size in bytes."""
    path = part_path(folder, part)
    with atomic_file(path) as file:
        _write_groups(file, tables, types, schema)
    return os.path.getsize(path)


def require_room(folder: PathLike, part_bytes: int, missing: int) -> None:
    """Refuse to continue if the disk is too small for the missing parts, judged by the size of one part."""
    free = shutil.disk_usage(os.fspath(folder)).free
    if part_bytes * missing > free:
        raise OutputError(
            f"cannot write to {os.fspath(folder)}: the rows still missing need about {part_bytes * missing / 1e9:,.1f} "
            f"GB, and the disk has {free / 1e9:,.1f} GB free. Finished parts are kept; free space and run it again."
        )


def _write_groups(file: BinaryIO, tables: Iterable[pa.Table], types: pa.Schema, schema: Schema) -> None:
    waiting: list[pa.Table] = []
    with parquet_writer(file, types, schema, statistics=False) as write:
        for table in tables:
            waiting.append(table)
            if sum(t.num_rows for t in waiting) * max(len(types), 1) >= ROW_GROUP_CELLS:
                write(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            write(pa.concat_tables(waiting))


def _begin(place: str, wanted: Parts, fresh_seed: int) -> Parts:
    """Return the settings of the folder; new ones are written before the first part."""
    path = os.path.join(place, MANIFEST)
    if os.path.exists(path):
        return _require_same(_read(path), wanted, place)
    if any(not name.startswith(".") for name in os.listdir(place)):
        raise OutputError(f"the folder {place} is not empty and does not contain a sample; use a new folder.")
    parts = replace(wanted, seed=fresh_seed if wanted.seed is None else wanted.seed)
    write_bytes(path, json.dumps({"format": FORMAT, **asdict(parts)}, indent=1).encode())
    return parts


def _read(path: str) -> Parts:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            facts: dict[str, Any] = json.load(file)
        known = facts.pop("format") == FORMAT
        parts = Parts(**facts)
        numbers = (parts.seed, parts.rows, parts.part_rows)
        sound = known and all(isinstance(n, int) for n in numbers) and parts.rows > 0 and parts.part_rows > 0
    except (ValueError, TypeError, KeyError, AttributeError):
        sound, parts = False, None
    if not sound or parts is None:
        raise OutputError(f"{path} is damaged or of another version; use a new folder.")
    return parts


def _require_same(old: Parts, wanted: Parts, place: str) -> Parts:
    kept = replace(wanted, seed=old.seed) if wanted.seed is None else wanted
    changed = [words for name, words in SETTINGS.items() if getattr(old, name) != getattr(kept, name)]
    if changed:
        raise OutputError(
            f"the folder {place} was started with another {', '.join(changed)}; repeat that command to continue, "
            "or use a new folder."
        )
    return old


def _sweep(place: str) -> None:
    """Remove temporary files of a killed run."""
    for name in os.listdir(place):
        if name.startswith(".part-") and name.endswith(".tmp"):
            with suppress(OSError):
                os.unlink(os.path.join(place, name))


@contextmanager
def _locked(place: str) -> Generator[None]:
    """Hold the lock of a folder, so that only one run writes to it; it is released with the process."""
    path = os.path.join(place, LOCK)
    handle = open_file(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        mine = try_lock(handle) and is_file_at(handle, path)  # else its last owner has removed it meanwhile
    except OSError:
        mine = False
    if not mine:
        os.close(handle)
        raise OutputError(f"another process is writing to the folder {place}.")
    try:
        yield
    except BaseException:
        os.close(handle)  # the file stays, as after a kill
        raise
    remove_locked(path, handle)


@contextmanager
def parquet_writer(
    file: BinaryIO, types: pa.Schema, schema: Schema | None = None, *, statistics: bool = True
) -> Generator[Callable[[pa.Table], None]]:
    """Open a Parquet writer: one row group per table (more if they are huge), dictionaries where values repeat.

    `statistics`, the smallest and largest value of each row group, are useless for rows in random order.
    """
    import pyarrow.parquet as pq

    repeated: Any = dictionary_columns(types, schema)
    with pq.ParquetWriter(file, types, use_dictionary=repeated, write_statistics=statistics) as writer:
        yield writer.write_table


def dictionary_columns(types: pa.Schema, schema: Schema | None) -> list[str] | bool:
    """Return columns whose values repeat, by the schema; True (all) without one."""
    if schema is None:
        return True
    return [name for name in types.names if name not in schema or _repeats(schema[name])]


def _repeats(column: Column) -> bool:
    """Return whether values repeat: reals do not; integers, timestamps and labels do if few are possible."""
    if isinstance(column, Real | Id | Boolean):
        return False
    if isinstance(column, Integer):
        return column.upper - column.lower < MAX_DICTIONARY_VALUES
    if isinstance(column, Datetime):
        return column.tick(column.upper) - column.tick(column.lower) < MAX_DICTIONARY_VALUES
    return True

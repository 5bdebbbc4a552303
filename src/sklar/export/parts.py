"""A table as a folder of Parquet parts, written part by part by any number of processes and taken up where it ended.

The folder's `_sklar.json` says what is being written: the model, the seed, the number of rows and how they are cut. A
part appears whole or not at all, so a part that is there is finished. Names that start with an underscore or a dot are
left out by readers of such folders.
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
from sklar.export.atomic import PathLike, atomic_file, reason, write_bytes
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
    "part_rows": "number of rows a part",
    "given": "set of conditions",
    "sampler": "version of sklar or numpy",
}
"""What must stay the same, in words."""
MOST_DISTINCT = 1 << 12
"""A dictionary of more values costs more time than it saves."""
CELLS_AT_ONCE = 1 << 23
"""A row group is written when it has about this many cells, so that memory does not grow with rows or columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a folder holds.

    Attributes:
        model: Digest of the model.
        seed: What fixes all random streams; None if it does not matter which.
        part_rows: Rows of each part; the last may have fewer.
        given: Conditions on columns, as text.
        guarantee: What is promised about the rows, for readers of the folder.
        sampler: Versions of what draws the rows: another may draw other rows from the same seed.
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
        """The rows of one part by their place in the table."""
        return range(part * self.part_rows, min((part + 1) * self.part_rows, self.rows))


def part_path(folder: PathLike, part: int) -> str:
    """Where a part is."""
    return os.path.join(os.fspath(folder), f"part-{part:05d}.parquet")


def is_parts_output(path: PathLike) -> bool:
    """Whether an output is meant as a folder: its name ends in a slash, or it is a folder that was begun before."""
    name = os.fspath(path)
    return name.endswith(("/", os.sep)) or os.path.exists(os.path.join(name, MANIFEST))


@contextmanager
def open_parts(folder: PathLike, wanted: Parts, fresh_seed: int) -> Generator[tuple[Parts, list[int]]]:
    """Begin a folder, or take up one of the same settings; gives the settings and the parts that are missing.

    `fresh_seed` is that of a new folder if none is wanted; an old folder keeps its own.
    """
    place = os.fspath(folder)
    try:
        os.makedirs(place, exist_ok=True)
        with _locked(place):
            parts = _begin(place, wanted, fresh_seed)
            _sweep(place)
            yield parts, [part for part in range(parts.count) if not os.path.exists(part_path(place, part))]
    except OSError as error:
        raise OutputError(f"cannot write to the folder {place}: {reason(error)}.") from None


def write_part(folder: PathLike, part: int, tables: Iterable[pa.Table], types: pa.Schema, schema: Schema) -> int:
    """Write one part; it appears whole or not at all. Gives its size in bytes."""
    path = part_path(folder, part)
    with atomic_file(path) as file:
        _write_groups(file, tables, types, schema)
    return os.path.getsize(path)


def require_room(folder: PathLike, part_bytes: int, missing: int) -> None:
    """Refuse to go on when the disk cannot hold what is still missing, judged by the size of a part."""
    free = shutil.disk_usage(os.fspath(folder)).free
    if part_bytes * missing > free:
        raise OutputError(
            f"cannot write to {os.fspath(folder)}: the rows still missing need about {part_bytes * missing / 1e9:,.1f} "
            f"GB, and the disk has {free / 1e9:,.1f} GB free. What is written stays; make room and run it again."
        )


def _write_groups(file: BinaryIO, tables: Iterable[pa.Table], types: pa.Schema, schema: Schema) -> None:
    waiting: list[pa.Table] = []
    with parquet_writer(file, types, schema, statistics=False) as write:
        for table in tables:
            waiting.append(table)
            if sum(t.num_rows for t in waiting) * max(len(types), 1) >= CELLS_AT_ONCE:
                write(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            write(pa.concat_tables(waiting))


def _begin(place: str, wanted: Parts, fresh_seed: int) -> Parts:
    """The settings of the folder; new ones are written down before the first part."""
    path = os.path.join(place, MANIFEST)
    if os.path.exists(path):
        return _require_same(_read(path), wanted, place)
    if any(not name.startswith(".") for name in os.listdir(place)):
        raise OutputError(f"the folder {place} is not empty, and no sample was begun there; name a new folder.")
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
        raise OutputError(f"{path} is damaged or of another version; name a new folder.")
    return parts


def _require_same(old: Parts, wanted: Parts, place: str) -> Parts:
    kept = replace(wanted, seed=old.seed) if wanted.seed is None else wanted
    changed = [words for name, words in SETTINGS.items() if getattr(old, name) != getattr(kept, name)]
    if changed:
        raise OutputError(
            f"the folder {place} was begun with another {', '.join(changed)}; repeat that command to go on, "
            "or name a new folder."
        )
    return old


def _sweep(place: str) -> None:
    """Take away what a killed run left half-written."""
    for name in os.listdir(place):
        if name.startswith(".part-") and name.endswith(".tmp"):
            with suppress(OSError):
                os.unlink(os.path.join(place, name))


@contextmanager
def _locked(place: str) -> Generator[None]:
    """Only one run writes to a folder; the lock ends with the process, whatever ends it."""
    path = os.path.join(place, LOCK)
    handle = open_file(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        mine = try_lock(handle) and is_file_at(handle, path)  # else its last owner took it away meanwhile
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
    """Writes tables to a file, one row group each (more if they are huge); dictionaries where values repeat.

    `statistics`, the smallest and largest value of each row group, are of no use where rows come in random order.
    """
    import pyarrow.parquet as pq

    repeated: Any = dictionary_columns(types, schema)
    with pq.ParquetWriter(file, types, use_dictionary=repeated, write_statistics=statistics) as writer:
        yield writer.write_table


def dictionary_columns(types: pa.Schema, schema: Schema | None) -> list[str] | bool:
    """Columns whose values repeat, by the public facts; all where there are none."""
    if schema is None:
        return True
    return [name for name in types.names if name not in schema or _repeats(schema[name])]


def _repeats(column: Column) -> bool:
    """Reals are all different; numbers, moments and labels repeat if few of them are possible."""
    if isinstance(column, Real | Id | Boolean):
        return False
    if isinstance(column, Integer):
        return column.upper - column.lower < MOST_DISTINCT
    if isinstance(column, Datetime):
        return column.tick(column.upper) - column.tick(column.lower) < MOST_DISTINCT
    return True

"""Files that the tasks of a cluster read themselves: shared out as row groups of Parquet, and as whole other files.

Spark would read Parquet in Java, copy it row by row into Arrow and send that to Python. The readers here are those of a
local fit, so a path means the same rows, and the same codes, with a cluster and without.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sklar.errors import SourceError
from sklar.rows.sources import FILES, open_source
from sklar.rows.sources.columnar import ParquetFile
from sklar.rows.sources.source import BATCH_ROWS, FileStamp, Source, SourceOptions, call_shielded, suffix_of

FOOTER_THREADS = 8
"""Threads of the driver that read footers: they wait for disks more than they work."""
PART_BYTES = 128 << 20
"""Maximum bytes that a task reads; a larger row group is read as a whole."""
MIN_PART_BYTES = 4 << 20
"""Least bytes of a task; smaller files share one."""
TASKS_PER_CORE = 4
"""Tasks per core where files are large enough: more tasks even out the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file, or some row groups of it, with their bytes and, if the footer states it, their rows."""

    stamp: FileStamp
    groups: tuple[int, ...] | None
    size: int
    rows: int | None


Part = tuple[Piece, ...]
"""The pieces that one task reads."""


class RowGroups(ParquetFile):
    """Some row groups of a Parquet file."""

    def __init__(self, piece: Piece, options: SourceOptions):
        super().__init__(piece.stamp.path, options)
        self._piece = piece

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        rows, chosen = 0, list(self._piece.groups or ())
        with self._open() as file:
            # One thread: the cores of an executor belong to its tasks.
            for batch in file.iter_batches(BATCH_ROWS, row_groups=chosen, columns=list(columns), use_threads=False):
                rows += batch.num_rows
                yield batch.select(list(columns))
        if rows != self._piece.rows:
            raise SourceError(f"{self.what} does not have the number of rows that its footer states")


def shared_out(source: Source, cores: int) -> tuple[Part, ...]:
    """Return the files of a source in parts of about the same size, in their order."""
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        pieces = [piece for found in pool.map(_pieces, source.stamps) for piece in found]
    most = min(max(sum(p.size for p in pieces) / (TASKS_PER_CORE * max(cores, 1)), MIN_PART_BYTES), PART_BYTES)
    parts, waiting, held = list[Part](), list[Piece](), 0
    for piece in pieces:
        if waiting and held + piece.size / 2 > most:
            parts.append(_by_file(waiting))
            waiting, held = [], 0
        waiting.append(piece)
        held += piece.size
    return (*parts, _by_file(waiting)) if waiting else tuple(parts)


def read_part(part: Part, columns: Sequence[str], options: SourceOptions) -> Iterator[Any]:
    """Yield the rows of one part, file after file; each must still be the file that the driver saw."""
    for piece in part:
        path = piece.stamp.path
        if not os.path.exists(path):
            raise SourceError(f"an executor cannot see {path}; give a path that every machine of the cluster can read")
        piece.stamp.require_unchanged()
        whole = piece.groups is None
        source = open_source(path, schema=options.schema, read=options) if whole else RowGroups(piece, options)
        source.stamps, source.what = (piece.stamp,), f"{source.what} {os.path.basename(path)}"
        yield from source.column_batches(columns)


def _pieces(stamp: FileStamp) -> list[Piece]:
    """Return the row groups of a Parquet file, which may be read separately; any other file as a whole."""
    if FILES.get(suffix_of(stamp.path)) is not ParquetFile:
        return [Piece(stamp=stamp, groups=None, size=stamp.size, rows=None)]
    import pyarrow.parquet as pq

    about = call_shielded(f"{stamp.path} is not a readable Parquet file", lambda: pq.read_metadata(stamp.path))
    groups = [about.row_group(at) for at in range(about.num_row_groups)]
    return [
        Piece(stamp=stamp, groups=(at,), size=group.total_byte_size, rows=group.num_rows)
        for at, group in enumerate(groups)
    ]


def _by_file(pieces: Sequence[Piece]) -> Part:
    """Join the row groups of each file, which are read together."""
    return tuple(_merge_pieces(list(same)) for _, same in groupby(pieces, key=lambda piece: piece.stamp.path))


def _merge_pieces(pieces: Sequence[Piece]) -> Piece:
    if pieces[0].groups is None:
        return pieces[0]
    return Piece(
        stamp=pieces[0].stamp,
        groups=tuple(at for piece in pieces for at in piece.groups or ()),
        size=sum(piece.size for piece in pieces),
        rows=sum(piece.rows or 0 for piece in pieces),
    )

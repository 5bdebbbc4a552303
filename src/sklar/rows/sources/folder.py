"""A folder or pattern of files of the known kinds, taken as one table in the order of their paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sklar.errors import SourceError
from sklar.rows.sources.source import Progress, Source, SourceOptions, require_columns, suffix_of
from sklar.rows.sources.stores import find_files_below, find_matching_files
from sklar.schema.address import is_pattern, remove_secrets

OpenFile = Callable[[str, SourceOptions], Source]


class Folder(Source):
    """All data files below a folder, or that match a pattern; names that start with . or _ are left out."""

    reads_ahead = True
    what = "the folder"

    def __init__(self, path: str, options: SourceOptions, open_file: OpenFile, endings: set[str]):
        self._path, self._endings = path, endings
        self._files = _files_of(path, endings)
        if not self._files:
            what = "nothing that matches" if is_pattern(path) else "the folder"
            where = f"{what} {remove_secrets(path)}"
            raise SourceError(f"{where} has no file with a known ending ({', '.join(sorted(endings))})")
        self._share = _Share(options.progress)
        inside = replace(options, progress=self._share if options.progress else None)
        self._parts = [_open_part(file, path, inside, open_file) for file in self._files]
        stamps, known = [s for part in self._parts for s in part.stamps], [part.known_rows for part in self._parts]
        rows = None if None in known else sum(rows for rows in known if rows is not None)
        super().__init__(self._parts[0].column_names, options.progress, stamps, rows)
        if options.schema is None and len({part.column_names for part in self._parts}) > 1:
            raise SourceError(f"the files in the folder {path} do not all have the same columns")

    def require_unchanged(self) -> None:
        """Refuse a folder whose files changed, came or went."""
        super().require_unchanged()
        if _files_of(self._path, self._endings) != self._files:
            raise SourceError(f"files came to or left {self._path} while it was being read; run again when it is still")

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        sizes = [sum(stamp.size for stamp in part.stamps) for part in self._parts]
        done, total = 0, max(sum(sizes), 1)
        for part, size in zip(self._parts, sizes, strict=True):
            self._share.set(done / total, size / total)
            yield from part.column_batches(columns)
            done += size
        if self._progress:
            self._progress(1.0)


class _Share:
    """Progress of one file as its share, by bytes, of the progress of the folder."""

    def __init__(self, progress: Progress | None):
        self._progress, self._start, self._width = progress, 0.0, 1.0

    def set(self, start: float, width: float) -> None:
        """Set which part of the whole the next file is: where it starts and its width."""
        self._start, self._width = start, width

    def __call__(self, fraction: float) -> None:
        if self._progress and fraction:  # the start of a file is not the start of a pass
            self._progress(min(self._start + fraction * self._width, 1.0))


def _open_part(file: str, folder: str, options: SourceOptions, open_file: OpenFile) -> Source:
    """Open one of the files; its faults are reported with its name."""
    name = os.path.basename(file) if is_pattern(folder) else os.path.relpath(file, folder)
    try:
        part = open_file(file, options)
        part.what = f"{part.what} {name}"
        require_columns(options.schema, part.column_names, part.what, options.also)
    except SourceError as error:
        fault = str(error)
    else:
        return part
    raise SourceError(fault if name in fault else f"{name}: {fault}")


def _files_of(path: str, endings: set[str]) -> list[str]:
    """Return the files of a folder or a pattern."""
    found = find_matching_files(path) if is_pattern(path) else find_files_below(path)
    return [file for file in found if suffix_of(file) in endings]

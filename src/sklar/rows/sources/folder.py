"""A folder of files of the known kinds, taken as one table in the order of their paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sklar.errors import SourceError
from sklar.rows.sources.files import suffix_of
from sklar.rows.sources.source import ReadOptions, Source, require_columns

OpenFile = Callable[[str, ReadOptions], Source]


class Folder(Source):
    """All data files below a folder; names that start with a dot or an underscore are left out."""

    what = "the folder"

    def __init__(self, path: str, options: ReadOptions, open_file: OpenFile, endings: set[str]):
        super().__init__()
        paths = [p for p in _files_below(path) if suffix_of(p) in endings]
        if not paths:
            raise SourceError(f"the folder {path} holds no file with a known ending ({', '.join(sorted(endings))})")
        quiet = replace(options, progress=None)
        self._parts = [open_file(p, quiet) for p in paths]
        self._progress = options.progress
        for part, name in zip(self._parts, paths, strict=True):
            require_columns(options.schema, part.column_names, os.path.basename(name))
        if options.schema is None and len({part.column_names for part in self._parts}) > 1:
            raise SourceError(f"the files in the folder {path} do not all have the same columns")

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._parts[0].column_names

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        for number, part in enumerate(self._parts, 1):
            yield from part.column_batches(columns)
            if self._progress:
                self._progress(number / len(self._parts))


def _files_below(path: str) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [os.path.join(folder, name) for name in files if name[0] not in "._"]
    return sorted(found)

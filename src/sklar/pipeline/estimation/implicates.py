"""Implicates as files: one table a replica, numbered before the end of the name."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sklar.errors import UsageError
from sklar.pipeline.estimation.making import Done
from sklar.sample.draw import whole_number

if TYPE_CHECKING:
    from sklar.pipeline.model import Model


def implicate_paths(path: str | PathLike[str], count: int) -> tuple[str, ...]:
    """people-01.csv, people-02.csv, ... for people.csv."""
    whole, digits = Path(os.fspath(path)), len(str(count))
    return tuple(str(whole.with_name(f"{whole.stem}-{i:0{digits}d}{whole.suffix}")) for i in range(1, count + 1))


def implicates_to_files(
    model: Model,
    path: str | PathLike[str],
    count: int,
    rows: int | None,
    *,
    seed: int | None = None,
    safe: bool = False,
    done: Done | None = None,
) -> tuple[str, ...]:
    """Write so many implicates beside each other, and give their paths."""
    from sklar.export.write import STANDARD_OUTPUT, require_table_output, write_table

    count = whole_number(count, "the number of implicates")
    if os.fspath(path) == STANDARD_OUTPUT or os.fspath(path).endswith("/"):
        raise UsageError("implicates go to files of their own: name one, as people.csv for people-01.csv and so on.")
    paths = implicate_paths(path, count)
    require_table_output(paths[0])
    for place, table in zip(paths, model.implicates(count, rows, seed=seed, done=done), strict=True):
        write_table(table, place, model.schema, safe=safe)
    return paths

"""Split a table of real rows into training rows and hold-out rows: without noise, so for the custodian only."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Mask
from sklar.errors import SourceError, UsageError
from sklar.export.write import require_table_output, write_table
from sklar.lab.tables.reading import read_whole
from sklar.sample.rng import generator
from sklar.schema.reading import ReadOptions, read_options

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_SHARE = 0.2


def split(
    data: Any,
    train: str | PathLike[str] | None = None,
    holdout: str | PathLike[str] | None = None,
    *,
    share: float = DEFAULT_SHARE,
    key: str | None = None,
    seed: int | None = None,
    read: ReadOptions | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Split a table at random into training rows and hold-out rows. Both are real rows: for the custodian only.

    Cells of text files are copied as written. Files are readable by their owner only.

    Args:
        data: The table, as for `fit`. It is held in memory.
        train: A file for the training rows, if wanted.
        holdout: A file for the hold-out rows, if wanted.
        share: Share of the rows (or keys) that are held out.
        key: A column that identifies persons: all rows of a person go to the same side.
        seed: Any whole number; the same seed gives the same split.
        read: How to read a file.
    """
    import pyarrow as pa

    if not 0 < share < 1:
        raise UsageError(f"share must be above 0 and below 1, such as 0.2; found {share}")
    for path in (train, holdout):
        if path is not None:
            require_table_output(path)
    table = read_whole(data, read_options(read))
    if table.num_rows < 2:
        raise SourceError("a table needs at least two rows to be split")
    if key is not None and key not in table.column_names:
        raise UsageError(f"the table has no column '{key}'")
    held = _choose_holdout(table, share, key, seed)
    parts = table.filter(pa.array(~held)), table.filter(pa.array(held))
    for path, part in zip((train, holdout), parts, strict=True):
        if path is not None:
            write_table(part, path, mode=0o600)
    return parts


def _choose_holdout(table: Any, share: float, key: str | None, seed: int | None) -> Mask:
    """Return a mask of the rows that are held out."""
    people = np.arange(table.num_rows)
    if key is not None:
        people = table.column(key).combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
    known = np.unique(people)
    count = min(max(round(share * len(known)), 1), len(known) - 1)
    if not count:
        raise UsageError(f"all rows share one '{key}', so they cannot be split by it")
    chosen = generator(seed).permutation(known)[:count]
    return np.isin(people, chosen)

"""The folds of a comparison: real rows under the schema's rules, written as training and held-out files."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.errors import UsageError
from sklar.pipeline.comparison.store import Store
from sklar.sample.decode import decode_column
from sklar.sample.rng import generator, substream
from sklar.sample.values import Values
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.disclosed.metrics.table import ExactTable

LEAST_ROWS = 10
"""Rows of the smallest fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """The files of one fold."""

    train: Path
    holdout: Path


def read_whole(data: Any, schema: Schema, read: ReadOptions | None, seed: int) -> ExactTable:
    """The table under the schema's rules, thinned (always in the same way) if it is very large."""
    from sklar.disclosed.metrics.reading import read_table

    return read_table(data, schema, substream(seed, 0), role="real", read=read)


def fold_files(store: Store, table: str, folds: int, seed: int, fold: int) -> Fold:
    """Where the files of a fold are."""
    stem = store.folder / "folds" / f"{table[:12]}-{folds}-{seed}-{fold}"
    return Fold(train=stem.with_name(f"{stem.name}-train.parquet"), holdout=stem.with_name(f"{stem.name}-held.parquet"))


def write_folds(store: Store, table: ExactTable, schema: Schema, key: str, folds: int, seed: int) -> int:
    """Write the folds that are missing; returns the least number of rows to learn from."""
    if table.rows < folds * LEAST_ROWS:
        raise UsageError(f"the table has too few rows for {folds} folds: {LEAST_ROWS} rows a fold are needed")
    member = substream(seed, 1).permutation(np.arange(table.rows) % folds)
    for fold in range(folds):
        files = fold_files(store, key, folds, seed, fold)
        for path, rows in ((files.train, member != fold), (files.holdout, member == fold)):
            if not path.exists():
                part = table.take(np.flatnonzero(rows))
                store.write_parquet(f"folds/{path.name}", as_arrow(schema, part))
    return int(table.rows - np.bincount(member).max())


def modelled_schema(schema: Schema) -> Schema:
    """The schema of the columns that are modelled; keys and ignored columns play no part in a comparison."""
    return Schema({name: schema[name] for name in schema.modelled}, schema.constraints)


def as_arrow(schema: Schema, table: ExactTable) -> pa.Table:
    """The rows as typed values: clipped to bounds, unlisted labels as `other`."""
    from sklar.export.arrow import to_arrow

    return to_arrow(schema, {name: _values(schema, table, name) for name in schema.modelled})


def _values(schema: Schema, table: ExactTable, name: str) -> Values:
    column = schema[name]
    if name not in table.numbers:
        return decode_column(column, table.codes[name].astype(np.int32), generator(0))
    numbers = table.numbers[name]
    null = np.isnan(numbers)
    data = np.where(null, 0.0, numbers)
    return Values(data=data if column.kind == "real" else np.rint(data).astype(np.int64), null=null)


def read_values(path: str | PathLike[str]) -> Any:
    """A file of a fold as an Arrow table: a fit on it has no ledger beyond itself."""
    import pyarrow.parquet as pq

    return pq.read_table(path)

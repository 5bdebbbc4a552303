"""Data frames in memory, converted column by column and batch by batch.

Columns with a type of their own keep it. Columns of Python objects are read value by value: Arrow would guess one
type for a whole batch, and one odd cell would change how all others are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.errors import SourceError
from sklar.rows.sources.objects import TIMESTAMP_UNITS, object_array
from sklar.rows.sources.source import BATCH_ROWS, Source, SourceOptions

MASKED = frozenset({"boolean", "Float32", "Float64", *(f"{u}Int{bits}" for u in ("", "U") for bits in (8, 16, 32, 64))})
"""Types of pandas with numbers and a mask."""


class PandasFrame(Source):
    """A pandas DataFrame."""

    in_memory = True
    what = "the data frame"

    def __init__(self, frame: Any, options: SourceOptions):
        super().__init__([str(name) for name in frame.columns], options.progress, known_rows=len(frame))
        self._frame = frame

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        place = {name: at for at, name in enumerate(self.column_names)}
        places = [place[name] for name in columns]
        rows = len(self._frame)
        for start in range(0, max(rows, 1), BATCH_ROWS):
            part = slice(start, min(start + BATCH_ROWS, rows))
            arrays = [_from_pandas(self._frame.iloc[part, at]) for at in places]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
            if self._progress:
                self._progress(part.stop / max(rows, 1))


class PolarsFrame(Source):
    """A polars DataFrame, or a LazyFrame, whose query then runs again for every pass."""

    what = "the data frame"

    def __init__(self, frame: Any, options: SourceOptions):
        self._frame, self._lazy = frame, not hasattr(frame, "iter_slices")
        rows = None if self._lazy else frame.height
        super().__init__(frame.collect_schema().names(), options.progress, known_rows=rows)
        self.in_memory = not self._lazy

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self._frame.select(list(columns))
        if self._lazy and not hasattr(chosen, "collect_batches"):
            chosen = chosen.collect()  # polars before 1.34 has no way to collect in batches
        in_batches = hasattr(chosen, "collect_batches")
        slices = chosen.collect_batches(chunk_size=BATCH_ROWS) if in_batches else chosen.iter_slices(BATCH_ROWS)
        done, rows = 0, self.known_rows
        for part in slices:
            yield pa.RecordBatch.from_arrays([_from_polars(s) for s in part.get_columns()], names=list(columns))
            done += part.height
            if self._progress and rows:
                self._progress(done / rows)


class NarwhalsFrame(Source):
    """Any other data frame that narwhals understands (Modin, cuDF, Dask, Ibis, ...), turned into an Arrow table."""

    in_memory = True
    what = "the data frame"

    def __init__(self, frame: Any, options: SourceOptions):
        import narwhals as nw

        native = nw.from_native(frame, pass_through=isinstance(frame, nw.DataFrame | nw.LazyFrame))
        super().__init__(native.collect_schema().names())
        self._frame, self._options = native, options

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        import narwhals as nw

        chosen = self._frame.select(*columns)
        frame = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
        if frame.implementation.is_pandas_like():  # may hold Python objects, whose types narwhals would guess
            yield from PandasFrame(frame.to_pandas(), self._options).scan(columns)
        else:
            yield from frame.to_arrow().to_batches(max_chunksize=BATCH_ROWS)


class ColumnMapping(Source):
    """A plain mapping of column name to a sequence or numpy array of values."""

    in_memory = True
    what = "the mapping of columns"

    def __init__(self, columns: Any, options: SourceOptions):
        self._columns = {str(name): values for name, values in columns.items()}
        super().__init__(tuple(self._columns))
        if len({len(values) for values in self._columns.values()}) > 1:
            raise SourceError("the columns of the mapping differ in length")

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        for start in range(0, max(len(self._columns[columns[0]]), 1), BATCH_ROWS):
            parts = [_select_rows(self._columns[name], slice(start, start + BATCH_ROWS)) for name in columns]
            yield pa.RecordBatch.from_arrays([_from_values(part) for part in parts], names=list(columns))


def _select_rows(values: Any, places: slice) -> Any:
    """Return values by position: pandas 2 slices a series by the labels of its rows, if these are floats."""
    return getattr(values, "iloc", values)[places]


def _from_pandas(series: Any) -> Any:
    """Return a series or an index of pandas; by its type alone it is known whether its values have one."""
    import pandas as pd

    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _from_categories(series)
    if isinstance(kind, np.dtype):
        return _from_numpy(series.to_numpy())
    typed = isinstance(kind, pd.ArrowDtype | pd.DatetimeTZDtype) or str(kind) in MASKED
    if not typed and not (isinstance(kind, pd.StringDtype) and kind.storage.startswith("pyarrow")):
        return object_array(series.tolist())
    return _join_chunks(pa.Array.from_pandas(series))


def _from_categories(series: Any) -> Any:
    """Convert categories once; those without one type are read row by row."""
    categories, codes = _from_pandas(series.cat.categories), series.cat.codes.to_numpy().astype(np.int32)
    if pa.types.is_union(categories.type):
        values = [*series.cat.categories.tolist(), None]  # the code of a missing value is -1
        return object_array([values[code] for code in codes.tolist()])
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories, ordered=bool(series.cat.ordered))


def _from_polars(series: Any) -> Any:
    import polars as pl

    if series.dtype == pl.Object or str(series.dtype) in ("Int128", "UInt128"):  # Arrow has no such integers
        return object_array(series.to_list())
    return series.to_arrow()


def _from_values(values: Any) -> Any:
    """Return a column of a mapping."""
    if isinstance(values, np.ndarray):
        return _from_numpy(values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _join_chunks(values)
    package = type(values).__module__.split(".")[0]
    if package == "pandas":
        import pandas as pd

        return _from_pandas(pd.Series(values))
    return _from_polars(values) if package == "polars" else object_array(list(values))


def _join_chunks(array: Any) -> Any:
    if not isinstance(array, pa.ChunkedArray):
        return array
    return pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)


def _from_numpy(values: Any) -> Any:
    """Return numbers and moments keep their type; everything else is read value by value."""
    kind = values.dtype.kind
    if kind == "T":  # texts of any length, which have no byte order
        return object_array(values.tolist())
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if kind in "biu" or (kind == "f" and values.dtype.itemsize <= 8):
        return pa.array(values, from_pandas=True)
    if kind == "M" and np.datetime_data(values.dtype) in [(unit, 1) for unit in TIMESTAMP_UNITS]:
        return pa.array(values, from_pandas=True)
    if kind == "m":  # read as null, in any unit; the type shows a draft what they are
        return pa.nulls(len(values), pa.duration("us"))
    if kind == "V":
        raise SourceError("a column holds numpy records, which are neither numbers nor text; give each field a column")
    return object_array(list(values) if kind == "M" else values.tolist())

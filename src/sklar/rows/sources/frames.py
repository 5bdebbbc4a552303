"""Data frames in memory, converted column by column and batch by batch; mixed Python objects become text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklar.errors import SourceError
from sklar.rows.sources.source import BATCH_ROWS, ReadOptions, Source


class PandasFrame(Source):
    """A pandas DataFrame."""

    in_memory = True
    what = "the data frame"

    def __init__(self, frame: Any, options: ReadOptions):
        super().__init__(options.progress)
        self._frame = frame
        self._names = tuple(str(name) for name in frame.columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def known_rows(self) -> int | None:
        return len(self._frame)

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        place = {name: at for at, name in enumerate(self._names)}
        places = [place[name] for name in columns]
        rows = len(self._frame)
        for start in range(0, rows, BATCH_ROWS):
            part = slice(start, min(start + BATCH_ROWS, rows))
            arrays = [_from_pandas(self._frame.iloc[part, at]) for at in places]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
            if self._progress:
                self._progress(part.stop / rows)


class PolarsFrame(Source):
    """A polars DataFrame, or a LazyFrame, whose query then runs anew for every pass."""

    what = "the data frame"

    def __init__(self, frame: Any, options: ReadOptions):
        super().__init__(options.progress)
        self._frame = frame
        self._lazy = not hasattr(frame, "iter_slices")
        self.in_memory = not self._lazy
        self._names = tuple(frame.collect_schema().names())

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def known_rows(self) -> int | None:
        return None if self._lazy else self._frame.height

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

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

    def __init__(self, frame: Any, options: ReadOptions):
        super().__init__()
        import narwhals as nw

        native = nw.from_native(frame)
        self._frame = native
        self._names = tuple(native.collect_schema().names())

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        import narwhals as nw

        chosen = self._frame.select(*columns)
        table = (chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen).to_arrow()
        yield from table.to_batches(max_chunksize=BATCH_ROWS)


class ColumnMapping(Source):
    """A plain mapping of column name to a sequence or numpy array of values."""

    in_memory = True
    what = "the mapping of columns"

    def __init__(self, columns: Any, options: ReadOptions):
        super().__init__()
        self._columns = {str(name): values for name, values in columns.items()}
        if len({len(values) for values in self._columns.values()}) > 1:
            raise SourceError("the columns of the mapping differ in length")

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        for start in range(0, len(self._columns[columns[0]]), BATCH_ROWS):
            parts = [self._columns[name][start : start + BATCH_ROWS] for name in columns]
            yield pa.RecordBatch.from_arrays([_from_objects(part) for part in parts], names=list(columns))


def _from_pandas(series: Any) -> Any:
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(series)
    except Exception:  # pandas and Arrow differ in which types they cannot turn into each other
        return _as_text(series.astype(object).where(series.notna(), None).tolist())
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _from_polars(series: Any) -> Any:
    try:
        return series.to_arrow()
    except Exception:  # columns of Python objects
        return _as_text(series.to_list())


def _from_objects(values: Any) -> Any:
    import pyarrow as pa

    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _as_text(list(values))
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _as_text(values: list[Any]) -> Any:
    import pyarrow as pa

    return pa.array([_text(value) for value in values], type=pa.large_string())


def _text(value: Any) -> str | None:
    """The usual text of a Python object; None, NaN and what has no text are null."""
    if value is None:
        return None
    try:
        if value != value:
            return None
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # an object of any class may refuse anything
        return None

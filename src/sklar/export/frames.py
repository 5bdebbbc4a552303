"""Convert samples to data frames, with the types of a given frame.

Of the given frame only names and types are used, never a cell, and of types only what no cell can change: labels are
those of the schema, since categories may have been collected from rows, and so are the types of plain numbers of
pandas, which one missing value changes. Types that the caller states explicitly (`like=df.dtypes`) are used as they
are. Values that do not fit a type keep their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute

from sklar.errors import MissingExtraError, UsageError
from sklar.export.patterns import draw_texts
from sklar.export.write import texts_of
from sklar.sample.rng import named_streams, seed_entropy
from sklar.schema.columns import Boolean, Column, Id, Labels, parse_truth
from sklar.schema.table import Schema

pc: Any = pyarrow.compute

LIBRARIES: dict[str, Literal["pandas", "polars", "arrow", "duckdb"]] = {
    "pyarrow": "arrow", "pandas": "pandas", "polars": "polars", "duckdb": "duckdb",
}  # fmt: skip
"""Name of a frame library, by the package of its class."""
Fill = str | Mapping[str, str | None]
"""Content of unmodelled columns: "null" for all of them, or by name a pattern, or None for nulls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """The form of a frame: its library, the type of each column in that library, and the name of its index."""

    form: str
    types: Mapping[str, Any]
    index: Any = None


def read_like(like: Any) -> Like:
    """Return the form of a frame without reading its cells, or of pandas types, as df.dtypes."""
    if isinstance(like, Like):
        return like
    form = form_of(like)
    if isinstance(like, Mapping) or (form == "pandas" and not hasattr(like, "columns")):
        return _stated_types(like)
    if form is None:
        raise UsageError(f"like must be a data frame of pandas, polars, Arrow or DuckDB, not a {type(like).__name__}")
    if form == "pandas":
        types = {str(name): _undecided(dtype) for name, dtype in like.dtypes.items()}
        return Like(form=form, types=types, index=like.index.name)
    if form == "polars":
        return Like(form=form, types={name: _without_labels(dtype) for name, dtype in like.collect_schema().items()})
    if form == "duckdb":
        empty = like.limit(0).to_arrow_table()
        return Like(form=form, types={field.name: field.type for field in empty.schema})
    return Like(form=form, types={field.name: field.type for field in like.schema})


def _stated_types(types: Any) -> Like:
    """Return the form from stated pandas types by column, without their labels."""
    try:
        import pandas as pd

        stated = {str(name): pd.api.types.pandas_dtype(dtype) for name, dtype in types.items()}
    except ImportError:
        raise MissingExtraError("types of pandas need pandas: pip install pandas") from None
    except TypeError:
        raise UsageError(
            'like must be a data frame, or pandas types by column, such as df.dtypes or {"age": "int8"}'
        ) from None
    return Like(form="pandas", types={name: _without_labels(dtype) for name, dtype in stated.items()})


def _undecided(dtype: Any) -> Any:
    """Return a pandas type if it does not depend on rows, else None, which leaves it to the schema.

    One missing value turns integers and booleans into floats or objects, so their type would reveal whether there is
    one.
    """
    plain = type(dtype).__module__.partition(".")[0] == "numpy" and str(dtype) not in ("float16", "float32")
    return None if plain and dtype.kind in "biufcOSU" else _without_labels(dtype)


def _without_labels(dtype: Any) -> Any:
    """Return a type without labels, which may have been collected from rows."""
    kind = type(dtype).__name__
    if kind == "Enum":
        return type(dtype)([])
    return type(dtype)(dtype.categories[:0], ordered=dtype.ordered) if kind == "CategoricalDtype" else dtype


def form_of(data: Any) -> Literal["pandas", "polars", "arrow", "duckdb"] | None:
    """Return the library of a data frame; None for other objects."""
    home = type(data).__module__.partition(".")[0].lstrip("_")
    return LIBRARIES.get(home) if hasattr(data, "dtypes") or hasattr(data, "schema") else None


def as_frame(table: pa.Table, schema: Schema, *, to: str | None, like: Any) -> Any:
    """Convert a sample to a data frame.

    Args:
        table: The sample.
        schema: Its schema.
        to: "pandas", "polars", "arrow" or "duckdb".
        like: A frame whose library, types and order of columns are used.
    """
    wanted = None if like is None else read_like(like)
    form = to or (wanted.form if wanted else "arrow")
    if form not in FRAMES:
        raise UsageError(f"to must be one of {', '.join(FRAMES)}; got {to!r}")
    types = wanted.types if wanted else {}
    names = [name for name in types if name in table.column_names]
    ordered = table.select([*names, *(name for name in table.column_names if name not in types)])
    try:
        frame = FRAMES[form](ordered, schema, types if wanted and wanted.form == form else {})
        return frame.rename_axis(index=wanted.index) if form == "pandas" and wanted and wanted.index else frame
    except ImportError:
        raise MissingExtraError(f"a sample for {form} needs {form}: pip install {form}") from None


def fill_unmodelled(table: pa.Table, schema: Schema, fill: Fill, *, like: Any, seed: int | None) -> pa.Table:
    """Add unmodelled columns: nulls, or random texts of a pattern. Nothing of them comes from rows."""
    others = [] if like is None else [name for name in read_like(like).types if name not in schema]
    unmodelled = [name for name, column in schema.items() if not column.modelled] + others
    if isinstance(fill, str) and fill != "null":
        raise UsageError(
            'fill must be "null", or a pattern per column, such as fill={"email": "[a-z]{8}@example\\.org"}'
        )
    absent = [name for name in unmodelled if name not in table.column_names]
    wanted: Mapping[str, str | None] = dict.fromkeys(absent) if isinstance(fill, str) else fill
    unknown = [name for name in wanted if name not in unmodelled]
    if unknown:
        listed = ", ".join(unmodelled) or "none"
        raise UsageError(f"fill: '{unknown[0]}' is not a column that is left out; these are: {listed}")
    streams = named_streams(seed_entropy(seed))
    for name, pattern in wanted.items():
        distinct = isinstance(schema.get(name), Id)
        made = None
        if pattern is not None:
            made = draw_texts(pattern, table.num_rows, streams(f"fill {name}"), distinct=distinct)
        column = pa.nulls(table.num_rows, pa.string()) if made is None else pa.array(made, pa.string())
        table = _with_column(table, name, column)
    order = [name for name in schema if name in table.column_names]
    return table.select([*order, *(name for name in table.column_names if name not in order)])


def _with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def cast_column(array: Any, column: Column | None, wanted: pa.DataType) -> Any:
    """Cast a column of a sample to another Arrow type; return it unchanged if its values do not fit."""
    if pa.types.is_dictionary(wanted):
        return _coded(array, column, wanted)
    if _is_text(wanted):
        return texts_of(array, column).cast(wanted)
    if _is_text(array.type) and isinstance(column, Boolean | Labels) and _is_flag_like(wanted):
        array = _flags(array)
    if pa.types.is_integer(wanted) and pa.types.is_floating(array.type):  # declared as real, as in SDV metadata
        array = pc.call_function("round", [array])
    try:
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_flag_like(kind: pa.DataType) -> bool:
    return pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _flags(array: Any) -> Any:
    """Convert words for true and false to booleans; return the array unchanged if it has any other."""
    words = {word: parse_truth(word) for word in array.unique().to_pylist() if word is not None}
    if not words or None in words.values():
        return array
    return pa.array([None if word is None else words[word] for word in array.to_pylist()], pa.bool_())


def _coded(array: Any, column: Column | None, wanted: Any) -> Any:
    """Encode values by the labels of the schema, in its order; those of a type may have been collected from rows."""
    plain = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    listed: list[Any] = list(column.values) if isinstance(column, Labels) else []
    values = cast_column(plain, column, wanted.value_type)
    found = [value for value in pc.unique(values).to_pylist() if value is not None]
    labels = listed if listed and {type(v) for v in listed} == {type(v) for v in found or listed} else []
    rest = [value for value in found if value not in set(labels)]
    names = pa.array([*labels, *(rest if labels else sorted(rest))], values.type)
    codes = pc.index_in(values, value_set=names)
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), names, ordered=wanted.ordered)


def _to_arrow(table: pa.Table, schema: Schema, types: Mapping[str, Any]) -> pa.Table:
    for place, name in enumerate(table.column_names):
        if name in types:
            table = table.set_column(place, name, cast_column(table.column(name), schema.get(name), types[name]))
    return table


def _to_duckdb(table: pa.Table, schema: Schema, types: Mapping[str, Any]) -> Any:
    import duckdb

    return duckdb.from_arrow(_to_arrow(table, schema, types))


def _to_polars(table: pa.Table, schema: Schema, types: Mapping[str, Any]) -> Any:
    import polars as pl

    arrow = {name: _polars_arrow(pl, kind) for name, kind in types.items()}
    known = {name: kind for name, kind in arrow.items() if kind is not None}
    frame = pl.DataFrame(pl.from_arrow(_to_arrow(table, schema, known)))
    for name, kind in types.items():
        if name in frame.columns and isinstance(kind, pl.Enum):
            labels = frame[name].cast(pl.String).unique().drop_nulls().to_list()
            column = schema.get(name)
            listed = [str(value) for value in column.values] if isinstance(column, Labels) else []
            order = [*listed, *sorted(label for label in labels if label not in listed)]
            frame = frame.with_columns(pl.col(name).cast(pl.String).cast(pl.Enum(order)))
        elif name in frame.columns and isinstance(kind, pl.Categorical):
            frame = frame.with_columns(pl.col(name).cast(pl.String).cast(kind))
    return frame


def _polars_arrow(pl: Any, kind: Any) -> pa.DataType | None:
    """Return the Arrow type of a polars type; types with labels are made from the schema."""
    return pl.Series([], dtype=kind).to_arrow().type if not isinstance(kind, pl.Enum | pl.Categorical) else pa.string()


def _to_pandas(table: pa.Table, schema: Schema, types: Mapping[str, Any]) -> Any:
    import pandas as pd

    columns = {
        name: _pandas_column(pd, table.column(name), schema.get(name), types.get(name)) for name in table.column_names
    }
    frame = pd.DataFrame(columns)
    frame.attrs = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return frame


def _pandas_column(pd: Any, array: Any, column: Column | None, dtype: Any) -> Any:
    """Return a series of the wanted type, or a nullable one of the same width if integers or booleans are missing."""
    wanted = _pandas_arrow(pd, dtype, array, column)
    cast = array if wanted is None else cast_column(array, column, wanted)
    kind = cast.type
    if pa.types.is_dictionary(kind):
        return pd.Series(cast.to_pandas())
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and wanted is not None and kind == wanted:
        return pd.Series(dtype.__from_arrow__(cast))
    missing = cast.null_count or (dtype is None and getattr(column, "nullable", False))
    if missing and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)) and not _is_object(dtype):
        return pd.Series(_get_masked_type(pd, kind).__from_arrow__(cast))
    if _is_object(dtype):
        return pd.Series(cast.to_pylist(), dtype=object)
    return cast.to_pandas(date_as_object=False)  # days as timestamps, so that .dt works


def _is_object(dtype: Any) -> bool:
    return dtype is not None and str(dtype) == "object"


def _get_masked_type(pd: Any, kind: pa.DataType) -> Any:
    if str(kind) == "bool":
        return pd.BooleanDtype()
    return getattr(pd, f"{str(kind).replace('uint', 'UInt').replace('int', 'Int')}Dtype")()


def _pandas_arrow(pd: Any, dtype: Any, array: Any, column: Column | None) -> pa.DataType | None:
    """Return the Arrow type of a pandas type; None keeps the type of the sample."""
    if dtype is None:
        return None
    if isinstance(dtype, pd.CategoricalDtype):
        inner = _pandas_arrow(pd, dtype.categories.dtype, array, column) or array.type
        return pa.dictionary(pa.int32(), inner, ordered=bool(dtype.ordered))
    if isinstance(dtype, pd.ArrowDtype):
        return dtype.pyarrow_dtype
    if isinstance(dtype, pd.StringDtype):
        return pa.string()
    if isinstance(dtype, pd.DatetimeTZDtype):
        return pa.timestamp(dtype.unit, str(dtype.tz))
    if _is_object(dtype):  # texts before pandas had a type for text
        return pa.string() if pa.types.is_temporal(array.type) else None
    try:
        return pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError):
        return None


FRAMES: dict[str, Callable[[pa.Table, Schema, Mapping[str, Any]], Any]] = {
    "arrow": _to_arrow,
    "pandas": _to_pandas,
    "polars": _to_polars,
    "duckdb": _to_duckdb,
}

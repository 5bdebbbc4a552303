"""The first rows of any source, as one Arrow table for drafting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklar.errors import SourceError, UsageError
from sklar.rows.encode.unions import one_type
from sklar.rows.sources import open_source
from sklar.schema.reading import ReadOptions


def first_rows(data: Any, rows: int, read: ReadOptions) -> tuple[Any, bool]:
    """(the first rows with all columns, whether there are more rows)."""
    import pyarrow as pa

    if rows < 1:
        raise UsageError("a draft needs at least one row to look at")
    source = open_source(data, schema=None, read=read)
    names = source.column_names
    _require_names(names)
    batches, seen = [], 0
    for batch in source.batches(names):
        batches.append(pa.RecordBatch.from_arrays([one_type(column) for column in batch.columns], names=list(names)))
        seen += batch.num_rows
        if seen > rows:
            break
    if not seen:
        raise SourceError("the table has no rows to draft a schema from; write the schema by hand")
    table = pa.Table.from_batches([b for b in batches if b.num_rows]) if _same(batches) else _as_text(batches)
    return _nulled(table.slice(0, rows), tuple(read.null_values)), seen > rows


def _require_names(names: Sequence[str]) -> None:
    if not names:
        raise SourceError("the table has no columns")
    blank = [place for place, name in enumerate(names, 1) if not name.strip()]
    if blank:
        raise SourceError(f"column number {blank[0]} of the table has no name; name it or drop it")
    if len(set(names)) < len(names):
        raise SourceError("two columns of the table have the same name; rename or drop one")


def _same(batches: Sequence[Any]) -> bool:
    return len({str(batch.schema) for batch in batches if batch.num_rows}) == 1


def _as_text(batches: Sequence[Any]) -> Any:
    """Batches of a frame of Python objects may differ in type; as text they agree."""
    import pyarrow as pa

    names = batches[0].schema.names
    columns = {
        name: pa.chunked_array([b.column(i).cast(pa.large_string()) for b in batches]) for i, name in enumerate(names)
    }
    return pa.table(columns)


def _nulled(table: Any, null_values: tuple[str, ...]) -> Any:
    """The table with the texts that stand for null, and the numbers among them, replaced by null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema if null_values else ()):
        listed = [value for text in null_values if (value := _typed(text, field.type)) is not None]
        if listed:
            options = pc.SetLookupOptions(value_set=pa.array(listed, type=field.type))
            found = pc.call_function("is_in", [table.column(i)], options)
            cleaned = pc.call_function("if_else", [found, pa.scalar(None, type=field.type), table.column(i)])
            table = table.set_column(i, field.name, cleaned)
    return table


def _typed(text: str, kind: Any) -> Any:
    """A null text as a value of an Arrow type; None if it is not one."""
    import pyarrow as pa

    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (plain or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        return None

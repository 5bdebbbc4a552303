"""Write a sample of a model to a file: in memory if it is small, in batches if it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.sample.draw import whole_number

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.pipeline.model import Model

MOST_IN_MEMORY = 1_000_000
"""Larger samples are streamed. Part of what a seed means: do not change it."""


def sample_to_file(
    model: Model,
    path: str | PathLike[str],
    rows: int | None = None,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    iid: bool = False,
    safe: bool = False,
    written: Callable[[int], None] | None = None,
) -> int:
    """Rows into a file (`-` is CSV on standard output), and tell the rows of each batch; see `Model.sample_to`."""
    from sklar.export.write import require_table_output, write_stream

    count = model.rows_estimate if rows is None else whole_number(rows, "the number of rows")
    require_table_output(path)
    tables = _tables(model, count, seed, given, iid)
    write_stream(tables, path, model.schema, safe=safe, rows=count, written=written)
    return count


def _tables(
    model: Model, rows: int, seed: int | None, given: Mapping[str, Any] | None, iid: bool
) -> Iterator[pa.Table]:
    import pyarrow as pa

    if rows <= MOST_IN_MEMORY:
        return iter([model.sample(rows, seed=seed, given=given, iid=iid)])
    batches = model.stream(rows, seed=seed, given=given)
    return (pa.Table.from_batches([batch]) for batch in batches)

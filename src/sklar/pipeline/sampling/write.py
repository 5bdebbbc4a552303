"""Write a sample of a model to a file: in memory if it is small, in batches if it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from sklar.errors import UsageError
from sklar.notebook import notebook_rows
from sklar.sample.draw import whole_number

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.export.frames import Fill
    from sklar.pipeline.model import Model

SampleForm = Literal["matched", "iid", "binary"]
"""Rows that match totals, independent rows, or the binary table."""
MOST_IN_MEMORY = 1_000_000
"""Larger samples are streamed. Part of what a seed means: do not change it."""


def sample_to_file(
    model: Model,
    path: str | PathLike[str],
    rows: int | None = None,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    form: SampleForm = "matched",
    safe: bool = False,
    written: Callable[[int], None] | None = None,
) -> int:
    """Rows into a file (`-` is CSV on standard output), and tell the rows of each batch; see `Model.sample_to`."""
    from sklar.export.write import require_table_output, write_stream

    count = model.rows_estimate if rows is None else whole_number(rows, "the number of rows")
    require_table_output(path)
    tables = _tables(model, count, seed, given, form)
    told = written or notebook_rows("sampling", count)
    write_stream(tables, path, model.schema, safe=safe, rows=count, written=told)
    return count


def filled_to_file(
    model: Model,
    path: str | PathLike[str],
    rows: int | None,
    fill: Fill,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    form: SampleForm = "matched",
    safe: bool = False,
) -> int:
    """As `sample_to_file`, with texts or nulls in the columns that are left out."""
    from sklar.export.write import require_table_output, write_table

    count = model.rows_estimate if rows is None else whole_number(rows, "the number of rows")
    require_table_output(path)
    if form == "binary" or count > MOST_IN_MEMORY:
        raise UsageError(f"fill goes into a table of at most {MOST_IN_MEMORY:,} rows, and not into the binary one")
    table = model.sample(count, seed=seed, given=given, iid=form == "iid", fill=fill)
    write_table(table, path, model.schema, safe=safe)
    return count


def _tables(
    model: Model, rows: int, seed: int | None, given: Mapping[str, Any] | None, form: SampleForm
) -> Iterator[pa.Table]:
    import pyarrow as pa

    if form == "binary":
        return binary_tables(model, rows, seed, given)
    if rows <= MOST_IN_MEMORY:
        return iter([model.sample(rows, seed=seed, given=given, iid=form == "iid")])
    batches = model.stream(rows, seed=seed, given=given)
    return (pa.Table.from_batches([batch]) for batch in batches)


def binary_tables(model: Model, rows: int, seed: int | None, given: Mapping[str, Any] | None) -> Iterator[pa.Table]:
    """Blocks of the binary table; what cannot be had is refused at once."""
    from sklar.export.arrow import bits_to_arrow
    from sklar.sample.binary import binary_blocks, binary_model, binary_names

    if given:
        raise UsageError("the binary table takes no conditions: its rows may have two values of a column, or none")
    latent = binary_model(model.table_model)
    names, blocks = binary_names(model.coordinates.schema, latent), binary_blocks(latent, rows, seed)
    return (bits_to_arrow(names, bits).replace_schema_metadata(model.claim.notes or None) for bits in blocks)


def sample_form(iid: bool, binary: bool) -> SampleForm:
    """The form that two switches ask for; rows of the binary table are independent anyway."""
    return "binary" if binary else "iid" if iid else "matched"

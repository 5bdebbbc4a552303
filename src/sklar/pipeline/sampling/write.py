"""Write a sample of a model to a file: in memory if it is small, in batches if it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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


DRAWN = 0.8
"""Part of the work that is done when the rows are drawn, as bars tell it: 10 of 13 seconds for a million as CSV."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """What is asked of a sample, as explained at `Model.sample` and `Model.sample_to`."""

    rows: int | None = None
    seed: int | None = None
    given: Mapping[str, Any] | None = None
    form: SampleForm = "matched"
    fill: Fill | None = None
    safe: bool = False


def sample_to_file(
    model: Model,
    path: str | PathLike[str],
    asked: SampleRequest,
    written: Callable[[int], None] | None = None,
) -> int:
    """Rows into a file (`-` is CSV on standard output), telling how many more there are; see `Model.sample_to`."""
    from sklar.export.write import require_table_output, write_stream

    rows = model.rows_estimate if asked.rows is None else whole_number(asked.rows, "the number of rows")
    require_table_output(path)
    in_memory = asked.form != "binary" and rows <= MOST_IN_MEMORY
    if asked.fill is not None and not in_memory:
        raise UsageError(f"fill goes into a table of at most {MOST_IN_MEMORY:,} rows, and not into the binary one")
    told = written or notebook_rows("sampling", rows) or (lambda more: None)
    if in_memory:
        _whole_to_file(model, path, rows, asked, told)
    else:
        write_stream(_tables(model, rows, asked), path, model.schema, safe=asked.safe, rows=rows, written=told)
    return rows


def _whole_to_file(
    model: Model, path: str | PathLike[str], rows: int, asked: SampleRequest, told: Callable[[int], None]
) -> None:
    """Draw all rows, then write them; each is told for the most part when it is drawn."""
    from sklar.export.frames import filled
    from sklar.export.write import write_table

    early = 0

    def tell(more: int) -> None:
        nonlocal early
        early += int(DRAWN * more)
        told(int(DRAWN * more))

    table = model.sample_table(rows, seed=asked.seed, given=asked.given, iid=asked.form == "iid", drawn=tell)
    if asked.fill is not None:
        table = filled(table, model.schema, asked.fill, like=None, seed=asked.seed)
    write_table(table, path, model.schema, safe=asked.safe)
    told(rows - early)


def _tables(model: Model, rows: int, asked: SampleRequest) -> Iterator[pa.Table]:
    import pyarrow as pa

    if asked.form == "binary":
        return binary_tables(model, rows, asked.seed, asked.given)
    return (pa.Table.from_batches([batch]) for batch in model.stream(rows, seed=asked.seed, given=asked.given))


def binary_tables(model: Model, rows: int, seed: int | None, given: Mapping[str, Any] | None) -> Iterator[pa.Table]:
    """Blocks of the binary table; what cannot be had is refused at once."""
    from sklar.export.arrow import bits_to_arrow
    from sklar.sample.binary import binary_blocks, binary_model, binary_names

    if given:
        raise UsageError("the binary table takes no conditions: its rows may have two values of a column, or none")
    latent = binary_model(model.table_model, model.coordinates)
    names, blocks = binary_names(model.coordinates.schema, latent), binary_blocks(latent, rows, seed)
    return (bits_to_arrow(names, bits).replace_schema_metadata(model.claim.notes or None) for bits in blocks)


def sample_form(iid: bool, binary: bool) -> SampleForm:
    """The form that two switches ask for; rows of the binary table are independent anyway."""
    return "binary" if binary else "iid" if iid else "matched"

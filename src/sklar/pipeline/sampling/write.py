"""Write a sample of a model to a file: in memory if it is small, in batches if it is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.notebook import notebook_rows
from sklar.schema.address import TableAddress, file_address, find_scheme, table_address

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.export.frames import Fill
    from sklar.export.write import TextStyle
    from sklar.pipeline.model import Model

SampleForm = Literal["matched", "iid", "binary"]
"""Rows that match totals, independent rows, or the binary table."""
MAX_ROWS_IN_MEMORY = 1_000_000
"""Larger samples are streamed. The rows of a seed depend on it: do not change it."""
DRAWING_SHARE = 0.8
"""Share of the work that is done when rows are drawn, for progress bars: 10 of 13 seconds for a million rows as CSV."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """Arguments of a sample, explained at `Model.sample` and `Model.write_rows`; `persons` draws whole persons."""

    rows: int | None = None
    seed: int | None = None
    given: Mapping[str, Any] | None = None
    form: SampleForm = "matched"
    fill: Fill | None = None
    safe: bool = False
    persons: bool = False
    force: bool = False
    style: TextStyle | None = None


def sample_to_file(
    model: Model,
    path: str | PathLike[str],
    request: SampleRequest,
    written: Callable[[int], None] | None = None,
) -> int:
    """Write rows to a file (`-` is CSV on standard output) and report progress; see `Model.write_rows`."""
    from sklar.export.write import require_table_output, write_stream

    if has_two_tables(model):
        return write_two_tables(model, path, request)
    require_table_output(path, force=request.force)
    if request.persons:
        return _persons_to_file(model, path, request)
    rows = model.rows_estimate if request.rows is None else whole_number(request.rows, "the number of rows")
    in_memory = request.form != "binary" and rows <= MAX_ROWS_IN_MEMORY
    if request.fill is not None and not in_memory:
        raise UsageError(f"fill needs a table of at most {MAX_ROWS_IN_MEMORY:,} rows, and not the binary one")
    report = written or notebook_rows("sampling", rows) or (lambda more: None)
    if in_memory:
        _whole_to_file(model, path, rows, request, report)
    else:
        write_stream(
            _draw_tables(model, rows, request), path, model.schema, safe=request.safe, rows=rows, written=report,
            style=request.style,
        )  # fmt: skip
    return rows


def has_two_tables(model: Model) -> bool:
    """Return whether samples of a model are parents and their rows."""
    return model.schema.person is not None and model.schema.person.parents is not None


def write_two_tables(model: Model, place: str | PathLike[str], request: SampleRequest) -> int:
    """Write both tables to a folder or a database; return the number of all rows."""
    if request.fill is not None or request.form != "matched":
        raise UsageError("two tables are drawn as whole persons: fill, iid and binary are not available")
    name = os.fspath(place)
    address = table_address(name) or file_address(name)
    if address is not None:
        return _tables_to_database(model, address, request)
    return _tables_to_folder(model, place, request)


def _tables_to_database(model: Model, address: TableAddress, request: SampleRequest) -> int:
    """Write both tables under their names, in one transaction."""
    from sklar.export.databases import require_database_output, write_tables_to_database
    from sklar.schema.persons.tables import table_schemas

    if address.table is not None or address.like is not None:
        raise UsageError("both tables are written under their own names: leave table and like out of the address")
    for name in table_schemas(model.schema):
        require_database_output(replace(address, table=name))
    tables = model.sample_persons(request.rows, seed=request.seed, given=request.given)
    write_tables_to_database(tables, address)
    return sum(table.num_rows for table in tables.values())


def files_of_tables(model: Model, folder: str | PathLike[str], *, force: bool = False) -> dict[str, Path]:
    """Return the CSV file of each table in a folder that will be created; refuse other outputs.

    An existing table is refused, too, unless `force` is given.
    """
    from sklar.export.atomic import refuse_overwriting, require_folder, require_writable
    from sklar.export.parts import is_parts_output
    from sklar.schema.persons.tables import table_schemas

    if find_scheme(os.fspath(folder)) or not (is_parts_output(folder) or os.path.isdir(folder)):
        raise UsageError(
            "this model has two tables: write them to FOLDER/; a sample can also go to a .duckdb file or the URL of a "
            "database"
        )
    require_folder(folder)
    files = {name: Path(folder) / f"{name}.csv" for name in table_schemas(model.schema)}
    for path in files.values() if os.path.isdir(folder) else ():
        require_writable(path)
        refuse_overwriting(path, force=force)
    return files


def _tables_to_folder(model: Model, folder: str | PathLike[str], request: SampleRequest) -> int:
    """Write each table to a CSV file of its name."""
    from sklar.export.atomic import make_folder
    from sklar.export.write import write_table
    from sklar.schema.persons.tables import table_schemas

    schemas, files = table_schemas(model.schema), files_of_tables(model, folder, force=request.force)
    tables = model.sample_persons(request.rows, seed=request.seed, given=request.given)
    make_folder(folder)
    for name, path in files.items():
        write_table(tables[name], path, schemas[name], safe=request.safe, style=request.style)
    return sum(table.num_rows for table in tables.values())


def _persons_to_file(model: Model, path: str | PathLike[str], request: SampleRequest) -> int:
    """Write whole persons of one table; return the number of their rows."""
    from sklar.export.write import write_table

    if request.fill is not None or request.form == "binary":
        raise UsageError("fill and binary are not available for whole persons")
    table = model.sample_persons(request.rows, seed=request.seed, given=request.given, iid=request.form == "iid")
    write_table(table, path, model.schema, safe=request.safe, style=request.style)
    return table.num_rows


def _whole_to_file(
    model: Model, path: str | PathLike[str], rows: int, request: SampleRequest, report: Callable[[int], None]
) -> None:
    """Draw all rows, then write them; most of the progress is reported while rows are drawn."""
    from sklar.export.frames import fill_unmodelled
    from sklar.export.write import write_table

    reported = 0

    def drawn(more: int) -> None:
        nonlocal reported
        reported += int(DRAWING_SHARE * more)
        report(int(DRAWING_SHARE * more))

    table = model.draw_table(rows, seed=request.seed, given=request.given, iid=request.form == "iid", drawn=drawn)
    if request.fill is not None:
        table = fill_unmodelled(table, model.schema, request.fill, like=None, seed=request.seed)
    write_table(table, path, model.schema, safe=request.safe, style=request.style)
    report(rows - reported)


def _draw_tables(model: Model, rows: int, request: SampleRequest) -> Iterator[pa.Table]:
    import pyarrow as pa

    if request.form == "binary":
        return binary_tables(model, rows, request.seed, request.given)
    return (pa.Table.from_batches([batch]) for batch in model.stream(rows, seed=request.seed, given=request.given))


def binary_tables(model: Model, rows: int, seed: int | None, given: Mapping[str, Any] | None) -> Iterator[pa.Table]:
    """Return blocks of the binary table; refuse models and conditions without one at once."""
    from sklar.export.arrow import bits_to_arrow
    from sklar.sample.binary import binary_blocks, binary_model, binary_names

    if given:
        raise UsageError("the binary table takes no conditions: its rows may have two values of a column, or none")
    latent = binary_model(model.table_model, model.coordinates)
    names, blocks = binary_names(model.coordinates.schema, latent), binary_blocks(latent, rows, seed)
    return (bits_to_arrow(names, bits).replace_schema_metadata(model.claim.notes or None) for bits in blocks)


def sample_form(iid: bool, binary: bool) -> SampleForm:
    """Return the form of a sample from two flags; rows of the binary table are independent anyway."""
    return "binary" if binary else "iid" if iid else "matched"

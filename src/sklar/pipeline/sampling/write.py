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
from sklar.schema.address import TableAddress, file_address, scheme_of, table_address

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.export.frames import Fill
    from sklar.export.write import TextStyle
    from sklar.pipeline.model import Model

SampleForm = Literal["matched", "iid", "binary"]
"""Rows that match totals, independent rows, or the binary table."""
MOST_IN_MEMORY = 1_000_000
"""Larger samples are streamed. Part of what a seed means: do not change it."""


DRAWN = 0.8
"""Part of the work that is done when the rows are drawn, as bars tell it: 10 of 13 seconds for a million as CSV."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """What is asked of a sample, as explained at `Model.sample` and `Model.sample_to`; or of so many whole persons."""

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
    asked: SampleRequest,
    written: Callable[[int], None] | None = None,
) -> int:
    """Rows into a file (`-` is CSV on standard output), telling how many more there are; see `Model.sample_to`."""
    from sklar.export.write import require_table_output, write_stream

    if tells_two_tables(model):
        return write_two_tables(model, path, asked)
    require_table_output(path, force=asked.force)
    if asked.persons:
        return _persons_to_file(model, path, asked)
    rows = model.rows_estimate if asked.rows is None else whole_number(asked.rows, "the number of rows")
    in_memory = asked.form != "binary" and rows <= MOST_IN_MEMORY
    if asked.fill is not None and not in_memory:
        raise UsageError(f"fill goes into a table of at most {MOST_IN_MEMORY:,} rows, and not into the binary one")
    told = written or notebook_rows("sampling", rows) or (lambda more: None)
    if in_memory:
        _whole_to_file(model, path, rows, asked, told)
    else:
        write_stream(
            _tables(model, rows, asked), path, model.schema, safe=asked.safe, rows=rows, written=told, style=asked.style
        )
    return rows


def tells_two_tables(model: Model) -> bool:
    """Whether samples of a model are parents and their rows."""
    return model.schema.person is not None and model.schema.person.parents is not None


def write_two_tables(model: Model, place: str | PathLike[str], asked: SampleRequest) -> int:
    """Both tables of so many persons, into a folder or a database; gives the number of all rows."""
    if asked.fill is not None or asked.form != "matched":
        raise UsageError("of two tables whole persons are drawn: no filling or other form goes with that")
    name = os.fspath(place)
    address = table_address(name) or file_address(name)
    if address is not None:
        return _tables_to_database(model, address, asked)
    return _tables_to_folder(model, place, asked)


def _tables_to_database(model: Model, address: TableAddress, asked: SampleRequest) -> int:
    """Tables of their names, in one transaction."""
    from sklar.export.databases import require_database_output, write_tables_to_database
    from sklar.schema.persons.tables import table_schemas

    if address.table is not None or address.like is not None:
        raise UsageError("both tables are written under their own names: leave table and like out of the address")
    for name in table_schemas(model.schema):
        require_database_output(replace(address, table=name))
    tables = model.sample_persons(asked.rows, seed=asked.seed, given=asked.given)
    write_tables_to_database(tables, address)
    return sum(table.num_rows for table in tables.values())


def files_of_tables(model: Model, folder: str | PathLike[str], *, force: bool = False) -> dict[str, Path]:
    """The CSV file of each of two tables in a folder, which is yet to be made; refuses what is none.

    A table that is there already is refused, too, unless `force` allows to overwrite it.
    """
    from sklar.export.atomic import refuse_overwriting, require_folder, require_writable
    from sklar.export.parts import is_parts_output
    from sklar.schema.persons.tables import table_schemas

    if scheme_of(os.fspath(folder)) or not (is_parts_output(folder) or os.path.isdir(folder)):
        raise UsageError(
            "this model tells two tables: write them to FOLDER/; a sample may also go to a .duckdb file or the URL of "
            "a database"
        )
    require_folder(folder)
    files = {name: Path(folder) / f"{name}.csv" for name in table_schemas(model.schema)}
    for path in files.values() if os.path.isdir(folder) else ():
        require_writable(path)
        refuse_overwriting(path, force=force)
    return files


def _tables_to_folder(model: Model, folder: str | PathLike[str], asked: SampleRequest) -> int:
    """Each a CSV file of its name."""
    from sklar.export.atomic import make_folder
    from sklar.export.write import write_table
    from sklar.schema.persons.tables import table_schemas

    schemas, files = table_schemas(model.schema), files_of_tables(model, folder, force=asked.force)
    tables = model.sample_persons(asked.rows, seed=asked.seed, given=asked.given)
    make_folder(folder)
    for name, path in files.items():
        write_table(tables[name], path, schemas[name], safe=asked.safe, style=asked.style)
    return sum(table.num_rows for table in tables.values())


def _persons_to_file(model: Model, path: str | PathLike[str], asked: SampleRequest) -> int:
    """Whole persons of one table; gives the number of their rows."""
    from sklar.export.write import write_table

    if asked.fill is not None or asked.form == "binary":
        raise UsageError("whole persons are drawn as they are: no filling and no binary table goes with that")
    table = model.sample_persons(asked.rows, seed=asked.seed, given=asked.given, iid=asked.form == "iid")
    write_table(table, path, model.schema, safe=asked.safe, style=asked.style)
    return table.num_rows


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
    write_table(table, path, model.schema, safe=asked.safe, style=asked.style)
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

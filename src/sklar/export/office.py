"""Write samples as files of Excel, SPSS and Stata, with value labels.

Labels of categories become codes 1, 2, ... with value labels, in the order of the schema, and booleans 0 and 1 with the
labels false and true. `sklar.rows.sources.office` reads the same labels back. A file is written as a whole, since these
libraries write no batches.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import pyarrow as pa

from sklar.errors import MissingExtraError, OutputError
from sklar.schema.columns import Boolean, Labels
from sklar.schema.table import Schema

MAX_EXCEL_ROWS = 1_048_575
"""Maximum number of rows of a sheet below the row with the names."""
MAX_NAME_LENGTH = {"sav": 64, "zsav": 64, "dta": 32}
"""Maximum number of characters of a column name."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that a spreadsheet would take for a formula."""


@contextmanager
def write_excel(file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool) -> Generator[Any]:
    """Write a sheet with the names of the columns in its first row; texts are never taken for formulas."""
    try:
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise make_missing_error("openpyxl") from None

    make_cell: Any = WriteOnlyCell
    book = cast("Any", openpyxl.Workbook(write_only=True))
    sheet = book.create_sheet("rows")
    sheet.append(types.names)
    written = 0

    def cell(value: Any) -> Any:
        if isinstance(value, str) and value.startswith(FORMULA_STARTS):
            found: Any = make_cell(sheet, "'" + value if safe else value)
            found.data_type = "s"
            return found
        plain: Any = value
        return plain.replace(tzinfo=None) if getattr(plain, "tzinfo", None) is not None else plain

    def write(table: pa.Table) -> None:
        nonlocal written
        written += table.num_rows
        if written > MAX_EXCEL_ROWS:
            raise OutputError(f"an Excel sheet has at most {MAX_EXCEL_ROWS:,} rows: write .csv or .parquet instead.")
        for row in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True):
            sheet.append([cell(value) for value in row])

    try:
        yield write
    except BaseException:
        sheet.close()
        raise
    book.save(file)


@contextmanager
def write_statistics(
    file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool, ending: Literal["sav", "zsav", "dta"] = "sav"
) -> Generator[Any]:
    """Write a file of SPSS or Stata."""
    try:
        import pandas as pd
        import pyreadstat
    except ImportError as error:
        raise make_missing_error(error.name or "pyreadstat") from None

    tables: list[pa.Table] = []
    yield tables.append
    table = pa.concat_tables(tables)
    names = plain_names(table.column_names, MAX_NAME_LENGTH[ending])
    labels = {name: codes for name in table.column_names if (codes := value_codes(schema, name, table.column(name)))}
    frame: Any = pd.DataFrame(
        {short: _make_series(pd, table.column(name), labels.get(name)) for name, short in names.items()}
    )
    settings: dict[str, Any] = {
        "column_labels": list(names),
        "variable_value_labels": {
            names[name]: {code: label for label, code in codes.items()} for name, codes in labels.items()
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"rows.{ending}"
        try:
            if ending == "dta":
                pyreadstat.write_dta(frame, place, version=15, **settings)
            else:
                measures = {names[name]: "nominal" if not _is_ordered(schema, name) else "ordinal" for name in labels}
                pyreadstat.write_sav(frame, place, variable_measure=measures, row_compress=ending == "zsav", **settings)
        except Exception as error:  # the library has errors of many types; none can quote a private row
            raise OutputError(f"this table cannot be written as .{ending}: {error}") from None
        file.write(place.read_bytes())


def plain_names(names: list[str], longest: int) -> dict[str, str]:
    """Return names that these packages allow; the original name becomes the label of the variable."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "column"
        plain = (plain if plain[0].isalpha() else f"v_{plain}")[:longest]
        number = 2
        while plain.lower() in {one.lower() for one in found.values()}:
            ending = f"_{number}"
            plain, number = plain[: longest - len(ending)].rstrip("_") + ending, number + 1
        found[name] = plain
    return found


def value_codes(schema: Schema | None, name: str, array: Any) -> dict[str, int]:
    """Return the codes of the labels of a column from the schema, which may have more labels than a sample."""
    column = None if schema is None else schema.get(name)
    if isinstance(column, Boolean) and pa.types.is_boolean(array.type):
        return {"false": 0, "true": 1}
    if not isinstance(column, Labels) or column.integer_labels:
        return {}
    return {label: code for code, label in enumerate([*map(str, column.values), str(column.other)], 1)}


def require_packages(ending: str) -> None:
    """Refuse a format whose packages are not installed, before any work is done or budget is spent."""
    statistics = ("pandas", "pyreadstat")
    needed = {".xlsx": ("openpyxl",), ".sav": statistics, ".zsav": statistics, ".dta": statistics}.get(ending, ())
    for package in needed:
        if find_spec(package) is None:
            raise make_missing_error(package)


def make_missing_error(package: str) -> MissingExtraError:
    """Return the error about a missing package."""
    return MissingExtraError(f"this format needs {package}: pip install {package}")


def _is_ordered(schema: Schema | None, name: str) -> bool:
    column = None if schema is None else schema.get(name)
    return column is not None and column.ordered


def _make_series(pd: Any, array: Any, codes: dict[str, int] | None) -> Any:
    if codes:
        words = [None if value is None else str(value).lower() if isinstance(value, bool) else value
                 for value in array.to_pylist()]  # fmt: skip
        return pd.Series([None if word is None else codes.get(word) for word in words], dtype="float64")
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_boolean(array.type):
        return array.cast(pa.float64()).to_pandas() if array.null_count else array.to_pandas()
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp("us")).to_pandas()
    return pd.Series(array.to_pylist(), dtype=object)

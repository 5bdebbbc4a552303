"""Files of spreadsheets and statistics packages: Excel, SAS, and SPSS and Stata with their value labels.

They are read whole. A value with a label in the file's header stands for that label, independent of other rows; every
other cell is taken by its own type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from sklar.errors import MissingExtraError, SourceError
from sklar.rows.sources.frames import ColumnMapping
from sklar.rows.sources.source import FileStamp, SourceOptions, call_shielded

Columns = Mapping[str, list[Any]]


class OfficeFile(ColumnMapping):
    """One such file, as a mapping of columns."""

    what = "the file"

    def __init__(self, path: str, options: SourceOptions):
        stamp = FileStamp(path)
        read, package = READERS[path.lower().rpartition(".")[2]]
        try:
            columns = call_shielded(
                "the file cannot be read; is it what its ending says?", _imported(package, read), path
            )
        except ImportError:
            raise MissingExtraError(f"{path} needs {package}: pip install '.[files]' in the folder of Sklar") from None
        super().__init__(columns, options)
        self.stamps = (stamp,)


def _imported(package: str, read: Callable[[str], Columns]) -> Callable[[str], Columns]:
    """Return the reader after importing its library, so that a missing library is not reported as a damaged file.

    Its warnings quote cells. They are silenced here, where a file is opened, and not where threads read batches: what
    is silent is so for the whole process.
    """
    __import__(package)

    def silent(path: str) -> Columns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(path)

    return silent


def _excel(path: str) -> Columns:
    """Return the first sheet; its first row names the columns. A row without any value is a row."""
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        rows = book.worksheets[0].iter_rows(values_only=True)
        names = ["" if name is None else str(name) for name in next(rows, ())]
        if not names:
            raise SourceError(f"{path} has no first row with the names of columns")
        if len(set(names)) < len(names):
            raise SourceError("two columns of the sheet have the same name; rename or drop one")
        listed = list(rows)
    finally:
        book.close()
    return {name: [row[at] if at < len(row) else None for row in listed] for at, name in enumerate(names)}


def _read_spss(path: str) -> Columns:
    import pyreadstat

    return _labelled(*pyreadstat.read_sav(path, output_format="dict"))


def _read_stata(path: str) -> Columns:
    import pyreadstat

    return _labelled(*pyreadstat.read_dta(path, output_format="dict"))


def _read_sas(path: str) -> Columns:
    import pyreadstat

    return _labelled(*pyreadstat.read_sas7bdat(path, output_format="dict"))


def _labelled(columns: Any, about: Any) -> Columns:
    """Return values with a label as the label; the labels are in the header, so no row depends on another."""
    labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
    return {name: [_with_label(value, labels.get(name, {})) for value in values] for name, values in columns.items()}


def _with_label(value: Any, labels: Mapping[Any, str]) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    if plain != plain:  # not a number: missing
        return None
    if labels and isinstance(plain, int | float | str) and plain in labels:
        return labels[plain]
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


READERS: dict[str, tuple[Callable[[str], Columns], str]] = {
    "xlsx": (_excel, "openpyxl"),
    "xlsm": (_excel, "openpyxl"),
    "sav": (_read_spss, "pyreadstat"),
    "zsav": (_read_spss, "pyreadstat"),
    "dta": (_read_stata, "pyreadstat"),
    "sas7bdat": (_read_sas, "pyreadstat"),
}
"""Ending of a file to its reader, and the library that it needs."""

"""The text style that an output copies from another file: from its header and from public facts, never its cells."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from sklar.errors import UsageError
from sklar.private.session import text_dialect
from sklar.schema.number_formats import read_number_format
from sklar.schema.numbers import Integer, Real
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.export.write import TextStyle


def like_dialect(like: str | PathLike[str], read: ReadOptions) -> tuple[str, str]:
    """Return (delimiter, encoding) of a text file, from what was stated about it and its header line."""
    found = text_dialect(like, read)
    if found is None:
        raise UsageError("the output can only copy the style of a text file, and the given table is not one")
    return found


def style_of(schema: Schema, dialect: tuple[str, str]) -> TextStyle:
    """Return the style of the output: reals have the decimal sign of the number formats in the schema."""
    from sklar.export.write import TextStyle

    stated = [column.format for column in schema.values() if isinstance(column, Integer | Real) and column.format]
    signs = [form.decimal for example in stated if (form := read_number_format(example)) is not None]
    delimiter, encoding = dialect
    return TextStyle(delimiter=delimiter, encoding=encoding, decimal="," if "," in signs else ".")

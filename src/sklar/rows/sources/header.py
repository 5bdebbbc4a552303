"""The header line of a delimited text file: its end, its delimiter and its names. It alone decides the dialect."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from sklar.errors import SourceError
from sklar.schema import Schema

DELIMITERS = (",", "\t", ";", "|")
_MARKS = re.compile(rb'"+|[\r\n]')


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Names in order and the delimiter between them."""

    names: tuple[str, ...]
    delimiter: str


def header_end(text: bytes) -> int | None:
    """Number of bytes up to and with the end of the first line that is not blank; None if the text ends before.

    A line break inside quotes belongs to a name. As in cells, quotes open at the start of a name only.
    """
    start = len(text) - len(text.lstrip(b"\r\n"))
    if text.find(b"\n", start) < 0 and text.find(b"\r", start) < 0:
        return None
    quoted = False
    for mark in _MARKS.finditer(text, start):
        at, byte = mark.start(), mark.group()
        if byte[0] == 34:
            if len(byte) % 2:  # a pair of quotes leaves everything as it is
                quoted = not quoted and (at == start or not _in_a_word(text[at - 1]))
        elif not quoted and byte == b"\n":
            return at + 1
        elif not quoted and at + 1 < len(text):
            return at + 1 + (text[at + 1] == 10)
    return None


def _in_a_word(byte: int) -> bool:
    """Whether a quote after this byte is a sign inside a name, as in 5" pipe."""
    return byte > 127 or chr(byte).isalnum()


def read_header(line: str, schema: Schema | None, delimiter: str | None) -> Header:
    """Split the header line; without a stated delimiter, the one that shows most names (of the schema)."""
    line = line.strip("\r\n")
    if not line.strip():
        raise SourceError("the file is empty: it needs a header line with the names of the columns")
    if delimiter is not None:
        return _checked(Header(names=_split(line, delimiter, schema), delimiter=delimiter), schema)
    headers = [Header(names=_split(line, mark, schema), delimiter=mark) for mark in DELIMITERS]
    if schema is None:
        return _checked(max(headers, key=lambda header: len(header.names)), None)
    wanted = set(schema.modelled)
    return _checked(max(headers, key=lambda header: len(wanted.intersection(header.names))), schema)


def _split(line: str, delimiter: str, schema: Schema | None) -> tuple[str, ...]:
    try:
        fields = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        fields = line.split(delimiter)
    known = schema or ()  # a name of the schema may have blanks around it
    return tuple(field if field in known else field.strip() for field in fields)


def _checked(header: Header, schema: Schema | None) -> Header:
    """Names found in the file are shown only if the schema has them too: in a file without header they are cells."""
    if schema is not None and not set(header.names) & set(schema.names):
        return header  # Said better when the columns are asked for: there seems to be no header at all.
    blank = [place for place, name in enumerate(header.names, 1) if not name]
    if blank:
        raise SourceError(f"the header of the file has no name for column number {blank[0]}; name it or drop it")
    first: dict[str, int] = {}
    for place, name in enumerate(header.names, 1):
        if name in first:
            shown = f" ('{name}')" if schema is not None and name in schema else ""
            raise SourceError(f"columns number {first[name]} and {place} of the file have the same name{shown}")
        first[name] = place
    return header

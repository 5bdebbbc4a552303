"""The class of a cell: whether its text is a number, a date or a word, and how it is written; by that text alone.

A value that has a type of its own is classed by its plain text, so that 12, 12.0 and "12" are one class in any
source. A midnight is a date.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.rows.encode.arrays import Codes, Encoder
from sklar.rows.encode.text import strings_of, text_of
from sklar.schema.cell_classes import CELL_CLASSES, DIGITS, UNITS
from sklar.schema.columns import Unknown
from sklar.schema.number_formats import APOSTROPHES, SPACES

_CODES = {name: code for code, name in enumerate(CELL_CLASSES)}
_STRIPPED = SPACES + "\t\r\n"
MIN_PROSE_CHARACTERS = 40
"""Characters from which a text is taken for prose."""
_THOUSANDS = {
    "1.234": r"[1-9]\d{0,2}\.\d{3}",
    "1,234": r"[1-9]\d{0,2},\d{3}",
    "1.234,5": r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}",
    "1,234.5": r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}",
    "1 234,5": rf"\d{{1,3}}(?:[{SPACES}]\d{{3}})+(?:,\d+)?",
    "1'234.5": rf"\d{{1,3}}(?:[{APOSTROPHES}]\d{{3}})+(?:\.\d+)?",
}
_NUMBER = re.compile(
    "|".join(f"(?P<t{at}>{form})" for at, form in enumerate(_THOUSANDS.values()))
    + r"|(?P<whole>(?:0|[1-9]\d{0,14})(?:\.0*)?)|(?P<padded>\d+)|(?P<point>\d*\.\d+(?:[eE][+-]?\d{1,3})?"
    r"|\d+\.?[eE][+-]?\d{1,3})|(?P<comma>\d*,\d+(?:[eE][+-]?\d{1,3})?)",
    re.ASCII,
)
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
_AMOUNT = re.compile(
    rf"[+-]?(?:(?P<before>{_UNIT})[{SPACES}]*[+-]?(?P<first>[\d.,].*)|(?P<second>[\d.,].*?)[{SPACES}]*(?P<after>{_UNIT}))"
)
_ISO = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?P<time>[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
_MIDNIGHT = re.compile(r"[T ]00:00(?::00(?:[.,]0+)?)?Z?", re.ASCII)
_WRITTEN = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2\d{4}(?P<time> \d\d:\d\d)?", re.ASCII)
_IDENTIFIER = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[^@\s]+@[^@\s]+\.\w+|https?://.*|[0-9A-Fa-f]{12,}", re.ASCII
)


def class_encoder(column: Unknown, null_values: tuple[str, ...]) -> Encoder:
    """Return an encoder of classes; each distinct text is classified once."""

    def encode(array: Any) -> Codes:
        text = text_of(array, null_values)
        distinct = strings_of(array).dictionary_encode()
        raw = distinct.dictionary.cast(pa.large_binary()).to_pylist()
        codes = np.array([_CODES[cell_class(one.decode("utf-8", "replace"))] for one in raw] + [0], dtype=np.int32)
        places = distinct.indices.fill_null(len(raw)).to_numpy(zero_copy_only=False)
        return np.where(text.valid, codes[places], 0)

    return encode


def cell_class(text: str) -> str:
    """Return the class of a text."""
    text = text.strip(_STRIPPED)
    if not text:
        return "null"
    if text[0] in "+-" or text[0].isdigit() or text[0] in ".,":
        found = _classify_number(text) or _classify_date(text)
        if found is not None:
            return found
    amount = _AMOUNT.fullmatch(text)
    if amount is not None:
        unit, number = amount["before"] or amount["after"], (amount["first"] or amount["second"]).strip(_STRIPPED)
        written = _classify_number(number)
        if written is not None and written != "padded":
            return f"{unit} {',' if 'comma' in written or written in ('1.234,5', '1 234,5') else '.'}"
    if _IDENTIFIER.fullmatch(text):
        return "identifier"
    return "text" if len(text) <= MIN_PROSE_CHARACTERS else "long text"


def _classify_number(text: str) -> str | None:
    minus = "-" if text.startswith("-") else ""
    found = _NUMBER.fullmatch(text[1:] if text[0] in "+-" else text)
    if found is None:
        return None
    form = found.lastgroup or ""
    if form.startswith("t"):
        return list(_THOUSANDS)[int(form[1:])]
    if form == "whole":
        whole = found["whole"].partition(".")[0]
        return "zero" if whole == "0" else "one" if whole == "1" and not minus else f"{minus}whole"
    if form == "padded":
        return form
    fraction = re.split(r"[.,]", found[form])[-1]
    digits = len(fraction) if fraction.isdigit() and len(fraction) in DIGITS else ""
    return f"{minus}{form}{digits}"


def _classify_date(text: str) -> str | None:
    iso = _ISO.fullmatch(text)
    if iso is not None:
        return "date" if iso["time"] is None or _MIDNIGHT.fullmatch(iso["time"]) else "datetime"
    written = _WRITTEN.fullmatch(text)
    if written is None:
        return None
    one, two = int(written[1]), int(written[3])
    if not (1 <= one <= 31 and 1 <= two <= 31 and min(one, two) <= 12):
        return None
    order = "day" if one > 12 else "month" if two > 12 else "either"
    return f"{order}{written[2]}{' time' if written['time'] else ''}"

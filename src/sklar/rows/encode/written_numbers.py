"""Numbers in text as a stated format writes them, turned into plain digits with a decimal point, one cell at a time.

Signs may stand before or after what precedes the number, and units may be absent. Thousands are separated throughout or
not at all, in groups of three digits. What is written in any other way is unreadable: "1.5" is no number where points
stand between thousands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sklar.rows.encode.arrays import number_texts
from sklar.rows.encode.spelling import is_text
from sklar.rows.encode.text import Text, text_of
from sklar.schema import Integer, Real
from sklar.schema.number_formats import APOSTROPHES, SPACES, NumberFormat, read_number_format

_SPACE = rf"(?:[ \t]|{'|'.join(re.escape(space) for space in SPACES[1:])})*"
_POINT = b"\x1f"
"""Stands for the decimal sign while separators are taken out; no text that matches has it."""


def number_text(column: Integer | Real, null_values: tuple[str, ...]) -> Callable[[Any], Text]:
    """Return the function that turns an array without a numeric type into texts of plain numbers, by the column's
    format.

    Values that come with a type of their own, as decimals, are spelled with a point and have no format.
    """
    nulls = number_texts(null_values)
    form = None if column.format is None else read_number_format(column.format)

    def read(array: Any) -> Text:
        text = text_of(array, nulls)
        written = form is not None and (isinstance(array, Text) or is_text(array.type))
        return plain_numbers(text, form) if written and form is not None else text

    return read


def plain_numbers(text: Text, form: NumberFormat) -> Text:
    """Rewrite numbers in this format with plain digits and a decimal point; other texts are not valid."""
    pattern, separators = _patterns(form)
    shown = replace(text, ends=np.where(text.valid, text.ends, text.begins).astype(np.int32))
    written: Any = shown.to_arrow().cast(pa.large_binary())
    fine: Any = pc.call_function("match_substring_regex", [written], pc.MatchSubstringOptions(pattern))
    for found, instead in ((pattern, rb"\1\2\3\x1f\4\5"), (separators, b""), (r"\x1f", b".")):
        if found:
            options = pc.ReplaceSubstringOptions(found, instead.replace(rb"\x1f", _POINT))
            written = pc.call_function("replace_substring_regex", [written], options)
    return replace(text_of(written), valid=text.valid & fine.to_numpy(zero_copy_only=False))


@lru_cache(maxsize=64)
def _patterns(form: NumberFormat) -> tuple[str, str]:
    """Return patterns of a number in this format and of its thousands separator, for RE2 on bytes."""
    separators = _match_any(SPACES if form.separator in SPACES else APOSTROPHES) if form.separator else ""
    if form.separator in (".", ","):
        separators = re.escape(form.separator)
    grouped = rf"\d{{1,3}}(?:(?:{separators})\d{{3}})+|" if separators else ""
    fraction = rf"(?:{re.escape(form.decimal)}(\d*))?" if form.decimal else "()"
    before, after = (rf"(?:{re.escape(part)})?" if part else "" for part in (form.prefix, form.suffix))
    digits = rf"({grouped}\d+|)"
    exponent = r"((?:[eE][+-]?\d+)?)"
    sign = r"([+-]?)"
    return (
        rf"^{_SPACE}{sign}{_SPACE}{before}{_SPACE}{sign}{digits}{fraction}{exponent}{_SPACE}{after}{_SPACE}$",
        separators,
    )


def _match_any(characters: str) -> str:
    return "|".join(re.escape(one) for one in characters)

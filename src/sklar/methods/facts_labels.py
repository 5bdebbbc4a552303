"""From labels that stood out above the noise to a column. Post-processing: it costs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from sklar.schema.columns import INT64_MAX, INT64_MIN, Labels

NOTHING_FOUND: tuple[str, int] = ("(nothing found)", 0)
"""The one label of a column in which no label stood out: as text, as an integer."""
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,18}))(?:\.0)?")


def with_labels(column: Labels, found: Iterable[str], *, keep_listed: bool = False) -> Labels:
    """The column with the labels that were found, after those it lists if these are public."""
    listed = column.values if keep_listed else ()
    new = _integers(found) if column.integer_labels else sorted(found)
    more = [label for label in new if label not in listed and label != column.other]
    values = sorted([*listed, *more]) if column.ordered else [*listed, *more]  # type: ignore[type-var]
    word = "measured" if values else "public"
    placeholder = NOTHING_FOUND[column.integer_labels]
    source = {**dict(column.sources), "values": word}
    other = column.other if values or column.other != placeholder else None
    return replace(column, values=tuple(values) or (placeholder,), other=other, source=source)


def _integers(texts: Iterable[str]) -> list[int]:
    """Texts that spell a 64-bit integer, as "7" or "7.0"; a column of integer labels knows no others."""
    matches = (_WHOLE.fullmatch(text) for text in texts)
    numbers = {int(match[1]) for match in matches if match}
    return sorted(number for number in numbers if INT64_MIN <= number <= INT64_MAX)

"""Formats of numbers in text, stated by an example: the number 1234.56 as the file would write it.

"1.234,56 €" says: points between thousands, a decimal comma, and a sign of euro that may follow. "1234,56" says decimal
comma and nothing between thousands, "1 234" whole numbers with spaces, "$1,234.56" dollars. Every cell
is read by this format alone, so that its value depends on no other cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

SPACES = " \u00a0\u2007\u2009\u202f"
"""Characters that people type, or programs write, between thousands and before a unit."""
APOSTROPHES = "'\u2019"
_EXAMPLE = re.compile(
    rf"(?P<prefix>[^\d+-]*)1(?P<separator>[.,{APOSTROPHES}{SPACES}]?)234((?P<decimal>[.,])56)?(?P<suffix>[^\d]*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """Parts of a written number.

    Attributes:
        prefix: What may stand before it, as "$".
        separator: What may stand between thousands; empty if nothing may.
        decimal: The sign before the fraction; empty if numbers have none.
        suffix: What may stand after it, as "%" or "kg".
    """

    prefix: str = ""
    separator: str = ""
    decimal: str = "."
    suffix: str = ""

    @property
    def example(self) -> str:
        """The format as a schema states it."""
        before = "" if not self.prefix or not self.prefix[-1].isalpha() else " "
        after = "" if not self.suffix or self.suffix in "%°" else " "
        fraction = f"{self.decimal}56" if self.decimal else ""
        return f"{self.prefix}{before}1{self.separator}234{fraction}{after}{self.suffix}"


@lru_cache(maxsize=256)
def read_number_format(example: str) -> NumberFormat | None:
    """Return the format that an example states; None if it is not the number 1234.56 (or 1234) as text."""
    found = _EXAMPLE.fullmatch(example.strip())
    if found is None or (found["separator"] and found["separator"] == found["decimal"]):
        return None
    edge = SPACES + "\t"
    return NumberFormat(
        prefix=found["prefix"].strip(edge),
        separator=found["separator"],
        decimal=found["decimal"] or "",
        suffix=found["suffix"].strip(edge),
    )


def format_faults(example: object) -> list[str]:
    """List the faults of the stated format of a column of numbers."""
    if example is None or (isinstance(example, str) and read_number_format(example) is not None):
        return []
    return ['format must be the number 1234.56 as the file writes it, as "1.234,56", "1234,56 €" or "$1,234.56"']

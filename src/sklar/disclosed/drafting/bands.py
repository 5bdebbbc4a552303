"""Bands of numbers written as text (<18, 18-25, $25-$50k, 65+), put in order by the number they begin with."""

from __future__ import annotations

import re

BAND = re.compile(
    r"(?P<below><=?|under|below|less than|up to)?(?P<above>>=?|over|above|more than)?\s*[$€£]?(?P<low>\d[\d,.]*)k?"
    r"(?:\s*(?:-|to|\u2013)\s*[<$€£]*\d[\d,.]*k?|(?P<plus>\+| and over| or more| and above)|-)?"
    r"(?:\s*(?:years?|yrs?|%|k|months?|mo|days?|kg|cm|usd|eur))?[)\]]?"
)
SIGN = re.compile(r"[<>+]|\d\s*(-|to|\u2013)|under|below|less|over|above|more|up to")


def band_order(word: str) -> tuple[float, int] | None:
    """(number, -1 below it, 0 from it on, 1 above it); None if the text is not a band."""
    match = BAND.fullmatch(word)
    if not match or not SIGN.search(word):
        return None
    try:
        low = float(match["low"].rstrip(",.").replace(",", ""))
    except ValueError:
        return None
    return low, -1 if match["below"] else 1 if match["above"] or match["plus"] else 0

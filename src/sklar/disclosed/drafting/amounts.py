"""Guess: amounts with currency or percent signs, units, separators or a decimal comma; none are read as numbers."""

from __future__ import annotations

import re

from sklar.disclosed.drafting.guess import Guess
from sklar.disclosed.drafting.labels import MOST_LABELS
from sklar.disclosed.drafting.profile import Profile, is_missing_word
from sklar.schema.columns import Ignore

SIGNED = r"(?:[$€£¥₹]|usd|eur|gbp|chf|kr|rs\.?)"
AMOUNT = re.compile(
    rf"[-+(]?\s*{SIGNED}?\s*[-+]?\d[\d.,' \u00a0\u202f]*(?:e[-+]?\d+)?\s*(?:%|{SIGNED}|k|m|bn)?\s*\)?", re.IGNORECASE
)
UNIT = re.compile(r"[^\W\d_]{1,3}(/[^\W\d_]{1,3})?")
FEWEST = 12
"""With fewer different texts a category will do."""
ENOUGH = 0.95
FIRST = 5000


def guess_amount(profile: Profile) -> Guess | None:
    """Ignore with a note on how to clean the column, for amounts that are written for people."""
    if profile.form != "text" or profile.distinct <= FEWEST:
        return None
    texts = [v.strip() for v in profile.values[:FIRST] if not is_missing_word(v)]
    units = {t.lstrip("+-0123456789.,").strip() for t in texts}
    same_unit = len(units) == 1 and UNIT.fullmatch(units.pop())
    amounts = len(texts) if same_unit else sum(1 for t in texts if AMOUNT.fullmatch(t))
    decorated = sum(1 for t in texts if re.search(r"[^\d.+-]", t))
    few = profile.distinct <= MOST_LABELS and profile.distinct < 0.05 * profile.present
    if amounts < ENOUGH * len(texts) or decorated < 0.05 * len(texts) or few:
        return None
    note = (
        "left out: amounts written with signs, units or separators are not read as numbers. Remove these in the file "
        "(1234.50 instead of $1,234.50, 12.5 instead of 12.5% or 12.5 km), then make it `real` with lower and upper."
    )
    return Guess(column=Ignore(), notes=(note,))

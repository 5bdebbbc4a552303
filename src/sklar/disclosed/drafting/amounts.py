"""Guess: amounts with currency or percent signs, separators or a decimal comma, which the value rules do not read."""

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
FEWEST = 12
"""With fewer different texts a category will do."""
ENOUGH = 0.95
FIRST = 5000


def guess_amount(profile: Profile) -> Guess | None:
    """Ignore with a note on how to clean the column, for amounts that are written for people."""
    if profile.form != "text" or profile.distinct <= FEWEST:
        return None
    texts = [v.strip() for v in profile.values[:FIRST] if not is_missing_word(v)]
    amounts = sum(1 for t in texts if AMOUNT.fullmatch(t))
    decorated = sum(1 for t in texts if re.search(r"[^\d.+-]", t))
    few = profile.distinct <= MOST_LABELS and profile.distinct < 0.05 * profile.present
    if amounts < ENOUGH * len(texts) or decorated < 0.05 * len(texts) or few:
        return None
    note = (
        "left out: amounts written with signs or separators are not read as numbers. Remove them in the file "
        "(1234.50 instead of $1,234.50, 12.5 instead of 12.5%), then make it `real` with lower and upper."
    )
    return Guess(column=Ignore(), notes=(note,))

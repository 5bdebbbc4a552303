"""Guess: true and false, for columns that hold a clear pair of words, or 0 and 1."""

from __future__ import annotations

from sklar.disclosed.drafting.guess import Guess
from sklar.disclosed.drafting.labels import label_text
from sklar.disclosed.drafting.profile import Profile, is_missing_word
from sklar.schema.columns import Boolean

PAIRS: tuple[frozenset[str], ...] = tuple(
    frozenset(pair.split()) for pair in ("true false", "t f", "yes no", "y n", "1 0")
)


MOST_SPELLINGS = 20
"""The two words in several spellings, and some words for missing."""


def guess_boolean(profile: Profile) -> Guess | None:
    """Boolean, if both words of one pair occur and no other."""
    if profile.form not in ("boolean", "text", "integer", "real"):
        return None
    if profile.distinct > MOST_SPELLINGS:
        return None
    words = frozenset(label_text(v).strip().lower() for v in profile.values if not is_missing_word(v))
    if profile.form != "boolean" and words not in PAIRS:
        return None
    guess = boolean(profile)
    if words != PAIRS[0]:
        shown = " and ".join(sorted(words))
        return guess.with_notes(f"The output says true and false; to keep {shown}, make it a category of these values.")
    return guess


def boolean(profile: Profile) -> Guess:
    """The drafted column; its two values follow from the kind."""
    missing = profile.missing > 0 or any(is_missing_word(v) for v in profile.values)
    column = Boolean(nullable=missing)
    return Guess(column=column, notes=(f"true or false{', or missing' if missing else ''}.",))

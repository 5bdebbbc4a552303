"""Guess: words that everyone puts in the same order (never, sometimes, often), and ranges written as text (18-25)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sklar.disclosed.drafting.bands import band_order
from sklar.disclosed.drafting.guess import Guess
from sklar.disclosed.drafting.labels import MOST_LABELS, frequent, label_notes, nullable
from sklar.disclosed.drafting.profile import Profile, is_missing_word
from sklar.disclosed.drafting.scales import SCALES, places_on
from sklar.schema.columns import Ordinal

STEP = re.compile(r"(?:stage|grade|level|tier|class|year|quartile|quintile|decile|q|phase) ?(?=\d|[ivx])")


def guess_ordered_words(profile: Profile) -> Guess | None:
    """Ordinal, for texts that all stand on one known scale or are all bands of numbers."""
    if profile.form != "text" or profile.distinct > MOST_LABELS:
        return None
    words = [v for v in profile.values if not is_missing_word(v) or _plain(v) == "none"]
    for order in (*(_scale_order(scale) for scale in SCALES), _count_order, _period_order, band_order):
        places = {word: order(_plain(word)) for word in words}
        if len(set(places.values())) == len(words) >= 3 and None not in places.values():
            return _ordinal(profile, places)
    return None


def _ordinal(profile: Profile, places: dict[str, Any]) -> Guess | None:
    kept = frequent(profile)
    values = tuple(word for word in sorted(places, key=lambda w: places[w]) if word in kept)
    if len(values) < 2 or len(values) < len(kept) - sum(is_missing_word(v) for v in kept):
        return None
    column = Ordinal(values, nullable=nullable(profile))
    shown = ", ".join(values[:8]) + (" and so on" if len(values) > 8 else "")
    return Guess(
        column=column,
        notes=(f"ordered words: {shown}. Is the order right, and the list complete?", *label_notes(profile, values)),
    )


def _scale_order(scale: str) -> Callable[[str], int | None]:
    places = places_on(scale)
    return lambda word: places.get(word, places.get(STEP.sub("", word, count=1)))


def _count_order(word: str) -> int | None:
    """Stage 1, stage 2, ...; plain numbers are left to the guesses about numbers."""
    number = STEP.sub("", word, count=1)
    return int(number) if number != word and re.fullmatch(r"\d{1,2}", number, re.ASCII) else None


def _period_order(word: str) -> str | None:
    """Months, quarters and weeks of a year (2020-01, 2020Q1, 2020-w05) are in the order of their texts."""
    return word if re.fullmatch(r"\d{4}[-/. ]?([qw]?\d{2}|q\d)", word, re.ASCII) and not word.isdigit() else None


def _plain(word: str) -> str:
    """Small letters, with single spaces for the separators between words."""
    word = word.strip().lower()
    return re.sub(r"(?<=[a-z])[\s_-]+(?=[a-z0-9])|_+|\s+", " ", word).lstrip("[(")

"""Guess ordinals: labels with an order declared by the column's type, words with a usual order (never, sometimes,
often), and ranges written as text (18-25)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sklar.lab.drafting.guess import Guess
from sklar.lab.drafting.labels import MAX_LABELS, as_labels, label_notes, list_frequent
from sklar.lab.drafting.profile import Profile, is_missing_word
from sklar.schema.columns import Ordinal

STEP = re.compile(r"(?:stage|grade|level|tier|class|year|quartile|quintile|decile|q|phase) ?(?=\d|[ivx])")


def guess_ordered_words(profile: Profile) -> Guess | None:
    """Guess an ordinal for texts that are all on one known scale or all ranges of numbers."""
    if profile.form != "text" or profile.distinct > MAX_LABELS:
        return None
    words = [v for v in profile.values if not is_missing_word(v) or _normalize(v) == "none"]
    for order in (*(_make_word_order(scale) for scale in SCALES), _numbered_order, _period_order, band_order):
        places = {word: order(_normalize(word)) for word in words}
        if len(set(places.values())) == len(words) >= 3 and None not in places.values():
            return _draft_ordinal(profile, places)
    return None


def guess_declared_order(profile: Profile) -> Guess | None:
    """Guess an ordinal for ordered categories of pandas and ordered dictionaries of Arrow; keep unused labels."""
    if not 2 <= len(profile.order) <= MAX_LABELS:
        return None
    values = as_labels(profile.order)
    shown = ", ".join(str(value) for value in values[:8]) + (" and so on" if len(values) > 8 else "")
    notes = (f"ordered by the type of the column: {shown}. Is the list known without the rows, and complete?",)
    return Guess(column=Ordinal(values, nullable=profile.missing > 0), notes=notes)


def _draft_ordinal(profile: Profile, places: dict[str, Any]) -> Guess | None:
    kept = list_frequent(profile)
    values = tuple(word for word in sorted(places, key=lambda w: places[w]) if word in kept)
    if len(values) < 2 or len(values) < len(kept) - sum(is_missing_word(v) for v in kept):
        return None
    shown = ", ".join(values[:8]) + (" and so on" if len(values) > 8 else "")
    notes = (f"ordered words: {shown}. Is the order right, and the list complete?", *label_notes(profile, values))
    return Guess(column=Ordinal(values, nullable=profile.missing > 0), notes=notes)


def _make_word_order(scale: str) -> Callable[[str], int | None]:
    steps = enumerate(scale.split("|"))
    places = {word.strip(): place for place, words in steps for word in words.split(",")}
    return lambda word: places.get(word, places.get(STEP.sub("", word, count=1)))


def _numbered_order(word: str) -> int | None:
    """Order stage 1, stage 2, ...; plain numbers are guessed elsewhere."""
    number = STEP.sub("", word, count=1)
    return int(number) if number != word and re.fullmatch(r"\d{1,2}", number, re.ASCII) else None


def _period_order(word: str) -> str | None:
    """Order months, quarters and weeks of a year (2020-01, 2020Q1, 2020-w05) by their texts."""
    return word if re.fullmatch(r"\d{4}[-/. ]?([qw]?\d{2}|q\d)", word, re.ASCII) and not word.isdigit() else None


def _normalize(word: str) -> str:
    """Convert to lower case with single spaces between words."""
    word = word.strip().lower()
    return re.sub(r"(?<=[a-z])[\s_-]+(?=[a-z0-9])|_+|\s+", " ", word).lstrip("[(")


SCALES: tuple[str, ...] = (
    "extremely low | very low | low | medium low | medium, moderate, mid, middle, average, normal | medium high | high "
    "| very high | extremely high",
    "never | rarely, seldom | occasionally | sometimes | often, frequently | usually | very often | always",
    "never | yearly, annually | quarterly | monthly | weekly | daily | hourly",
    "none, no | minimal | slight | mild | moderate | marked | severe | very severe | critical",
    "very poor | poor | fair | average | good | very good | excellent | outstanding",
    "strongly disagree | disagree | somewhat disagree | neutral, neither, neither agree nor disagree, undecided "
    "| somewhat agree | agree | strongly agree",
    "very dissatisfied | dissatisfied | neutral | satisfied | very satisfied",
    "very unlikely | unlikely | neutral | likely | very likely",
    "not at all | a little, slightly | somewhat, moderately | very, quite a bit | extremely",
    "xxs | xs | s | m | l | xl | xxl | xxxl",
    "tiny | small | medium | large | huge",
    "infant | child | adolescent, teenager | young adult | adult | elderly, senior",
    "beginner | intermediate | advanced | expert",
    "junior | mid | senior | lead | principal",
    "bronze | silver | gold | platinum",
    "monday, mon | tuesday, tue | wednesday, wed | thursday, thu | friday, fri | saturday, sat | sunday, sun",
    "january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul | august, aug "
    "| september, sep, sept | october, oct | november, nov | december, dec",
    "i | ii | iii | iv | v | vi | vii | viii | ix | x",
    "first | second | third | fourth | fifth",
    "none, no schooling | preschool, kindergarten | 1st 4th | 5th 6th | 7th 8th | primary, elementary | 9th | 10th "
    "| 11th | 12th | lower secondary | secondary, high school, hs grad, upper secondary | some college | assoc voc "
    "| assoc acdm, associate, associates | bachelor, bachelors, college, undergraduate "
    "| master, masters, graduate, postgraduate | prof school, professional | doctorate, phd, doctoral",
)
"""Known scales in ascending order; words between commas are equal. Lower case, with single spaces between words."""


BAND = re.compile(
    r"(?P<below><=?|under|below|less than|up to)?(?P<above>>=?|over|above|more than)?\s*[$€£]?(?P<low>\d[\d,.]*)k?"
    r"(?:\s*(?:-|to|\u2013)\s*[<$€£]*\d[\d,.]*k?|(?P<plus>\+| and over| or more| and above)|-)?"
    r"(?:\s*(?:years?|yrs?|%|k|months?|mo|days?|kg|cm|usd|eur))?[)\]]?"
)
SIGN = re.compile(r"[<>+]|\d\s*(-|to|\u2013)|under|below|less|over|above|more|up to")


def band_order(word: str) -> tuple[float, int] | None:
    """Return the order of a range: (number, -1 below it, 0 from it, 1 above it); None if the text is no range."""
    match = BAND.fullmatch(word)
    if not match or not SIGN.search(word):
        return None
    try:
        low = float(match["low"].rstrip(",.").replace(",", ""))
    except ValueError:
        return None
    return low, -1 if match["below"] else 1 if match["above"] or match["plus"] else 0

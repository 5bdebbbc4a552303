"""Guess categories: words from a short list. Rare words are left out, because a rare word may identify a person."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from sklar.lab.drafting.guess import Guess, leave_out, rough_share
from sklar.lab.drafting.profile import Profile, is_missing_word
from sklar.schema.columns import INT64_MAX, INT64_MIN, Category

MAX_LABELS = 200
"""Maximum number of listed values: a custodian has to review them one by one."""
MIN_LABEL_ROWS, MIN_LABEL_SHARE = 10, 0.01
"""Rows that a label needs to be listed, or share of the rows of a small table: a rarer one may identify a person."""
MIN_COVERED_SHARE = 0.5
"""Share of the rows that listed labels must cover, else the column is free text."""
_WHOLE = re.compile(r"(-?[1-9]\d{0,17}|0)(?:\.0)?")
"""Texts of whole numbers; a column of floats, as one with missing values, is often written with ".0"."""


def guess_category(profile: Profile) -> Guess | None:
    """Guess a category if its frequent values cover enough rows."""
    if profile.form in ("text", "integer", "real", "boolean") and _covers(profile):
        return draft_category(profile)
    return None


def draft_category(profile: Profile) -> Guess:
    """Draft a category of the frequent values, ascending; leave the column out if there are none."""
    values = tuple(sorted(list_frequent(profile)))
    if not values:
        return leave_out("its values are too many, or too rare, to list. Use `category` with a public list of values.")
    listed = f"one of {len(values)} values" if len(values) > 1 else "one value"
    notes = (f"{listed}. Is the list known without the rows, and complete?", *label_notes(profile))
    return Guess(column=Category(values, nullable=profile.missing > 0), notes=notes)


def list_frequent(profile: Profile) -> list[Any]:
    """Return the values that are not rare, as integers if all of them are, else as text; at most MAX_LABELS."""
    order = sorted(range(profile.distinct), key=lambda i: (-int(profile.counts[i]), i))
    needed = min_label_rows(profile)
    return list(as_labels(profile.values[i] for i in order[:MAX_LABELS] if profile.counts[i] >= needed))


def as_labels(values: Iterable[Any]) -> tuple[str, ...] | tuple[int, ...]:
    """Convert values to integers if all of them are, else to text; 0.0 and -0.0 are one label."""
    texts = tuple(dict.fromkeys(label_text(v) for v in values))
    whole = tuple(int(match[1]) for text in texts if (match := _WHOLE.fullmatch(text)))
    if len(whole) < len(texts) or any(not INT64_MIN <= number <= INT64_MAX for number in whole):
        return texts
    return tuple(dict.fromkeys(whole))


def min_label_rows(profile: Profile) -> int:
    """Return the number of rows that a value needs to be listed."""
    return max(1, min(MIN_LABEL_ROWS, int(MIN_LABEL_SHARE * profile.present)))


def label_text(value: Any) -> str:
    """Convert a value to the text by which the schema matches it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def label_notes(profile: Profile, meant: tuple[str, ...] = ()) -> list[str]:
    """Return notes about rare values, and about values outside `meant` that look like missing values."""
    notes: list[str] = []
    kept = list_frequent(profile)
    if len(kept) < profile.distinct:
        rows = int(np.sort(profile.counts)[: profile.distinct - len(kept)].sum())
        share = rough_share(rows, profile.present)
        notes.append(
            f"Rare values were left out, because they may identify persons ({share} of the rows, which become `other`);"
            " add those that are public knowledge."
        )
    words = [word for word in missing_words(profile) if word not in meant]
    if words:
        shown = ", ".join(f"'{w}'" for w in words)
        notes.append(
            f"Does {shown} stand for a missing value? If so, read the file with it as null (null_values or "
            "--null-value); else keep it as a value."
        )
    if profile.form == "text" and any(v != v.strip() for v in kept if isinstance(v, str)):
        notes.append("Some values begin or end with a space; they match only with the space.")
    return notes


def missing_words(profile: Profile) -> list[str]:
    """Return the texts of a column that usually mean a missing value."""
    return sorted({value for value in profile.values if is_missing_word(value)})


def _covers(profile: Profile) -> bool:
    listed = np.sort(profile.counts[profile.counts >= min_label_rows(profile)])[-MAX_LABELS:]
    return int(listed.sum()) >= MIN_COVERED_SHARE * profile.present

"""Guess: words from a short list. Rare words are left out, since a rare word may point at a person."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from sklar.lab.drafting.guess import Guess, leave_out, rough_share
from sklar.lab.drafting.profile import Profile, is_missing_word
from sklar.schema.columns import INT64_MAX, INT64_MIN, Category

MOST_LABELS = 200
"""Values that are listed at most: a custodian has to go through them one by one."""
RARE_ROWS, RARE_SHARE = 10, 0.01
"""A label needs so many rows, or this share of a table of few rows, to be listed: a rarer one may point at a person."""
COVERED = 0.5
"""Listed labels must hold at least this share of the rows, else the column is taken as free text."""
_PLAIN_INTEGER = re.compile(r"-?[1-9]\d{0,17}|0")


def guess_category(profile: Profile) -> Guess | None:
    """Category, or nothing if the frequent values cover too few rows."""
    if profile.form in ("text", "integer", "real", "boolean") and _covers(profile):
        return category(profile)
    return None


def category(profile: Profile) -> Guess:
    """Category of the frequent values, ascending; Ignore if there are none."""
    values = tuple(sorted(frequent(profile)))
    if not values:
        return leave_out("its values are too many, or too rare, to list. Use `category` with a public list of values.")
    listed = f"one of {len(values)} values" if len(values) > 1 else "one value"
    notes = (f"{listed}. Is the list known without the rows, and complete?", *label_notes(profile))
    return Guess(column=Category(values, nullable=profile.missing > 0), notes=notes)


def frequent(profile: Profile) -> list[Any]:
    """The values that are not rare, as integers if all of them are, else as text; at most MOST_LABELS."""
    order = sorted(range(profile.distinct), key=lambda i: (-int(profile.counts[i]), i))
    fewest = fewest_rows(profile)
    kept = [profile.values[i] for i in order[:MOST_LABELS] if profile.counts[i] >= fewest]
    return list(as_labels(kept))


def as_labels(values: Iterable[Any]) -> tuple[str, ...] | tuple[int, ...]:
    """Values as integers if all of them are, else as text; 0.0 and -0.0 are one label."""
    texts = tuple(dict.fromkeys(label_text(v) for v in values))
    whole = all(_PLAIN_INTEGER.fullmatch(t) and INT64_MIN <= int(t) <= INT64_MAX for t in texts)
    return tuple(int(t) for t in texts) if whole else texts


def fewest_rows(profile: Profile) -> int:
    """Rows a value needs to be listed."""
    return max(1, min(RARE_ROWS, int(RARE_SHARE * profile.present)))


def label_text(value: Any) -> str:
    """A value as the text that the value rules match it with."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def label_notes(profile: Profile, meant: tuple[str, ...] = ()) -> list[str]:
    """What the custodian should know about values that are rare or, unless clearly meant, look like a missing value."""
    notes: list[str] = []
    kept = frequent(profile)
    if len(kept) < profile.distinct:
        rows = int(np.sort(profile.counts)[: profile.distinct - len(kept)].sum())
        share = rough_share(rows, profile.present)
        notes.append(
            f"Rare values were left out, since they may point at persons ({share} of the rows, which become `other`); "
            "add those that are public knowledge."
        )
    words = sorted({v for v in profile.values if is_missing_word(v) and v not in meant})
    if words:
        shown = ", ".join(f"'{w}'" for w in words)
        notes.append(
            f"{shown} looks like a missing value: read the file with it as null (--null-value), or keep it as a value."
        )
    if profile.form == "text" and any(v != v.strip() for v in kept if isinstance(v, str)):
        notes.append("Some values begin or end with a space; they match only with the space.")
    return notes


def _covers(profile: Profile) -> bool:
    listed = np.sort(profile.counts[profile.counts >= fewest_rows(profile)])[-MOST_LABELS:]
    return int(listed.sum()) >= COVERED * profile.present

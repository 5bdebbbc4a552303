"""The guess about one column, with notes for the custodian, and hints from column names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sklar.schema.columns import Column, Ignore

MARK = "from-rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A drafted column with notes in plain sentences: first the guess, then what to check."""

    column: Column
    notes: tuple[str, ...]

    def with_notes(self, *more: str) -> Guess:
        """Add notes."""
        return Guess(column=self.column, notes=(*self.notes, *more))

    def allow_null(self) -> Guess:
        """Let the column be missing, with a note."""
        column = replace(self.column, nullable=True)  # type: ignore[call-arg]
        return Guess(column=column, notes=self.notes).with_notes("A few of all rows have no value that can be read.")

    def mark_from_rows(self) -> Guess:
        """Mark all facts as read from the rows, stated or not.

        That a column has no fixed number of digits, or no frequent values, was read from the rows, too, and one row can
        change it. The types of a file are not public either: a tool derived them from the rows.
        """
        return Guess(column=replace(self.column, source=MARK), notes=self.notes)  # type: ignore[call-arg]


def leave_out(why: str) -> Guess:
    """Draft a column that is not modelled."""
    return Guess(column=Ignore(), notes=(f"left out: {why}",))


def rough_share(part: int, whole: int) -> str:
    """Describe a share in words, rough enough to hide exact counts."""
    share = part / max(whole, 1)
    if share < 0.01:
        return "less than 1%"
    return "nearly all" if share > 0.97 else f"about {round(100 * share / 5) * 5 or 1}%"


def split_words(text: str) -> frozenset[str]:
    """Return the set of words separated by spaces."""
    return frozenset(text.split())


STRONG_KEY_WORDS = split_words("id ids uid uuid guid pk identifier rowid recordid mrn ssn pid")
KEY_WORDS = STRONG_KEY_WORDS | split_words("key nr no num number index idx record")
PERSONAL_WORDS = split_words(
    "name surname firstname lastname forename email mail phone telephone mobile fax address street ip iban"
)
CODE_WORDS = split_words(
    "zip zipcode postcode postal plz code codes type class category cat group region state district sex gender race "
    "ethnicity status marital ward dept department icd fips naics sic"
)
DATE_WORDS = split_words("date day dt dob born birth admission discharge on at time timestamp")
RANGES = {
    "age": (0, 120), "percent": (0, 100), "percentage": (0, 100), "pct": (0, 100), "month": (1, 12), "hour": (0, 23),
    "minute": (0, 59), "weekday": (0, 7),
}  # fmt: skip
"""Ranges of quantities by their common names."""


def name_words(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words: patientID, patient_id and "Patient id" all give patient, id."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word.lower() for word in re.findall(r"[^\W_]+", spaced))


def has_word(name: str, words: frozenset[str]) -> bool:
    """Check whether one of these words occurs in the name."""
    return bool(words.intersection(name_words(name)))


def is_key_name(name: str) -> bool:
    """Check whether the name ends or begins like that of a key."""
    words = name_words(name)
    return bool(words) and (words[-1] in KEY_WORDS or words[0] in STRONG_KEY_WORDS)


def is_strong_key_name(name: str) -> bool:
    """Check whether the name ends with an unmistakable word for a key."""
    return bool(words := name_words(name)) and words[-1] in STRONG_KEY_WORDS


def known_range(name: str) -> tuple[int, int] | None:
    """Return the commonly known range of a quantity with this name, if there is one."""
    words = name_words(name)
    return RANGES.get(words[-1]) or RANGES.get(words[0]) if words else None

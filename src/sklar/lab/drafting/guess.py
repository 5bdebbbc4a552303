"""What one column was guessed to be, and what the custodian should check about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sklar.schema.columns import Column, Ignore

MARK = "from-rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A drafted column, and what to check about it, in plain sentences; the first says what was guessed."""

    column: Column
    notes: tuple[str, ...]

    def with_notes(self, *more: str) -> Guess:
        """The same guess with further notes."""
        return Guess(column=self.column, notes=(*self.notes, *more))

    def mark_from_rows(self) -> Guess:
        """The same guess with the mark of the rows on all facts.

        Stated or not: that a column has no fixed number of digits, or no values that many rows share, was seen in the
        rows as well, and one row can change it. Types of a file are no better known: a tool wrote them after the rows.
        """
        return Guess(column=replace(self.column, source=MARK), notes=self.notes)  # type: ignore[call-arg]


def leave_out(why: str) -> Guess:
    """A column that is not modelled."""
    return Guess(column=Ignore(), notes=(f"left out: {why}",))


def rough_share(part: int, whole: int) -> str:
    """A share in words, rough enough that no exact count is told."""
    share = part / max(whole, 1)
    if share < 0.01:
        return "less than 1%"
    return "nearly all" if share > 0.97 else f"about {round(100 * share / 5) * 5 or 1}%"


def word_set(text: str) -> frozenset[str]:
    """Words that are parted by blanks."""
    return frozenset(text.split())


STRONG_KEY_WORDS = word_set("id ids uid uuid guid pk identifier rowid recordid mrn ssn pid")
KEY_WORDS = STRONG_KEY_WORDS | word_set("key nr no num number index idx record")
PERSONAL_WORDS = word_set(
    "name surname firstname lastname forename email mail phone telephone mobile fax address street ip iban"
)
CODE_WORDS = word_set(
    "zip zipcode postcode postal plz code codes type class category cat group region state district sex gender race "
    "ethnicity status marital ward dept department icd fips naics sic"
)
DATE_WORDS = word_set("date day dt dob born birth admission discharge on at time timestamp")
RANGES = {
    "age": (0, 120),
    "percent": (0, 100),
    "percentage": (0, 100),
    "pct": (0, 100),
    "month": (1, 12),
    "hour": (0, 23),
    "minute": (0, 59),
    "weekday": (0, 7),
}
"""Names whose range everyone knows."""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters: patientID, patient_id and "Patient id" all give patient, id."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word.lower() for word in re.findall(r"[^\W_]+", spaced))


def hints(name: str, words: frozenset[str]) -> bool:
    """Whether one of these words occurs in the name."""
    return bool(words.intersection(words_of(name)))


def hints_key(name: str) -> bool:
    """Whether the name ends or begins like that of a key."""
    words = words_of(name)
    return bool(words) and (words[-1] in KEY_WORDS or words[0] in STRONG_KEY_WORDS)


def hints_strong_key(name: str) -> bool:
    """Whether the name says key and hardly anything else."""
    words = words_of(name)
    return bool(words) and words[-1] in STRONG_KEY_WORDS


def known_range(name: str) -> tuple[int, int] | None:
    """The range that the name stands for, if everyone knows it."""
    words = words_of(name)
    return RANGES.get(words[-1]) or RANGES.get(words[0]) if words else None

"""What one column was guessed to be, and what the custodian should check about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sklar.schema.columns import Column

MARK = "from-rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A drafted column.

    Attributes:
        column: Its kind and facts.
        notes: What to check, in plain sentences; the first says what was guessed.
    """

    column: Column
    notes: tuple[str, ...]

    def with_notes(self, *more: str) -> Guess:
        """The same guess with further notes."""
        return Guess(column=self.column, notes=(*self.notes, *more))

    def marked(self) -> Guess:
        """The same guess with the mark of the rows on all facts.

        Stated or not: that a column has no fixed number of digits, or no values that many rows share, was seen in the
        rows as well, and one row can change it. Types of a file are no better known: a tool wrote them after the rows.
        """
        return Guess(column=replace(self.column, source=MARK), notes=self.notes)  # type: ignore[call-arg]


def rough_share(part: int, whole: int) -> str:
    """A share in words, rough enough that no exact count is told."""
    share = part / max(whole, 1)
    if share < 0.01:
        return "less than 1%"
    return "nearly all" if share > 0.97 else f"about {round(100 * share / 5) * 5 or 1}%"

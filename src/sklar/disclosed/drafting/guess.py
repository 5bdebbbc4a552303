"""What one column was guessed to be, and what the custodian should check about it."""

from __future__ import annotations

from dataclasses import dataclass

from sklar.schema.columns import Column

MARK = "from-rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A drafted column.

    Attributes:
        column: Its kind and facts, those read off the rows marked from-rows.
        notes: What to check, in plain sentences; the first says what was guessed.
    """

    column: Column
    notes: tuple[str, ...]

    def with_notes(self, *more: str) -> Guess:
        """The same guess with further notes."""
        return Guess(column=self.column, notes=(*self.notes, *more))


def from_rows(*facts: str) -> dict[str, str]:
    """The mark of facts that were read off the rows."""
    return dict.fromkeys(facts, MARK)


def rough_share(part: int, whole: int) -> str:
    """A share in words, rough enough that no exact count is told."""
    share = part / max(whole, 1)
    if share < 0.01:
        return "less than 1%"
    return "nearly all" if share > 0.97 else f"about {round(100 * share / 5) * 5 or 1}%"

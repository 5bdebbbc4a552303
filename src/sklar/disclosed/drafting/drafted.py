"""A drafted schema and its to-do list for the custodian."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from sklar.disclosed.drafting.guess import Guess
from sklar.schema.table import Schema
from sklar.schema.toml import schema_to_toml, write_schema

INTRODUCTION = (
    "This draft was read off the rows themselves, so it is private until you have gone through it: do not publish it.",
    "Every fact is marked from-rows, and a private fit refuses such marks. For each one decide: is it known without "
    'these rows (a code book, a law, a form)? Then correct it and set its source to "assumed" (or "public"). Else set '
    'its source to "pay": bounds and lists of values are then measured, and paid from the privacy budget.',
    "The kind of a column is such a fact, too, also where a column is a key or left out, and so are format, "
    "resolution, other, missing_value and whether labels are integers (integer_labels): one odd row can change them. "
    "They cannot be measured, only confirmed.",
    'To confirm a whole column write source = "assumed". To confirm its kind and pay for its bounds write '
    'source = { lower = "pay", upper = "pay" }, and for a list of values source = { values = "pay" }: what is not '
    "named there is assumed, and the claim lists it.",
    "Whether a column can be missing is such a fact, too. When in doubt, nullable = true is always safe.",
)


class Draft(Schema):
    """A schema guessed from rows. Writing it puts the notes next to the columns they speak of.

    Attributes:
        notes: For each column what was guessed and what to check.
        remarks: What to know about the draft as a whole.
    """

    __slots__ = ("notes", "remarks")

    def __init__(self, guesses: Mapping[str, Guess], remarks: tuple[str, ...] = ()):
        super().__init__({name: guess.column for name, guess in guesses.items()})
        self.remarks = (*INTRODUCTION, *remarks)
        self.notes: dict[str, tuple[str, ...]] = {name: guess.notes for name, guess in guesses.items()}

    @property
    def todo(self) -> str:
        """The to-do list as plain text: first for the whole table, then column by column."""
        lines = ["To do before this schema can be used for a private fit:", ""]
        lines += [f"* {remark}" for remark in self.remarks]
        for name, column in self.items():
            lines.append(f"* {name} ({column.kind}): {' '.join(_sentence(note) for note in self.notes[name])}")
        return "\n".join(lines)

    def toml(self) -> str:
        """The draft as TOML text, with its notes as comments."""
        return schema_to_toml(self, self._all_notes())

    def write(self, path: str | PathLike[str]) -> None:
        """Write the draft to a TOML file, with its notes as comments; only its owner may read it."""
        write_schema(self, path, self._all_notes(), private=True)

    def _all_notes(self) -> dict[str, tuple[str, ...]]:
        return {"": self.remarks, **self.notes}


def _sentence(note: str) -> str:
    return note if note[:1].isupper() or note[:1] in "`'" else note[:1].upper() + note[1:]

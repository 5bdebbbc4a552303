"""The unit of privacy: the neighbour relation, and the number of rows that one person may have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sklar.accounting.budget import validate_count
from sklar.errors import BudgetError
from sklar.schema.persons.person import Person

Neighbours = Literal["add-remove", "replace"]
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace")
MAX_ROWS_PER_PERSON = 10**9
"""Most rows of one person: far more than anyone has, far fewer than float64 counts exactly."""
VOTE_BITS = 20
"""A vote is divided into parts of 2^-20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Two tables are neighbours when they differ by the rows of one person.

    A row adds 1 to exactly one cell of a table of counts. Add-remove: the k rows of one person are present or not, so
    the counts move by a vector of k unit steps in one direction, largest in every norm when all rows share a cell.
    Replace: k rows are exchanged for k others (the number of rows is public), so up to k units leave some cells and up
    to k arrive in others. `rows_per_person` is k, the most rows one person can have.

    `votes`: a person has one vote, for any number m of its used rows. Each of them adds w = floor(2^20 / m) parts
    of 2^-20 to one cell of a table, so all of them together add m w 2^-20 <= 1. Add-remove: the table moves by a vector
    of nonnegative entries that sum to at most 1, hence by at most 1 in L1 and in L2, as if by one row. Replace, where a
    neighbour has another person in the place of one: by the difference of two such vectors x and y, so in L1 by at most
    2, and in L2^2 by |x|^2 + |y|^2 - 2 <x, y> <= 2. Both are those of one row a person, and no cell moves by more than
    1. The number of persons is then what replace makes public. With votes k is 1.

    `person` names the key of persons and the texts that stand for a missing key; None where each row is a person, or
    rows have no key. One person by one key may be several persons, or no person, by another key, so losses for units
    with different names never add up.
    """

    neighbours: Neighbours
    rows_per_person: int = 1
    votes: bool = False
    person: str | None = None

    def __post_init__(self) -> None:
        if self.neighbours not in RELATIONS:
            raise BudgetError(f'neighbours must be "add-remove" or "replace"; {self.neighbours!r} was given.')
        object.__setattr__(self, "rows_per_person", validate_count(self.rows_per_person, "rows_per_person"))
        if self.rows_per_person > MAX_ROWS_PER_PERSON:
            raise BudgetError(f"rows_per_person must be at most {MAX_ROWS_PER_PERSON:,}, got {self.rows_per_person:,}.")
        if type(self.votes) is not bool or (self.votes and self.rows_per_person != 1):
            raise BudgetError("a person whose rows share one vote counts as one row: rows_per_person must be 1.")

    @property
    def resolution(self) -> float:
        """The unit whose whole multiples counts are: 1, or parts of a vote."""
        return 2.0**-VOTE_BITS if self.votes else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the record for ledgers and model files; votes and person are left out where there are none."""
        record: dict[str, Any] = {"neighbours": self.neighbours, "rows_per_person": self.rows_per_person}
        votes, person = {"votes": True} if self.votes else {}, {} if self.person is None else {"person": self.person}
        return record | votes | person

    @property
    def l1(self) -> float:
        """Largest sum of absolute changes one person causes in one table of counts: k, or 2k under replace."""
        return float(self.rows_per_person if self.neighbours == "add-remove" else 2 * self.rows_per_person)

    @property
    def l2(self) -> float:
        """Largest Euclidean change: k, or sqrt(2) k under replace (all k rows move from one cell to one other)."""
        return self.rows_per_person * (1.0 if self.neighbours == "add-remove" else math.sqrt(2.0))

    @property
    def largest(self) -> float:
        """Largest change of a single cell: k under both relations."""
        return float(self.rows_per_person)


def make_unit(
    person: Person | None, neighbours: Neighbours, rows_per_person: int = 1, null_values: Sequence[str] = ()
) -> Unit:
    """Return the unit of privacy from the schema's persons, or else from the stated number of rows per person.

    Args:
        null_values: Texts that stand for a missing value: a row with one of them as its key belongs to no person.
    """
    if person is None:
        return Unit(neighbours=neighbours, rows_per_person=rows_per_person)
    if rows_per_person != 1:
        raise BudgetError("the schema declares persons and the number of rows used: leave out rows_per_person.")
    if person.shares_vote:
        return Unit(neighbours=neighbours, votes=True, person=person.name_without(null_values))
    if neighbours == "replace" and person.bound > 1:
        raise BudgetError(
            "under neighbours='replace' the number of rows is public, but it changes when a person is replaced by one "
            "with more or fewer rows; use weights='votes' for the person, or neighbours='add-remove'."
        )
    return Unit(neighbours=neighbours, rows_per_person=person.bound, person=person.name_without(null_values))

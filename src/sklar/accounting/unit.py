"""Whom a promise protects: the neighbour relation, and how many rows one person may have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sklar.accounting.budget import checked_count
from sklar.errors import BudgetError
from sklar.schema.persons.person import Person

Neighbours = Literal["add-remove", "replace"]
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace")
MOST_ROWS = 10**9
"""Of one person: far more than anyone has, far less than float64 counts exactly."""
VOTE_BITS = 20
"""A vote is shared out in parts of 2^-20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Two tables are neighbours when they differ by the rows of one person.

    A row adds 1 to exactly one cell of a table of counts. Add-remove: the k rows of one person are present or not, so
    the counts move by a vector of k unit steps in one direction, largest in every norm when all rows share a cell.
    Replace: k rows are exchanged for k others (the number of rows is public), so up to k units leave some cells and as
    many arrive in others. `rows_per_person` is k, the most rows one person can have.

    `votes`: a person has one vote, whatever the number m of its used rows. Each of them adds w = floor(2^20 / m) parts
    of 2^-20 to one cell of a table, so all of them together add m w 2^-20 <= 1. Add-remove: the table moves by a vector
    of nonnegative entries that sum to at most 1, hence by at most 1 in L1 and in L2, as if by one row. Replace, where a
    neighbour has another person in the place of one: by the difference of two such vectors x and y, so in L1 by at most
    2, and in L2^2 by |x|^2 + |y|^2 - 2 <x, y> <= 2. Both are those of one row a person, and no cell moves by more than
    1. The number of persons is then what replace makes public. With votes k is 1.

    `person` is what tells persons apart, and which texts stand for no key; None where each row is one, or an unknown
    person has some. Whoever is one person by one key may be several, or nobody, by another, so promises for units with
    other names never add up.
    """

    neighbours: Neighbours
    rows_per_person: int = 1
    votes: bool = False
    person: str | None = None

    def __post_init__(self) -> None:
        if self.neighbours not in RELATIONS:
            raise BudgetError(f'neighbours must be "add-remove" or "replace"; {self.neighbours!r} was given.')
        object.__setattr__(self, "rows_per_person", checked_count(self.rows_per_person, "rows_per_person"))
        if self.rows_per_person > MOST_ROWS:
            raise BudgetError(f"rows_per_person must be at most {MOST_ROWS:,}: nobody has more rows than that.")
        if type(self.votes) is not bool or (self.votes and self.rows_per_person != 1):
            raise BudgetError("a person whose rows share one vote counts as one row: rows_per_person must be 1.")

    @property
    def resolution(self) -> float:
        """What counts are whole multiples of: 1, or parts of a vote."""
        return 2.0**-VOTE_BITS if self.votes else 1.0

    def to_dict(self) -> dict[str, Any]:
        """As ledgers and model files have it; of votes and persons only where there are any."""
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


def unit_of(
    person: Person | None, neighbours: Neighbours, rows_per_person: int = 1, null_values: Sequence[str] = ()
) -> Unit:
    """Whom a promise protects: by what a schema says of persons, or else by the most rows anyone is said to have.

    Args:
        null_values: Texts that stand for null where rows are read: whoever has one of them for a key is no person.
    """
    if person is None:
        return Unit(neighbours=neighbours, rows_per_person=rows_per_person)
    if rows_per_person != 1:
        raise BudgetError("the schema says who a person is and how many rows are used: leave out rows_per_person.")
    if person.shares_vote:
        return Unit(neighbours=neighbours, votes=True, person=person.named_without(null_values))
    if neighbours == "replace" and person.bound > 1:
        raise BudgetError(
            "under neighbours='replace' the number of rows would have to be public, and it changes with a person who "
            "has more or fewer rows; use weights='votes' for the person, or neighbours='add-remove'."
        )
    return Unit(neighbours=neighbours, rows_per_person=person.bound, person=person.named_without(null_values))

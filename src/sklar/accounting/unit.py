"""Whom a promise protects: the neighbour relation, and how many rows one person may have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sklar.accounting.budget import checked_count
from sklar.errors import BudgetError

Neighbours = Literal["add-remove", "replace"]
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace")
MOST_ROWS = 10**9
"""Of one person: far more than anyone has, far less than float64 counts exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Two tables are neighbours when they differ by the rows of one person.

    A row adds 1 to exactly one cell of a table of counts. Add-remove: the k rows of one person are present or not, so
    the counts move by a vector of k unit steps in one direction, largest in every norm when all rows share a cell.
    Replace: k rows are exchanged for k others (the number of rows is public), so up to k units leave some cells and as
    many arrive in others. `rows_per_person` is k, the most rows one person can have.
    """

    neighbours: Neighbours
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in RELATIONS:
            raise BudgetError(f'neighbours must be "add-remove" or "replace"; {self.neighbours!r} was given.')
        object.__setattr__(self, "rows_per_person", checked_count(self.rows_per_person, "rows_per_person"))
        if self.rows_per_person > MOST_ROWS:
            raise BudgetError(f"rows_per_person must be at most {MOST_ROWS:,}: nobody has more rows than that.")

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

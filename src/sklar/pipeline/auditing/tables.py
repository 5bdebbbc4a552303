"""Public tables for audits: a small base, and a person alone in some respect to add, or to put in another's place.

Nothing here comes from real rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.accounting.unit import Neighbours
from sklar.errors import UsageError
from sklar.schema import Category, Integer, Schema

if TYPE_CHECKING:
    import pyarrow as pa

TOP = 11
LABELS = ("often", "seldom", "alone")
ROWS = 60
ROWS_OF: Mapping[str, int] = {"dpcopula-mle": 40_000}
"""Methods that refuse small tables."""
PEOPLE: Mapping[str, tuple[int | None, int | None, str | None]] = {
    "lone label": (6, 6, "alone"),
    "extreme value": (0, TOP, "often"),
    "all null": (None, None, None),
}
"""A person whose label nobody has; one whose numbers contradict all others; one without any value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Two neighbouring tables, which differ by one row."""

    name: str
    one: Any
    other: Any


def audit_schema() -> Schema:
    """Two numbers and a label, all of which may be null."""
    return Schema(
        {
            "age": Integer(0, TOP, nullable=True),
            "pay": Integer(0, TOP, nullable=True),
            "kind": Category(list(LABELS), nullable=True),
        }
    )


def audit_pairs(method: str, neighbours: Neighbours, names: tuple[str, ...] | None = None) -> list[Pair]:
    """The base table with each of the people added, or in the place of the last row."""
    chosen = tuple(PEOPLE) if names is None else names
    unknown = [name for name in chosen if name not in PEOPLE]
    if unknown:
        raise UsageError(f"there is no pair of neighbours '{unknown[0]}'; there are: {', '.join(PEOPLE)}.")
    base = _base(ROWS_OF.get(method, ROWS))
    kept = base if neighbours == "add-remove" else [column[:-1] for column in base]
    return [
        Pair(name=name, one=_table(base), other=_table([[*c, x] for c, x in zip(kept, PEOPLE[name], strict=True)]))
        for name in chosen
    ]


def _base(rows: int) -> list[list[Any]]:
    """Numbers that rise together, so that one who contradicts moves all rank correlations as far as can be."""
    ages = np.sort(np.arange(rows) % (TOP - 1)) + 1
    return [ages.tolist(), ages.tolist(), [LABELS[i % 2] for i in range(rows)]]


def _table(columns: list[list[Any]]) -> pa.Table:
    import pyarrow as pa

    return pa.table(dict(zip(("age", "pay", "kind"), columns, strict=True)))

"""What a fit found out about columns of which nothing was stated, and what that cost, in lines for people.

Everything here comes from releases, so that it may be shown and published with the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sklar.schema.columns import Labels
from sklar.schema.confirming import describe_column
from sklar.schema.table import Schema

UNFOUND = (
    "Not looked for, and to be stated in a schema if they matter: who a person is if one has several rows, the order "
    "of labels, codes as 999 that stand for missing, rules between columns, time zones, and dates with names of months."
)
PROTECTS_ROWS = (
    "Each row is protected by itself. If a person can have several rows, that is not enough: name the column that "
    "tells persons apart in a schema, under [person], or give the most rows of one with --rows-per-person."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFacts:
    """Facts that a fit measured before it modelled.

    Attributes:
        share: Part of the budget that they cost.
        rows: Estimated number of rows.
        columns: What each column is, in words.
    """

    share: float
    rows: int
    columns: Mapping[str, str]

    def lines(self, epsilon: float | None) -> Iterator[str]:
        """Say it all."""
        budget = "the budget" if epsilon is None else f"epsilon {epsilon:g}"
        table = f"about {self.rows:,} rows, {len(self.columns)} columns"
        yield f"Found privately, with {self.share:.0%} of {budget} ({table}):"
        width = max(len(name) for name in self.columns)
        yield from (f"  {name:{width}}  {what}" for name, what in self.columns.items())


def found_facts(schema: Schema, fit: Mapping[str, Any], rows: int) -> FoundFacts | None:
    """What the record of a fit says about facts that it paid for; None if it paid for none."""
    stages = [fit[stage] for stage in ("kinds", "paid") if stage in fit]
    if not stages:
        return None
    spent = sum(stage["allowance"]["amount"] for stage in stages)
    notes = [note for stage in stages for note in stage["notes"]]
    columns = {name: _said(name, schema, notes) for name in schema}
    return FoundFacts(share=spent / (spent + fit["allowance"]["amount"]), rows=rows, columns=columns)


def _said(name: str, schema: Schema, notes: list[str]) -> str:
    column, noted = schema[name], next((note for note in notes if note.startswith(f"{name}: ")), "")
    text = noted.removeprefix(f"{name}: ")
    if not column.modelled:
        named = "named like a key: never read, and new keys are made" if column.kind == "id" else "left out"
        return f"{named}: {text}" if text else named
    if isinstance(column, Labels):
        return f"{column.kind}: {text}" if text else describe_column(column)
    more = f"; {text.partition('; ')[2]}" if "; " in text else ""
    form = getattr(column, "format", None)
    written = f", written as {form}" if form else ""
    return describe_column(column).removesuffix(", may be missing") + written + more

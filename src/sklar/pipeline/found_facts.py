"""Facts that a fit measured about undeclared columns, and their cost, as lines of text.

Everything here comes from releases, so it may be shown and published with the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sklar.schema.columns import Labels
from sklar.schema.confirming import describe_column
from sklar.schema.table import Schema

UNFOUND = (
    "Not detected automatically; state in a schema if needed: the person key if a person has several rows, the order "
    "of labels, codes such as 999 for missing, rules between columns, time zones, and dates with month names."
)
PROTECTS_ROWS = (
    "Each row is protected by itself. If a person can have several rows, that is not enough: name the column that "
    "identifies persons in a schema, under [person], or give the maximum number of rows with --rows-per-person."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFacts:
    """Facts that a fit measured before modelling.

    Attributes:
        share: Fraction of the budget spent on them.
        rows: Estimated number of rows.
        columns: Description of each column.
    """

    share: float
    rows: int
    columns: Mapping[str, str]

    def lines(self, epsilon: float | None) -> Iterator[str]:
        """Yield the facts as lines of text."""
        budget = "the budget" if epsilon is None else f"epsilon {epsilon:g}"
        table = f"about {self.rows:,} rows, {len(self.columns)} columns"
        yield f"Found privately, with {self.share:.0%} of {budget} ({table}):"
        width = max(len(name) for name in self.columns)
        yield from (f"  {name:{width}}  {what}" for name, what in self.columns.items())


def found_facts(schema: Schema, fit: Mapping[str, Any], rows: int) -> FoundFacts | None:
    """Return the facts that a fit paid for, from its record; None if it paid for none."""
    stages = [fit[stage] for stage in ("kinds", "paid") if stage in fit]
    if not stages:
        return None
    spent = sum(stage["allowance"]["amount"] for stage in stages)
    notes = [note for stage in stages for note in stage["notes"]]
    columns = {name: _describe(name, schema, notes) for name in schema}
    return FoundFacts(share=spent / (spent + fit["allowance"]["amount"]), rows=rows, columns=columns)


def _describe(name: str, schema: Schema, notes: list[str]) -> str:
    column = schema[name]
    text = "; ".join(note.removeprefix(f"{name}: ") for note in notes if note.startswith(f"{name}: "))
    if not column.modelled:
        named = "named like a key: never read, and new keys are made" if column.kind == "id" else "left out"
        return f"{named}: {text}" if text else named
    if isinstance(column, Labels):
        return f"{column.kind}: {text}" if text else describe_column(column)
    span = f"{getattr(column, 'lower', '')} to {getattr(column, 'upper', '')}"
    more = "".join(f"; {part}" for part in text.split("; ") if part not in ("", span))
    form = getattr(column, "format", None)
    written = f", written as {form}" if form else ""
    return describe_column(column).removesuffix(", may be missing") + written + more

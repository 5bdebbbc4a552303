"""Writes digits that a fit found in released counts into the schema of its model, as facts that were paid for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sklar.model.margin import Margin
from sklar.schema.columns import Column
from sklar.schema.numbers import Real
from sklar.schema.table import Schema


def with_found_digits(schema: Schema, margins: Iterable[Margin]) -> Schema:
    """The schema whose real columns have the decimals that their margins were found to have."""
    found: dict[str, Column] = {}
    for margin in margins:
        column = schema[margin.column]
        if margin.decimals is not None and isinstance(column, Real) and column.decimals is None:
            source = {**dict(column.sources), "decimals": "measured"}
            found[margin.column] = replace(column, decimals=margin.decimals, source=source)
    return Schema({**dict(schema), **found}, schema.constraints, schema.prices) if found else schema

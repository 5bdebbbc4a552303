"""Samples with public totals: rows are accepted until every total is reached, the rest is drawn by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import UnsupportedConditionError
from sklar.sample.decode import SampledTable, concatenate, row_count, take
from sklar.schema.columns import Boolean, Labels
from sklar.schema.rules import Totals
from sklar.schema.table import Schema

Draw = Callable[[int, Mapping[str, Any]], SampledTable]
"""Draws a number of rows that obey all other rules and these conditions."""

FRESH_ROUNDS = 6
"""Rounds of fresh rows before rows are drawn value by value: with totals near the model's own, two or three suffice."""
MAX_MATCHINGS = 5
"""Random combinations of the missing values of several columns that are tried before totals are given up."""
MIN_ROUND_ROWS = 2_000
"""Minimum number of rows of a round: they are cheap, and each may fit."""


def totals_hold(schema: Schema, rule: Totals, table: SampledTable) -> Mask:
    """Return the rows whose value is listed with a count above 0."""
    values = _values(schema, rule, table)
    return ~table[rule.column].null & np.isin(values, [key for key, count in _counts(schema, rule).items() if count])


def compute_quotas(schema: Schema, rule: Totals, rows: int) -> dict[Any, int]:
    """Distribute a number of rows over the values in proportion to the counts, by largest remainders."""
    counts = _counts(schema, rule)
    whole = {value: rows * count // rule.total for value, count in counts.items()}
    rest = sorted(counts, key=lambda value: -(rows * counts[value] % rule.total))
    for value in rest[: rows - sum(whole.values())]:
        whole[value] += 1
    return whole


def meet_totals(schema: Schema, table: SampledTable, draw: Draw, rng: np.random.Generator) -> SampledTable:
    """Return the table with rows exchanged for others until it has the totals of the schema.

    Raises:
        UnsupportedConditionError: The model has no rows with a value that the totals require.
    """
    rules = [rule for rule in schema.rules if isinstance(rule, Totals)]
    rows = row_count(table)
    room = [Counter(compute_quotas(schema, rule, rows)) for rule in rules]
    kept = [take(table, _fitting(schema, rules, table, room))]
    for _ in range(FRESH_ROUNDS):
        missing = sum(room[0].values())
        if not missing:
            return concatenate(kept)
        fresh = draw(max(missing, MIN_ROUND_ROWS), {})
        kept.append(take(fresh, rng.permutation(_fitting(schema, rules, fresh, room))))
    kept += _by_value(schema, rules, room, draw, rng)
    return concatenate(kept)


def _fitting(schema: Schema, rules: Sequence[Totals], table: SampledTable, room: Sequence[Counter[Any]]) -> Ints:
    """Return rows, in order, that fit into every total, and reduce the remaining totals."""
    columns = [_values(schema, rule, table).tolist() for rule in rules]
    chosen: list[int] = []
    for row, values in enumerate(zip(*columns, strict=True)):
        if all(left[value] > 0 for left, value in zip(room, values, strict=True)):
            chosen.append(row)
            for left, value in zip(room, values, strict=True):
                left[value] -= 1
    return np.array(chosen, dtype=np.int64)


def _by_value(
    schema: Schema, rules: Sequence[Totals], room: Sequence[Counter[Any]], draw: Draw, rng: np.random.Generator
) -> list[SampledTable]:
    """Draw rows with the values that are still missing, combined at random if several columns have totals."""
    lists = [[value for value, count in left.items() for _ in range(count)] for left in room]
    for attempt in range(MAX_MATCHINGS if len(rules) > 1 else 1):
        places = [rng.permutation(len(lists[0])) for _ in lists]
        wanted = Counter(zip(*([values[i] for i in at] for values, at in zip(lists, places, strict=True)), strict=True))
        try:
            return [
                draw(count, {rule.column: value for rule, value in zip(rules, values, strict=True)})
                for values, count in wanted.items()
            ]
        except UnsupportedConditionError:
            if attempt + 1 < MAX_MATCHINGS and len(rules) > 1:
                continue
            described = "; ".join(rule.describe() for rule in rules)
            raise UnsupportedConditionError(
                f"the model has too few rows with the values that the totals require ({described}); check them, and "
                "that they agree with the other rules."
            ) from None
    raise AssertionError


def _counts(schema: Schema, rule: Totals) -> dict[Any, int]:
    """Return counts by value, in the form of sampled rows."""
    column = schema[rule.column]
    if isinstance(column, Boolean):
        return {key.lower() == "true": int(count) for key, count in rule.pairs}
    text = isinstance(column, Labels) and not column.integer_labels
    return {key if text else int(key): int(count) for key, count in rule.pairs}


def _values(schema: Schema, rule: Totals, table: SampledTable) -> np.ndarray:
    """Return the values of the column, with labels as text."""
    values = table[rule.column]
    return values.data if values.labels is None else np.array(values.labels)[values.data]

"""Find relations between columns that hold in all sampled rows, as questions that name the rule to declare.

None becomes a rule by itself: that it holds in the rows is a fact read from them, which only a person who knows it
independently can confirm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.tables.table import ExactTable
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Datetime, Integer

MIN_RULE_ROWS = 50
"""Minimum number of rows with values: fewer are no evidence of a rule."""
MAX_COLUMNS = 40
"""Maximum number of columns whose pairs are compared; triples are compared among a third of them."""
MIN_BROKEN_AT_RANDOM = 0.05
"""An order of two columns is reported only if independent columns would break it in this share of rows."""
MIN_SHARED_NULLS = 10
"""Minimum number of common nulls of columns that are reported as missing together."""
MIN_RATIO_SHARE = 0.5
"""A range of ratios is reported only if this share of the ratios of independent columns would lie outside; a column
that decides whether another is filled, only if the other is filled in this share of the remaining rows."""
SKIP_SIGNIFICANCE = 1e-9
"""Values at which another column is always missing are reported if that is less probable by chance."""
RELATIVE_TOLERANCE = 1e-9
"""Numbers with a smaller relative difference are equal."""
MAX_FUNCTION_VALUES = 40
"""Maximum number of values that a reported function lists: longer tables belong to a code book."""

Notes = Mapping[str, Sequence[str]]
Finding = tuple[tuple[str, ...], str]
"""The column in question with the related columns, and the question."""


def find_relations(table: ExactTable, rng: np.random.Generator) -> Notes:
    """Return questions by column about rules that all sampled rows obey.

    Rules that follow from others are left out: for columns that are sums or multiples of each other there is no
    question about order or ratio, and for two amounts about their ratio rather than their order.
    """
    notes: dict[str, list[str]] = defaultdict(list)
    linked = {name: frozenset([name]) for name in table.names}
    reported: set[frozenset[str]] = set()
    for find in FINDERS:
        for columns, note in find(table, rng):
            groups = frozenset(linked[name] for name in columns)
            if find in (_find_ratios, _find_orders):
                if len(groups) == 1 or frozenset(columns) in reported:
                    continue
                reported.add(frozenset(columns))
            notes[columns[0]].append(note)
            if find in (_find_sums, _find_multiples):
                together = frozenset[str]().union(*groups)
                linked |= dict.fromkeys(together, together)
    return notes


def _find_orders(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    names = [name for name in table.names if name in table.numbers][:MAX_COLUMNS]
    found = [(low, high) for low, high in permutations(names, 2) if _is_ordered(table, low, high, rng)]
    for low, high in found:
        if any((low, between) in found and (between, high) in found for between in names):
            continue  # it follows from two others
        rule = f'kind = "at-most", low = "{low}", high = "{high}"'
        yield (high, low), f"It is at least {low} in all rows seen. {_propose_rule(rule)}"


def _is_ordered(table: ExactTable, low: str, high: str, rng: np.random.Generator) -> bool:
    if not _comparable(table.schema[low], table.schema[high]):
        return False
    a, b = table.numbers[low], table.numbers[high]
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < MIN_RULE_ROWS or not (a[both] <= b[both]).all() or not (a[both] < b[both]).any():
        return False
    return bool((rng.permutation(a[both]) > b[both]).mean() >= MIN_BROKEN_AT_RANDOM)


def _find_ratios(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Find pairs of amounts whose ratio is always in a range that independent columns would leave."""
    for name, of in permutations(_amounts(table), 2):
        a, b = table.numbers[name], table.numbers[of]
        both = ~(np.isnan(a) | np.isnan(b)) & (b > 0)
        if both.sum() < MIN_RULE_ROWS or (b < 0).any() or (a[both] <= 0).any():
            continue
        ratios, apart = a[both] / b[both], rng.permutation(a[both]) / b[both]
        low, high = _round_ratio(ratios.min(), up=False), _round_ratio(ratios.max(), up=True)
        smaller = np.median(ratios) <= 1 and low < 1  # the inverse ratio is the same rule
        varies = np.ptp(ratios) > RELATIVE_TOLERANCE * high
        if smaller and varies and ((apart < low) | (apart > high)).mean() >= MIN_RATIO_SHARE:
            rule = f'kind = "ratio", column = "{name}", of = "{of}", lower = {low:g}, upper = {high:g}'
            yield (name, of), f"It is {low:g} to {high:g} times {of} in all rows seen. {_propose_rule(rule)}"


def _find_multiples(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Find amounts that are a constant multiple of another one, rounded, or another one plus a constant."""
    for of, name in combinations(_amounts(table), 2):
        a, b = table.numbers[name], table.numbers[of]
        both = ~(np.isnan(a) | np.isnan(b)) & (b != 0)
        same_nulls = np.array_equal(np.isnan(a), np.isnan(b))  # a sum is null where its part is, and nowhere else
        if both.sum() < MIN_RULE_ROWS or len(np.unique(b[both])) < MIN_RULE_ROWS // 5 or not same_nulls:
            continue
        factor, offset = float(f"{np.median(a[both] / b[both]):.4g}"), float(f"{np.median(a[both] - b[both]):.6g}")
        digits = getattr(table.schema[name], "decimals", None) or 0
        tolerance = 0.5 * 10.0**-digits + RELATIVE_TOLERANCE * np.abs(a[both])
        if factor not in (0.0, 1.0) and (np.abs(a[both] - factor * b[both]) <= tolerance).all():
            rule = f'kind = "sum", total = "{name}", parts = {{ "{of}" = {factor:g} }}'
            yield (name, of), f"It is {factor:g} times {of}, rounded, in all rows seen. {_propose_rule(rule)}"
        elif offset and (np.abs(a[both] - b[both] - offset) <= RELATIVE_TOLERANCE * np.abs(a[both])).all():
            rule = f'kind = "sum", total = "{name}", parts = ["{of}"], offset = {offset:g}'
            yield (name, of), f"It is {of} + {offset:g} in all rows seen. {_propose_rule(rule)}"


def _amounts(table: ExactTable) -> list[str]:
    """Return the numeric columns with more than two values."""
    numeric = [n for n in table.names if n in table.numbers and not isinstance(table.schema[n], Datetime)]
    return [name for name in numeric if len(np.unique(table.numbers[name])) > 2][: MAX_COLUMNS // 3]


def _round_ratio(ratio: float, *, up: bool) -> float:
    """Round a ratio outward to two digits."""
    unit = 10.0 ** (np.floor(np.log10(ratio)) - 1)
    steps = ratio / unit
    return float(f"{unit * (np.ceil(steps - RELATIVE_TOLERANCE) if up else np.floor(steps + RELATIVE_TOLERANCE)):.2g}")


def _propose_rule(rule: str) -> str:
    """Propose a rule marked as read from rows: it must be confirmed in the schema like any other such fact."""
    return f'If this always holds, add [[rules]] with {rule}, source = "from-rows".'


def _comparable(one: Column, two: Column) -> bool:
    if isinstance(one, Datetime) or isinstance(two, Datetime):
        return isinstance(one, Datetime) and isinstance(two, Datetime) and one.resolution == two.resolution
    return True


def _find_functions(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Find labels and booleans that are a function of another column, the first one that fits."""
    names = [name for name in table.names if isinstance(table.schema[name], Labels | Boolean | Integer)][:MAX_COLUMNS]
    for column in names:
        if isinstance(table.schema[column], Integer):
            continue
        for of in names:
            pairs = _function_pairs(table, column, of) if of != column else None
            if pairs is not None:
                listed = ", ".join(
                    f"{_format_value(table.schema[of], a)} = {_format_value(table.schema[column], b)}" for a, b in pairs
                )
                rule = f'kind = "function", column = "{column}", of = "{of}", table = {{ {listed} }}'
                yield (column, of), f"It follows from {of} in all rows seen. {_propose_rule(rule)}"
                break


def _function_pairs(table: ExactTable, column: str, of: str) -> list[tuple[int, int]] | None:
    """Return the function as pairs of codes; None if it is no function, is trivial, or has too many values."""
    cells = [table.schema[name].value_cells for name in (of, column)]
    known = (table.codes[of] < cells[0]) & (table.codes[column] < cells[1])
    a, b = table.codes[of][known].astype(np.int64), table.codes[column][known].astype(np.int64)
    if len(a) < MIN_RULE_ROWS or len(np.unique(b)) < 2:
        return None
    both = np.unique(a * cells[1] + b)
    arguments = both // cells[1]
    # At least five rows per value on average: else everything is a function of a column that numbers the rows.
    is_listed = 1 < len(arguments) <= min(MAX_FUNCTION_VALUES, len(a) // 5)
    if len(arguments) != len(np.unique(arguments)) or not is_listed:
        return None
    return list(zip(arguments.tolist(), (both % cells[1]).tolist(), strict=True))


def _format_value(column: Column, code: int) -> str:
    """Format a value as in the schema file."""
    if isinstance(column, Boolean):
        return "true" if code else "false"
    if isinstance(column, Integer):
        return str(int(column.grid.starts[code]))
    value = column.values[code] if isinstance(column, Labels) else code
    return f'"{value}"' if isinstance(value, str) else str(value)


def _find_common_nulls(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    seen: dict[bytes, list[str]] = defaultdict(list)
    for name in table.names:
        code = table.schema[name].null_code
        null = table.codes[name] == code
        if code is not None and MIN_SHARED_NULLS <= null.sum() <= len(null) - MIN_SHARED_NULLS:
            seen[null.tobytes()].append(name)
    for *others, name in seen.values():
        gate = _find_gate(table, name)
        listed = ", ".join(f'"{column}"' for column in (*others, name))
        text, rule = "", f'kind = "together", columns = [{listed}]'
        if others:
            text = f"It is missing in exactly the rows where {' and '.join(others)} {'are' if others[1:] else 'is'}. "
        if gate is not None:
            values = [_format_value(table.schema[gate[0]], code) for code in gate[1]]
            text += f"It is filled only if {gate[0]} is {' or '.join(values)}. "
            rule += f', only_if = {{ "{gate[0]}" = [{", ".join(values)}] }}'
        if text:
            yield (name, *others, *([] if gate is None else gate[:1])), text + _propose_rule(rule)


def _find_gate(table: ExactTable, name: str) -> tuple[str, list[int]] | None:
    """Find a column that decides whether another one is filled, and its values where that one is.

    Of several, the one with the fewest nulls among the rows that are not skipped. By chance, all n rows with some
    values would be missing with the probability p^n, where p is the share of nulls.
    """
    null = table.codes[name] == table.schema[name].null_code
    found: list[tuple[float, str, list[int]]] = []
    for gate in [n for n in table.names if n != name and isinstance(table.schema[n], Labels | Boolean)][:MAX_COLUMNS]:
        codes, values = table.codes[gate], table.schema[gate].value_cells
        filled = np.unique(codes[~null])
        skipped = ~np.isin(codes, filled)
        chance = skipped.sum() * np.log(null.mean())
        if filled[-1] < values and chance < np.log(SKIP_SIGNIFICANCE) and null[~skipped].mean() <= 1 - MIN_RATIO_SHARE:
            found.append((float(null[~skipped].mean()), gate, filled.tolist()))
    return min(found)[1:] if found else None


def _find_one_hot(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Find neighbouring columns of zeros and ones of which exactly one is 1 in each row."""
    flags = {name: flag for name in table.names if (flag := _zero_one_values(table, name)) is not None}
    names = list(table.names)
    start = 0
    while start < len(names):
        stop = start
        total = np.zeros(table.rows, np.int64)
        while stop < len(names) and names[stop] in flags and (total + flags[names[stop]] <= 1).all():
            total = total + flags[names[stop]]
            stop += 1
        if stop - start >= 3 and table.rows >= MIN_RULE_ROWS and (total == 1).all():
            rule = 'kind = "one-hot", columns = [' + ", ".join(f'"{name}"' for name in names[start:stop]) + "]"
            text = f"Exactly one of {', '.join(names[start:stop])} is 1 (or true) in each row."
            yield tuple(names[start:stop]), f"{text} {_propose_rule(rule)}"
            start = stop
        else:
            start += 1


def _zero_one_values(table: ExactTable, name: str) -> Ints | None:
    """Return the values of a column that has zeros and ones and nothing else; else None."""
    column = table.schema[name]
    values = table.codes[name] if isinstance(column, Boolean) else table.numbers.get(name)
    if values is None or len(np.unique(values)) != 2 or not np.isin(values, (0, 1)).all():
        return None
    return values.astype(np.int64)


def _find_sums(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Find numbers that are the sum of two others, and missing exactly where one of them is."""
    names = _amounts(table)
    for one, two in combinations(names, 2):
        total = table.numbers[one] + table.numbers[two]
        whole = next((n for n in names if n not in (one, two) and _equal(table.numbers[n], total)), None)
        if whole is not None:
            rule = f'kind = "sum", total = "{whole}", parts = ["{one}", "{two}"]'
            yield (whole, one, two), f"It is {one} + {two} in all rows seen. {_propose_rule(rule)}"


def _equal(one: Floats, two: Floats) -> bool:
    known = ~(np.isnan(one) | np.isnan(two))
    if known.sum() < MIN_RULE_ROWS or not np.array_equal(np.isnan(one), np.isnan(two)):
        return False
    return bool(np.allclose(one[known], two[known], rtol=1e-9, atol=1e-9))


FINDERS = (
    _find_functions, _find_common_nulls, _find_one_hot, _find_sums, _find_multiples, _find_ratios, _find_orders,
)  # fmt: skip
"""In this order: sums and multiples determine which ratios and orders are left out."""

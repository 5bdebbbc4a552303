"""Guess: what columns have to do with each other in all rows looked at, as questions that name the rule to state.

Nothing here becomes a rule by itself: that it holds in some rows is a fact read off rows, which only somebody who knows
it without them can confirm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.lab.tables.table import ExactTable
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Datetime, Integer

FEW_ROWS = 50
"""Fewer rows with values say nothing about a rule."""
MOST_COLUMNS = 40
"""Columns among which pairs are looked at; triples among a third of them."""
BY_CHANCE = 0.05
"""An order of two columns is told only if it would be broken in this share of rows of columns drawn apart."""
FEW_NULLS = 10
"""Nulls that two columns must share before that is called no accident."""
MOSTLY = 0.5
"""A range of ratios is told only if so many rows of columns drawn apart would lie outside; a column by which another
is skipped, only if that is filled in so many of the other rows."""
SKIPPED_BY_CHANCE = 1e-9
"""Values of one column at which another is always missing are told if they are less probable than this by chance."""
ALIKE = 1e-9
"""Relative: numbers that differ by no more are the same."""
MOST_LISTED = 40
"""Values of a column that a function of it may list: longer tables belong to a code book."""

Notes = Mapping[str, Sequence[str]]
Finding = tuple[tuple[str, ...], str]
"""The column that is asked about and those it has to do with, and the question."""


def relation_notes(table: ExactTable, rng: np.random.Generator) -> Notes:
    """By column, questions about rules that all rows looked at obey.

    None that follows from others: of columns that are sums or multiples of each other no order and no ratio is asked,
    and of two amounts their ratio rather than their order.
    """
    notes: dict[str, list[str]] = defaultdict(list)
    linked = {name: frozenset([name]) for name in table.names}
    asked: set[frozenset[str]] = set()
    for find in (_functions, _nulls_together, _one_hot, _sums, _multiples, _ratios, _orders):
        for columns, note in find(table, rng):
            groups = frozenset(linked[name] for name in columns)
            if find in (_ratios, _orders):
                if len(groups) == 1 or frozenset(columns) in asked:
                    continue
                asked.add(frozenset(columns))
            notes[columns[0]].append(note)
            if find in (_sums, _multiples):
                together = frozenset[str]().union(*groups)
                linked |= dict.fromkeys(together, together)
    return notes


def _orders(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    names = [name for name in table.names if name in table.numbers][:MOST_COLUMNS]
    found = [(low, high) for low, high in permutations(names, 2) if _is_ordered(table, low, high, rng)]
    for low, high in found:
        if any((low, between) in found and (between, high) in found for between in names):
            continue  # it follows from two others
        rule = f'kind = "at-most", low = "{low}", high = "{high}"'
        yield (high, low), f"It is at least {low} in all rows seen. {_if_so(rule)}"


def _is_ordered(table: ExactTable, low: str, high: str, rng: np.random.Generator) -> bool:
    if not _comparable(table.schema[low], table.schema[high]):
        return False
    a, b = table.numbers[low], table.numbers[high]
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < FEW_ROWS or not (a[both] <= b[both]).all() or not (a[both] < b[both]).any():
        return False
    return bool((rng.permutation(a[both]) > b[both]).mean() >= BY_CHANCE)


def _ratios(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Amounts of which one is always about so many times the other, which columns drawn apart would not be."""
    for name, of in permutations(_amounts(table), 2):
        a, b = table.numbers[name], table.numbers[of]
        both = ~(np.isnan(a) | np.isnan(b)) & (b > 0)
        if both.sum() < FEW_ROWS or (b < 0).any() or (a[both] <= 0).any():
            continue
        ratios, apart = a[both] / b[both], rng.permutation(a[both]) / b[both]
        low, high = _rounded_out(ratios.min(), up=False), _rounded_out(ratios.max(), up=True)
        less = np.median(ratios) <= 1 and low < 1  # the other way round is the same rule
        told = less and np.ptp(ratios) > ALIKE * high
        if told and ((apart < low) | (apart > high)).mean() >= MOSTLY:
            rule = f'kind = "ratio", column = "{name}", of = "{of}", lower = {low:g}, upper = {high:g}'
            yield (name, of), f"It is {low:g} to {high:g} times {of} in all rows seen. {_if_so(rule)}"


def _multiples(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """An amount that is another one times a plain number, rounded, or another one and a fixed number."""
    for of, name in combinations(_amounts(table), 2):
        a, b = table.numbers[name], table.numbers[of]
        both = ~(np.isnan(a) | np.isnan(b)) & (b != 0)
        alike = np.array_equal(np.isnan(a), np.isnan(b))  # a sum is null where its part is, and nowhere else
        if both.sum() < FEW_ROWS or len(np.unique(b[both])) < FEW_ROWS // 5 or not alike:
            continue
        factor, offset = float(f"{np.median(a[both] / b[both]):.4g}"), float(f"{np.median(a[both] - b[both]):.6g}")
        digits = getattr(table.schema[name], "decimals", None) or 0
        room = 0.5 * 10.0**-digits + ALIKE * np.abs(a[both])
        if factor not in (0.0, 1.0) and (np.abs(a[both] - factor * b[both]) <= room).all():
            rule = f'kind = "sum", total = "{name}", parts = {{ "{of}" = {factor:g} }}'
            yield (name, of), f"It is {factor:g} times {of}, rounded, in all rows seen. {_if_so(rule)}"
        elif offset and (np.abs(a[both] - b[both] - offset) <= ALIKE * np.abs(a[both])).all():
            rule = f'kind = "sum", total = "{name}", parts = ["{of}"], offset = {offset:g}'
            yield (name, of), f"It is {of} + {offset:g} in all rows seen. {_if_so(rule)}"


def _amounts(table: ExactTable) -> list[str]:
    """Numbers of more than two values."""
    numeric = [n for n in table.names if n in table.numbers and not isinstance(table.schema[n], Datetime)]
    return [name for name in numeric if len(np.unique(table.numbers[name])) > 2][: MOST_COLUMNS // 3]


def _rounded_out(ratio: float, *, up: bool) -> float:
    """A ratio on two digits, not nearer to the others."""
    unit = 10.0 ** (np.floor(np.log10(ratio)) - 1)
    steps = ratio / unit
    return float(f"{unit * (np.ceil(steps - ALIKE) if up else np.floor(steps + ALIKE)):.2g}")


def _if_so(rule: str) -> str:
    """What to add, marked as read off rows: whoever puts it into the schema is asked, as about any other such fact."""
    return f'If that must be so, add [[rules]] with {rule}, source = "from-rows".'


def _comparable(one: Column, two: Column) -> bool:
    if isinstance(one, Datetime) or isinstance(two, Datetime):
        return isinstance(one, Datetime) and isinstance(two, Datetime) and one.resolution == two.resolution
    return True


def _functions(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Labels and booleans that follow from another column, the first that does."""
    names = [name for name in table.names if isinstance(table.schema[name], Labels | Boolean | Integer)][:MOST_COLUMNS]
    for column in names:
        if isinstance(table.schema[column], Integer):
            continue
        for of in names:
            pairs = _pairs(table, column, of) if of != column else None
            if pairs is not None:
                listed = ", ".join(f"{_word(table.schema[of], a)} = {_word(table.schema[column], b)}" for a, b in pairs)
                rule = f'kind = "function", column = "{column}", of = "{of}", table = {{ {listed} }}'
                yield (column, of), f"It follows from {of} in all rows seen. {_if_so(rule)}"
                break


def _pairs(table: ExactTable, column: str, of: str) -> list[tuple[int, int]] | None:
    """The function as codes; None if it is none, says too little, or has too long a list."""
    cells = [table.schema[name].value_cells for name in (of, column)]
    known = (table.codes[of] < cells[0]) & (table.codes[column] < cells[1])
    a, b = table.codes[of][known].astype(np.int64), table.codes[column][known].astype(np.int64)
    if len(a) < FEW_ROWS or len(np.unique(b)) < 2:
        return None
    both = np.unique(a * cells[1] + b)
    arguments = both // cells[1]
    told = len(arguments) == len(np.unique(arguments)) and len(arguments) <= min(MOST_LISTED, len(a) // 5)
    images = both % cells[1]
    # Twice a value at the least: else a column that only numbers the rows would do.
    return list(zip(arguments.tolist(), images.tolist(), strict=True)) if told and len(arguments) > 1 else None


def _word(column: Column, code: int) -> str:
    """A value as the schema file writes it in the table of a function."""
    if isinstance(column, Boolean):
        return "true" if code else "false"
    if isinstance(column, Integer):
        return str(int(column.grid.starts[code]))
    value = column.values[code] if isinstance(column, Labels) else code
    return f'"{value}"' if isinstance(value, str) else str(value)


def _nulls_together(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    seen: dict[bytes, list[str]] = defaultdict(list)
    for name in table.names:
        null = _nulls(table, name)
        if null is None or not FEW_NULLS <= null.sum() <= len(null) - FEW_NULLS:
            continue
        seen[null.tobytes()].append(name)
    for *others, name in seen.values():
        gate = _gate(table, name)
        said, rule = "", f'kind = "together", columns = [{", ".join(map(_quoted, (*others, name)))}]'
        if others:
            said = f"It is missing in just the rows in which {' and '.join(others)} {'are' if others[1:] else 'is'}. "
        if gate is not None:
            values = [_word(table.schema[gate[0]], code) for code in gate[1]]
            said += f"It is filled only where {gate[0]} is {' or '.join(values)}. "
            rule += f", only_if = {{ {_quoted(gate[0])} = [{', '.join(values)}] }}"
        if said:
            yield (name, *others, *([] if gate is None else gate[:1])), said + _if_so(rule)


def _gate(table: ExactTable, name: str) -> tuple[str, list[int]] | None:
    """The column that says by some of its values that another one is skipped, and the values where it is not.

    Of several it is the one where fewest are missing that are not skipped. By chance all rows of some values would be
    missing with a probability of the share that is, to the power of these rows.
    """
    null = table.codes[name] == table.schema[name].null_code
    found: list[tuple[float, str, list[int]]] = []
    for gate in [n for n in table.names if n != name and isinstance(table.schema[n], Labels | Boolean)][:MOST_COLUMNS]:
        codes, values = table.codes[gate], table.schema[gate].value_cells
        filled = np.unique(codes[~null])
        skipped = ~np.isin(codes, filled)
        chance = skipped.sum() * np.log(null.mean())
        if filled[-1] < values and chance < np.log(SKIPPED_BY_CHANCE) and null[~skipped].mean() <= 1 - MOSTLY:
            found.append((float(null[~skipped].mean()), gate, filled.tolist()))
    return min(found)[1:] if found else None


def _quoted(name: str) -> str:
    return f'"{name}"'


def _nulls(table: ExactTable, name: str) -> Mask | None:
    code = table.schema[name].null_code
    return None if code is None else table.codes[name] == code


def _one_hot(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """Neighbouring columns of zeros and ones of which just one is one in each row."""
    flags = {name: flag for name in table.names if (flag := _flag(table, name)) is not None}
    names = list(table.names)
    start = 0
    while start < len(names):
        stop = start
        total = np.zeros(table.rows, np.int64)
        while stop < len(names) and names[stop] in flags and (total + flags[names[stop]] <= 1).all():
            total = total + flags[names[stop]]
            stop += 1
        if stop - start >= 3 and table.rows >= FEW_ROWS and (total == 1).all():
            rule = 'kind = "one-hot", columns = [' + ", ".join(f'"{name}"' for name in names[start:stop]) + "]"
            said = f"Of {', '.join(names[start:stop])} just one is 1 (or true) in each row."
            yield tuple(names[start:stop]), f"{said} {_if_so(rule)}"
            start = stop
        else:
            start += 1


def _flag(table: ExactTable, name: str) -> Ints | None:
    """A column of zeros and ones, without nulls, that has both."""
    column = table.schema[name]
    values = table.codes[name] if isinstance(column, Boolean) else table.numbers.get(name)
    if values is None or len(np.unique(values)) != 2 or not np.isin(values, (0, 1)).all():
        return None
    return values.astype(np.int64)


def _sums(table: ExactTable, rng: np.random.Generator) -> Iterator[Finding]:
    """A number that is the sum of two others, and missing just where one of them is."""
    names = _amounts(table)
    for one, two in combinations(names, 2):
        total = table.numbers[one] + table.numbers[two]
        whole = next((n for n in names if n not in (one, two) and _equal(table.numbers[n], total)), None)
        if whole is not None:
            rule = f'kind = "sum", total = "{whole}", parts = ["{one}", "{two}"]'
            yield (whole, one, two), f"It is {one} + {two} in all rows seen. {_if_so(rule)}"


def _equal(one: Floats, two: Floats) -> bool:
    known = ~(np.isnan(one) | np.isnan(two))
    if known.sum() < FEW_ROWS or not np.array_equal(np.isnan(one), np.isnan(two)):
        return False
    return bool(np.allclose(one[known], two[known], rtol=1e-9, atol=1e-9))

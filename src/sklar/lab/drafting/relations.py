"""Find relations between columns that hold in all sampled rows, as proposed rules.

Each is marked from-rows: that it holds in the rows is a fact read from them, which only a person who knows it
independently can confirm. Such a rule is a question with yes and no; a private fit rejects it until it is answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.drafting.functions import (
    FROM_ROWS,
    MAX_COLUMNS,
    MIN_RULE_ROWS,
    find_label_functions,
    find_number_functions,
    value_of_code,
)
from sklar.lab.tables.table import ExactTable
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Datetime
from sklar.schema.rules import AtMost, Expression, Function, Label, OneHot, Ratio, Rule, Sum, Together
from sklar.schema.rules.values import key_text

MIN_BROKEN_AT_RANDOM = 0.05
"""An order of two columns is reported only if independent columns would break it in this share of rows."""
MIN_BROKEN_DATES = 20
"""An order of two dates is reported if independent dates would break it in this number of rows: dates of one event each
are mostly ordered by a rule, and an end may lie so late that few starts at random exceed it."""
MIN_SHARED_NULLS = 10
"""Minimum number of common nulls of columns that are reported as missing together."""
MIN_RATIO_SHARE = 0.5
"""A range of ratios is reported only if this share of the ratios of independent columns would lie outside; a column
that decides whether another is filled, only if the other is filled in this share of the remaining rows."""
SKIP_SIGNIFICANCE = 1e-9
"""Values at which another column is always missing are reported if that is less probable by chance."""
RELATIVE_TOLERANCE = 1e-9
"""Numbers with a smaller relative difference are equal."""


def find_relations(table: ExactTable, rng: np.random.Generator) -> list[Rule]:
    """Return rules that all sampled rows obey, although rows at random would break them.

    Rules that follow from others are left out: for columns that are sums or multiples of each other there is no order
    or ratio, for two amounts a ratio rather than an order, and a column is computed by one rule alone.
    """
    found: list[Rule] = []
    linked = {name: frozenset([name]) for name in table.names}
    reported: set[frozenset[str]] = set()
    given: set[str] = set()
    for find in FINDERS:
        for rule in find(table, rng):
            groups = frozenset(linked[name] for name in rule.columns)
            if isinstance(rule, Ratio | AtMost):
                if len(groups) == 1 or frozenset(rule.columns) in reported:
                    continue
                reported.add(frozenset(rule.columns))
            computed = set(rule.columns if isinstance(rule, OneHot) else rule.columns[:1])
            if isinstance(rule, Function | Sum | OneHot):
                if computed & given:
                    continue
                given |= computed
            found.append(rule)
            if isinstance(rule, Sum | Function):
                together = frozenset[str]().union(*groups)
                linked |= dict.fromkeys(together, together)
    return found


def _find_orders(table: ExactTable, rng: np.random.Generator) -> Iterator[Rule]:
    names = [name for name in table.names if name in table.numbers][:MAX_COLUMNS]
    found = [(low, high) for low, high in permutations(names, 2) if _is_ordered(table, low, high, rng)]
    for low, high in found:
        if any((low, mid) in found and (mid, high) in found and _is_filled(table, mid, low, high) for mid in names):
            continue  # it follows from two others
        yield AtMost(low=low, high=high, source=FROM_ROWS)


def _is_filled(table: ExactTable, name: str, *others: str) -> bool:
    """Return whether a column has a value in every row where all the others have one."""
    empty = np.any([np.isnan(table.numbers[other]) for other in others], axis=0)
    return bool((empty | ~np.isnan(table.numbers[name])).all())


def _is_ordered(table: ExactTable, low: str, high: str, rng: np.random.Generator) -> bool:
    if not _can_compare(table.schema[low], table.schema[high]):
        return False
    a, b = table.numbers[low], table.numbers[high]
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < MIN_RULE_ROWS or not (a[both] <= b[both]).all() or not (a[both] < b[both]).any():
        return False
    broken = rng.permutation(a[both]) > b[both]
    dates = isinstance(table.schema[low], Datetime) and broken.sum() >= MIN_BROKEN_DATES
    return bool(dates or broken.mean() >= MIN_BROKEN_AT_RANDOM)


def _find_ratios(table: ExactTable, rng: np.random.Generator) -> Iterator[Rule]:
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
            yield Ratio(column=name, of=of, lower=low, upper=high, source=FROM_ROWS)


def _find_multiples(table: ExactTable, rng: np.random.Generator) -> Iterator[Rule]:
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
            yield Sum(total=name, parts={of: factor}, source=FROM_ROWS)
        elif offset and (np.abs(a[both] - b[both] - offset) <= RELATIVE_TOLERANCE * np.abs(a[both])).all():
            yield Sum(total=name, parts=[of], offset=int(offset) if offset.is_integer() else offset, source=FROM_ROWS)


def _amounts(table: ExactTable, most: int = MAX_COLUMNS // 3) -> list[str]:
    """Return the first numeric columns with more than two values."""
    numeric = [n for n in table.names if n in table.numbers and not isinstance(table.schema[n], Datetime)]
    return [name for name in numeric if len(np.unique(table.numbers[name])) > 2][:most]


def _round_ratio(ratio: float, *, up: bool) -> float:
    """Round a ratio outward to two digits."""
    unit = 10.0 ** (np.floor(np.log10(ratio)) - 1)
    steps = ratio / unit
    return float(f"{unit * (np.ceil(steps - RELATIVE_TOLERANCE) if up else np.floor(steps + RELATIVE_TOLERANCE)):.2g}")


def _can_compare(one: Column, two: Column) -> bool:
    if isinstance(one, Datetime) or isinstance(two, Datetime):
        return isinstance(one, Datetime) and isinstance(two, Datetime) and one.resolution == two.resolution
    return True


def _find_common_nulls(table: ExactTable, rng: np.random.Generator) -> Iterator[Rule]:
    seen: dict[bytes, list[str]] = defaultdict(list)
    for name in table.names:
        code = table.schema[name].null_code
        null = table.codes[name] == code
        if code is not None and MIN_SHARED_NULLS <= null.sum() <= len(null) - MIN_SHARED_NULLS:
            seen[null.tobytes()].append(name)
    for names in seen.values():
        gate = _find_gate(table, names[-1])
        if gate is not None:
            values = tuple(value_of_code(table.schema[gate[0]], code) for code in gate[1])
            yield Together(columns=names, only_if={gate[0]: values}, source=FROM_ROWS)
            if (table.codes[names[0]] != table.schema[names[0]].null_code)[
                np.isin(table.codes[gate[0]], gate[1])
            ].all():
                yield from _filled_where(names[0], gate[0], values)
        elif len(names) > 1:
            yield Together(columns=names, source=FROM_ROWS)


def _filled_where(name: str, gate: str, values: Sequence[Label]) -> Iterator[Rule]:
    """Yield the rule that a column is filled where another has one of these values."""
    if any("`" in text for text in (name, gate)) or any("'" in str(value) for value in values):
        return  # an expression cannot quote them
    written = [f"'{value}'" if isinstance(value, str) else key_text(value) for value in values]
    others = " and ".join(f"`{gate}` != {value}" for value in written)
    yield Expression(f"`{name}` is not null or {others}", source=FROM_ROWS)


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
        if (
            filled[-1] < values
            and len(filled) < values
            and chance < np.log(SKIP_SIGNIFICANCE)
            and null[~skipped].mean() <= 1 - MIN_RATIO_SHARE
        ):
            found.append((float(null[~skipped].mean()), gate, filled.tolist()))
    return min(found)[1:] if found else None


def _find_one_hot(table: ExactTable, rng: np.random.Generator) -> Iterator[Rule]:
    """Find neighbouring columns of zeros and ones of which exactly one is 1 in each row, or all are missing."""
    flags = {name: flag for name in table.names if (flag := _zero_one_values(table, name)) is not None}
    names = list(table.names)
    start = 0
    while start < len(names):
        stop, null = start, flags.get(names[start], np.zeros(0)) < 0
        total = np.zeros(table.rows, np.int64)
        while stop < len(names) and names[stop] in flags:
            flag = flags[names[stop]]
            if not np.array_equal(flag < 0, null) or (total + np.maximum(flag, 0) > 1).any():
                break
            total, stop = total + np.maximum(flag, 0), stop + 1
        if stop - start >= 3 and table.rows >= MIN_RULE_ROWS and (total[~null] == 1).all():
            yield OneHot(columns=names[start:stop], source=FROM_ROWS)
            start = stop
        else:
            start += 1


def _zero_one_values(table: ExactTable, name: str) -> Ints | None:
    """Return the values of a column that has zeros and ones and nothing else; else None."""
    column = table.schema[name]
    values = table.codes[name] if isinstance(column, Boolean) else table.numbers.get(name)
    if values is None:
        return None
    known = values[table.codes[name] != column.null_code]
    if len(np.unique(known)) != 2 or not np.isin(known, (0, 1)).all():
        return None
    return np.where(table.codes[name] == column.null_code, -1, np.nan_to_num(values).astype(np.int64))


def _find_sums(table: ExactTable, rng: np.random.Generator) -> Iterator[Rule]:
    """Find numbers that are the sum of two others, and missing exactly where one of them is."""
    names = _amounts(table, MAX_COLUMNS)
    few = np.stack([table.numbers[name][:MIN_RULE_ROWS] for name in names]) if names else np.zeros((0, 0))
    for (at, one), (by, two) in combinations(enumerate(names), 2):
        equal = np.isclose(few, few[at] + few[by], rtol=1e-9, atol=1e-9, equal_nan=True).all(axis=1)
        equal[[at, by]] = False
        if not equal.any():
            continue
        total = table.numbers[one] + table.numbers[two]
        whole = next((names[k] for k in np.flatnonzero(equal) if _are_equal(table.numbers[names[k]], total)), None)
        if whole is not None:
            yield Sum(total=whole, parts=[one, two], source=FROM_ROWS)


def _are_equal(one: Floats, two: Floats) -> bool:
    known = ~(np.isnan(one) | np.isnan(two))
    if known.sum() < MIN_RULE_ROWS or not np.array_equal(np.isnan(one), np.isnan(two)):
        return False
    return bool(np.allclose(one[known], two[known], rtol=1e-9, atol=1e-9))


FINDERS = (
    find_label_functions, _find_one_hot, _find_common_nulls, _find_sums, _find_multiples, find_number_functions,
    _find_ratios, _find_orders,
)  # fmt: skip
"""In this order: sums and multiples determine which functions of numbers, ratios and orders are left out."""

"""Tables of counts as queries: the codes of a row, groups of them, and one grouped count for each table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from sklar.arrays import Ints
from sklar.counting.plans import CountingPlan, Feature
from sklar.counting.tables import derivable
from sklar.rows.pushdown.dialects import Coded, Dialect

SETS_AT_ONCE = 256
"""Tables that one scan counts: each takes a hash table on the server, and PostgreSQL takes at most 4,096."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlatQuery:
    """A query whose lines are (cell, number of rows), the cells of several tables numbered one after the other."""

    sql: str
    tables: tuple[int, ...]
    starts: tuple[int, ...]

    def counts(self, plan: CountingPlan, cells: Ints, numbers: Ints) -> dict[int, Ints]:
        """The tables, from the lines of the answer."""
        flat = np.zeros(self.starts[-1], dtype=np.int64)
        flat[cells] = numbers
        bounds = zip(self.tables, self.starts[:-1], self.starts[1:], strict=True)
        return {table: flat[low:high].reshape(plan.shape(table)) for table, low, high in bounds}


def flat_queries(plan: CountingPlan, tables: Sequence[int], codes: Mapping[str, Coded], source: str,
                 say: Dialect) -> Iterator[FlatQuery]:  # fmt: skip
    """Queries that count these tables in one scan each: every row is coded once and belongs to a cell of each table."""
    for first in range(0, len(tables), SETS_AT_ONCE):
        chosen = tuple(tables[first : first + SETS_AT_ONCE])
        starts = tuple(accumulate((plan.cells(table) for table in chosen), initial=0))
        used = sorted({feature for table in chosen for feature in plan.tables[table]})
        keys = [
            f"{start} + {_place(plan, table)} AS k{at}"
            for at, (table, start) in enumerate(zip(chosen, starts, strict=False))
        ]
        names = [f"k{at}" for at in range(len(chosen))]
        sets = ", ".join(f"({name})" for name in names)
        cell = f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]
        inner = grouped([(f"f{at}", plan.features[at]) for at in used], codes, source, say)
        sql = (
            f"SELECT {cell} AS cell, count(*) AS rows FROM "
            f"(SELECT {', '.join(keys)} FROM ({inner}) AS grouped OFFSET 0) AS keyed "
            f"GROUP BY GROUPING SETS ({sets})"
        )
        yield FlatQuery(sql=sql, tables=chosen, starts=starts)


def coded(codes: Mapping[str, Coded], source: str, casts: Mapping[str, str]) -> str:
    """A query for the codes of some columns, each under the number of its column."""
    joins = {name: join for code in codes.values() for name, join in code.joins.items()}
    tables = "".join(f" LEFT JOIN {name} ON {condition}" for name, (_, condition) in joins.items())
    chosen = ", ".join(f"({code.sql})::{casts[name]} AS {name}" for name, code in codes.items())
    return f"SELECT {chosen} FROM {source} AS base{tables} OFFSET 0"  # not merged: each code is worked out once


def grouped(features: Sequence[tuple[str, Feature]], codes: Mapping[str, Coded], source: str, say: Dialect) -> str:
    """A query for features: codes as they are, or looked up."""
    wanted = dict.fromkeys(feature.column for _, feature in features)
    alias = {column: f"c{at}" for at, column in enumerate(wanted)}
    inner = coded({alias[column]: codes[column] for column in wanted}, source, dict.fromkeys(alias.values(), "bigint"))
    chosen = [
        f"{alias[f.column] if f.lookup is None else say.looked_up(alias[f.column], f.lookup)} AS {name}"
        for name, f in features
    ]
    return f"SELECT {', '.join(chosen)} FROM ({inner}) AS coded OFFSET 0"


def counted_tables(plan: CountingPlan) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """(tables to count, tables that are sums of those: which, and the axis that stays)."""
    sums = derivable(plan, set())
    return [table for table in range(len(plan.tables)) if table not in sums], sums


def with_sums(plan: CountingPlan, found: dict[int, Ints], sums: Mapping[int, tuple[int, int]]) -> tuple[Ints, ...]:
    """All tables of the plan, in order."""
    for table, (bigger, axis) in sums.items():
        found[table] = found[bigger].sum(axis=tuple(a for a in range(len(plan.tables[bigger])) if a != axis))
    return tuple(found[table] for table in range(len(plan.tables)))


def _place(plan: CountingPlan, table: int) -> str:
    """The number of a cell within its table."""
    place = "0"
    for feature in plan.tables[table]:
        place = f"({place}) * {plan.features[feature].groups} + f{feature}" if place != "0" else f"f{feature}"
    return place

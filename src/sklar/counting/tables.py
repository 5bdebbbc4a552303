"""Exact counts of many tables in one pass over the codes: integers, the same for any number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.counting.batches import CodeBatch
from sklar.counting.jobs import CodedPart, CountedRows
from sklar.counting.plans import MAX_BYTES, CountingPlan, Lookup, TableSpec, plan_counts
from sklar.counting.two_valued import (
    BinaryWork,
    SinglesWork,
    exact_pair_ones,
    fill_two_by_two,
    plan_binary_pairs,
    plan_singles,
    reuse_known_singles,
)
from sklar.errors import TableTooLargeError

MAX_DERIVED_CELLS = 1 << 20
"""A table may be derived by summing a larger one of at most this size, instead of being counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountJob:
    """The counts of all tables of a plan."""

    plan: CountingPlan

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self.plan.shape(table) for table in range(len(self.plan.tables)))

    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]:
        found = _count_plan(rows, self.plan)
        return tuple(found[table] for table in range(len(self.plan.tables)))


def exact_counts(rows: CountedRows, specs: Sequence[TableSpec], *, max_bytes: int = MAX_BYTES) -> tuple[Ints, ...]:
    """Count all tables in one pass over the rows.

    Args:
        rows: The rows.
        specs: For each table its columns, and one lookup from base code to group per column, or None for base codes.
        max_bytes: Memory limit: larger tables are refused before any row is read.

    Returns:
        One int64 array per table; axis j has one entry for each code of column j, or for each group of its lookup.
    """
    plan = plan_counts(rows.schema, specs, max_bytes)
    found = reuse_known_singles(rows, plan) or rows.run_job(CountJob(plan=plan))
    given: set[int] = set()
    answers: list[Ints] = []
    for answer in plan.answers:  # a table that answers two requests is copied: no two answers share memory
        answers.append(found[answer].copy() if answer in given else found[answer])
        given.add(answer)
    return tuple(answers)


def _count_plan(rows: CodedPart, plan: CountingPlan) -> dict[int, Ints]:
    """Count each of the plan's tables: binary pairs by their bits, some by summing others, the rest row by row."""
    binary = plan_binary_pairs(plan)
    done = {*binary.pairs, *binary.singles} if binary else set[int]()
    derived = find_derivable(plan, done)
    rest = [t for t in range(len(plan.tables)) if t not in done and t not in derived]
    singles = plan_singles(plan, rest)
    works: list[BinaryWork | SinglesWork | TallyWork] = [work for work in (binary, singles) if work is not None]
    works += plan_tallies(plan, [t for t in rest if singles is None or t not in singles.tables])
    with ThreadPoolExecutor(rows.threads) as pool:
        for batch in rows.batches(plan.columns):
            for work in works:
                work.add(batch, pool, rows.threads)
    found: dict[int, Ints] = {}
    for work in works:
        found |= work.counts()
    for table, (bigger, axis) in derived.items():
        found[table] = found[bigger].sum(axis=tuple(a for a in range(len(plan.tables[bigger])) if a != axis))
    return found


def find_derivable(plan: CountingPlan, done: set[int]) -> dict[int, tuple[int, int]]:
    """Find, for one-way tables, a counted table of moderate size with the same feature, and its axis."""
    singles = {axes[0]: t for t, axes in enumerate(plan.tables) if len(axes) == 1 and t not in done}
    found: dict[int, tuple[int, int]] = {}
    for table, axes in enumerate(plan.tables if singles else ()):
        if len(axes) > 1 and any(f in singles for f in axes) and plan.cells(table) <= MAX_DERIVED_CELLS:
            found |= {singles.pop(f): (table, axis) for axis, f in enumerate(axes) if f in singles}
    return found


STACK_BYTES = 32 << 20
"""Memory for the recoded features of the rows that are counted at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TallyWork:
    """Tables whose codes have one type, laid out for the kernel `tally`, which describes the last five attributes.

    Attributes:
        tables: The plan's tables by number.
        features: The plan's features by number, in the order of the stack's rows.
        places: For each of them, the place of its column in a batch.
        lookups: For each of them, its lookup in the type of the stack.
        dtype: Type of the stack.
    """

    plan: CountingPlan
    tables: tuple[int, ...]
    features: tuple[int, ...]
    places: tuple[int, ...]
    lookups: tuple[npt.NDArray[Any] | None, ...]
    dtype: np.dtype[Any]
    axes: Ints
    axis_starts: Ints
    shape: Ints
    out: Ints
    out_starts: Ints

    def add(self, batch: CodeBatch, pool: ThreadPoolExecutor, threads: int) -> None:
        """Add a batch of rows to all tables; each thread counts its own tables, so no two write to the same cell."""
        from sklar.counting.tallies import tally

        height = max(1, STACK_BYTES // max(1, len(self.features) * self.dtype.itemsize))
        shares = [np.arange(k, len(self.tables), threads) for k in range(min(threads, len(self.tables)))]
        for start in range(0, batch.rows, height):
            stack = self._stack(batch, slice(start, min(start + height, batch.rows)), pool, threads)
            layout = (stack, self.axes, self.axis_starts, self.shape, self.out, self.out_starts)
            for future in [pool.submit(tally, *layout, share, batch.weight) for share in shares]:
                future.result()

    def counts(self) -> dict[int, Ints]:
        """Return the counts so far, by the plan's table."""
        bounds = zip(self.tables, self.out_starts[:-1], self.out_starts[1:], strict=True)
        return {table: self.out[low:high].reshape(self.plan.shape(table)) for table, low, high in bounds}

    def _stack(self, batch: CodeBatch, part: slice, pool: ThreadPoolExecutor, threads: int) -> npt.NDArray[Any]:
        """Return the features of some rows of a batch, one row of the matrix each."""
        from sklar.counting.tallies import recode

        stack = np.empty((len(self.features), part.stop - part.start), dtype=self.dtype)

        def fill(first: int, last: int) -> None:
            for at in range(first, last):
                codes, lookup = batch.part(self.places[at], part), self.lookups[at]
                if lookup is None:
                    stack[at] = codes
                else:
                    recode(codes, lookup, stack[at])

        cuts = np.linspace(0, len(self.features), 2 * threads + 1).astype(int).tolist()
        for future in [pool.submit(fill, low, high) for low, high in pairwise(cuts)]:
            future.result()
        return stack


def plan_tallies(plan: CountingPlan, tables: Sequence[int]) -> list[TallyWork]:
    """Group tables by the type of their codes: one byte or four, each a loop to compile."""
    groups: dict[str, list[int]] = {}
    for table in tables:
        largest = max(plan.shape(table), default=1)
        groups.setdefault("uint8" if largest <= 256 else "uint32", []).append(table)
    return [_lay_out_tables(plan, group, np.dtype(name)) for name, group in groups.items()]


def _lay_out_tables(plan: CountingPlan, tables: Sequence[int], dtype: np.dtype[Any]) -> TallyWork:
    numbers = tuple(dict.fromkeys(f for t in tables for f in plan.tables[t]))
    row = {feature: at for at, feature in enumerate(numbers)}
    place = {name: at for at, name in enumerate(plan.columns)}
    features = [plan.features[f] for f in numbers]
    axes = [f for t in tables for f in plan.tables[t]]
    axis_starts = np.cumsum([0, *(len(plan.tables[t]) for t in tables)]).astype(np.int64)
    out_starts = np.cumsum([0, *(plan.cells(t) for t in tables)]).astype(np.int64)
    return TallyWork(
        plan=plan,
        tables=tuple(tables),
        features=numbers,
        places=tuple(place[feature.column] for feature in features),
        lookups=tuple(None if f.lookup is None else f.lookup.astype(dtype) for f in features),
        dtype=dtype,
        axes=np.array([row[f] for f in axes], dtype=np.int64),
        axis_starts=axis_starts,
        shape=np.array([plan.features[f].groups for f in axes], dtype=np.int64),
        out=np.zeros(out_starts[-1], dtype=np.int64),
        out_starts=out_starts,
    )


def require_pair_memory(columns: Sequence[str], sizes: Sequence[int], max_bytes: int = MAX_BYTES) -> None:
    """Refuse tables of all pairs that together would take more than `max_bytes`."""
    total = 8 * count_pair_cells(sizes)
    if total <= max_bytes:
        return
    order = sorted(range(len(sizes)), key=lambda j: -sizes[j])[:3]
    largest = ", ".join(f"'{columns[j]}' ({sizes[j]:,})" for j in order)
    raise TableTooLargeError(
        f"the tables of all {len(sizes) * (len(sizes) - 1) // 2:,} pairs of columns would have {total // 8:,} cells, "
        f"more than fit into {max_bytes / 1e9:,.1f} GB; use coarser grids (bins) for the largest columns: {largest}"
    )


def count_pair_cells(sizes: Sequence[int]) -> int:
    """Return the number of cells of the tables of all pairs: ((sum s)^2 - sum s^2) / 2."""
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2


def exact_pair_counts(rows: CountedRows, columns: Sequence[str], lookups: Sequence[Lookup]) -> Ints:
    """Count the tables of the pairs (0, 1), (0, 2), ..., one after the other, each with its later column fastest."""
    if all(len(lookup) == 2 and lookup[0] == 0 and lookup[1] == 1 for lookup in lookups):
        (ones, total), (first, second) = exact_pair_ones(rows, columns), np.triu_indices(len(columns), 1)
        single = ones.diagonal()
        return fill_two_by_two(ones[first, second], single[first], single[second], total).ravel()
    specs: list[TableSpec] = [
        ((columns[j], columns[k]), (lookups[j], lookups[k])) for j, k in combinations(range(len(columns)), 2)
    ]
    return np.concatenate([table.ravel() for table in exact_counts(rows, specs)])

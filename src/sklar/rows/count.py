"""Exact counts of many tables in one pass over the codes: integers, the same whatever the number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.rows.binary import BinaryWork, SinglesWork, binary_work, known_singles, singles_work
from sklar.rows.job import Rows
from sklar.rows.part import CodedPart
from sklar.rows.plan import MAX_BYTES, Plan, TableSpec, plan_counts
from sklar.rows.tally import TallyWork, tally_works

Counts = npt.NDArray[np.int64]
DERIVED_CELLS = 1 << 20
"""A table may be summed out of a bigger one of up to this size instead of being counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountJob:
    """The counts of all tables of a plan."""

    plan: Plan

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self.plan.shape(table) for table in range(len(self.plan.tables)))

    def __call__(self, rows: CodedPart) -> tuple[Counts, ...]:
        found = _count_plan(rows, self.plan)
        return tuple(found[table] for table in range(len(self.plan.tables)))


def exact_counts(rows: Rows, specs: Sequence[TableSpec], *, max_bytes: int = MAX_BYTES) -> tuple[Counts, ...]:
    """Count all tables in one pass.

    Args:
        rows: The private rows.
        specs: For each table its columns, and one lookup from base code to group a column, or None for base codes.
        max_bytes: Refuse, before any row is read, tables that together would take more.

    Returns:
        One int64 array a table; axis j has as many entries as column j has codes, or its lookup groups.
    """
    plan = plan_counts(rows.schema, specs, max_bytes)
    found = known_singles(rows, plan) or rows.summed(CountJob(plan=plan))
    given: set[int] = set()
    answers: list[Counts] = []
    for answer in plan.answers:
        answers.append(found[answer].copy() if answer in given else found[answer])
        given.add(answer)
    return tuple(answers)


def _count_plan(rows: CodedPart, plan: Plan) -> dict[int, Counts]:
    """Counts of each of the plan's tables: binary pairs by their bits, some by summing others, the rest row by row."""
    binary = binary_work(plan)
    done = {*binary.pairs, *binary.singles} if binary else set[int]()
    derived = _derivable(plan, done)
    rest = [t for t in range(len(plan.tables)) if t not in done and t not in derived]
    singles = singles_work(plan, rest)
    works: list[BinaryWork | SinglesWork | TallyWork] = [work for work in (binary, singles) if work is not None]
    works += tally_works(plan, [t for t in rest if singles is None or t not in singles.tables])
    with ThreadPoolExecutor(rows.threads) as pool:
        for batch in rows.batches(plan.columns):
            for work in works:
                work.add(batch, pool, rows.threads)
    found: dict[int, Counts] = {}
    for work in works:
        found |= work.counts()
    for table, (bigger, axis) in derived.items():
        found[table] = found[bigger].sum(axis=tuple(a for a in range(len(plan.tables[bigger])) if a != axis))
    return found


def _derivable(plan: Plan, done: set[int]) -> dict[int, tuple[int, int]]:
    """For one-way tables, a counted table of moderate size with the same feature, and the feature's axis in it."""
    singles = {axes[0]: t for t, axes in enumerate(plan.tables) if len(axes) == 1 and t not in done}
    found: dict[int, tuple[int, int]] = {}
    for table, axes in enumerate(plan.tables if singles else ()):
        if len(axes) > 1 and any(f in singles for f in axes) and plan.cells(table) <= DERIVED_CELLS:
            found |= {singles.pop(f): (table, axis) for axis, f in enumerate(axes) if f in singles}
    return found

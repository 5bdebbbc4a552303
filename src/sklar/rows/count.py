"""Exact counts of many tables in one pass over the codes: integers, the same whatever the number of threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.rows.plan import MAX_BYTES, Plan, TableSpec, plan_counts
from sklar.rows.table import CodeBatch, EncodedRows

Counts = npt.NDArray[np.int64]
STACK_BYTES = 64 << 20
"""Features are recoded for as many rows at a time as fit here."""


def exact_counts(rows: EncodedRows, specs: Sequence[TableSpec], *, max_bytes: int = MAX_BYTES) -> tuple[Counts, ...]:
    """Count all tables in one pass.

    Args:
        rows: The private rows.
        specs: For each table its columns, and one lookup from base code to group a column, or None for base codes.
        max_bytes: Refuse, before any row is read, tables that together would take more.

    Returns:
        One int64 array a table; axis j has as many entries as column j has codes, or its lookup groups.
    """
    plan = plan_counts(rows.schema, specs, max_bytes)
    found = _count_plan(rows, plan)
    given: set[int] = set()
    answers: list[Counts] = []
    for answer in plan.answers:
        answers.append(found[answer].copy() if answer in given else found[answer])
        given.add(answer)
    return tuple(answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Tables that share a width of codes, laid out for the kernel.

    Attributes:
        features: Features by number, in the order of the stack's rows.
        dtype: Type of the stack.
        tables: The plan's tables by number.
        axes: Rows of the stack for all axes, table after table, from axis_starts[t].
        out: Counts of all tables, table t from out_starts[t].
    """

    features: tuple[int, ...]
    dtype: np.dtype[Any]
    tables: tuple[int, ...]
    axes: npt.NDArray[np.int64]
    axis_starts: npt.NDArray[np.int64]
    shape: npt.NDArray[np.int64]
    out: Counts
    out_starts: npt.NDArray[np.int64]


def _count_plan(rows: EncodedRows, plan: Plan) -> list[Counts]:
    works = [_work(plan, tables, dtype) for dtype, tables in _by_width(plan)]
    with ThreadPoolExecutor(rows.threads) as pool:
        for batch in rows.batches(plan.columns):
            for work in works:
                _count_batch(batch, plan, work, pool, rows.threads)
    found: dict[int, Counts] = {}
    for work in works:
        for at, table in enumerate(work.tables):
            counts = work.out[work.out_starts[at] : work.out_starts[at + 1]]
            found[table] = counts.reshape(plan.shape(table))
    return [found[table] for table in range(len(plan.tables))]


def _by_width(plan: Plan) -> list[tuple[np.dtype[Any], list[int]]]:
    """Tables by the narrowest type that holds the codes of all their features."""
    groups: dict[str, list[int]] = {}
    for table in range(len(plan.tables)):
        largest = max(plan.shape(table), default=1)
        groups.setdefault(np.min_scalar_type(max(largest - 1, 0)).name, []).append(table)
    return [(np.dtype(name), tables) for name, tables in groups.items()]


def _work(plan: Plan, tables: Sequence[int], dtype: np.dtype[Any]) -> Work:
    features = tuple(dict.fromkeys(f for t in tables for f in plan.tables[t]))
    place = {feature: at for at, feature in enumerate(features)}
    axes = [place[f] for t in tables for f in plan.tables[t]]
    shape = [plan.features[f].groups for t in tables for f in plan.tables[t]]
    axis_starts = np.cumsum([0, *(len(plan.tables[t]) for t in tables)])
    out_starts = np.cumsum([0, *(math.prod(plan.shape(t)) for t in tables)])
    return Work(
        features=features, dtype=dtype, tables=tuple(tables), axes=np.array(axes, dtype=np.int64),
        axis_starts=axis_starts.astype(np.int64), shape=np.array(shape, dtype=np.int64),
        out=np.zeros(out_starts[-1], dtype=np.int64), out_starts=out_starts.astype(np.int64),
    )  # fmt: skip


def _count_batch(batch: CodeBatch, plan: Plan, work: Work, pool: ThreadPoolExecutor, threads: int) -> None:
    from sklar.rows.kernels.tallies import tally

    height = max(1, STACK_BYTES // max(1, len(work.features) * work.dtype.itemsize))
    for start in range(0, batch.rows, height):
        stack = _stack(batch, slice(start, min(start + height, batch.rows)), plan, work, pool)
        shares = [np.arange(k, len(work.tables), threads) for k in range(min(threads, len(work.tables)))]

        def count(share: npt.NDArray[np.int64], stack: Any = stack) -> None:
            tally(stack, work.axes, work.axis_starts, work.shape, work.out, work.out_starts, share)

        list(pool.map(count, shares))


def _stack(batch: CodeBatch, part: slice, plan: Plan, work: Work, pool: ThreadPoolExecutor) -> npt.NDArray[Any]:
    """The features of some rows of a batch, one row of the matrix each."""
    from sklar.rows.kernels.tallies import recode

    place = {name: at for at, name in enumerate(plan.columns)}
    stack = np.empty((len(work.features), part.stop - part.start), dtype=work.dtype)

    def fill(at: int) -> None:
        feature = plan.features[work.features[at]]
        codes = batch.codes[place[feature.column]][part]
        if feature.lookup is None:
            stack[at] = codes
        else:
            recode(codes, feature.lookup.astype(work.dtype), stack[at])

    list(pool.map(fill, range(len(work.features))))
    return stack

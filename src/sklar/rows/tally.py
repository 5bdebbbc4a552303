"""Counting tables row by row: features stacked in the narrowest type that holds them, tables shared out to threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.rows.batch import CodeBatch
from sklar.rows.plan import Plan

Counts = npt.NDArray[np.int64]
STACK_BYTES = 32 << 20
"""Features are recoded for as many rows at a time as fit here."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TallyWork:
    """Tables that share a width of codes, laid out for the kernel.

    Attributes:
        plan: What is counted.
        tables: The plan's tables by number.
        features: The plan's features by number, in the order of the stack's rows.
        places: For each of them, the place of its column in a batch.
        lookups: For each of them, its lookup in the type of the stack.
        dtype: Type of the stack.
        axes: Rows of the stack for all axes, table after table, from axis_starts[t].
        axis_starts: Where the axes of each table start.
        shape: Number of codes along each of the axes.
        out: Counts of all tables, table t from out_starts[t].
        out_starts: Where the counts of each table start.
    """

    plan: Plan
    tables: tuple[int, ...]
    features: tuple[int, ...]
    places: tuple[int, ...]
    lookups: tuple[npt.NDArray[Any] | None, ...]
    dtype: np.dtype[Any]
    axes: npt.NDArray[np.int64]
    axis_starts: npt.NDArray[np.int64]
    shape: npt.NDArray[np.int64]
    out: Counts
    out_starts: npt.NDArray[np.int64]

    def add(self, batch: CodeBatch, pool: ThreadPoolExecutor, threads: int) -> None:
        """Add a batch of rows to all tables; each thread counts its own tables, so no two write to the same cell."""
        from sklar.rows.kernels.tallies import tally

        height = max(1, STACK_BYTES // max(1, len(self.features) * self.dtype.itemsize))
        shares = [np.arange(k, len(self.tables), threads) for k in range(min(threads, len(self.tables)))]
        for start in range(0, batch.rows, height):
            stack = self._stack(batch, slice(start, min(start + height, batch.rows)), pool, threads)
            layout = (stack, self.axes, self.axis_starts, self.shape, self.out, self.out_starts)
            for future in [pool.submit(tally, *layout, share) for share in shares]:
                future.result()

    def counts(self) -> dict[int, Counts]:
        """The counts so far, by the plan's table."""
        bounds = zip(self.tables, self.out_starts[:-1], self.out_starts[1:], strict=True)
        return {table: self.out[low:high].reshape(self.plan.shape(table)) for table, low, high in bounds}

    def _stack(self, batch: CodeBatch, part: slice, pool: ThreadPoolExecutor, threads: int) -> npt.NDArray[Any]:
        """The features of some rows of a batch, one row of the matrix each."""
        from sklar.rows.kernels.tallies import recode

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


def tally_works(plan: Plan, tables: Sequence[int]) -> list[TallyWork]:
    """Group tables by the narrowest type that holds the codes of all their features."""
    groups: dict[str, list[int]] = {}
    for table in tables:
        largest = max(plan.shape(table), default=1)
        groups.setdefault(np.min_scalar_type(max(largest - 1, 0)).name, []).append(table)
    return [_work(plan, group, np.dtype(name)) for name, group in groups.items()]


def _work(plan: Plan, tables: Sequence[int], dtype: np.dtype[Any]) -> TallyWork:
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

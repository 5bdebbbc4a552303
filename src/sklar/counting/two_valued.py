"""Counts of features with two codes, and of pairs of them, by bits: one AND and one bit count serve 64 rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.counting.batches import CodeBatch, PackedBits
from sklar.counting.jobs import CodedPart, CountedRows
from sklar.counting.plans import CountingPlan, Feature, plan_counts
from sklar.errors import UsageError

MIN_BINARY_PAIRS = 32
"""Least number of pairs to be counted by bits; fewer are counted row by row with the other tables."""
MIN_PAIR_SHARE = 1 / 8
"""Least share of requested pairs among all pairs of the features: all of them are counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinaryWork:
    """All pairs of a set of binary features.

    Attributes:
        pairs: The plan's tables of two binary features.
        singles: The plan's tables of one of these features.
        features: The binary features by number, in the order of the bit rows.
        ones: ones[i, j], for i <= j: number of rows where features i and j both have code 1.
        rows: Number of rows so far, in an array of one.
    """

    plan: CountingPlan
    pairs: tuple[int, ...]
    singles: tuple[int, ...]
    features: tuple[int, ...]
    ones: Ints
    rows: Ints

    def add(self, batch: CodeBatch, pool: ThreadPoolExecutor, threads: int) -> None:
        """Add a batch of rows; each thread counts its own block of pairs."""
        from sklar.counting.bits import BLOCK_FEATURES, count_pair_ones

        bits = np.zeros((len(self.ones), -(-batch.rows // 64)), dtype=np.uint64)
        place = {name: at for at, name in enumerate(self.plan.columns)}

        def fill(at: int) -> None:
            feature = self.plan.features[self.features[at]]
            row = _pack_bits(batch, place[feature.column], feature)
            bits[at].view(np.uint8)[: len(row)] = row

        list(pool.map(fill, range(len(self.features)), chunksize=16))
        # Later blocks pair with more features: dealing them out in turn keeps the threads even.
        blocks = np.arange(-(-len(self.ones) // BLOCK_FEATURES))[::-1]
        ones = self.ones if batch.weight == 1 else np.zeros_like(self.ones)
        for future in [pool.submit(count_pair_ones, bits, ones, blocks[k::threads].copy()) for k in range(threads)]:
            future.result()
        if batch.weight != 1:
            ones *= batch.weight
            np.add(self.ones, ones, out=self.ones)
        self.rows[0] += batch.rows * batch.weight

    def counts(self) -> dict[int, Ints]:
        """Return the tables so far."""
        single, total = self.ones.diagonal(), self.rows[0]
        row = np.zeros(len(self.plan.features), dtype=np.int64)
        row[list(self.features)] = np.arange(len(self.features))
        alone = {t: single[row[self.plan.tables[t][0]]] for t in self.singles}
        at = row[np.array([self.plan.tables[t] for t in self.pairs])]
        both = self.ones[at.min(axis=1), at.max(axis=1)]
        cells = fill_two_by_two(both, single[at[:, 0]], single[at[:, 1]], total).reshape(-1, 2, 2)
        return dict(zip(self.pairs, cells, strict=True)) | {t: np.array([total - n, n]) for t, n in alone.items()}


def fill_two_by_two(both: Ints, left: Ints, right: Ints, total: int) -> Ints:
    """Return tables of pairs, one line each, from the numbers of rows with both codes 1, either code 1, and all."""
    return np.stack([total - left - right + both, right - both, left - both, both], axis=1)


def plan_binary_pairs(plan: CountingPlan) -> BinaryWork | None:
    """Return the work for the plan's binary pairs, if there are enough of them."""
    two = [feature.groups == 2 for feature in plan.features]
    pairs = tuple(t for t, axes in enumerate(plan.tables) if len(axes) == 2 and two[axes[0]] and two[axes[1]])
    known = {f for t in pairs for f in plan.tables[t]}
    if len(pairs) < max(MIN_BINARY_PAIRS, MIN_PAIR_SHARE * len(known) ** 2 / 2):
        return None
    singles = tuple(t for t, axes in enumerate(plan.tables) if len(axes) == 1 and axes[0] in known)
    return _make_binary_work(plan, pairs, singles, tuple(sorted(known)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SinglesWork:
    """One-way tables of features of two codes: the number of rows with code 1 in each, and of all rows, so far."""

    plan: CountingPlan
    tables: tuple[int, ...]
    ones: Ints
    rows: Ints

    def add(self, batch: CodeBatch, pool: ThreadPoolExecutor, threads: int) -> None:
        """Add a batch of rows, in one thread: the work is too small to be divided."""
        from sklar.counting.bits import count_ones

        place = {name: at for at, name in enumerate(self.plan.columns)}
        for at, table in enumerate(self.tables):
            feature = self.plan.features[self.plan.tables[table][0]]
            self.ones[at] += batch.weight * count_ones(_pack_bits(batch, place[feature.column], feature))
        self.rows[0] += batch.rows * batch.weight

    def counts(self) -> dict[int, Ints]:
        return {t: np.array([self.rows[0] - n, n]) for t, n in zip(self.tables, self.ones, strict=True)}


def plan_singles(plan: CountingPlan, tables: Sequence[int]) -> SinglesWork | None:
    """Return the work for those tables that have one feature of two codes, without a lookup."""
    chosen = tuple(t for t in tables if len(plan.tables[t]) == 1 and _is_bits(plan.features[plan.tables[t][0]]))
    if not chosen:
        return None
    zeros = np.zeros(len(chosen), dtype=np.int64)
    return SinglesWork(plan=plan, tables=chosen, ones=zeros, rows=np.zeros(1, dtype=np.int64))


def _is_bits(feature: Feature) -> bool:
    return feature.groups == 2 and feature.lookup is None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnesJob:
    """Counts the rows in which both of two of the plan's features have code 1 (valid for i <= j), and all rows."""

    plan: CountingPlan

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((len(self.plan.features), len(self.plan.features)), (1,))

    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]:
        work = _make_binary_work(self.plan, (), (), tuple(range(len(self.plan.features))))
        with ThreadPoolExecutor(rows.threads) as pool:
            for batch in rows.batches(self.plan.columns):
                work.add(batch, pool, rows.threads)
        return work.ones[: len(work.features), : len(work.features)], work.rows


def exact_ones(rows: CountedRows, columns: Sequence[str]) -> Ints:
    """Count the rows in which both of two columns, of two codes each, have code 1: a symmetric matrix over columns."""
    return exact_pair_ones(rows, columns)[0]


def exact_pair_ones(rows: CountedRows, columns: Sequence[str]) -> tuple[Ints, int]:
    """Count the rows in which both of two columns have code 1, as a symmetric matrix, and all rows."""
    plan = plan_counts(rows.schema, [((name,), None) for name in columns])
    if any(feature.groups != 2 for feature in plan.features):
        raise UsageError("only columns of exactly two codes can be counted by their bits")
    ones, total = rows.run_job(OnesJob(plan=plan))
    _get_known_ones(rows).update(
        zip((feature.column for feature in plan.features), ones.diagonal().tolist(), strict=True)
    )
    upper = np.triu(ones)
    chosen = np.array(plan.answers, dtype=np.int64)
    return (upper + np.triu(upper, 1).T)[np.ix_(chosen, chosen)], int(total[0])


def reuse_known_singles(rows: CountedRows, plan: CountingPlan) -> tuple[Ints, ...] | None:
    """Return the plan's tables, if all have one feature of two codes whose counts follow from pairs counted before."""
    known = _get_known_ones(rows)
    features = [plan.features[axes[0]] for axes in plan.tables if len(axes) == 1]
    if len(features) < len(plan.tables) or not all(_is_bits(f) and f.column in known for f in features):
        return None
    ones = [known[feature.column] for feature in features]
    return tuple(np.array([rows.exact_rows - n, n], dtype=np.int64) for n in ones)


def _get_known_ones(rows: CountedRows) -> dict[str, int]:
    """Return the stored numbers of rows with code 1, by column; empty for rows that do not store them."""
    return {} if rows.votes else getattr(rows, "known_ones", {})


def _make_binary_work(
    plan: CountingPlan, pairs: tuple[int, ...], singles: tuple[int, ...], features: tuple[int, ...]
) -> BinaryWork:
    from sklar.counting.bits import TILE

    width = -(-len(features) // TILE) * TILE
    ones = np.zeros((width, width), dtype=np.int64)
    return BinaryWork(
        plan=plan, pairs=pairs, singles=singles, features=features, ones=ones, rows=np.zeros(1, dtype=np.int64)
    )


def _pack_bits(batch: CodeBatch, place: int, feature: Feature) -> npt.NDArray[np.uint8]:
    """Return bytes with one bit per row, set where the feature has code 1; bits beyond the last row are zero."""
    column = batch.columns[place]
    if isinstance(column, PackedBits) and feature.lookup is None:
        return column.data
    codes = batch.part(place, slice(0, batch.rows))
    values = codes if feature.lookup is None else feature.lookup.astype(np.uint8)[codes]
    return np.packbits(values, bitorder="little")

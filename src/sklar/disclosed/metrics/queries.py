"""Counting queries on real and synthetic tables: conjunctions of one to three values, ranges, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.errors import UsageError

Bits = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK_ROWS = 1 << 18
"""Float32 holds counts up to 2^24 exactly, so products are summed over blocks of fewer rows."""
BLOCK_BYTES = 1 << 26
SHARES = (0.9, 0.95, 0.99, 1.0)
_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinaryTable:
    """A table of zeros and ones, one column per value of an original column.

    Attributes:
        bits: One row per row.
        owner: The original column of each binary column.
    """

    bits: Bits
    owner: Ints

    def __post_init__(self) -> None:
        if self.bits.ndim != 2 or self.bits.shape[1] != len(self.owner):
            raise UsageError("a binary table needs one owner for each of its columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """Average and largest absolute error of the given share of queries, those with the smallest errors."""

    share: float
    average: float
    largest: float


def binary_table(groups: npt.NDArray[np.integer], sizes: Sequence[int]) -> BinaryTable:
    """One binary column per group of every column."""
    columns = [groups[:, j, None] == np.arange(size) for j, size in enumerate(sizes)]
    bits = np.concatenate([np.zeros((len(groups), 0), dtype=bool), *columns], axis=1).astype(np.uint8)
    return BinaryTable(bits=bits, owner=np.repeat(np.arange(len(sizes)), sizes).astype(np.int64))


def one_way(table: BinaryTable) -> Floats:
    """Q1: rows with 0, then rows with 1, in every binary column."""
    ones = table.bits.sum(axis=0, dtype=np.int64).astype(np.float64)
    return np.concatenate([len(table.bits) - ones, ones])


def pair_matrix(table: BinaryTable) -> Floats:
    """Rows with 1 in both, for every two binary columns."""
    total = np.zeros((len(table.owner), len(table.owner)))
    for start in range(0, len(table.bits), BLOCK_ROWS):
        block = table.bits[start : start + BLOCK_ROWS].astype(np.float32)
        total += block.T @ block
    return total


def two_way_places(owner: Ints) -> tuple[Ints, Ints]:
    """The pairs of Q2: binary columns of distinct original columns."""
    first, second = np.triu_indices(len(owner), 1)
    apart = owner[first] != owner[second]
    return first[apart], second[apart]


def two_way(table: BinaryTable) -> Floats:
    """Q2: rows with 1 in both of two binary columns of distinct original columns."""
    return pair_matrix(table)[two_way_places(table.owner)]


def three_way_places(owner: Ints, queries: int, rng: np.random.Generator) -> Ints:
    """Random triples of Q3, with repeats left out: binary columns of three distinct original columns."""
    if len(np.unique(owner)) < 3:
        return np.zeros((0, 3), dtype=np.int64)
    found = np.zeros((0, 3), dtype=np.int64)
    for _ in range(20):
        drawn = np.sort(rng.integers(0, len(owner), (2 * queries, 3)), axis=1)
        own = owner[drawn]
        apart = (own[:, 0] != own[:, 1]) & (own[:, 0] != own[:, 2]) & (own[:, 1] != own[:, 2])
        found = np.unique(np.concatenate([found, drawn[apart]]), axis=0)
        if len(found) >= queries:
            break
    return rng.permutation(found)[:queries]


def three_way(table: BinaryTable, places: Ints) -> Floats:
    """Q3: rows with 1 in all three binary columns, by bits: eight rows a byte."""
    packed = np.packbits(table.bits, axis=0).T.copy()
    step = max(1, BLOCK_BYTES // max(packed.shape[1], 1))
    counts = np.empty(len(places), dtype=np.float64)
    for start in range(0, len(places), step):
        a, b, c = places[start : start + step].T
        counts[start : start + step] = _ONES[packed[a] & packed[b] & packed[c]].sum(axis=1, dtype=np.int64)
    return counts


def error_lines(real: Floats, synthetic: Floats, shares: Sequence[float] = SHARES) -> tuple[ErrorLine, ...]:
    """(alpha, beta) errors: average and largest error over the best 1 - beta of the queries."""
    errors = np.sort(np.abs(real - synthetic))
    lines: list[ErrorLine] = []
    for share in shares:
        best = errors[: max(1, round(share * len(errors)))] if len(errors) else np.zeros(1)
        lines.append(ErrorLine(share=share, average=float(best.mean()), largest=float(best[-1])))
    return tuple(lines)


def correlated(pairs: Floats, rows: int, places: tuple[Ints, Ints], least: float = 0.5) -> npt.NDArray[np.bool_]:
    """Which pairs of binary columns have a correlation of at least `least` in absolute value."""
    share = pairs / max(rows, 1)
    p = share.diagonal()
    spread = np.sqrt(p * (1 - p))
    product = spread[places[0]] * spread[places[1]]
    covariance = share[places] - p[places[0]] * p[places[1]]
    return np.abs(np.divide(covariance, product, out=np.zeros_like(covariance), where=product > 0)) >= least


def independent_answers(ones: Floats, rows: int, places: Sequence[Ints]) -> Floats:
    """The answers of no-cor: products of one-way shares."""
    answer = np.full(len(places[0]), float(rows))
    for place in places:
        answer *= ones[place] / max(rows, 1)
    return answer


def noisy_answers(real: Floats, kind: str, scale: float, rng: np.random.Generator) -> Floats:
    """The references Lap and Gauss: noise on every answer, for comparison only."""
    if kind not in ("laplace", "gaussian"):
        raise UsageError(f"noise must be laplace or gaussian; {kind!r} was given")
    return real + (rng.laplace if kind == "laplace" else rng.normal)(0.0, scale, real.shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeQueries:
    """Ranges of codes, ends included: one line a query, one column a column."""

    low: Ints
    high: Ints


def random_ranges(
    sizes: Sequence[int], queries: int, rng: np.random.Generator, *, cells: float | None = None
) -> RangeQueries:
    """Random ranges over all columns, by default any two ends; with `cells`, about that many cells in each box.

    With `cells` the logarithms of the widths are drawn at random so that they sum to log cells.
    """
    sides = np.array(sizes, dtype=np.int64)
    if cells is None:
        ends = np.sort(rng.integers(0, sides, (2, queries, len(sides))), axis=0)
        return RangeQueries(low=ends[0], high=ends[1])
    most = np.log(sides)
    logs = rng.dirichlet(np.ones(len(sides)), queries) * min(np.log(max(cells, 1.0)), most.sum())
    for _ in range(8):  # what a column cannot take goes to the others, by their room
        over, logs = np.maximum(logs - most, 0.0).sum(axis=1, keepdims=True), np.minimum(logs, most)
        room = most - logs
        logs += over * room / np.maximum(room.sum(axis=1, keepdims=True), 1e-12)
    width = np.clip(np.round(np.exp(logs)), 1, sides).astype(np.int64)
    low = np.floor(rng.random(width.shape) * (sides - width + 1)).astype(np.int64)
    return RangeQueries(low=low, high=low + width - 1)


def range_counts(codes: npt.NDArray[np.integer], queries: RangeQueries) -> Floats:
    """Rows inside each box."""
    columns = [np.ascontiguousarray(codes[:, j]) for j in range(codes.shape[1])]
    counts = np.empty(len(queries.low))
    for q, (low, high) in enumerate(zip(queries.low, queries.high, strict=True)):
        inside = np.ones(len(codes), dtype=bool)
        for j, column in enumerate(columns):
            inside &= (column >= low[j]) & (column <= high[j])
        counts[q] = np.count_nonzero(inside)
    return counts


def relative_errors(real: Floats, synthetic: Floats, sanity: float = 1.0) -> Floats:
    """|synthetic - real| / max(real, s) for every query; s keeps empty queries from ruling the average."""
    return np.abs(synthetic - real) / np.maximum(real, sanity)

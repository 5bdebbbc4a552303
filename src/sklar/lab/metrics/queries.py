"""Counting queries as analysts ask them: random ranges, and conjunctions of one to three values, with their errors.

The score is the mean over random ranges of |share_synthetic - share_real| / max(share_real, s) with the sanity bound
s = 0.1% of the rows: 0 is exact, lower is better. Each range is over two or three ordered columns, on the coarse
public grid. The curves show, for conjunctions of one, two and three values, the largest absolute error (as a share of
the rows) among the best answered queries. Reference: Li et al. (2014) for ranges, Asghar et al. (2020) for the
conjunctions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_codes, ordered_names

ROWS = 50_000
"""Rows of each table that are used."""
RANGES = 600
"""Ranges in all: more make the mean steadier, and each reads all rows once."""
SETS = 30
"""Sets of columns; each gets RANGES / SETS ranges."""
TRIPLES = 2_000
"""Conjunctions of three values that are asked, of all there are."""
CELLS = 1_500
"""Columns are drawn at random until their cells reach this number."""
SANITY = 0.001
"""The bound s, as a share of the rows: it keeps nearly empty ranges from ruling the mean."""
LEVELS = tuple(np.linspace(0.5, 0.99, 50).tolist())
"""The worst one percent is left out of the curves: a single query would set their scale."""
ABOUT = About(
    name="range_queries",
    title="Range queries: relative error",
    says="Relative error of counts in random ranges of two or three ordered columns, averaged.",
    reference="Li et al. 2014",
    lower=0.0, upper=1.0 / SANITY, better="lower", good=0.10, fair=0.30,
)  # fmt: skip
BLOCK_ROWS = 1 << 18
"""Float32 holds counts up to 2^24 exactly, so products are summed over blocks of fewer rows."""
BLOCK_BYTES = 1 << 26
"""Bits of conjunctions that are held at once."""
SHARES = (0.9, 0.95, 0.99, 1.0)
"""Of the queries, those answered best, whose errors are told by default (Asghar et al. 2020)."""
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCurves:
    """Errors of conjunctions by name: the largest one among the share of queries that are answered best."""

    levels: tuple[float, ...]
    curves: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeQueries:
    """Ranges of codes, ends included: one line a query, one column a column."""

    low: Ints
    high: Ints


def range_score(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> Score:
    """Mean relative error of random ranges."""
    names = ordered_names(real.schema)
    if len(names) < 2:
        return not_applicable(ABOUT, "there are no two ordered columns.")
    errors: list[float] = []
    for _ in range(SETS):
        some = [names[i] for i in rng.choice(len(names), min(len(names), int(rng.integers(2, 4))), replace=False)]
        ranges = random_ranges([grid.sizes[name] for name in some], RANGES // SETS, rng)
        one, two = (range_counts(coarse_codes(t, grid, some).T, ranges) / t.rows for t in (real, synthetic))
        errors += relative_errors(one, two, SANITY).tolist()
    return Score(about=ABOUT, value=float(np.mean(errors)), rows=min(real.rows, synthetic.rows))


def random_ranges(sizes: Sequence[int], queries: int, rng: np.random.Generator) -> RangeQueries:
    """Random ranges over all columns, between any two ends."""
    ends = np.sort(rng.integers(0, np.array(sizes), (2, queries, len(sizes))), axis=0)
    return RangeQueries(low=ends[0], high=ends[1])


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


def error_curves(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> ErrorCurves:
    """Ask both tables the same conjunctions of one, two and three values."""
    some = _columns(real, grid, rng)
    sizes = [grid.sizes[name] for name in some]
    tables = [binary_table(coarse_codes(table, grid, some).T, sizes) for table in (real, synthetic)]
    places = three_way_places(tables[0].owner, TRIPLES, rng)
    answers = {
        "one value": [one_way(table) / len(table.bits) for table in tables],
        "two values": [two_way(table) / len(table.bits) for table in tables],
        "three values": [three_way(table, places) / len(table.bits) for table in tables],
    }
    curves = tuple(
        (name, tuple(line.largest for line in error_lines(one, two, LEVELS)))
        for name, (one, two) in answers.items()
        if len(one)
    )
    return ErrorCurves(levels=LEVELS, curves=curves)


def _columns(table: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> list[str]:
    chosen: set[str] = set()
    cells = 0
    for at in rng.permutation(len(table.names)).tolist():
        size = grid.sizes[table.names[at]]
        if not chosen or cells + size <= CELLS:
            chosen.add(table.names[at])
            cells += size
    return [name for name in table.names if name in chosen]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinaryTable:
    """A table of zeros and ones, one column per value of an original column, which is its owner."""

    bits: npt.NDArray[np.uint8]
    owner: Ints

    def __post_init__(self) -> None:
        if self.bits.ndim != 2 or self.bits.shape[1] != len(self.owner):
            raise UsageError("a binary table needs one owner for each of its columns")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """Average and largest absolute error of the given share of queries, those with the smallest errors."""

    share: float
    average: float
    largest: float


def error_lines(real: Floats, synthetic: Floats, shares: Sequence[float] = SHARES) -> tuple[ErrorLine, ...]:
    """(alpha, beta) errors: average and largest error over the best 1 - beta of the queries."""
    errors = np.sort(np.abs(real - synthetic))
    lines: list[ErrorLine] = []
    for share in shares:
        best = errors[: max(1, round(share * len(errors)))] if len(errors) else np.zeros(1)
        lines.append(ErrorLine(share=share, average=float(best.mean()), largest=float(best[-1])))
    return tuple(lines)

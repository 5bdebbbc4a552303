"""Counting queries of analysts: random ranges, and conjunctions of one to three values, with their errors.

The score is the mean over random ranges of |share_synthetic - share_real| / max(share_real, s) with the sanity bound
s = 0.1% of the rows: 0 is exact, lower is better. Each range is over two or three ordered columns, on the coarse
public grid. The profiles report, for conjunctions of one (Q1), two (Q2) and three values (Q3), the average and the
largest absolute error in rows among the 95, 99 and 100% of queries with the smallest errors, with references: products
of shares (no-cor), and noise on each answer (Lap, Gauss). Reference: Li et al. (2014) for ranges, Asghar et al. (2020)
for conjunctions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.accounting.budget import validate_delta, validate_epsilon
from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_codes, ordered_names
from sklar.methods.dpc.textbook import advanced_composition_share, classic_gaussian_sigma

MAX_QUERY_ROWS = 50_000
"""Maximum number of rows of each table."""
RANDOM_RANGES = 600
"""Total number of ranges: more make the mean more stable, and each reads all rows once."""
COLUMN_SETS = 30
"""Number of sets of columns; each has RANDOM_RANGES / COLUMN_SETS ranges."""
MAX_TRIPLES = 20_000
"""Maximum number of conjunctions of three values."""
MAX_QUERY_CELLS = 1_500
"""Columns are drawn at random until their cells reach this number."""
SANITY_BOUND = 0.001
"""The bound s as a share of the rows: it prevents nearly empty ranges from dominating the mean."""
STRONG_CORRELATION = 0.5
"""Pairs of values with at least this absolute correlation are profiled separately."""
MIN_FREQUENT_ROWS = 100
"""Conjunctions of three values with at least this number of rows are profiled separately."""
MIN_PLOTTED_ERROR = 0.1
"""Start of the logarithmic axes of error, in rows."""
ABOUT = About(
    name="range_queries",
    title="Range queries: relative error",
    says="Relative error of counts in random ranges of two or three ordered columns, averaged.",
    reference="Li et al. 2014", upper=1.0 / SANITY_BOUND, good=0.10, fair=0.30,
)  # fmt: skip
BLOCK_ROWS = 1 << 18
"""Float32 represents counts up to 2^24 exactly, so products are summed over blocks of fewer rows."""
BLOCK_BYTES = 1 << 26
"""Bytes of conjunctions in memory at once."""
PROFILED_SHARES = (0.95, 0.99, 1.0)
"""Shares of the queries with the smallest errors that are reported by default (Asghar et al. 2020)."""
NOISES = {"laplace": "Lap", "gaussian": "Gauss"}
"""Noise on each answer, and its name in the paper."""
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeQueries:
    """Ranges of codes with both ends included: one line per query, one column per column."""

    low: Ints
    high: Ints


def range_score(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> Score:
    """Return the mean relative error of random ranges."""
    names = ordered_names(real.schema)
    if len(names) < 2:
        return not_applicable(ABOUT, "there are no two ordered columns.")
    errors: list[float] = []
    for _ in range(COLUMN_SETS):
        some = [names[i] for i in rng.choice(len(names), min(len(names), int(rng.integers(2, 4))), replace=False)]
        ranges = random_ranges([grid.sizes[name] for name in some], RANDOM_RANGES // COLUMN_SETS, rng)
        one, two = (range_counts(coarse_codes(t, grid, some).T, ranges) / t.rows for t in (real, synthetic))
        errors += relative_errors(one, two, SANITY_BOUND).tolist()
    return Score(about=ABOUT, value=float(np.mean(errors)), rows=min(real.rows, synthetic.rows))


def random_ranges(sizes: Sequence[int], queries: int, rng: np.random.Generator) -> RangeQueries:
    """Draw random ranges over all columns, between any two ends."""
    ends = np.sort(rng.integers(0, np.array(sizes), (2, queries, len(sizes))), axis=0)
    return RangeQueries(low=ends[0], high=ends[1])


def range_counts(codes: npt.NDArray[np.integer], queries: RangeQueries) -> Floats:
    """Count the rows inside each range."""
    columns = [np.ascontiguousarray(codes[:, j]) for j in range(codes.shape[1])]
    counts = np.empty(len(queries.low))
    for q, (low, high) in enumerate(zip(queries.low, queries.high, strict=True)):
        inside = np.ones(len(codes), dtype=bool)
        for j, column in enumerate(columns):
            inside &= (column >= low[j]) & (column <= high[j])
        counts[q] = np.count_nonzero(inside)
    return counts


def relative_errors(real: Floats, synthetic: Floats, sanity: float = 1.0) -> Floats:
    """Return |synthetic - real| / max(real, s) for every query; s prevents empty queries from dominating."""
    return np.abs(synthetic - real) / np.maximum(real, sanity)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """Average and largest absolute error of the given share of queries with the smallest errors."""

    share: float
    average: float
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The errors of one source (the synthetic table, or a reference) in a set of queries.

    Attributes:
        lines: Average and largest error among the 95, 99 and 100% of queries with the smallest errors.
        cdf: Share of the queries with at most each of the errors of the set.
    """

    source: str
    lines: tuple[ErrorLine, ...]
    cdf: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """A set of queries: its size, the errors (in rows) at which curves are evaluated, and all answers."""

    name: str
    queries: int
    errors: tuple[float, ...]
    answered: tuple[Answered, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProfiles:
    """Errors of conjunctions of one, two and three values; Lap and Gauss have this epsilon and delta."""

    epsilon: float
    delta: float
    sets: tuple[QuerySet, ...]


def query_profiles(
    tables: tuple[ExactTable, ExactTable], grid: CoarseGrid, budget: tuple[float, float], rng: np.random.Generator
) -> QueryProfiles:
    """Evaluate conjunctions on the real and the synthetic table; errors are in rows of the whole real table."""
    real = tables[0]
    pair = _binary_tables(tables, grid, _draw_columns(real, grid, rng))
    return binary_profiles(pair, real.total, len(real.names), budget, rng)


def binary_profiles(
    tables: tuple[BinaryTable, BinaryTable],
    rows: int,
    columns: int,
    budget: tuple[float, float],
    rng: np.random.Generator,
) -> QueryProfiles:
    """Profile conjunctions of two binary tables, the real one first; errors are scaled to `rows` rows."""
    one, two = tables
    places: list[tuple[Ints, ...]] = [two_way_places(one.owner), tuple(three_way_places(one.owner, MAX_TRIPLES, rng).T)]
    pairs = [pair_matrix(table) / max(len(table.bits), 1) for table in (one, two)]
    exact_q1, q1 = (rows * one_way(table) / len(table.bits) for table in (one, two))
    exact_q2, q2 = (rows * share[places[0]] for share in pairs)
    exact_q3, q3 = (rows * three_way(table, np.column_stack(places[1])) / len(table.bits) for table in (one, two))
    query_sets = [("Q1", exact_q1, {"synthetic": q1})]
    for name, exact, found, at in (("Q2", exact_q2, q2, places[0]), ("Q3", exact_q3, q3, places[1])):
        query_sets.append(
            (name, exact, {"synthetic": found, "no-cor": independent_answers(pairs[0].diagonal(), rows, at)})
        )
    for (_, exact, answers), scales in zip(query_sets, _reference_scales(columns, *budget), strict=True):
        for kind, scale in scales.items():
            answers[NOISES[kind]] = np.maximum(noisy_answers(exact, kind, scale, rng), 0.0)
    strong, many = find_correlated(pairs[0], 1, places[0]), exact_q3 >= MIN_FREQUENT_ROWS
    whole = [(name, exact, answers, np.ones(len(exact), bool)) for name, exact, answers in query_sets]
    parts = [
        (f"Q2, |corr| >= {STRONG_CORRELATION}", *query_sets[1][1:], strong),
        (f"Q2, |corr| < {STRONG_CORRELATION}", *query_sets[1][1:], ~strong),
        (f"Q3, {MIN_FREQUENT_ROWS} rows or more", *query_sets[2][1:], many),
    ]
    sets = tuple(
        _make_query_set(name, exact, answers, kept) for name, exact, answers, kept in [*whole, *parts] if kept.any()
    )
    return QueryProfiles(epsilon=budget[0], delta=budget[1], sets=sets)


def _binary_tables(
    tables: tuple[ExactTable, ExactTable], grid: CoarseGrid, names: list[str]
) -> tuple[BinaryTable, BinaryTable]:
    """Make the binary tables of some columns, without `other` and null if neither table has them."""
    sizes = [grid.sizes[name] for name in names]
    one, two = (binary_table(coarse_codes(table, grid, names).T, sizes) for table in tables)
    listed = np.concatenate([np.arange(grid.sizes[name]) < grid.value_cells[name] for name in names])
    kept = listed | (one.bits.any(axis=0) | two.bits.any(axis=0))
    first, second = (BinaryTable(bits=table.bits[:, kept], owner=table.owner[kept]) for table in (one, two))
    return first, second


def _make_query_set(name: str, exact: Floats, answers: Mapping[str, Floats], kept: npt.NDArray[np.bool_]) -> QuerySet:
    errors = {source: np.sort(np.abs(found - exact)[kept]) for source, found in answers.items()}
    most = max(MIN_PLOTTED_ERROR * 10, *(float(found[-1]) for found in errors.values()))
    axis = np.geomspace(MIN_PLOTTED_ERROR, most, 60)
    answered = [
        Answered(
            source=source, lines=error_lines(exact[kept], answers[source][kept]),
            cdf=tuple((np.searchsorted(found, axis, side="right") / len(found)).tolist()),
        )
        for source, found in errors.items()
    ]  # fmt: skip
    return QuerySet(
        name=name, queries=int(kept.sum()), errors=tuple(axis.tolist()), answered=tuple(answered)
    )  # fmt: skip


def check_query_budget(budget: Sequence[float]) -> tuple[float, float]:
    """Check epsilon and delta of the references Lap and Gauss."""
    if len(budget) != 2:
        raise UsageError(f"the budget of the queries must be (epsilon, delta); found {budget!r}")
    return validate_epsilon(budget[0]), validate_delta(budget[1])


def _reference_scales(columns: int, epsilon: float, delta: float) -> list[dict[str, float]]:
    """Return the noise scales of the answers to Q1, Q2 (one budget for both) and Q3 (its own), as in section 4.4.

    Lap: 2 / epsilon' with epsilon' by advanced composition over the tables, epsilon / tables at delta 0. Gauss:
    equation 2.1 with L2 sensitivity sqrt(2 tables), which has a proof for a delta above 0 and epsilon below 1 only.
    """
    both, triples = columns + math.comb(columns, 2), max(math.comb(columns, 3), 1)
    found: list[dict[str, float]] = []
    for tables in (both, both, triples):
        share = advanced_composition_share(epsilon, tables, delta) if delta else epsilon / tables
        found.append({"laplace": 2 / share})
        if delta and epsilon < 1:
            found[-1]["gaussian"] = classic_gaussian_sigma(epsilon, delta, math.sqrt(2 * tables))
    return found


def find_correlated(
    pairs: Floats, rows: int, places: tuple[Ints, ...], least: float = STRONG_CORRELATION
) -> npt.NDArray[np.bool_]:
    """Return a mask of the pairs of binary columns with an absolute correlation of at least `least`."""
    share = pairs / max(rows, 1)
    p = share.diagonal()
    spread = np.sqrt(p * (1 - p))
    product = spread[places[0]] * spread[places[1]]
    covariance = share[places] - p[places[0]] * p[places[1]]
    return np.abs(np.divide(covariance, product, out=np.zeros_like(covariance), where=product > 0)) >= least


def independent_answers(shares: Floats, rows: int, places: Sequence[Ints]) -> Floats:
    """Return the answers of no-cor: products of one-way shares."""
    return rows * np.prod([shares[place] for place in places], axis=0)


def noisy_answers(exact: Floats, kind: str, scale: float, rng: np.random.Generator) -> Floats:
    """Add noise to every answer, for the references Lap and Gauss only (it gives no protection)."""
    if kind not in NOISES:
        raise UsageError(f"noise must be one of {', '.join(NOISES)}; found {kind!r}")
    return exact + (rng.laplace if kind == "laplace" else rng.normal)(0.0, scale, exact.shape)


def _draw_columns(table: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> list[str]:
    chosen: set[str] = set()
    cells = 0
    for at in rng.permutation(len(table.names)).tolist():
        size = grid.sizes[table.names[at]]
        if not chosen or cells + size <= MAX_QUERY_CELLS:
            chosen.add(table.names[at])
            cells += size
    return [name for name in table.names if name in chosen]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinaryTable:
    """A table of zeros and ones, one column per value of an original column (its owner)."""

    bits: npt.NDArray[np.uint8]
    owner: Ints

    def __post_init__(self) -> None:
        if self.bits.ndim != 2 or self.bits.shape[1] != len(self.owner):
            raise UsageError("a binary table needs one owner for each of its columns")


def binary_table(groups: npt.NDArray[np.integer], sizes: Sequence[int]) -> BinaryTable:
    """Make one binary column per group of every column."""
    columns = [groups[:, j, None] == np.arange(size) for j, size in enumerate(sizes)]
    bits = np.concatenate([np.zeros((len(groups), 0), dtype=bool), *columns], axis=1).astype(np.uint8)
    return BinaryTable(bits=bits, owner=np.repeat(np.arange(len(sizes)), sizes).astype(np.int64))


def one_way(table: BinaryTable) -> Floats:
    """Answer Q1: rows with 0, then rows with 1, in every binary column."""
    ones = table.bits.sum(axis=0, dtype=np.int64).astype(np.float64)
    return np.concatenate([len(table.bits) - ones, ones])


def pair_matrix(table: BinaryTable) -> Floats:
    """Count the rows with 1 in both, for every two binary columns."""
    total = np.zeros((len(table.owner), len(table.owner)))
    for start in range(0, len(table.bits), BLOCK_ROWS):
        block = table.bits[start : start + BLOCK_ROWS].astype(np.float32)
        total += block.T @ block
    return total


def two_way_places(owner: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of Q2: binary columns of distinct original columns."""
    first, second = np.triu_indices(len(owner), 1)
    apart = owner[first] != owner[second]
    return first[apart], second[apart]


def two_way(table: BinaryTable) -> Floats:
    """Answer Q2: rows with 1 in both of two binary columns of distinct original columns."""
    return pair_matrix(table)[two_way_places(table.owner)]


def three_way_places(owner: Ints, queries: int, rng: np.random.Generator) -> Ints:
    """Draw random triples of Q3 without repeats: binary columns of three distinct original columns."""
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
    """Answer Q3: rows with 1 in all three binary columns, packed to eight rows per byte."""
    packed = np.packbits(table.bits, axis=0).T.copy()
    step = max(1, BLOCK_BYTES // max(packed.shape[1], 1))
    counts = np.empty(len(places), dtype=np.float64)
    for start in range(0, len(places), step):
        a, b, c = places[start : start + step].T
        counts[start : start + step] = _ONES[packed[a] & packed[b] & packed[c]].sum(axis=1, dtype=np.int64)
    return counts


def error_lines(real: Floats, synthetic: Floats, shares: Sequence[float] = PROFILED_SHARES) -> tuple[ErrorLine, ...]:
    """Return (alpha, beta) errors: average and largest error over the best 1 - beta of the queries."""
    errors = np.sort(np.abs(real - synthetic))
    lines: list[ErrorLine] = []
    for share in shares:
        best = errors[: max(1, round(share * len(errors)))] if len(errors) else np.zeros(1)
        lines.append(ErrorLine(share=share, average=float(best.mean()), largest=float(best[-1])))
    return tuple(lines)

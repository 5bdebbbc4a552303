"""Range-count queries: the published workload over all columns, and rare ranges of a few.

As in Li et al. (2014, section 5.1): SELECT COUNT(*) WHERE A_1 in I_1 AND ... AND A_m in I_m, an interval drawn from the
domain of every one of the m columns (the codes of the schema; labels in their order, then `other` and null), and
    RE(q) = |A_noisy(q) - A_act(q)| / max(A_act(q), s),   ABS(q) = |A_noisy(q) - A_act(q)|,
averaged over 1,000 queries. s is a sanity bound in rows (1 in the paper; 10 for Brazil) or a share of them (0.05% for
the US census). Figure 8 asks ranges of a fixed size: the product of the widths is the same for all queries. Answers are
counts as of the real table's number of rows, so that tables of other sizes can be asked as well. 0 is exact.

Nearly all ranges over many columns are empty, and of nearly empty ones a fresh sample knows no more. So `rare_ranges`
asks for ranges of two or three ordered columns that hold between 20 rows and 1% of them, and tells the median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.lab.metrics.queries import RangeQueries, random_ranges, range_counts, relative_errors
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_codes, ordered_names

QUERIES = 1_000
"""As in the paper."""
MOST_QUERIES = 100_000
"""Each reads all rows once."""
ROWS = 200_000
"""Rows of each table that are used; answers are scaled."""
RARE_ROWS = 50_000
"""Rows of each table in which rare ranges are sought."""
SETS, TRIED = 40, 30
"""Sets of columns, and ranges tried of each, in search of rare ones."""
FEWEST = 20
"""Rows that a rare range holds at least, and the sanity bound of its error: a fresh sample's count of so many rows is
itself off by a third (the root of 2 / 20), so below it chance is measured and not a method."""
RARE = 0.01
"""Share of the rows that a rare range holds at most (or three times FEWEST, in small tables)."""
ENOUGH = 20
"""Rare ranges that a median is taken of, at least."""
RELATIVE = About(
    name="range_relative_error",
    title="Ranges over all columns: relative error",
    says="Relative error of counts in random ranges over all columns, with a sanity bound, averaged.",
    reference="Li et al. 2014, section 5.1",
    lower=0.0, upper=math.inf, better="lower", good=0.10, fair=0.30,
)  # fmt: skip
ABSOLUTE = About(
    name="range_absolute_error",
    title="Ranges over all columns: absolute error",
    says="Absolute error, in rows, of counts in random ranges over all columns, averaged.",
    reference="Li et al. 2014, section 5.1",
    lower=0.0, upper=math.inf, better="lower", good=10.0, fair=50.0,
)  # fmt: skip
RARE_ABOUT = About(
    name="rare_ranges",
    title="Rare ranges: median relative error",
    says=f"Relative error of counts in ranges of two or three ordered columns that hold {FEWEST} rows to {RARE:.0%}.",
    reference="after Li et al. 2014",
    lower=0.0, upper=math.inf, better="lower", good=0.15, fair=0.45,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeWorkload:
    """What is asked.

    Attributes:
        queries: How many ranges.
        sanity: The bound s: rows, or a share of the rows with a percent sign, as "0.05%".
        cells: Cells of every range, the product of its widths; None for ranges of any size.
    """

    queries: int = QUERIES
    sanity: float | str = 1.0
    cells: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.queries, bool) or not 1 <= self.queries <= MOST_QUERIES:
            raise UsageError(f"range queries must be 1 to {MOST_QUERIES:,}; found {self.queries!r}.")
        if self.cells is not None and not (math.isfinite(self.cells) and self.cells >= 1):
            raise UsageError(f"ranges of a fixed size have at least one cell; found {self.cells!r}.")
        self.sanity_rows(1)

    def sanity_rows(self, rows: int) -> float:
        """The sanity bound as a number of rows."""
        text = str(self.sanity).strip()
        try:
            bound = float(text.rstrip("%"))
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound) or bound <= 0:
            raise UsageError(
                f"the sanity bound is a number of rows above 0, or a share of them as 0.05%; found {self.sanity!r}."
            )
        return bound / 100 * rows if text.endswith("%") else bound


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeErrors:
    """What a workload found: averages of RE and of ABS, and the median of RE."""

    queries: int
    sanity: float
    cells: float | None
    relative: float
    relative_median: float
    absolute: float


def range_errors(
    real: ExactTable, synthetic: ExactTable, workload: RangeWorkload, rng: np.random.Generator
) -> RangeErrors:
    """Ask both tables the same ranges over all columns."""
    sizes = [real.schema[name].size for name in real.names]
    if workload.cells is None:
        ranges = random_ranges(sizes, workload.queries, rng)
    else:
        ranges = ranges_of_size(sizes, workload.cells, workload.queries, rng)
    one, two = (range_counts(_codes(table), ranges) / table.rows * real.total for table in (real, synthetic))
    bound = workload.sanity_rows(real.total)
    relative = relative_errors(one, two, bound)
    return RangeErrors(
        queries=workload.queries, sanity=bound, cells=workload.cells, relative=float(relative.mean()),
        relative_median=float(np.median(relative)), absolute=float(np.abs(one - two).mean()),
    )  # fmt: skip


def _codes(table: ExactTable) -> npt.NDArray[np.integer]:
    return np.stack([table.codes[name] for name in table.names], axis=1)


def relative_score(real: ExactTable, synthetic: ExactTable, workload: RangeWorkload, rng: np.random.Generator) -> Score:
    """The mean of RE, with all that was found behind it."""
    found = range_errors(real, synthetic, workload, rng)
    return Score(about=RELATIVE, value=found.relative, rows=min(real.rows, synthetic.rows), behind=found)


def absolute_score(relative: Score) -> Score:
    """The mean of ABS over the same ranges."""
    return replace(relative, about=ABSOLUTE, value=relative.behind.absolute, floor=None)


def ranges_of_size(sizes: Sequence[int], cells: float, queries: int, rng: np.random.Generator) -> RangeQueries:
    """Random ranges with about so many cells in each box: the logarithms of the widths sum to that of `cells`."""
    sides: Ints = np.asarray(sizes, dtype=np.int64)
    most = np.log(sides)
    logs = rng.dirichlet(np.ones(len(sides)), queries) * min(np.log(max(cells, 1.0)), most.sum())
    for _ in range(8):  # what a column cannot take goes to the others, by their room
        over, logs = np.maximum(logs - most, 0.0).sum(axis=1, keepdims=True), np.minimum(logs, most)
        room = most - logs
        logs += over * room / np.maximum(room.sum(axis=1, keepdims=True), 1e-12)
    width = np.clip(np.round(np.exp(logs)), 1, sides).astype(np.int64)
    low = np.floor(rng.random(width.shape) * (sides - width + 1)).astype(np.int64)
    return RangeQueries(low=low, high=low + width - 1)


def rare_score(
    real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator, rows: int | None = None
) -> Score:
    """Median relative error of rare ranges; `rows` (by default the real ones) are those that FEWEST is counted in."""
    names = ordered_names(real.schema)
    if len(names) < 2:
        return not_applicable(RARE_ABOUT, "there are no two ordered columns.")
    least = FEWEST / (rows or real.rows)
    most = max(RARE, 3 * least)
    errors: list[float] = []
    for _ in range(SETS):
        some = [names[i] for i in rng.choice(len(names), min(len(names), int(rng.integers(2, 4))), replace=False)]
        ranges = random_ranges([grid.sizes[name] for name in some], TRIED, rng)
        one = range_counts(coarse_codes(real, grid, some).T, ranges) / real.rows
        rare = (one >= least) & (one <= most)
        kept = RangeQueries(low=ranges.low[rare], high=ranges.high[rare])
        two = range_counts(coarse_codes(synthetic, grid, some).T, kept) / synthetic.rows
        errors += relative_errors(one[rare], two, least).tolist()
    if len(errors) < ENOUGH:
        return not_applicable(RARE_ABOUT, f"hardly any range holds {FEWEST} rows to {most:.0%} of them.")
    return Score(about=RARE_ABOUT, value=float(np.median(errors)), rows=min(real.rows, synthetic.rows))

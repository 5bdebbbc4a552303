"""Range-count queries: the published workload over all columns, and rare ranges of a few columns.

As in Li et al. (2014, section 5.1): SELECT COUNT(*) WHERE A_1 in I_1 AND ... AND A_m in I_m, with a random interval of
the domain of each of the m columns (the codes of the schema; labels in their order, then `other` and null), and
    RE(q) = |A_noisy(q) - A_act(q)| / max(A_act(q), s),   ABS(q) = |A_noisy(q) - A_act(q)|,
averaged over 1,000 queries. s is a sanity bound in rows (1 in the paper; 10 for Brazil) or a share of them (0.05% for
the US census). Figure 8 has ranges of a fixed size: the product of the widths is the same for all queries. Answers are
scaled to the real table's number of rows, so that tables of other sizes can be compared. 0 is exact.

Nearly all ranges over many columns are empty, and counts of nearly empty ones are noisy even in a fresh sample. So
`rare_ranges` uses ranges of two or three ordered columns with between 20 rows and 1% of them, and reports the median.
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

DEFAULT_RANGES = 1_000
"""Number of ranges, as in the paper."""
MAX_RANGES = 100_000
"""Maximum number of ranges: each reads all rows once."""
MAX_RANGE_ROWS = 200_000
"""Maximum number of rows of each table; answers are scaled."""
MAX_RARE_RANGE_ROWS = 50_000
"""Maximum number of rows of each table for rare ranges."""
RARE_COLUMN_SETS, RANGES_PER_SET = 40, 30
"""Sets of columns, and ranges of each, that are searched for rare ones."""
MIN_RARE_ROWS = 20
"""Minimum number of rows of a rare range, and the sanity bound of its error: a fresh sample's count of this number is
itself off by a third (the root of 2 / 20), so smaller ranges would measure chance and not a method."""
MAX_RARE_SHARE = 0.01
"""Maximum share of the rows of a rare range (or three times MIN_RARE_ROWS, in small tables)."""
MIN_RARE_RANGES = 20
"""Minimum number of rare ranges for a median."""
RELATIVE = About(
    name="range_relative_error",
    title="Ranges over all columns: relative error",
    says="Relative error of counts in random ranges over all columns, with a sanity bound, averaged.",
    reference="Li et al. 2014, section 5.1", upper=math.inf, good=0.10, fair=0.30,
)  # fmt: skip
ABSOLUTE = About(
    name="range_absolute_error",
    title="Ranges over all columns: absolute error",
    says="Absolute error, in rows, of counts in random ranges over all columns, averaged.",
    reference="Li et al. 2014, section 5.1", upper=math.inf, good=10.0, fair=50.0,
)  # fmt: skip
RARE_ABOUT = About(
    name="rare_ranges",
    title="Rare ranges: median relative error",
    says=f"Relative error of counts in ranges of two or three ordered columns with {MIN_RARE_ROWS} rows to "
    f"{MAX_RARE_SHARE:.0%}.",
    reference="after Li et al. 2014", upper=math.inf, good=0.15, fair=0.45,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeWorkload:
    """Range queries over all columns.

    Attributes:
        queries: Number of ranges.
        sanity: The bound s: rows, or a share of the rows with a percent sign, as "0.05%".
        cells: Cells of every range, the product of its widths; None for ranges of any size.
    """

    queries: int = DEFAULT_RANGES
    sanity: float | str = 1.0
    cells: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.queries, bool) or not 1 <= self.queries <= MAX_RANGES:
            raise UsageError(f"range queries must be 1 to {MAX_RANGES:,}; found {self.queries!r}.")
        if self.cells is not None and not (math.isfinite(self.cells) and self.cells >= 1):
            raise UsageError(f"ranges of a fixed size must have at least one cell; found {self.cells!r}.")
        self.sanity_rows(1)

    def sanity_rows(self, rows: int) -> float:
        """Return the sanity bound as a number of rows."""
        text = str(self.sanity).strip()
        try:
            bound = float(text.rstrip("%"))
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound) or bound <= 0:
            raise UsageError(
                f"the sanity bound must be a number of rows above 0, or a share such as 0.05%; found {self.sanity!r}."
            )
        return bound / 100 * rows if text.endswith("%") else bound


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeErrors:
    """The errors of a workload: averages of RE and of ABS, and the median of RE."""

    queries: int
    sanity: float
    cells: float | None
    relative: float
    relative_median: float
    absolute: float


def range_errors(
    real: ExactTable, synthetic: ExactTable, workload: RangeWorkload, rng: np.random.Generator
) -> RangeErrors:
    """Evaluate the same ranges over all columns on both tables."""
    sizes = [real.schema[name].size for name in real.names]
    if workload.cells is None:
        ranges = random_ranges(sizes, workload.queries, rng)
    else:
        ranges = ranges_of_size(sizes, workload.cells, workload.queries, rng)
    one, two = (range_counts(_stack_codes(table), ranges) / table.rows * real.total for table in (real, synthetic))
    bound = workload.sanity_rows(real.total)
    relative = relative_errors(one, two, bound)
    return RangeErrors(
        queries=workload.queries, sanity=bound, cells=workload.cells, relative=float(relative.mean()),
        relative_median=float(np.median(relative)), absolute=float(np.abs(one - two).mean()),
    )  # fmt: skip


def _stack_codes(table: ExactTable) -> npt.NDArray[np.integer]:
    return np.stack([table.codes[name] for name in table.names], axis=1)


def relative_score(real: ExactTable, synthetic: ExactTable, workload: RangeWorkload, rng: np.random.Generator) -> Score:
    """Return the mean of RE, with all errors as details."""
    found = range_errors(real, synthetic, workload, rng)
    return Score(about=RELATIVE, value=found.relative, rows=min(real.rows, synthetic.rows), behind=found)


def absolute_score(relative: Score) -> Score:
    """Return the mean of ABS over the same ranges."""
    return replace(relative, about=ABSOLUTE, value=relative.behind.absolute, floor=None)


def ranges_of_size(sizes: Sequence[int], cells: float, queries: int, rng: np.random.Generator) -> RangeQueries:
    """Draw random ranges with about `cells` cells each: the logarithms of the widths sum to that of `cells`."""
    sides: Ints = np.asarray(sizes, dtype=np.int64)
    most = np.log(sides)
    logs = rng.dirichlet(np.ones(len(sides)), queries) * min(np.log(max(cells, 1.0)), most.sum())
    for _ in range(8):  # the excess of a column is distributed over the others by their remaining room
        over, logs = np.maximum(logs - most, 0.0).sum(axis=1, keepdims=True), np.minimum(logs, most)
        room = most - logs
        logs += over * room / np.maximum(room.sum(axis=1, keepdims=True), 1e-12)
    width = np.clip(np.round(np.exp(logs)), 1, sides).astype(np.int64)
    low = np.floor(rng.random(width.shape) * (sides - width + 1)).astype(np.int64)
    return RangeQueries(low=low, high=low + width - 1)


def rare_score(
    real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator, rows: int | None = None
) -> Score:
    """Return the median relative error of rare ranges; MIN_RARE_ROWS is relative to `rows` (the real ones if None)."""
    names = ordered_names(real.schema)
    if len(names) < 2:
        return not_applicable(RARE_ABOUT, "there are no two ordered columns.")
    least = MIN_RARE_ROWS / (rows or real.rows)
    most = max(MAX_RARE_SHARE, 3 * least)
    errors: list[float] = []
    for _ in range(RARE_COLUMN_SETS):
        some = [names[i] for i in rng.choice(len(names), min(len(names), int(rng.integers(2, 4))), replace=False)]
        ranges = random_ranges([grid.sizes[name] for name in some], RANGES_PER_SET, rng)
        one = range_counts(coarse_codes(real, grid, some).T, ranges) / real.rows
        rare = (one >= least) & (one <= most)
        kept = RangeQueries(low=ranges.low[rare], high=ranges.high[rare])
        two = range_counts(coarse_codes(synthetic, grid, some).T, kept) / synthetic.rows
        errors += relative_errors(one[rare], two, least).tolist()
    if len(errors) < MIN_RARE_RANGES:
        return not_applicable(RARE_ABOUT, f"hardly any range has {MIN_RARE_ROWS} rows to {most:.0%} of them.")
    return Score(about=RARE_ABOUT, value=float(np.median(errors)), rows=min(real.rows, synthetic.rows))

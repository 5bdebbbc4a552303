"""NIST's k-marginal score (SDNist) over pairs of columns, and the share of real rows that is as close.

**k-marginal.** 1000 (1 - mean total variation distance over all pairs of columns), in bins from the real rows: numbers
by twentieths of their real ranks, except whole numbers of at most 20 values, which are kept, as are labels and nulls.
With an area, every table is counted within areas, so that it has three columns. Reference: Task, Bhagat and Howarth
(2023), SDNist v2. SDNist keeps one code of one column (POVPIP 501) apart and cuts DENSITY by its logarithm; neither is
done here.

**As close as a share of the real rows.** A random part of the real rows misses the tables of all of them, too. The
share whose mean distance is that of the synthetic table is a number that needs no scale. A fresh sample of the same
population and size is as close as a third of the rows: its distance has twice the variance of a part's,
2 / n = (1 - p) / (p n).
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.metrics.tvd import harmonic_mean, margin_distances
from sklar.lab.tables.table import ExactTable

MAX_KEPT_VALUES, RANK_BINS = 20, 20
"""Whole numbers of at most this many values are kept; others are cut into this number of bins. Both are SDNist's."""
MAX_PAIRS_COMPARED = 2_000
"""More pairs (of 64 columns) are sampled: their mean is then known to a hundredth of their spread."""
SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Shares of the real rows whose distances are measured; distances of other shares are interpolated."""
MAX_SHARE_ROWS = 200_000
"""Maximum number of rows of each table for the share: each of its parts is counted once."""
MIN_PART_ROWS = 5
"""Parts with fewer rows are not measured."""
ABOUT = About(
    name="k_marginal", title="NIST's k-marginal score, of 1000",
    says="1000 minus 1000 times the mean share of rows that differ between the tables of two columns.",
    reference="Task, Bhagat and Howarth 2023", lower=0.0, upper=1000.0, better="higher", good=970.0, fair=900.0,
)  # fmt: skip
SHARE_ABOUT = About(
    name="real_rows_share", title="As close as this share of the real rows",
    says="A random part of the real rows with this share of them has pair tables as close to the real ones. A fresh "
    "sample of the same size would have a third.",
    reference="baselines of SDNist 2023", better="higher", good=0.2, fair=0.05,
)  # fmt: skip
Stack = npt.NDArray[Any]


def rank_codes(real: ExactTable, other: ExactTable) -> tuple[Stack, Stack, list[int]]:
    """Return both tables in SDNist's bins, one matrix row per column, and the number of bins of each column."""
    left, right, sizes = list[Any](), list[Any](), list[int]()
    for name in real.names:
        one, two, size = _rank_column(real, other, name)
        left.append(one)
        right.append(two)
        sizes.append(size)
    return np.array(left, dtype=np.int32), np.array(right, dtype=np.int32), sizes


def _rank_column(real: ExactTable, other: ExactTable, name: str) -> tuple[Any, Any, int]:
    column: Any = real.schema[name]
    if name not in real.numbers or (column.kind == "integer" and column.upper - column.lower < MAX_KEPT_VALUES):
        size = int(max(real.codes[name].max(), other.codes[name].max())) + 1
        return real.codes[name], other.codes[name], size
    values, made = real.numbers[name], other.numbers[name]
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return np.isnan(values), np.isnan(made), 2
    first, last = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
    ranks = (first + last + 1) / 2 / len(known)  # of ties, the mean
    bins = np.minimum((ranks * RANK_BINS).astype(np.int64), RANK_BINS - 1)
    tops = np.full(RANK_BINS, -np.inf)
    np.maximum.at(tops, bins[~np.isnan(values)], values[~np.isnan(values)])
    used = np.flatnonzero(np.isfinite(tops))
    place = np.searchsorted(tops[used], made).clip(max=len(used) - 1)
    return (
        np.where(np.isnan(values), RANK_BINS, bins),
        np.where(np.isnan(made), RANK_BINS, used[place]),
        RANK_BINS + 1,
    )


def _compared(names: tuple[str, ...], area: str | None) -> list[tuple[int, ...]]:
    """Return the tables, as positions of columns: all pairs, within areas if there are any."""
    alone = [at for at, name in enumerate(names) if name != area]
    pairs = list(combinations(alone, 2))
    if len(pairs) > MAX_PAIRS_COMPARED:
        pairs = [pairs[at] for at in np.linspace(0, len(pairs) - 1, MAX_PAIRS_COMPARED).astype(int)]
    return pairs if area is None else [(names.index(area), *pair) for pair in pairs]


def pair_distance(real: ExactTable, other: ExactTable, area: str | None = None) -> float | None:
    """Return the mean total variation distance over pairs in SDNist's bins; None with fewer than two columns."""
    sets = _compared(real.names, area)
    if not sets:
        return None
    return float(margin_distances(*rank_codes(real, other), sets).mean())


def k_marginal(real: ExactTable, synthetic: ExactTable, fresh: tuple[ExactTable, ExactTable] | None = None) -> Score:
    """Return the score, with that of a fresh sample as its floor if there are two disjoint real samples."""
    found = pair_distance(real, synthetic)
    if found is None:
        return not_applicable(ABOUT, "the tables have fewer than two columns.")
    floor = None
    if fresh is not None and (apart := pair_distance(*fresh)) is not None:
        sizes = [harmonic_mean(one.rows, two.rows) for one, two in (fresh, (real, synthetic))]
        floor = 1000.0 * (1.0 - min(1.0, apart * math.sqrt(sizes[0] / sizes[1])))
    return Score(
        about=ABOUT, value=1000.0 * (1.0 - found), floor=floor, rows=min(real.rows, synthetic.rows), behind=found
    )


def real_rows_share(
    real: ExactTable, synthetic: ExactTable, rng: np.random.Generator, area: str | None = None
) -> Score:
    """Return the share of the real rows whose pair tables are as close to all real rows as the synthetic ones."""
    sets = _compared(real.names, area)
    if not sets or real.rows < 2 * MIN_PART_ROWS:
        return not_applicable(SHARE_ABOUT, "the tables have fewer than two columns, or too few rows.")
    left, right, sizes = rank_codes(real, synthetic)
    found = float(margin_distances(left, right, sizes, sets).mean())
    shares = [share for share in SHARES if share * real.rows >= MIN_PART_ROWS]
    order = rng.permutation(real.rows)
    curve: Floats = np.array(
        [margin_distances(left, left[:, order[: round(share * real.rows)]], sizes, sets).mean() for share in shares]
    )
    value, note = _share_at(np.array(shares), curve, found)
    return Score(about=SHARE_ABOUT, value=value, rows=min(real.rows, synthetic.rows), reason=note)


def _share_at(shares: Floats, distances: Floats, found: float) -> tuple[float, str | None]:
    """Interpolate the share on logarithmic odds, against which the logarithm of the distance is nearly straight."""
    if found >= distances[0]:
        return float(shares[0]), f"at most {shares[0]:.1%}: smaller parts were not measured."
    if found <= distances[-1]:
        return float(shares[-1]), f"at least {shares[-1]:.0%}."
    apart = distances > 0  # a part may have exactly the tables of all rows
    odds = np.log(shares[apart] / (1 - shares[apart]))
    at = float(np.interp(math.log(found), np.log(distances[apart][::-1]), odds[::-1]))
    return 1.0 / (1.0 + math.exp(-at)), None

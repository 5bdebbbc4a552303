r"""Private selection: scores of candidates, how far one person moves a score, and discoveries of labels.

**Table distance.** |sum |x - e| - sum |x' - e|| <= sum |x - x'|, the L1 change of the counts: one row is in one cell,
so rows_per_person under add/remove and twice that under replace. Estimates and bonuses are fixed before rows are read.
This holds for the floats that are computed, too: all are whole multiples of 2^-16 below 2^36 (tables have fewer than
2^35 rows), or of 2^-20 below 2^32 (fewer than 2^31 votes), and float64 adds such numbers exactly.

**Tail norms.** Dropping low frequencies is a projection after an orthogonal transform, so the norms of two histograms'
tails differ by at most the Euclidean distance of the histograms: rows_per_person when rows come or go, sqrt(2) times
that when they move. `NORM_ROUNDING` is for rounding. The transform is off by at most 7 u log2(m) of the norm of a
histogram of m bins, u = 2^-53 (see `sklar.accounting.composition.tilted`), which is at most the number of rows: for
fewer than 2^33 rows and 2^24 bins by 1.7 x 10^-4, and so are the norms of its tails. Sums of squares are taken in
pairs, off by 30 u of themselves, so norms by 15 u, which is 1.5 x 10^-5; the penalty adds less. Two neighbours make
less than 4 x 10^-4.

**Split norms.** The histograms that are even on given runs are a linear space, and the best runs choose the nearest of
finitely many such spaces. A distance from a set moves no more than the histogram itself: the bound of tail norms holds
here, too. (The square of it, which Xu et al. 2013 score by, moves by up to twice the largest count and one, which is
private.) Rounding is within `NORM_ROUNDING`: squared distances are sums of at most 64 terms (w s2 - s1^2) / w, none of
them negative, each an exact integer over an integer. They are off by 66 u of themselves, and their roots, which are at
most the number of rows, by 34 u of that: for fewer than 2^33 rows by 3.3 x 10^-5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import DoorError
from sklar.release.counts import Counts, Partitioned
from sklar.release.lookups import Partition, freeze_partition

MAX_SPLIT_BINS = 2048
"""Maximum bins of a histogram that is cut into runs: the search examines all pairs of bins."""
MAX_RUNS = 64
"""Most runs: the rounding errors of more terms than this would exceed `NORM_ROUNDING` (see above)."""
NORM_ROUNDING = 1e-3
"""Margin for rounding in the sensitivity of norms, in rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate(Partitioned):
    """A table that could be measured, and a public estimate of its counts."""

    estimate: Floats

    def __post_init__(self) -> None:
        Partitioned.__post_init__(self)
        if not isinstance(self.estimate, np.ndarray):
            raise DoorError("the estimate of a candidate must be an array of numbers")
        object.__setattr__(self, "estimate", _freeze_floats(self.estimate))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableDistance:
    """Score of a candidate: L1 distance between its exact counts and its public estimate, plus a public bonus."""

    candidates: tuple[Candidate, ...]
    bonuses: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    @property
    def tables(self) -> tuple[Counts, ...]:
        """The tables whose exact counts the scores need."""
        return tuple(Counts(columns=one.columns, partitions=one.partitions) for one in self.candidates)

    def sensitivity(self, unit: Unit) -> float:
        """Return how far one person moves any of the scores (proof above)."""
        return float(unit.l1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _HistogramScore:
    """A score that is computed from one histogram."""

    column: str
    partition: Partition

    @property
    def tables(self) -> tuple[Counts, ...]:
        """The histogram."""
        return (Counts(columns=(self.column,), partitions=(self.partition,)),)

    def sensitivity(self, unit: Unit) -> float:
        """Return how far one person moves any of the scores (proof above)."""
        return float(unit.l2) + NORM_ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TailNorms(_HistogramScore):
    """Score of keeping 1, 2, 3, ... low frequencies of a histogram: minus (norm of what is dropped plus a penalty).

    Attributes:
        partition: Base code -> bin.
        penalties: Public penalty of keeping one frequency, two, ...: the expected norm of their noise.
    """

    penalties: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", freeze_partition(self.partition))
        if not isinstance(self.penalties, np.ndarray) or self.penalties.ndim != 1 or not self.penalties.size:
            raise DoorError("penalties must be a one-dimensional array of numbers")
        object.__setattr__(self, "penalties", _freeze_floats(self.penalties))

    @property
    def count(self) -> int:
        """Number of candidates."""
        return len(self.penalties)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitNorms(_HistogramScore):
    """Score of where the last run of a histogram begins: minus its distance from the means of its runs.

    The first `end` bins are cut into `runs` runs of neighbours, each replaced by its mean. For a beginning of the last
    run at bin runs - 1, runs, ..., end - 1 (candidates 0, 1, ...) the other runs are the best ones before it, and the
    score is minus the Euclidean distance of the histogram from its means.

    Attributes:
        partition: Base code -> bin.
        runs: Number of runs.
        end: Number of bins they cover.
    """

    runs: int
    end: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", freeze_partition(self.partition))
        whole = type(self.runs) is int and type(self.end) is int
        if not whole or not 2 <= self.runs <= min(self.end, MAX_RUNS) or self.end > MAX_SPLIT_BINS:
            raise DoorError(
                f"at most {MAX_SPLIT_BINS:,} bins can be cut, into 2 to {MAX_RUNS} runs of at least one bin"
            )

    @property
    def count(self) -> int:
        """Number of candidates: beginnings of the last run."""
        return self.end - self.runs + 1


Score = TableDistance | TailNorms | SplitNorms


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """A search for labels of a category that the schema does not list and whose counts exceed a threshold.

    Labels of a public list are counted with it, as cells of the same table: a row has one label, listed or not.

    Attributes:
        noise: Added to each label's count.
        threshold: Labels with a noisy count below this are not released; `discovery_settings` sets it from a delta.
        floor: Labels with an exact count below this are not considered, which bounds memory.
        listed: Labels that are known without the rows: their noisy counts are always released.
    """

    column: str
    noise: Noise
    threshold: int
    floor: int
    listed: tuple[str, ...] = ()


def _freeze_floats(values: Floats) -> Floats:
    copy = np.array(values, dtype=np.float64)
    copy.setflags(write=False)
    return copy

"""The Door: the one way for a method to learn anything about the rows, and what may be asked there.

Requests are frozen data, never a callable, which could carry rows out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import DoorError
from sklar.release.features import Feature
from sklar.release.scores import Lookup
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema

T = TypeVar("T")
MOST_SPLIT = 2048
"""Most bins of a histogram that is cut into runs: all pairs of them are looked at."""
MOST_INTERACTING = 1 << 20
"""Most cells of an interaction: whole numbers of so many times the rows must fit into 64 bits."""
MOST_RUNS = 64
"""Most runs: rounding in sums of more errors than this would need more room (see `sklar.private.scores`)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A table of counts over the base codes of some columns."""

    columns: tuple[str, ...]
    noise: Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recoding:
    """Columns, each recoded by an integer lookup from base code to group 0, 1, 2, ..., of its number of base codes."""

    columns: tuple[str, ...]
    lookups: tuple[Lookup, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", tuple(frozen_lookup(x) for x in self.lookups))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of each column."""
        return tuple(int(lookup.max()) + 1 for lookup in self.lookups)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecodedTable(Recoding):
    """A table of counts after recoding each column; columns in the order of the table's axes."""

    noise: Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTables(Recoding):
    """One table of counts for every pair of two or more recoded columns, without a request object for each."""

    noise: Noise

    @property
    def tables(self) -> int:
        """Number of pairs."""
        return len(self.columns) * (len(self.columns) - 1) // 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interaction(Recoding):
    """The part of a table of counts, after recoding, that none of its margins tells; all groups are two or more.

    A row adds the product over axes of (one in its group, minus 1 / groups everywhere): the table minus what its rows,
    columns, ... and total already say. Proved in `sklar.private.interactions`. Noise is in units of counts.
    """

    noise: Noise

    def __post_init__(self) -> None:
        Recoding.__post_init__(self)
        if len(self.columns) < 2 or min(self.shape) < 2 or math.prod(self.shape) > MOST_INTERACTING:
            raise DoorError(f"an interaction has two axes or more, of two groups or more; {MOST_INTERACTING:,} cells")

    @property
    def resolution(self) -> float:
        """Entries are whole multiples of this."""
        return 1.0 / math.prod(self.shape)

    def norms(self, unit: Unit) -> tuple[float, float]:
        """How far one person moves the table, in L1 and in L2; the proof is in `sklar.private.interactions`."""
        return interaction_norms(self.shape, unit)


def interaction_norms(shape: tuple[int, ...], unit: Unit) -> tuple[float, float]:
    """L1 and L2 by which one person moves the interaction of a table of this shape, in units of counts."""
    left = [1 - 1 / size for size in shape]
    one = math.prod(left)
    worst = one if unit.neighbours == "add-remove" else 2 * one / min(left)
    return unit.l1 * 2 ** len(left) * one, unit.rows_per_person * math.sqrt(worst)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate(Recoding):
    """A table that could be measured, and a public estimate of its counts."""

    estimate: Floats

    def __post_init__(self) -> None:
        Recoding.__post_init__(self)
        if not isinstance(self.estimate, np.ndarray):
            raise DoorError("the estimate of a candidate must be an array of numbers")
        object.__setattr__(self, "estimate", _frozen_floats(self.estimate))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableDistance:
    """Score of a candidate: L1 distance between its exact counts and its public estimate, plus a public bonus.

    One row moves one count by one, so it moves each score by at most 1 (add or remove) or 2 (replace).
    """

    candidates: tuple[Candidate, ...]
    bonuses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TailNorms:
    """Score of keeping 1, 2, 3, ... low frequencies of a histogram: minus (norm of what is dropped plus a penalty).

    Attributes:
        lookup: Base code -> bin.
        penalties: Public penalty of keeping one frequency, two, ...: the expected norm of their noise.
    """

    column: str
    lookup: Lookup
    penalties: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", frozen_lookup(self.lookup))
        if not isinstance(self.penalties, np.ndarray) or self.penalties.ndim != 1 or not self.penalties.size:
            raise DoorError("penalties must be a one-dimensional array of numbers")
        object.__setattr__(self, "penalties", _frozen_floats(self.penalties))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitNorms:
    """Score of where the last run of a partition begins: minus the distance of a histogram from what it can tell.

    The first `end` bins are cut into `runs` runs of neighbours, each told by its mean. For a beginning of the last run
    at bin runs - 1, runs, ..., end - 1 (candidates 0, 1, ...) the other runs are the best ones before it, and the score
    is minus the Euclidean distance of the histogram from its means.

    Attributes:
        lookup: Base code -> bin.
        runs: Number of runs.
        end: How many bins they cover.
    """

    column: str
    lookup: Lookup
    runs: int
    end: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", frozen_lookup(self.lookup))
        whole = type(self.runs) is int and type(self.end) is int
        if not whole or not 2 <= self.runs <= min(self.end, MOST_RUNS) or self.end > MOST_SPLIT:
            raise DoorError(f"up to {MOST_SPLIT:,} bins are cut into 2 to {MOST_RUNS} runs, of one bin at least")

    @property
    def candidates(self) -> int:
        """How many beginnings there are."""
        return self.end - self.runs + 1


Score = TableDistance | TailNorms | SplitNorms


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """Labels of a category that the schema does not list, as far as they stand out above a threshold.

    Attributes:
        noise: Put on each label's count.
        threshold: Labels with a noisy count below this are not shown; `discovery_settings` sets it from a delta.
        floor: Labels with an exact count below this are not considered, which bounds memory.
    """

    column: str
    noise: Noise
    threshold: int
    floor: int


def frozen_lookup(lookup: object) -> Lookup:
    """A read-only int32 copy, so that nobody can change it after it was checked."""
    if not isinstance(lookup, np.ndarray) or lookup.dtype.kind not in "iu" or lookup.ndim != 1 or not lookup.size:
        raise DoorError("a lookup must be a one-dimensional array of integers, one group for each base code")
    if lookup.min() < 0 or lookup.max() >= 2**31:
        raise DoorError("groups of a lookup must be numbered from 0")
    if lookup.dtype == np.int32 and not lookup.flags.writeable and lookup.flags.owndata:
        return lookup
    copy = np.array(lookup, dtype=np.int32)
    copy.setflags(write=False)
    return copy


def _frozen_floats(values: Floats) -> Floats:
    copy = np.array(values, dtype=np.float64)
    copy.setflags(write=False)
    return copy


class Door(Protocol):
    """What a method is handed. Each call charges the ledger first, then reads the rows once, then adds noise.

    Attributes:
        allowance: All that this fit may spend.
        rows: The number of rows where it is public (replace-one neighbours), else None.
        prior: What a table that the custodian declares public tells of the columns, or None.
    """

    @property
    def schema(self) -> Schema: ...
    @property
    def allowance(self) -> Allowance: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def prior(self) -> PublicPrior | None: ...

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """Noisy tables of counts over base codes, all from one pass over the rows."""
        ...

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """Noisy tables of counts after recoding columns, all from one pass over the rows."""
        ...

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """Noisy tables of counts of all pairs of some columns, from one pass over the rows."""
        ...

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        """Noisy interactions of tables of counts, all from one pass over the rows."""
        ...

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """A noisy vector of sums of one of the listed features; the noise scale is in the feature's own units."""
        ...

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """The best-scoring candidates, each picked by an exponential mechanism with `epsilon`."""
        ...

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """Labels that the schema does not list and that stand out above a threshold; spends a delta of its own."""
        ...


def settled(door: Door, what: str, value: T) -> T:
    """A decision that a method made from releases, on its way through the Door.

    Most Doors know nothing of it, and it is what it was. One that replays releases with other noise on them gives back
    what was decided on the original ones, so that the method goes on to ask what it asked then.
    """
    known = getattr(door, "settled", None)
    return value if known is None else known(what, value)


def known_columns(door: Door) -> frozenset[str]:
    """Columns of a table that are known whenever a row of its model is drawn; most Doors know of none."""
    return getattr(door, "known", frozenset[str]())

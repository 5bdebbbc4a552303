"""The description of a metric, and its score: a number with its floor, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

MAX_FLOOR_RATIO = 1.5
"""A value up to this multiple of its floor is graded as no worse than a fresh sample: the floor itself is random."""
MIN_INFORMATION = 0.05
"""Minimum weight of a measure of dependence that cannot distinguish independent columns from a fresh sample: small, so
that chance does not decide, but positive, for a table without any dependence."""
MAX_WORST_PARTS = 10
"""Number of parts that are reported as the worst."""
Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Public facts about a metric.

    Attributes:
        name: Short name, as in JSON.
        title: Plain name, as in reports.
        says: Its meaning, in one sentence.
        reference: Source of the definition.
        lower, upper: Smallest and greatest possible value.
        better: The better direction.
        good, fair: Limits of the grades good and fair, regardless of the floor; beyond them, poor.
    """

    name: str
    title: str
    says: str
    reference: str
    good: float
    fair: float
    lower: float = 0.0
    upper: float = 1.0
    better: Better = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The value of a metric for one column, or one set of columns."""

    columns: tuple[str, ...]
    value: float
    floor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The result of a metric.

    Attributes:
        value: The number; None if the metric does not apply.
        floor: The score of a fresh sample of real rows of the same size.
        independent: The score of real columns drawn independently of each other; for measures of dependence only.
        parts: Values by column or set of columns, if the metric is a mean over them.
        rows: Number of rows used of the smaller of the two tables.
        reason: Why there is no number, or a remark about it.
        behind: Details: curves, matrices, learners.
    """

    about: About
    value: float | None
    floor: float | None = None
    independent: float | None = None
    parts: tuple[Part, ...] = ()
    rows: int | None = None
    reason: str | None = None
    behind: Any = field(default=None, compare=False, repr=False)

    @property
    def worst(self) -> tuple[Part, ...]:
        """Return the parts that exceed their floors most."""
        return tuple(sorted(self.parts, key=lambda part: -(part.value - (part.floor or 0.0))))[:MAX_WORST_PARTS]

    @property
    def grade(self) -> str:
        """Grade the value: `sampling` (no worse than a fresh real sample), `good`, `fair`, `poor` or `none`."""
        if self.value is None:
            return "none"
        if (
            self.floor is not None
            and self._compute_loss(self.value) <= MAX_FLOOR_RATIO * self._compute_loss(self.floor) + 1e-12
        ):
            return "sampling"
        for word, limit in (("good", self.about.good), ("fair", self.about.fair)):
            if self._compute_loss(self.value) <= self._compute_loss(limit):
                return word
        return "poor"

    @property
    def position(self) -> float:
        """Return the position of the value between 1 (a fresh real sample) and 0; it is continuous, unlike the grade.

        A measure of dependence is at 0 if all dependence is lost, as with independent columns. (If those score hardly
        worse than a fresh sample, half a floor more is 0.) Others decrease by thirds as the value exceeds its floor by
        the limits of good and of fair, and by twice the latter.
        """
        if self.value is None:
            return 0.0
        floor = 0.0 if self.floor is None else self._compute_loss(self.floor)
        excess = max(0.0, self._compute_loss(self.value) - floor)
        if self.independent is None:
            good, fair = self._compute_loss(self.about.good), self._compute_loss(self.about.fair)
            return float(np.interp(excess, [0.0, good, fair, 2 * fair], [1.0, 2 / 3, 1 / 3, 0.0]))
        span = max(self._compute_loss(self.independent) - floor, (MAX_FLOOR_RATIO - 1) * floor)
        return max(0.0, 1.0 - excess / span) if span > 0 else float(excess == 0)

    @property
    def informativeness(self) -> float:
        """Return how informative a measure of dependence is, from 0 to 1: the loss by independence beyond chance."""
        if not self.independent or self.floor is None:
            return MIN_INFORMATION
        return max(MIN_INFORMATION, 1.0 - self._compute_loss(self.floor) / self._compute_loss(self.independent))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "title": self.about.title, "value": self.value, "floor": self.floor,
            "independent": self.independent, "grade": self.grade,
            "better": self.about.better, "rows": self.rows,
            "range": [self.about.lower, self.about.upper if math.isfinite(self.about.upper) else None],
            "reason": self.reason, "says": self.about.says, "reference": self.about.reference,
            "parts": [{"columns": list(p.columns), "value": p.value, "floor": p.floor} for p in self.parts],
        }  # fmt: skip

    def _compute_loss(self, value: float) -> float:
        return abs(value - (self.about.lower if self.about.better == "lower" else self.about.upper))


def not_applicable(about: About, reason: str) -> Score:
    """Return a score without a number, with the reason."""
    return Score(about=about, value=None, reason=reason)


def mean_score(about: About, parts: Sequence[Part], *, rows: int, reason: str | None = None, why_none: str) -> Score:
    """Return the mean over the parts, or `why_none` if there are none."""
    if not parts:
        return not_applicable(about, why_none)
    floors = [part.floor for part in parts if part.floor is not None]
    floor = math.fsum(floors) / len(floors) if floors else None
    value = math.fsum(part.value for part in parts) / len(parts)
    return Score(about=about, value=value, floor=floor, parts=tuple(parts), rows=rows, reason=reason)


def add_floor(score: Score, fresh: Score, scale: float = 1.0) -> Score:
    """Add the floor: the same metric between two disjoint samples of real rows, times `scale`."""
    if score.value is None or fresh.value is None:
        return score
    known = {part.columns: part.value * scale for part in fresh.parts}
    parts = tuple(replace(part, floor=known.get(part.columns)) for part in score.parts)
    return replace(score, floor=fresh.value * scale, parts=parts)

"""What a metric says about itself, and what it found: a number with its floor, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

NEAR = 1.5
"""A value up to so many times its floor is called no worse than a fresh sample: the floor is itself one draw."""
LEAST_TELLING = 0.05
"""The weight of a measure of dependence that cannot tell independent columns from a fresh sample: next to none, so that
chance does not decide, but some, for a table without any dependence."""
WORST = 10
"""Parts that are told as the worst."""
Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Public facts about a metric.

    Attributes:
        name: Short name, as in JSON.
        title: Plain name, as in reports.
        says: What it measures, in one sentence.
        reference: Where the definition comes from.
        lower, upper: Least and greatest possible value.
        better: Which way is better.
        good, fair: Up to (or from) here a table is called good, or fair, whatever the floor; beyond it, poor.
    """

    name: str
    title: str
    says: str
    reference: str
    lower: float
    upper: float
    better: Better
    good: float
    fair: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The value of a metric for one column, or one set of columns."""

    columns: tuple[str, ...]
    value: float
    floor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a metric found.

    Attributes:
        value: The number; None if the metric does not apply.
        floor: What a fresh sample of real rows of the same size would score.
        independent: What rows would score whose columns are those of the real table, drawn independently of each other;
            for measures of dependence only.
        parts: Values by column or set of columns, where the metric is a mean over them.
        rows: Rows of the smaller of the two tables that were used.
        reason: Why there is no number, or what to know about it.
        behind: What the metric found besides: curves, matrices, learners.
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
        """The parts that exceed their floors most."""
        return tuple(sorted(self.parts, key=lambda part: -(part.value - (part.floor or 0.0))))[:WORST]

    @property
    def grade(self) -> str:
        """One word: `sampling` (no worse than a fresh real sample), `good`, `fair`, `poor` or `none`."""
        if self.value is None:
            return "none"
        if self.floor is not None and self._loss(self.value) <= NEAR * self._loss(self.floor) + 1e-12:
            return "sampling"
        for word, limit in (("good", self.about.good), ("fair", self.about.fair)):
            if self._loss(self.value) <= self._loss(limit):
                return word
        return "poor"

    @property
    def position(self) -> float:
        """Where the value lies between 1, a fresh real sample, and 0; it has no steps, unlike the grade.

        A measure of dependence is at 0 where all dependence is lost: with columns drawn independently of each other,
        whatever the table. (Where those score hardly worse than a fresh sample, half a floor more is 0.) Others fall
        by thirds as the value exceeds its floor by what is called good, by what is called fair, and by twice as much.
        """
        if self.value is None:
            return 0.0
        floor = 0.0 if self.floor is None else self._loss(self.floor)
        excess = max(0.0, self._loss(self.value) - floor)
        if self.independent is None:
            good, fair = self._loss(self.about.good), self._loss(self.about.fair)
            return float(np.interp(excess, [0.0, good, fair, 2 * fair], [1.0, 2 / 3, 1 / 3, 0.0]))
        span = max(self._loss(self.independent) - floor, (NEAR - 1) * floor)
        return max(0.0, 1.0 - excess / span) if span > 0 else float(excess == 0)

    @property
    def telling(self) -> float:
        """How much a measure of dependence can tell here, from 0 to 1: what independence costs beyond chance."""
        if not self.independent or self.floor is None:
            return LEAST_TELLING
        return max(LEAST_TELLING, 1.0 - self._loss(self.floor) / self._loss(self.independent))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "title": self.about.title, "value": self.value, "floor": self.floor,
            "independent": self.independent, "grade": self.grade,
            "better": self.about.better, "rows": self.rows,
            "range": [self.about.lower, self.about.upper if math.isfinite(self.about.upper) else None],
            "reason": self.reason, "says": self.about.says, "reference": self.about.reference,
            "parts": [{"columns": list(p.columns), "value": p.value, "floor": p.floor} for p in self.parts],
        }  # fmt: skip

    def _loss(self, value: float) -> float:
        return abs(value - (self.about.lower if self.about.better == "lower" else self.about.upper))


def not_applicable(about: About, reason: str) -> Score:
    """A score without a number, which says why."""
    return Score(about=about, value=None, reason=reason)


def mean_score(about: About, parts: Sequence[Part], *, rows: int, reason: str | None = None, why_none: str) -> Score:
    """The mean over the parts, or `why_none` if there are none."""
    if not parts:
        return not_applicable(about, why_none)
    floors = [part.floor for part in parts if part.floor is not None]
    return Score(
        about=about,
        value=math.fsum(part.value for part in parts) / len(parts),
        floor=math.fsum(floors) / len(floors) if floors else None,
        parts=tuple(parts),
        rows=rows,
        reason=reason,
    )


def with_floor(score: Score, fresh: Score, scale: float = 1.0) -> Score:
    """The score with the floor taken from the same metric between two disjoint samples of real rows, times `scale`."""
    if score.value is None or fresh.value is None:
        return score
    known = {part.columns: part.value * scale for part in fresh.parts}
    parts = tuple(replace(part, floor=known.get(part.columns)) for part in score.parts)
    return replace(score, floor=fresh.value * scale, parts=parts)

"""What a metric says about itself, and what it found: a number with its floor, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

NEAR = 1.5
"""A value up to so many times its floor is called no worse than a fresh sample: the floor is itself one draw."""
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
        parts: Values by column or set of columns, where the metric is a mean over them.
        rows: Rows of the smaller of the two tables that were used.
        reason: Why there is no number, or what to know about it.
        behind: What the metric found besides: curves, matrices, learners.
    """

    about: About
    value: float | None
    floor: float | None = None
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

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "title": self.about.title, "value": self.value, "floor": self.floor, "grade": self.grade,
            "better": self.about.better, "range": [self.about.lower, self.about.upper], "rows": self.rows,
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

"""Means, ranks and ties over the folds of a comparison.

Two systems are tied if the corrected resampled t interval of their paired differences, fold by fold, holds zero. The
rank of a system is one plus the number of systems that beat it beyond a tie, so tied systems share a rank where
nothing tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sklar.lab.intervals import corrected_resampled_t

RULE = (
    "Two systems are tied if the 95% interval of their paired differences over the folds (corrected resampled t, "
    "Nadeau and Bengio 2003) holds zero. A rank is one plus the number of systems that are better beyond a tie. "
    "Many pairs are looked at, so about one in twenty differences without substance is still called one."
)
Values = Mapping[int, float]
"""A metric of one system by fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a system stands in one metric at one epsilon.

    Attributes:
        system: The system.
        mean: Mean over the folds that ended well; None if there is none.
        half: Half the width of its 95% interval; None with fewer than two folds.
        folds: Folds that ended well.
        rank: One plus the number of systems that are better beyond a tie; None for those that are not ranked.
        first: Whether it is tied with, or is, the best.
    """

    system: str
    mean: float | None
    half: float | None
    folds: int
    rank: int | None
    first: bool


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and half width of the corrected 95% interval; no width of one value."""
    found = corrected_resampled_t(values)
    return found.value, found.high - found.value if math.isfinite(found.high) else None


def tied(one: Values, two: Values) -> bool:
    """Whether nothing tells two systems apart: too few common folds count as a tie."""
    return not _beats(one, two, lower=True) and not _beats(one, two, lower=False)


def _beats(one: Values, two: Values, *, lower: bool) -> bool:
    common = sorted(set(one) & set(two))
    if len(common) < 2:
        return False
    mean, half = interval([one[fold] - two[fold] for fold in common])
    # The last digits of a float are not a difference.
    slack = (half or 0.0) + 1e-12 * max(abs(value) for fold in common for value in (one[fold], two[fold]))
    return (-mean if lower else mean) > slack


def standings(found: Mapping[str, Values], *, lower: bool, ranked: frozenset[str]) -> list[Standing]:
    """All systems in one metric at one epsilon, best mean first, those without a number last.

    Args:
        found: The metric by system and fold.
        lower: Whether lower is better.
        ranked: Systems that are ranked; the others are shown for reference.
    """
    present = {name: values for name, values in found.items() if values}
    ranks = {name: 1 + _better(name, present, lower, ranked) for name in present if name in ranked}
    out: list[Standing] = []
    for name, values in found.items():
        mean, half = interval(list(values.values())) if values else (None, None)
        rank = ranks.get(name)
        out.append(Standing(system=name, mean=mean, half=half, folds=len(values), rank=rank, first=rank == 1))
    sign = 1.0 if lower else -1.0
    return sorted(out, key=lambda s: (s.mean is None, 0.0 if s.mean is None else sign * s.mean))


def _better(name: str, found: Mapping[str, Values], lower: bool, ranked: frozenset[str]) -> int:
    return sum(_beats(values, found[name], lower=lower) for other, values in found.items() if other in ranked)

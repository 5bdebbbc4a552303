"""The plain facts about attacks for a report: numbers and texts only."""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFact:
    """One number of an attack: (value, low, high) of attack, baseline and control."""

    title: str
    says: str
    attack: Range
    baseline: Range | None
    control: Range | None
    ideal: float | None
    worse: str
    alarming: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFact:
    """One attack on one release."""

    title: str
    release: str
    verdict: tuple[str, ...]
    numbers: tuple[NumberFact, ...]
    missing: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    bound: float | None

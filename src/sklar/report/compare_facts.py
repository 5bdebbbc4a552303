"""What a report on a comparison tells, as plain facts: no rows, no data frames."""

from __future__ import annotations

from dataclasses import dataclass

from sklar.report.tradeoff import Tradeoff


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingFact:
    """One system in one measure at one epsilon."""

    system: str
    mean: float | None
    half: float | None
    folds: int
    rank: int | None
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFact:
    """One measure at one epsilon, best system first."""

    name: str
    title: str
    says: str
    better: str
    standings: tuple[StandingFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFact:
    """All measures at one epsilon; None if nothing has a budget."""

    epsilon: float | None
    measures: tuple[MeasureFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFact:
    """One system: what it is, what it promises, and what it took."""

    name: str
    kind: str
    promise: str
    firsts: int
    ranked: int
    seconds: float | None
    peak: float | None
    failed: int
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFact:
    """A system over epsilon: (epsilon, mean, half width). One without a budget has a single point without epsilon."""

    system: str
    points: tuple[tuple[float | None, float, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotFact:
    """One measure over epsilon."""

    title: str
    better: str
    lines: tuple[LineFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureFact:
    """A cell without a table."""

    system: str
    epsilon: float | None
    fold: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareFacts:
    """Everything in a report on a comparison."""

    notice: str
    advice: str
    rule: str
    version: str
    made: str
    rows: int
    columns: int
    folds: int
    delta: float
    target: str | None
    systems: tuple[SystemFact, ...]
    budgets: tuple[BudgetFact, ...]
    plots: tuple[PlotFact, ...]
    tradeoffs: tuple[Tradeoff, ...]
    failures: tuple[FailureFact, ...]
    notes: tuple[str, ...]

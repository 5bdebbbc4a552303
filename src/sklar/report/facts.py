"""The plain facts of a report: numbers and texts only."""

from __future__ import annotations

from dataclasses import dataclass

from sklar.report.attack_facts import AttackFact

Grid = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFact:
    """One metric of one table; `grade` is sampling, good, fair, poor or none."""

    name: str
    title: str
    says: str
    reference: str
    value: float | None
    floor: float | None
    better: str
    grade: str
    rows: int | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginFact:
    """Shares of the cells of one column in both tables."""

    column: str
    kind: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    numeric: bool
    low: str
    high: str
    distance: float
    floor: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixFact:
    """Correlations of both tables; a cell is NaN where it is undefined."""

    measure: str
    columns: tuple[str, ...]
    real: Grid
    synthetic: Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstFact:
    """A column or pair that is reproduced worst."""

    columns: tuple[str, ...]
    value: float
    floor: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFact:
    """Joint shares of two columns in both tables."""

    columns: tuple[str, str]
    real: Grid
    synthetic: Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFact:
    """A curve over levels, for one table."""

    title: str
    x_title: str
    y_title: str
    x: tuple[float, ...]
    lines: tuple[tuple[str, tuple[float, ...]], ...]
    ideal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFact:
    """One measure of one learner, trained on real and on synthetic rows."""

    learner: str
    measure: str
    real: float
    synthetic: float
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GEpsilonFact:
    """The parts of G_eps and G_eps+."""

    mu: float
    mu_mean: float
    delta: float
    nu: float
    weights: tuple[float, float, float]
    targets: tuple[str, ...]
    learners: tuple[str, ...]
    g_epsilon: float
    g_epsilon_plus: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFact:
    """Everything about one synthetic table."""

    name: str
    rows: int
    verdict: tuple[str, ...]
    warnings: tuple[str, ...]
    claim: str | None
    scores: tuple[ScoreFact, ...]
    margins: tuple[MarginFact, ...]
    matrix: MatrixFact | None
    worst_columns: tuple[WorstFact, ...]
    worst_pairs: tuple[WorstFact, ...]
    pairs: tuple[PairFact, ...]
    curves: tuple[CurveFact, ...]
    learning_title: str
    learned: tuple[LearnedFact, ...]
    g_epsilon: GEpsilonFact | None
    unchecked: tuple[str, ...]
    attacks: tuple[AttackFact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """One report."""

    title: str
    notice: str
    real_rows: int
    holdout_rows: int | None
    columns: int
    version: str
    tables: tuple[TableFact, ...]

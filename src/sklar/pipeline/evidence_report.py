"""What an evaluation found, as the plain facts of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sklar
from sklar.pipeline.attack_report import attack_fact
from sklar.report.facts import (
    CurveFact,
    GEpsilonFact,
    LearnedFact,
    MarginFact,
    MatrixFact,
    PairFact,
    ReportFacts,
    ScoreFact,
    TableFact,
    WorstFact,
)

if TYPE_CHECKING:
    from sklar.disclosed.metrics.compare import Comparison
    from sklar.disclosed.metrics.score import Score
    from sklar.pipeline.evaluate import Evaluation

WORST = 10
NOT_ATTACKED = "Membership, attribute and other attacks: add --attacks, or see sklar attack."
ALWAYS_UNCHECKED = (
    "Whether rows obey rules between columns that the schema does not state.",
    "Columns marked id or ignore, and everything that the schema's grid does not tell apart.",
)


def report_facts(evaluations: Sequence[Evaluation], notice: str) -> ReportFacts:
    """One report on one or several synthetic tables."""
    first = evaluations[0]
    return ReportFacts(
        title="Synthetic table against real table" if len(evaluations) == 1 else "Synthetic tables against real table",
        notice=notice,
        real_rows=first.rows["real"],
        holdout_rows=first.rows.get("holdout"),
        columns=len(first.schema.modelled),
        version=sklar.__version__,
        tables=tuple(_table(evaluation) for evaluation in evaluations),
    )


def _table(evaluation: Evaluation) -> TableFact:
    found, scores = evaluation.comparison, evaluation.scores
    return TableFact(
        name=evaluation.name,
        rows=evaluation.rows["synthetic"],
        verdict=evaluation.verdict,
        warnings=evaluation.warnings,
        claim=evaluation.claim,
        scores=tuple(_score(score) for score in scores.values()),
        margins=_margins(found, scores["tvd1"]),
        matrix=_matrix(found),
        worst_columns=_worst(scores["tvd1"]),
        worst_pairs=_worst(scores["tvd2"]),
        pairs=tuple(
            PairFact(columns=pair.columns, real=_grid(pair.real), synthetic=_grid(pair.synthetic))
            for pair in found.pairs
        ),
        curves=_curves(found),
        learning_title=_learning_title(found),
        learned=() if found.transfer is None else tuple(LearnedFact(**r.to_dict()) for r in found.transfer.results),
        g_epsilon=_g_epsilon(found),
        unchecked=_unchecked(evaluation),
        attacks=tuple(attack_fact(result, evaluation.name) for result in evaluation.attacks),
    )


def _score(score: Score) -> ScoreFact:
    about = score.about
    return ScoreFact(
        name=about.name, title=about.title, says=about.says, reference=about.reference, value=score.value,
        floor=score.floor, better=about.better, grade=score.grade, rows=score.rows, reason=score.reason,
    )  # fmt: skip


def _margins(found: Comparison, score: Score) -> tuple[MarginFact, ...]:
    """Worst columns first."""
    parts = {part.columns[0]: part for part in score.parts}
    facts = [
        MarginFact(
            column=m.column, kind=m.kind, labels=m.labels, real=m.real, synthetic=m.synthetic, numeric=m.numeric,
            low=m.low, high=m.high, distance=parts[m.column].value, floor=parts[m.column].floor,
        )
        for m in found.margins
    ]  # fmt: skip
    return tuple(sorted(facts, key=lambda fact: -fact.distance))


def _worst(score: Score) -> tuple[WorstFact, ...]:
    """The parts that exceed their floors most."""
    order = sorted(score.parts, key=lambda part: -(part.value - (part.floor or 0.0)))
    return tuple(WorstFact(columns=part.columns, value=part.value, floor=part.floor) for part in order[:WORST])


def _matrix(found: Comparison) -> MatrixFact | None:
    if found.correlations is None:
        return None
    real, synthetic = found.correlations
    return MatrixFact(
        measure=found.correlation_name, columns=found.correlation_columns, real=_grid(real), synthetic=_grid(synthetic)
    )


def _curves(found: Comparison) -> tuple[CurveFact, ...]:
    asked = CurveFact(
        title="Counting queries: largest error, as a share of rows", x_title="share of queries, best answered first",
        y_title="error", x=found.workload.levels, lines=found.workload.curves,
    )  # fmt: skip
    if not found.support.levels:
        return (asked,)
    lines = (("plausible (precision)", found.support.precision_curve), ("covered (recall)", found.support.recall_curve))
    rows = CurveFact(
        title="Plausible and covered rows", x_title="level, from typical to all rows", y_title="share",
        x=found.support.levels, lines=lines, ideal=True,
    )  # fmt: skip
    return asked, rows


def _learning_title(found: Comparison) -> str:
    if found.transfer is None:
        return ""
    folds = "a hold-out" if found.transfer.folds == 1 else f"{found.transfer.folds} folds"
    return f"{found.transfer.task.capitalize()} of '{found.transfer.target}', tested on {folds}."


def _g_epsilon(found: Comparison) -> GEpsilonFact | None:
    g = found.g_epsilon
    if g is None or g.score.value is None:
        return None
    return GEpsilonFact(
        mu=g.mu, mu_mean=g.mu_mean, delta=g.delta, nu=g.nu, weights=g.weights, targets=g.targets, learners=g.learners,
        g_epsilon=g.g_epsilon, g_epsilon_plus=g.score.value,
    )  # fmt: skip


def _unchecked(evaluation: Evaluation) -> tuple[str, ...]:
    missing = [f"{s.about.title}: {s.reason}" for s in evaluation.scores.values() if s.value is None]
    if "holdout" not in evaluation.rows:
        missing.append(
            "Rows the synthesizer never saw: no hold-out was given, so tests use rows it may have learned from."
        )
    attacked = () if evaluation.attacks else (NOT_ATTACKED,)
    return (*missing, *attacked, *ALWAYS_UNCHECKED)


def _grid(matrix: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in matrix)

"""What a comparison found, as the plain facts of its report."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean

import sklar
from sklar.pipeline.comparison.plan import System
from sklar.pipeline.comparison.ranks import RULE, interval
from sklar.pipeline.comparison.result import ADVICE, NOTICE, Compared, Measure
from sklar.pipeline.comparison.store import now
from sklar.report.compare_facts import (
    BudgetFact,
    CompareFacts,
    FailureFact,
    LineFact,
    MeasureFact,
    PlotFact,
    StandingFact,
    SystemFact,
)
from sklar.report.tradeoff import Tradeoff, TradeoffPoint


def compare_facts(found: Compared) -> CompareFacts:
    """The facts of the report."""
    budgets = tuple(
        BudgetFact(epsilon=epsilon, measures=tuple(_measure(found, epsilon, m) for m in found.measures))
        for epsilon in found.budgets
    )
    return CompareFacts(
        notice=NOTICE, advice=ADVICE, rule=RULE, version=sklar.__version__, made=now(), rows=found.real_rows,
        columns=found.columns, folds=found.settings.folds, delta=found.settings.delta, target=found.settings.target,
        systems=tuple(_system(found, system, budgets) for system in found.systems), budgets=budgets,
        plots=tuple(_plot(found, measure) for measure in found.measures), tradeoffs=_tradeoffs(found),
        failures=_failures(found), notes=_notes(found),
    )  # fmt: skip


def _measure(found: Compared, epsilon: float | None, measure: Measure) -> MeasureFact:
    return MeasureFact(
        name=measure.name, title=measure.title, says=measure.says, better=measure.better,
        standings=tuple(StandingFact(**asdict(s)) for s in found.standings(epsilon, measure)),
    )  # fmt: skip


def _system(found: Compared, system: System, budgets: tuple[BudgetFact, ...]) -> SystemFact:
    rows = [row for row in found.rows if row.cell.system.name == system.name]
    seconds = [float(row.result["seconds"]) for row in rows if row.ok]
    peaks = [int(row.result["peak_bytes"]) for row in rows if row.ok and row.result.get("peak_bytes")]
    ranks = [s.rank for b in budgets for m in b.measures for s in m.standings if s.system == system.name]
    return SystemFact(
        name=system.name, kind=system.kind, promise=found.promise(system), firsts=sum(rank == 1 for rank in ranks),
        ranked=sum(rank is not None for rank in ranks), seconds=fmean(seconds) if seconds else None,
        peak=float(max(peaks)) if peaks else None, failed=sum(not row.ok for row in rows), cells=len(rows),
    )  # fmt: skip


def _plot(found: Compared, measure: Measure) -> PlotFact:
    lines: list[LineFact] = []
    for system in found.systems:
        points: list[tuple[float | None, float, float | None]] = []
        for epsilon in found.epsilons if system.budgeted else (None,):
            values = list(found.values(system, epsilon, measure.name).values())
            if values:
                points.append((epsilon, *interval(values)))
        lines.append(LineFact(system=system.name, points=tuple(points)))
    return PlotFact(title=measure.title, better=measure.better, lines=tuple(lines))


def _tradeoffs(found: Compared) -> tuple[Tradeoff, ...]:
    """The first number of each attack against what users care most about: learning if there is a target, else pairs."""
    names = [measure.name for measure in found.measures]
    useful = next(
        (name for name in ("learning", "tvd2", *names) if name in found.settings.metrics and name in names), None
    )
    first = {measure.name.partition(".")[0]: measure for measure in reversed(found.measures) if "." in measure.name}
    if useful is None:
        return ()
    utility = found.measures[names.index(useful)]
    return tuple(
        Tradeoff(
            points=_points(found, utility, risk), utility_title=utility.title,
            risk_title=risk.title.partition(": ")[2] or risk.title, better_utility=utility.better,
            better_risk=risk.better,
        )
        for _, risk in sorted(first.items())
    )  # fmt: skip


def _points(found: Compared, utility: Measure, risk: Measure) -> tuple[TradeoffPoint, ...]:
    out: list[TradeoffPoint] = []
    for system in found.systems:
        for epsilon in found.epsilons if system.budgeted else (None,):
            values = [list(found.values(system, epsilon, measure.name).values()) for measure in (utility, risk)]
            if all(values):
                name = system.name if epsilon is None else f"{system.name}, {epsilon:g}"
                one, two = (_ends(*interval(some)) for some in values)
                out.append(TradeoffPoint(name=name, group=system.name, utility=one, risk=two))
    return tuple(out)


def _ends(mean: float, half: float | None) -> tuple[float, float, float]:
    return mean, mean - (half or 0.0), mean + (half or 0.0)


def _failures(found: Compared) -> tuple[FailureFact, ...]:
    return tuple(
        FailureFact(
            system=row.cell.system.name, epsilon=row.cell.epsilon, fold=row.cell.fold,
            reason=str(row.result.get("reason")),
        )
        for row in found.failures
    )  # fmt: skip


def _notes(found: Compared) -> tuple[str, ...]:
    """What seems wrong with tables that were used all the same, and what could not be measured; each once."""
    said = {f"{row.cell.system.name}: {note}." for row in found.rows for note in row.result.get("notes") or ()}
    missing: dict[str, str] = {
        name: why for row in found.rows for name, why in (row.result.get("missing") or {}).items()
    }
    return (*sorted(said), *(f"Not measured for all: {name}, because {why}" for name, why in missing.items()))

"""How an evaluation is told at a terminal: shown by `evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklar.cli.terminal import show

if TYPE_CHECKING:
    from sklar.lab.evaluation import Evaluation
    from sklar.lab.metrics.moments import ColumnSummary
    from sklar.lab.metrics.queries import QueryProfiles
    from sklar.lab.metrics.subgroups import Subgroup


def tell_evaluation(evaluation: Evaluation, named: bool) -> None:
    """Warnings, verdict, scores, columns, queries, groups and attacks of one table."""
    show.line()
    if named:
        show.line(f"{evaluation.name}:")
    for warning in evaluation.warnings:
        show.note(f"Warning: {warning}")
    for sentence in evaluation.verdict:
        show.line(sentence)
    show.line(f"What to do next: {evaluation.next_step}")
    show.line()
    rows = [
        [s.about.name, show.number(s.value), show.number(s.floor), s.about.better, s.grade]
        for s in evaluation.scores.values()
    ]
    show.table(["metric", "value", "floor", "better", "grade"], rows)
    for score in evaluation.scores.values():
        if score.value is None:
            show.line(f"{score.about.name}: {score.reason}")
    show.line()
    show.table(
        ["column", "null", "mean", "sd", "5%", "50%", "95% (real / synthetic)"], map(_column_line, evaluation.columns)
    )
    show.line()
    tell_queries(evaluation.overview.queries)
    for found in evaluation.subgroups:
        show.line()
        show.table(
            [found.by, "rows", "tvd1 (floor)", "tvd2 (floor)", "means (floor)", "mean furthest off"],
            map(_group_line, found.groups),
        )
    for sentence in (sentence for result in evaluation.attacks for sentence in result.verdict):
        show.line(sentence)


def _group_line(one: Subgroup) -> list[str]:
    """How well one group is reproduced."""
    pairs = ((one.tvd1, one.tvd1_floor), (one.tvd2, one.tvd2_floor), (one.means, one.means_floor))
    told = [f"{show.number(value)} ({show.number(floor)})" for value, floor in pairs]
    return [one.value, f"{one.rows[0]:,} / {one.rows[1]:,}", *told, one.furthest]


def tell_queries(queries: QueryProfiles, name: str = "queries") -> None:
    """Errors of counting queries."""
    asked = [(found, found.answered[0].lines) for found in queries.sets]
    told = [[f.name, f"{f.queries:,}", *(f"{x.average:,.0f} / {x.largest:,.0f}" for x in lines)] for f, lines in asked]
    show.table([name, "number", "95%", "99%", "100% (average / largest error, rows)"], told)


def _column_line(one: ColumnSummary) -> list[str]:
    """What one column is like in both tables."""
    places = [one.levels.index(level) for level in (0.05, 0.5, 0.95)]
    sides = [
        [f"{side.null:.1%}", one.text(side.mean), one.text(side.sd, length=True)]
        + [one.text(side.quantiles[place] if side.quantiles else None) for place in places]
        for side in (one.real, one.synthetic)
    ]
    return [one.column, *(f"{a} / {b}" for a, b in zip(*sides, strict=True))]

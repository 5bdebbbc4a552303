"""What was found about a synthetic table: metrics with floors, what they mean in words, and the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar import notebook
from sklar.arrays import Floats
from sklar.report.charts.canvas import Canvas, side_by_side, write_picture
from sklar.report.charts.compared import margin_chart
from sklar.report.page import GRADES, NOTICE, require_custodian_picture, write_page
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.attacks.result import AttackResult
    from sklar.lab.metrics.moments import ColumnSummary
    from sklar.lab.metrics.score import Score
    from sklar.lab.metrics.subgroups import Subgroups
    from sklar.lab.metrics.trajectories import Trajectories
    from sklar.lab.overview import Overview

NO_HOLDOUT = "Rows the synthesizer never saw: no hold-out was given, so tests use rows it may have learned from."
NOT_ATTACKED = "Membership, attribute and other attacks: add --attacks, or see sklar attack."
ALWAYS_UNCHECKED = (
    "Whether rows obey rules between columns that the schema does not state.",
    "Columns marked id or ignore, and everything that the schema's grid does not tell apart.",
)
LEVELS = (0.9, 0.6, 0.3)
"""Positions (see `Score.position`) from which the first, second and third answer are given; below, the last. They are
wide apart and positions have no steps, so a small change of a metric moves an answer by one shade at most."""
LITTLE = 0.6
"""If no measure of dependence can tell more than this (see `Score.telling`), there is hardly any to keep. Of seven
kinds of made-up tables those with dependence had .77 and more, and one without .46."""
ALONE = "Single columns"
FAR, MOST_FAR = 0.1, 3
"""Columns of `moments` beyond their floors by more than this are named, the worst three: a standard deviation off by a
tenth shows in any summary, and more names than three are a table, which the report has."""
TOGETHER = "How columns go together"
QUESTIONS: dict[str, tuple[tuple[str, ...], tuple[str, str, str, str]]] = {
    ALONE: (("tvd1", "ks", "moments"), (
        "are as close as a fresh real sample would be", "are close to the real ones",
        "differ visibly from the real ones", "differ strongly from the real ones",
    )),
    TOGETHER: (("tvd2", "tvd3", "spearman", "kendall", "phik"), (
        "is kept nearly as in a fresh real sample", "is kept well", "is kept in part", "is largely lost",
    )),
    "Learning from the synthetic rows": (("learning",), (
        "works as well as learning from real ones", "works nearly as well as learning from real ones",
        "costs some accuracy", "costs much accuracy",
    )),
    "A classifier": (("detection_linear", "detection_boosting"), (
        "cannot tell synthetic rows from real ones", "hardly tells synthetic rows from real ones",
        "often tells synthetic rows from real ones", "tells most synthetic rows from real ones",
    )),
}  # fmt: skip
"""What a reader asks, the metrics that answer, and the answers by level. The worst of the metrics decides; but how
columns go together is judged by the mean of all, each weighted by how much it can tell on this table."""

CLEAR_UP = "Clear up what is warned of before anything else; scores mean little until then."
ADVICE = {
    ALONE: "Look at the columns below, worst first: narrow a range that is wider than its values can be, join labels "
    "that few people have, or plan for a larger epsilon (sklar plan).",
    TOGETHER: "Keep fewer columns or coarser labels, so that the budget tells more about each pair; see what a larger "
    "epsilon would give (sklar plan) or another method (sklar compare).",
    "Learning from the synthetic rows": "If the table is made for this prediction, name the column when fitting "
    "(--target), so that more of the budget goes to it.",
    "A classifier": "Fine for tables of counts and for trying out programs; for models that use all columns at once, "
    "see what a larger epsilon would give (sklar plan).",
}
"""By question, what helps where its answer is one of the two worst; the first that applies is told."""
ATTACK_FIRST = "Attack the table before it is handed out (sklar attack all, with a hold-out)."
RELEASE = "Nothing here speaks against use; hand out the claim with the table, and keep this report."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """What was found about one synthetic table. Computed from real rows without noise: not private.

    Attributes:
        scores: Each metric by name, with its floor, or the reason why it does not apply.
        warnings: What a custodian should know first, in plain sentences.
        rows: Rows of the real, the synthetic and the hold-out table, by role.
        claim: What the method promises, if it was given.
        overview: What is pictured: columns, correlations, pairs, errors of counting queries.
        subgroups: Errors by the values of each column that was named for it.
        trajectories: How rows of a person follow one another, where the schema and both tables tell persons.
    """

    name: str
    scores: Mapping[str, Score]
    warnings: tuple[str, ...]
    rows: Mapping[str, int]
    schema: Schema
    claim: str | None
    overview: Overview
    attacks: tuple[AttackResult, ...] = ()
    subgroups: tuple[Subgroups, ...] = ()
    trajectories: Trajectories | None = None

    def __getitem__(self, name: str) -> Score:
        """A score by name."""
        return self.scores[name]

    @property
    def dependence(self) -> float | None:
        """How much of the dependence between columns is kept: 0 as if drawn independently, 1 as in a fresh sample.

        The mean position of the rank correlations, phi_k and the tables of pairs and triples; None if there are none.
        """
        found = [self[name] for name in QUESTIONS[TOGETHER][0] if self[name].value is not None]
        weights = [score.telling for score in found]
        kept = math.fsum(weight * score.position for weight, score in zip(weights, found, strict=True))
        return kept / math.fsum(weights) if found else None

    @property
    def columns(self) -> tuple[ColumnSummary, ...]:
        """Mean, standard deviation, quantiles and share of nulls of every column of both tables, in their order."""
        floors = {part.columns[0]: part.floor for part in self["moments"].parts}
        return tuple(replace(one, floor=floors.get(one.column)) for one in self["moments"].behind or ())

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the scores mean: one sentence a question."""
        persons = () if self.trajectories is None else (self.trajectories.says,)
        return (*(self._answer(subject) for subject in QUESTIONS), self._rare_ranges, *persons)

    def _answer(self, subject: str) -> str:
        names, answers = QUESTIONS[subject]
        at = self._position(subject)
        if at is None:
            return f"{subject}: not checked, {self[names[0]].reason}"
        kept = at if subject == TOGETHER else None
        answer = answers[sum(at < level for level in LEVELS)]
        if kept is None:
            return f"{subject} {answer}{self._far_off if subject == ALONE else ''}."
        little = max(self[name].telling for name in names) < LITTLE
        answer = "matters little here, the real columns hardly depend on each other" if little else answer
        return f"{subject} {answer} ({kept:.0%} of the way from independent columns to a fresh real sample)."

    def _position(self, subject: str) -> float | None:
        """Where the table stands in a question, from 0 to 1; None where nothing answers it."""
        if subject == TOGETHER:
            return self.dependence
        known = [self[name].position for name in QUESTIONS[subject][0] if self[name].value is not None]
        return min(known, default=None)

    @property
    def _far_off(self) -> str:
        """Columns whose mean, spread, quantiles or nulls are off by more than `FAR`, worst first."""
        worst = self["moments"].worst
        names = [part.columns[0] for part in worst if part.value - (part.floor or 0.0) > FAR][:MOST_FAR]
        said = {one.column: one.largest for one in self.columns}
        return "; furthest off: " + ", ".join(f"{name} ({said[name]})" for name in names) if names else ""

    @property
    def _rare_ranges(self) -> str:
        score = self["rare_ranges"]
        if score.value is None:
            return f"Counts in rare ranges: not checked, {score.reason}"
        floor = "" if score.floor is None else f", those of a fresh real sample by {score.floor:.0%}"
        return f"Counts in rare ranges (20 rows to 1% of them) are off by {score.value:.0%} at the median{floor}."

    @property
    def next_step(self) -> str:
        """What a custodian does next: the first thing that the warnings or the verdict call for."""
        if self.warnings:
            return f"{CLEAR_UP} Warning: {self.warnings[0]}"
        for subject, advice in ADVICE.items():
            at = self._position(subject)
            if at is not None and at < LEVELS[1]:
                return advice
        return RELEASE if self.attacks else f"{ATTACK_FIRST} {RELEASE}"

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What a reader should not take for checked, in plain sentences."""
        missing = [f"{score.about.title}: {score.reason}" for score in self.scores.values() if score.value is None]
        gaps = [] if "holdout" in self.rows else [NO_HOLDOUT]
        return (*missing, *gaps, *([] if self.attacks else [NOT_ATTACKED]), *ALWAYS_UNCHECKED)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "notice": NOTICE,
            "name": self.name,
            "rows": dict(self.rows),
            "warnings": list(self.warnings),
            "verdict": list(self.verdict),
            "next_step": self.next_step,
            "dependence": self.dependence,
            "claim": self.claim,
            "columns": {one.column: one.to_dict() for one in self.columns},
            "metrics": {name: score.to_dict() for name, score in self.scores.items()},
            **_details(self.scores, self.overview),
            "subgroups": {one.by: asdict(one) for one in self.subgroups},
            **({} if self.trajectories is None else {"trajectories": self.trajectories.to_dict()}),
            **({"attacks": {result.kind: result.to_dict() for result in self.attacks}} if self.attacks else {}),
        }

    def html(self, path: str | PathLike[str]) -> None:
        """Write the report, readable by the owner only; the name must end in .custodian.html."""
        write_report([self], path)

    def plot(self, path: str | PathLike[str] | None = None) -> Canvas:
        """Draw every column, real and synthetic: for a notebook, or into a file *.custodian.svg or *.custodian.png."""
        shown = self.overview.margins
        canvas = side_by_side(
            {m.column: margin_chart(m) for m in shown},
            f"{self.name}: real shares filled, synthetic ones as lines. {NOTICE}",
        )
        if path is not None:
            require_custodian_picture(path)
            write_picture(canvas, path, mode=0o600)
        return canvas

    def _repr_html_(self) -> str:
        rows = [
            (
                score.about.title,
                score.value,
                score.floor,
                GRADES[score.grade],
                score.reason or f"{score.about.better} is better",
            )
            for score in self.scores.values()
        ]
        headings = ("metric", "value", "fresh sample", "grade", "")
        verdict = notebook.bullets((*self.warnings, *self.verdict, f"What to do next: {self.next_step}"))
        return notebook.card(
            f"Evaluation of {self.name}", notebook.paragraph(NOTICE), verdict, notebook.table(headings, rows)
        )


def write_report(evaluations: Sequence[Evaluation], path: str | PathLike[str]) -> None:
    """Write one report on one or several synthetic tables, readable by its owner only."""
    title = "Synthetic table against real table" if len(evaluations) == 1 else "Synthetic tables against real table"
    write_page(path, "report.html", title=title, tables=evaluations)


def _details(scores: Mapping[str, Score], seen: Overview) -> dict[str, Any]:
    """What lies behind the scores, as plain data."""
    learned, g, copied, asked = (
        scores[name].behind for name in ("learning", "g_epsilon_plus", "copies", "range_relative_error")
    )
    support, matrix = scores["alpha_precision"].behind, seen.matrix
    return {
        "learning": None if learned is None else {
            "target": learned.target, "task": learned.task, "folds": learned.folds,
            "results": [asdict(result) for result in learned.results],
        },
        "g_epsilon": None if g is None else {key: value for key, value in g.to_dict().items() if key != "score"},
        "support": {
            "levels": list(support.levels), "precision": list(support.precision_curve),
            "recall": list(support.recall_curve),
        },
        "queries": asdict(seen.queries),
        **{
            key: None if scores[name].behind is None else asdict(scores[name].behind)
            for key, name in (("uniques", "replicated_uniques"), ("disclosure", "disco"), ("propensity", "pmse_ratio"))
        },
        "regression": None if (compared := scores["interval_overlap"].behind) is None else compared.to_dict(),
        "ranges": None if asked is None else asdict(asked),
        "copies": {
            "share": scores["copies"].value, "expected": scores["copies"].floor,
            "lone": copied.lone, "lone_expected": copied.lone_expected,
        },
        "correlations": None if matrix is None else {
            "measure": matrix.measure, "columns": list(matrix.columns), "real": _without_nan(matrix.real),
            "synthetic": _without_nan(matrix.synthetic),
        },
    }  # fmt: skip


def _without_nan(matrix: Floats) -> list[list[float | None]]:
    return [[None if math.isnan(x) else x for x in row] for row in matrix.tolist()]

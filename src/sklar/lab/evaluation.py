"""The evaluation of a synthetic table: metrics with floors, their interpretation, and the report."""

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
    from sklar.accounting.claim import Claim
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
    "Columns marked id or ignore, and differences within a cell of the schema's grid.",
)
ANSWER_POSITIONS = (0.9, 0.6, 0.3)
"""Minimum positions (see `Score.position`) of the first, second and third answer; below, the last. They are far apart
and positions are continuous, so a small change of a metric moves an answer by at most one step."""
MIN_INFORMATIVE = 0.6
"""If no measure of dependence is more informative (see `Score.informativeness`), the real columns hardly depend on each
other. In seven kinds of simulated tables those with dependence had .77 or more, and one without had .46."""
ALONE = "Single columns"
MIN_NAMED_SHIFT, MAX_NAMED_COLUMNS = 0.1, 3
"""Columns of `moments` that exceed their floors by more than the first are named, the worst three: a standard deviation
off by a tenth is visible in any summary, and the report has a table of all columns."""
TOGETHER = "Dependence between columns"
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
        "cannot distinguish synthetic rows from real ones", "hardly distinguishes synthetic rows from real ones",
        "often distinguishes synthetic rows from real ones", "recognizes most synthetic rows",
    )),
}  # fmt: skip
"""Questions, the metrics that answer each, and the answers by position. The worst of the metrics decides; dependence is
judged by the mean of all, each weighted by how informative it is on this table."""

RESOLVE_WARNINGS = "Resolve the warnings before anything else; until then, scores mean little."
ADVICE = {
    ALONE: "Check the columns below, worst first: narrow a range that is wider than its values can be, merge rare "
    "labels, or plan for a larger epsilon (sklar plan).",
    TOGETHER: "Use fewer columns or coarser labels, so that each pair gets more of the budget; or check what a larger "
    "epsilon (sklar plan) or another method (sklar compare) would give.",
    "Learning from the synthetic rows": "If the table is made for this prediction, name the column when fitting "
    "(--target), so that it gets more of the budget.",
    "A classifier": "Good enough for tables of counts and for testing programs; for models that use all columns at "
    "once, check what a larger epsilon would give (sklar plan).",
}
"""Advice by question for the two worst answers; the first that applies is given."""
ATTACK_FIRST = "Attack the table before you publish it (sklar attack all, with a hold-out)."
RELEASE = "Nothing here speaks against use; publish the claim with the table, and keep this report."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """The evaluation of one synthetic table. Computed from real rows without noise: not private.

    Attributes:
        scores: Each metric by name, with its floor, or the reason why it does not apply.
        warnings: The most important facts for a custodian, in plain sentences.
        rows: Number of rows of the real, the synthetic and the hold-out table, by role.
        claim: The privacy claim of the method, if given.
        overview: Data for charts: columns, correlations, pairs, errors of counting queries.
        subgroups: Errors by the values of each column given for that.
        trajectories: Comparison of longitudinal data, if the schema and both tables identify persons.
    """

    name: str
    scores: Mapping[str, Score]
    warnings: tuple[str, ...]
    rows: Mapping[str, int]
    schema: Schema
    claim: Claim | str | None
    overview: Overview
    attacks: tuple[AttackResult, ...] = ()
    subgroups: tuple[Subgroups, ...] = ()
    trajectories: Trajectories | None = None

    def __repr__(self) -> str:
        """Return the warnings and the verdict; `to_dict()` has all numbers."""
        return "\n".join([f"Evaluation of {self.name} (from real rows: not private)", *self.warnings, *self.verdict])

    def __getitem__(self, name: str) -> Score:
        """Return a score by name."""
        return self.scores[name]

    @property
    def dependence(self) -> float | None:
        """Return how much dependence between columns is kept: 0 as if independent, 1 as in a fresh sample.

        This is the mean position of rank correlations, phi_k and tables of pairs and triples; None if there are none.
        """
        found = [self[name] for name in QUESTIONS[TOGETHER][0] if self[name].value is not None]
        weights = [score.informativeness for score in found]
        kept = math.fsum(weight * score.position for weight, score in zip(weights, found, strict=True))
        return kept / math.fsum(weights) if found else None

    @property
    def columns(self) -> tuple[ColumnSummary, ...]:
        """Return the mean, standard deviation, quantiles and share of nulls of every column in both tables."""
        floors = {part.columns[0]: part.floor for part in self["moments"].parts}
        return tuple(replace(one, floor=floors.get(one.column)) for one in self["moments"].behind or ())

    @property
    def verdict(self) -> tuple[str, ...]:
        """Interpret the scores: one sentence per question."""
        persons = () if self.trajectories is None else (self.trajectories.says,)
        return (*(self._answer(subject) for subject in QUESTIONS), self._rare_ranges, *self._real_rows, *persons)

    def _answer(self, subject: str) -> str:
        names, answers = QUESTIONS[subject]
        at = self._position(subject)
        if at is None:
            return f"{subject}: not checked, {self[names[0]].reason}"
        answer = answers[sum(at < level for level in ANSWER_POSITIONS)]
        if subject != TOGETHER:
            return f"{subject} {answer}{self._worst_columns if subject == ALONE else ''}."
        if max(self[name].informativeness for name in names) < MIN_INFORMATIVE:
            answer = "matters little here, because the real columns hardly depend on each other"
        return f"{subject} {answer} ({at:.0%} of the way from independent columns to a fresh real sample)."

    @property
    def _real_rows(self) -> tuple[str, ...]:
        """State the share of the real rows whose pair tables are as close; nothing if it was not measured."""
        share = self.scores.get("real_rows_share")
        if share is None or share.value is None:
            return ()
        words = "A fresh sample with the number of real rows would be as close as 33%"
        return (
            f"Tables of two columns are as close to the real ones as those of {share.value:.0%} of the rows. {words}.",
        )

    def _position(self, subject: str) -> float | None:
        """Return the position of the table in a question, from 0 to 1; None without an answer."""
        if subject == TOGETHER:
            return self.dependence
        known = [self[name].position for name in QUESTIONS[subject][0] if self[name].value is not None]
        return min(known, default=None)

    @property
    def _worst_columns(self) -> str:
        """Name the columns whose mean, spread, quantiles or nulls are off by more than `MIN_NAMED_SHIFT`."""
        worst = [part for part in self["moments"].worst if part.value - (part.floor or 0.0) > MIN_NAMED_SHIFT]
        shifts = {one.column: one.largest for one in self.columns}
        named = [f"{part.columns[0]} ({shifts[part.columns[0]]})" for part in worst[:MAX_NAMED_COLUMNS]]
        return f"; worst: {', '.join(named)}" if named else ""

    @property
    def _rare_ranges(self) -> str:
        score = self["rare_ranges"]
        if score.value is None:
            return f"Counts in rare ranges: not checked, {score.reason}"
        floor = "" if score.floor is None else f", those of a fresh real sample by {score.floor:.0%}"
        return f"Counts in rare ranges (20 rows to 1% of them) are off by {score.value:.0%} at the median{floor}."

    @property
    def next_step(self) -> str:
        """Advise the custodian on the next step: the first that the warnings or the verdict suggest."""
        if self.warnings:
            return f"{RESOLVE_WARNINGS} Warning: {self.warnings[0]}"
        for subject, advice in ADVICE.items():
            at = self._position(subject)
            if at is not None and at < ANSWER_POSITIONS[1]:
                return advice
        return RELEASE if self.attacks else f"{ATTACK_FIRST} {RELEASE}"

    @property
    def unchecked(self) -> tuple[str, ...]:
        """List what was not checked, in plain sentences."""
        missing = [f"{score.about.title}: {score.reason}" for score in self.scores.values() if score.value is None]
        no_holdout = [] if "holdout" in self.rows else [NO_HOLDOUT]
        return (*missing, *no_holdout, *([] if self.attacks else [NOT_ATTACKED]), *ALWAYS_UNCHECKED)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "notice": NOTICE, "name": self.name, "rows": dict(self.rows), "warnings": list(self.warnings),
            "verdict": list(self.verdict), "next_step": self.next_step, "dependence": self.dependence,
            "claim": None if self.claim is None else str(self.claim),
            "columns": {one.column: one.to_dict() for one in self.columns},
            "metrics": {name: score.to_dict() for name, score in self.scores.items()},
            **_details(self.scores, self.overview),
            "subgroups": {one.by: asdict(one) for one in self.subgroups},
            **({} if self.trajectories is None else {"trajectories": self.trajectories.to_dict()}),
            **({"attacks": {result.kind: result.to_dict() for result in self.attacks}} if self.attacks else {}),
        }  # fmt: skip

    def html(self, path: str | PathLike[str]) -> None:
        """Write the report, readable by the owner only; the name must end in .custodian.html."""
        write_report([self], path)

    def plot(self, path: str | PathLike[str] | None = None) -> Canvas:
        """Draw every column, real and synthetic: for a notebook, or into a file *.custodian.svg or *.custodian.png."""
        charts = {margin.column: margin_chart(margin) for margin in self.overview.margins}
        canvas = side_by_side(charts, f"{self.name}: real shares filled, synthetic ones as lines. {NOTICE}")
        if path is not None:
            require_custodian_picture(path)
            write_picture(canvas, path, mode=0o600)
        return canvas

    def _repr_html_(self) -> str:
        rows = [
            (s.about.title, s.value, s.floor, GRADES[s.grade], s.reason or f"{s.about.better} is better")
            for s in self.scores.values()
        ]
        headings = ("metric", "value", "fresh sample", "grade", "")
        verdict = notebook.make_bullets((*self.warnings, *self.verdict, f"What to do next: {self.next_step}"))
        return notebook.make_card(
            f"Evaluation of {self.name}", notebook.make_paragraph(NOTICE), verdict, notebook.make_table(headings, rows)
        )


def write_report(evaluations: Sequence[Evaluation], path: str | PathLike[str]) -> None:
    """Write one report on one or several synthetic tables, readable by its owner only."""
    title = "Synthetic table against real table" if len(evaluations) == 1 else "Synthetic tables against real table"
    write_page(path, "report.html", title=title, tables=evaluations)


def _details(scores: Mapping[str, Score], seen: Overview) -> dict[str, Any]:
    """Return the details of the scores as plain data."""
    learned, g, copied, range_errors = (
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
        "ranges": None if range_errors is None else asdict(range_errors),
        "copies": {
            "share": scores["copies"].value, "expected": scores["copies"].floor,
            "lone": copied.lone, "lone_expected": copied.lone_expected,
        },
        "correlations": None if matrix is None else {
            "measure": matrix.measure, "columns": list(matrix.columns), "real": _replace_nan(matrix.real),
            "synthetic": _replace_nan(matrix.synthetic),
        },
    }  # fmt: skip


def _replace_nan(matrix: Floats) -> list[list[float | None]]:
    return [[None if math.isnan(x) else x for x in row] for row in matrix.tolist()]

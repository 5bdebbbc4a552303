"""Evaluate synthetic tables against the real one: metrics with floors, what they mean in words, and the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar import notebook
from sklar.arrays import Floats
from sklar.notebook import notebook_bar
from sklar.report.charts.canvas import Canvas, side_by_side, write_picture
from sklar.report.charts.compared import margin_chart
from sklar.report.page import GRADES, NOTICE, require_custodian_picture, write_page
from sklar.sample.rng import named_streams, seed_entropy, substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.attacks.result import AttackResult
    from sklar.lab.metrics.moments import ColumnSummary
    from sklar.lab.metrics.ranges import RangeWorkload
    from sklar.lab.metrics.score import Score
    from sklar.lab.metrics.subgroups import Subgroups
    from sklar.lab.overview import Overview
    from sklar.lab.tables.table import ExactTable
    from sklar.pipeline.model import Model

Progress = Callable[[str, float], None]
NO_HOLDOUT = "Rows the synthesizer never saw: no hold-out was given, so tests use rows it may have learned from."
NOT_ATTACKED = "Membership, attribute and other attacks: add --attacks, or see sklar attack."
ALWAYS_UNCHECKED = (
    "Whether rows obey rules between columns that the schema does not state.",
    "Columns marked id or ignore, and everything that the schema's grid does not tell apart.",
)
MEASURED = 0.9
"""Part of the work that is done when all metrics are measured, as bars tell it."""
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
        return (*(self._answer(subject) for subject in QUESTIONS), self._rare_ranges)

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
            "subgroups": {one.by: one.to_dict() for one in self.subgroups},
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


def evaluate(
    real: Any,
    synthetic: Any,
    schema: Schema | str | PathLike[str],
    target: str | None = None,
    holdout: Any = None,
    *,
    name: str = "synthetic",
    learners: Sequence[str] | str | None = None,
    folds: int = 3,
    weights: Sequence[float] = (1.0, 1.0, 1.0),
    targets: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    ranges: RangeWorkload | None = None,
    claim: object = None,
    seed: int = 0,
    read: ReadOptions | None = None,
    read_synthetic: ReadOptions | None = None,
    progress: Progress | None = None,
    attacks: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    query_budget: Sequence[float] = (0.99, 2.0**-30),
    keys: Sequence[str] | None = None,
    by: Sequence[str] | str = (),
) -> Evaluation:
    """Compare a synthetic table, whoever made it, with the real one. No noise is added: the results are not private.

    Args:
        real: The real table: a file, a data frame, or anything that speaks Arrow.
        synthetic: The synthetic table, likewise.
        schema: Public facts about the columns, or the path of a schema file.
        target: A column that users will predict; without it there is no train-on-synthetic-test-on-real.
        holdout: Real rows that the synthesizer did not see: test rows, and a fresh sample for the floors. Without it,
            folds and halves of the real table serve.
        name: What to call the synthetic table.
        learners: Any of boosting, forest, linear, svc, tree, or "all", for train-on-synthetic-test-on-real and for
            G_eps+; by default boosting, linear and tree for the one, and svc, linear and tree for the other.
        folds: Folds of the real table when there is no hold-out.
        weights: alpha, beta and gamma of G_eps+.
        targets: Columns that G_eps+ predicts; by default the target, or all columns without one.
        measures: What G_eps+ compares: any of accuracy, f1, auc, mcc and r2; by default all but mcc.
        ranges: The range queries over all columns: how many, with which sanity bound, of which size.
        claim: What the method promises, shown in the report.
        seed: Fixes subsamples, splits and folds.
        read: How to read the tables: delimiter, encoding, null_values.
        read_synthetic: How to read the synthetic table, if otherwise.
        progress: Told what is being computed, and the fraction that is done.
        attacks: Attacks on the table that are reported besides, by name, with their default options.
        sensitive: Columns that the attack "attribute" guesses.
        query_budget: Epsilon and delta of the references Lap and Gauss beside the errors of counting queries; by
            default those of Asghar et al. (2020).
        keys: Columns that an intruder knows, for disco and replicated_uniques; by default the first four that are not
            the target, and all columns.
        by: Columns by whose values errors are told, too; numbers in quarters.

    Tables above two million rows are thinned at random. The costly metrics use at most so many rows of each table:
    Spearman and ranges over all columns 200,000; phi_k 100,000 and 40 columns; learning 60,000 (training 20,000,
    support vectors 2,000); Kendall 50,000 (fewer with many columns); queries 50,000; detection 10,000; G_eps+ 5,000 and
    12 targets; regressions of interval_overlap 10,000; pmse_ratio 5,000; subgroups 50,000 and 20 values of each
    column; alpha-precision and beta-recall 4,000; authenticity 1,000 against 40,000 real ones.
    """
    from sklar.lab.attacks.release import attack_tables, require_attacks, rows_by_role
    from sklar.lab.metrics.bench import make_bench, read_settings, require_columns, with_keys
    from sklar.lab.metrics.queries import checked_query_budget
    from sklar.lab.metrics.registry import measure
    from sklar.lab.metrics.subgroups import subgroups
    from sklar.lab.overview import overview
    from sklar.lab.tables.reading import read_table

    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    settings = read_settings(
        facts, target, learners=learners, folds=folds, weights=weights, targets=targets, measures=measures,
        ranges=ranges,
    )  # fmt: skip
    settings = with_keys(settings, facts, keys)
    named = (by,) if isinstance(by, str) else tuple(by)
    require_columns(facts, "column", named)
    require_attacks(attacks, sensitive, holdout is not None)
    budget = checked_query_budget(query_budget)
    tell = progress or notebook_bar("evaluating") or (lambda what, fraction: None)
    tell("reading the tables", 0.0)
    reading = replace(read or ReadOptions(), progress=None)
    # A query is about the real table.
    other = replace(reading, sql=None, rows_are_rows=False) if read_synthetic is None else read_synthetic
    streams = substreams(seed, 3)
    exact = read_table(real, facts, streams[0], role="real", read=reading)
    held = None if holdout is None else read_table(holdout, facts, streams[1], role="hold-out", read=reading)
    table = read_table(synthetic, facts, streams[2], role="synthetic", read=other)
    bench = make_bench(exact, table, held, settings, named_streams(seed_entropy(seed)))
    scores = measure(bench, done=lambda what, fraction: tell(what, MEASURED * fraction))
    tell("drawing pictures", MEASURED)
    seen = overview(bench, scores, budget)
    grouped: list[Subgroups] = []
    for name_of in named:
        tell(f"errors by {name_of}", MEASURED)
        grouped.append(subgroups(bench, name_of))
    found = Evaluation(
        name=name, scores=scores, schema=facts, claim=None if claim is None else str(claim),
        warnings=tuple(_table_warnings(exact, table, scores["copies"].behind.warning)),
        rows=rows_by_role(exact, table, held), overview=seen, subgroups=tuple(grouped),
        attacks=attack_tables(
            exact, table, held, attacks, sensitive, seed,
            done=lambda what, fraction: tell(what, MEASURED + (1 - MEASURED) * fraction),
        ),
    )  # fmt: skip
    tell("done", 1.0)
    return found


def report_on(
    data: Any,
    output: str | PathLike[str],
    model: Model,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    read: ReadOptions | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the custodian's report on a synthetic table that was just made. Computed from real rows: not private."""
    plain = ReadOptions()
    found = evaluate(
        data, output, model.schema, target, claim=model.claim, read=read, read_synthetic=plain, progress=progress
    )
    found.html(path)


def write_report(evaluations: Sequence[Evaluation], path: str | PathLike[str]) -> None:
    """Write one report on one or several synthetic tables, readable by its owner only."""
    title = "Synthetic table against real table" if len(evaluations) == 1 else "Synthetic tables against real table"
    write_page(path, "report.html", title=title, tables=evaluations)


def _table_warnings(real: ExactTable, synthetic: ExactTable, copied: str | None) -> Iterator[str]:
    """What may be wrong with the tables themselves."""
    from sklar.lab.tables.table import lost_columns

    if copied is not None:
        yield copied
    for name in lost_columns(synthetic, real):
        yield (
            f"nearly all values of column '{name}' of the synthetic table are null or not listed in the schema: "
            "its type or labels may differ from those of the real table."
        )
    for name in lost_columns(real, synthetic):
        yield (
            f"nearly all values of column '{name}' of the real table are null or not listed in the schema, but not "
            "those of the synthetic one: are the tables swapped, or is the schema of another table?"
        )
    if synthetic.total < real.total / 20:
        yield "the synthetic table has far fewer rows than the real one; sampling noise weighs heavily in every score."
    if real.total < 100:
        yield "the real table has fewer than 100 rows; scores and floors are rough."


def _details(scores: Mapping[str, Score], seen: Overview) -> dict[str, Any]:
    """What lies behind the scores, as plain data."""
    learned, g, copied, asked = (
        scores[name].behind for name in ("learning", "g_epsilon_plus", "copies", "range_relative_error")
    )
    support, matrix = scores["alpha_precision"].behind, seen.matrix
    return {
        "learning": None if learned is None else {
            "target": learned.target, "task": learned.task, "folds": learned.folds,
            "results": [result.to_dict() for result in learned.results],
        },
        "g_epsilon": None if g is None else {key: value for key, value in g.to_dict().items() if key != "score"},
        "support": {
            "levels": list(support.levels), "precision": list(support.precision_curve),
            "recall": list(support.recall_curve),
        },
        "queries": seen.queries.to_dict(),
        **{
            key: None if scores[name].behind is None else scores[name].behind.to_dict()
            for key, name in (("disclosure", "disco"), ("propensity", "pmse_ratio"), ("regression", "interval_overlap"))
        },
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

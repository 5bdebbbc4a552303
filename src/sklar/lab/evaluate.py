"""Evaluate synthetic tables against the real one: metrics with floors, what they mean in words, and the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.report.page import NOTICE, write_page
from sklar.sample.rng import named_streams, seed_entropy, substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.attacks.result import AttackResult
    from sklar.lab.metrics.bench import Settings
    from sklar.lab.metrics.score import Score
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
ORDER = ("sampling", "good", "fair", "poor")
QUESTIONS: dict[str, tuple[tuple[str, ...], tuple[str, str, str, str]]] = {
    "Single columns": (("tvd1", "ks"), (
        "are as close as a fresh real sample would be", "are close to the real ones",
        "differ visibly from the real ones", "differ strongly from the real ones",
    )),
    "How columns go together": (("tvd2", "tvd3", "range_queries", "spearman", "kendall", "phik"), (
        "is kept as well as in a fresh real sample", "is kept well", "is kept in part", "is largely lost",
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
"""What a reader asks, the metrics that answer, and the answer by the worst of their grades, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """What was found about one synthetic table. Computed from real rows without noise: not private.

    Attributes:
        scores: Each metric by name, with its floor, or the reason why it does not apply.
        warnings: What a custodian should know first, in plain sentences.
        rows: Rows of the real, the synthetic and the hold-out table, by role.
        claim: What the method promises, if it was given.
        overview: What is pictured: columns, correlations, pairs, errors of counting queries.
    """

    name: str
    scores: Mapping[str, Score]
    warnings: tuple[str, ...]
    rows: Mapping[str, int]
    schema: Schema
    claim: str | None
    overview: Overview
    attacks: tuple[AttackResult, ...] = ()

    def __getitem__(self, name: str) -> Score:
        """A score by name."""
        return self.scores[name]

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the scores mean: one sentence a question, by the worst grade among its metrics."""
        out: list[str] = []
        for subject, (names, answers) in QUESTIONS.items():
            grades = [ORDER.index(self[name].grade) for name in names if self[name].value is not None]
            answer = f" {answers[max(grades)]}." if grades else f": not checked, {self[names[0]].reason}"
            out.append(subject + answer)
        return tuple(out)

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
            "claim": self.claim,
            "metrics": {name: score.to_dict() for name, score in self.scores.items()},
            **_details(self.scores, self.overview),
            **({"attacks": {result.kind: result.to_dict() for result in self.attacks}} if self.attacks else {}),
        }

    def html(self, path: str | PathLike[str]) -> None:
        """Write the report, readable by the owner only; the name must end in .custodian.html."""
        write_report([self], path)


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
    claim: object = None,
    seed: int = 0,
    read: ReadOptions | None = None,
    read_synthetic: ReadOptions | None = None,
    progress: Progress | None = None,
    attacks: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    query_budget: Sequence[float] = (0.99, 2.0**-30),
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
        learners: Any of boosting, forest, linear, svc, tree, or "all"; by default boosting, linear and tree.
        folds: Folds of the real table when there is no hold-out.
        weights: alpha, beta and gamma of G_eps+.
        targets: Columns that G_eps+ predicts; by default the target, or all columns without one.
        claim: What the method promises, shown in the report.
        seed: Fixes subsamples, splits and folds.
        read: How to read the tables: delimiter, encoding, null_values.
        read_synthetic: How to read the synthetic table, if otherwise.
        progress: Told what is being computed, and the fraction that is done.
        attacks: Attacks on the table that are reported besides, by name, with their default options.
        sensitive: Columns that the attack "attribute" guesses.
        query_budget: Epsilon and delta of the references Lap and Gauss beside the errors of counting queries; by
            default those of Asghar et al. (2020).

    Tables above two million rows are thinned at random. The costly metrics use at most so many rows of each table:
    Spearman 200,000; phi_k 100,000 and 40 columns; learning 60,000 (training 20,000, support vectors 2,000); Kendall
    50,000 (fewer with many columns); queries 50,000; detection 10,000; G_eps+ 5,000 and 12 targets; alpha-precision
    and beta-recall 4,000; authenticity 1,000 against 40,000 real ones.
    """
    from sklar.lab.attacks.release import attack_tables, require_attacks, rows_by_role
    from sklar.lab.metrics.bench import make_bench
    from sklar.lab.metrics.queries import checked_query_budget
    from sklar.lab.metrics.registry import measure
    from sklar.lab.overview import overview
    from sklar.lab.tables.reading import read_table

    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    settings = _settings(facts, target, learners, folds, weights, targets)
    require_attacks(attacks, sensitive, holdout is not None)
    budget = checked_query_budget(query_budget)
    tell = progress or (lambda what, fraction: None)
    tell("reading the tables", 0.0)
    reading = replace(read or ReadOptions(), progress=None)
    # A query is about the real table.
    other = replace(reading, sql=None, rows_are_rows=False) if read_synthetic is None else read_synthetic
    streams = substreams(seed, 3)
    exact = read_table(real, facts, streams[0], role="real", read=reading)
    held = None if holdout is None else read_table(holdout, facts, streams[1], role="hold-out", read=reading)
    table = read_table(synthetic, facts, streams[2], role="synthetic", read=other)
    bench = make_bench(exact, table, held, settings, named_streams(seed_entropy(seed)))
    scores = measure(bench, done=tell)
    found = Evaluation(
        name=name, scores=scores, schema=facts, claim=None if claim is None else str(claim),
        warnings=tuple(_table_warnings(exact, table, scores["copies"].behind.warning)),
        rows=rows_by_role(exact, table, held), overview=overview(bench, scores, budget),
        attacks=attack_tables(exact, table, held, attacks, sensitive, seed),
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


def _settings(
    schema: Schema,
    target: str | None,
    learners: Sequence[str] | str | None,
    folds: int,
    weights: Sequence[float],
    targets: Sequence[str] | None,
) -> Settings:
    from sklar.lab.learning.learners import LEARNERS, QUICK
    from sklar.lab.metrics.bench import Settings
    from sklar.lab.metrics.g_epsilon import checked_weights

    for name in [*([] if target is None else [target]), *(targets or ())]:
        if name not in schema.modelled:
            raise UsageError(f"the target '{name}' is not a modelled column of the schema.")
    if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= 50:
        raise UsageError(f"folds must be a whole number from 2 to 50; found {folds!r}.")
    wanted = tuple(LEARNERS) if learners == "all" else (learners,) if isinstance(learners, str) else learners
    chosen = QUICK if wanted is None else tuple(wanted)
    unknown = [name for name in chosen if name not in LEARNERS]
    if unknown or not chosen:
        raise UsageError(f"there is no learner {unknown}; known are {', '.join(LEARNERS)}, or all.")
    listed = None if targets is None else tuple(targets)
    return Settings(target=target, learners=chosen, folds=folds, weights=checked_weights(weights), targets=listed)


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
    learned, g, copied = (scores[name].behind for name in ("learning", "g_epsilon_plus", "copies"))
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

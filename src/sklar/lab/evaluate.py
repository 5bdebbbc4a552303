"""Evaluate synthetic tables against the real one: read them, measure, and collect the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.lab.evaluation import Evaluation
from sklar.notebook import notebook_bar
from sklar.sample.rng import named_streams, seed_entropy
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.accounting.claim import Claim
    from sklar.lab.metrics.ranges import RangeWorkload
    from sklar.lab.metrics.subgroups import Subgroups
    from sklar.lab.metrics.trajectories import Trajectories
    from sklar.lab.tables.table import ExactTable
    from sklar.pipeline.model import Model

Progress = Callable[[str, float], None]
METRICS_FRACTION = 0.9
"""Fraction of the work that is complete after all metrics, for progress bars."""


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
    claim: Claim | str | None = None,
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
    """Compare a synthetic table from any source with the real one. No noise is added: the results are not private.

    Args:
        real: The real table: a file, a data frame, or any object with the Arrow interface.
        synthetic: The synthetic table, in any of these forms.
        schema: Public facts about the columns, or the path of a schema file.
        target: A column that users will predict; without it there is no train-on-synthetic-test-on-real.
        holdout: Real rows that the synthesizer did not see: test rows, and a fresh sample for the floors. Without it,
            folds and halves of the real table are used.
        name: Name of the synthetic table in reports.
        learners: Any of boosting, forest, linear, svc, tree, xgboost, or "all", for train-on-synthetic-test-on-real
            and for G_eps+; by default boosting, linear and tree for the first, and svc, linear and tree for the second.
        folds: Folds of the real table when there is no hold-out.
        weights: alpha, beta and gamma of G_eps+.
        targets: Columns that G_eps+ predicts; by default the target, or all columns without one.
        measures: Measures that G_eps+ compares: any of accuracy, f1, auc, mcc and r2; by default all but mcc.
        ranges: The range queries over all columns: their number, sanity bound and size.
        claim: The privacy claim of the method, shown in the report.
        seed: Fixes subsamples, splits and folds.
        read: How to read the tables: delimiter, encoding, null_values.
        read_synthetic: How to read the synthetic table, if different.
        progress: Called with the current step and the fraction completed.
        attacks: Names of attacks on the table to add to the report, with their default options.
        sensitive: Columns that the attack "attribute" guesses.
        query_budget: Epsilon and delta of the references Lap and Gauss for the errors of counting queries; by default
            those of Asghar et al. (2020).
        keys: Columns that an intruder knows, for disco and replicated_uniques; by default the first four that are not
            the target for the former, and all columns for the latter.
        by: Columns by whose values errors are also reported; numbers in quarters.

    Tables above two million rows are subsampled. The costly metrics use at most this number of rows of each table:
    Spearman and ranges over all columns 200,000; phi_k 100,000 and 40 columns; learning 60,000 (training 20,000,
    support vectors 2,000); Kendall 50,000 (fewer with many columns); queries 50,000; detection 10,000; G_eps+ 5,000 and
    12 targets; regressions of interval_overlap 10,000; pmse_ratio 5,000; subgroups 50,000 and 20 values of each
    column; alpha-precision and beta-recall 4,000; authenticity 1,000 against 40,000 real ones.
    """
    from sklar.lab.attacks.release import attack_tables, require_attacks, rows_by_role
    from sklar.lab.metrics.bench import make_bench, read_settings, require_columns, set_keys
    from sklar.lab.metrics.queries import check_query_budget
    from sklar.lab.metrics.registry import measure
    from sklar.lab.metrics.subgroups import measure_subgroups
    from sklar.lab.overview import collect_overview
    from sklar.lab.tables.reading import read_tables

    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    settings = read_settings(
        facts, target, learners=learners, folds=folds, weights=weights, targets=targets, measures=measures,
        ranges=ranges,
    )  # fmt: skip
    settings = set_keys(settings, facts, keys)
    named = (by,) if isinstance(by, str) else tuple(by)
    require_columns(facts, "column", named)
    require_attacks(attacks, sensitive, holdout is not None)
    budget = check_query_budget(query_budget)
    report = progress or notebook_bar("evaluating") or (lambda what, fraction: None)
    report("reading the tables", 0.0)
    exact, table, held = read_tables(real, synthetic, holdout, facts, seed, read, read_synthetic)
    bench = make_bench(exact, table, held, settings, named_streams(seed_entropy(seed)))
    scores = measure(bench, done=lambda what, fraction: report(what, METRICS_FRACTION * fraction))
    report("drawing pictures", METRICS_FRACTION)
    seen = collect_overview(bench, scores, budget)
    grouped: list[Subgroups] = []
    for column in named:
        report(f"errors by {column}", METRICS_FRACTION)
        grouped.append(measure_subgroups(bench, column))
    attacked = attack_tables(
        exact, table, held, attacks, sensitive, seed,
        done=lambda what, fraction: report(what, METRICS_FRACTION + (1 - METRICS_FRACTION) * fraction),
    )  # fmt: skip
    report("done", 1.0)
    return Evaluation(
        name=name, scores=scores, schema=facts, claim=claim,
        warnings=tuple(_table_warnings(exact, table, scores["copies"].behind.warning)),
        rows=rows_by_role(exact, table, held), overview=seen, subgroups=tuple(grouped), attacks=attacked,
        trajectories=_compare_trajectories(real, synthetic, facts, read, read_synthetic),
    )  # fmt: skip


def _compare_trajectories(
    real: Any, synthetic: Any, schema: Schema, read: ReadOptions | None, read_synthetic: ReadOptions | None
) -> Trajectories | None:
    """Compare the trajectories of persons, if the schema links rows and both tables have the key."""
    from sklar.errors import SourceError
    from sklar.lab.metrics.trajectories import compare_trajectories
    from sklar.lab.tables.reading import split_read_options
    from sklar.schema.persons.linked import has_linked_rows

    if not has_linked_rows(schema, schema.person):
        return None
    reading, other = split_read_options(read, read_synthetic)
    try:
        return compare_trajectories(real, synthetic, schema, read=reading, read_synthetic=other)
    except SourceError:  # without a key, or with a stream that was already read, there are no persons to compare
        return None


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
    """Write the custodian's report on a new synthetic table. Computed from real rows: not private."""
    evaluate(
        data, output, model.schema, target, claim=model.claim, read=read, read_synthetic=ReadOptions(),
        progress=progress,
    ).html(path)  # fmt: skip


def _table_warnings(real: ExactTable, synthetic: ExactTable, copied: str | None) -> Iterator[str]:
    """Report what may be wrong with the tables themselves."""
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
        yield "the synthetic table has far fewer rows than the real one; sampling noise dominates every score."
    if real.total < 100:
        yield "the real table has fewer than 100 rows; scores and floors are rough."

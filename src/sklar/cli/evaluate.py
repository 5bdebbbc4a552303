"""sklar evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    Json,
    SchemaFile,
    make_measuring,
    parse_numbers,
    parse_words,
    shared_options,
    text_reading,
)
from sklar.cli.terminal.progress import part_of, step_bar
from sklar.cli.terminal.show import Report, hand_over, require_reportable
from sklar.errors import UsageError

if TYPE_CHECKING:
    from sklar.lab.evaluation import Evaluation
    from sklar.lab.metrics.moments import ColumnSummary
    from sklar.lab.metrics.queries import QueryProfiles
    from sklar.lab.metrics.subgroups import Subgroup


@guard_command
@shared_options(read=text_reading, wanted=make_measuring)
def command(
    real: Annotated[str, typer.Argument(metavar="REAL", help="The real table.")],
    synthetic: Annotated[list[str], typer.Argument(metavar="SYNTHETIC...", help="One or several synthetic tables.")],
    schema: SchemaFile,
    target: Annotated[str | None, typer.Option("--target", help="Column to predict from the others.")] = None,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="Real rows that no synthesizer saw.")
    ] = None,
    report: Report = None,
    scatter: Annotated[
        str | None,
        typer.Option(
            "--scatter", metavar="FILE", help="Scatter grid of both tables, as .custodian.svg or .custodian.png."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B", help="Numeric columns of the scatter grid, at most 8.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="FILE", help="Model file whose claim is shown; one per table."),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", help="Number of folds of the real table, if no hold-out is given.")
    ] = 3,
    attacks: Annotated[
        str | None,
        typer.Option("--attacks", help="Attacks to report: membership,copies,singling-out,linkability,attribute."),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="Column that the attack attribute guesses; repeatable."),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option("--keys", metavar="A,B", help="Columns that an intruder knows, for the disclosure metrics."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Also report errors for each value of this column; repeatable."),
    ] = None,
    query_budget: Annotated[
        str,
        typer.Option("--query-budget", metavar="EPSILON,DELTA", help="Budget of the query references Lap and Gauss."),
    ] = "0.99,9.313225746154785e-10",
    binary: Annotated[
        bool, typer.Option("--binary", help="SYNTHETIC is a table of `sample --binary`: evaluate queries only.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of subsamples, splits and folds.")] = 0,
    *,
    read: Any,
    wanted: Any,
    json: Json = False,
) -> None:
    """Measure how close synthetic tables are to the real one.

    The tables may come from any tool. Computed from real rows without noise: the results are for the custodian, and
    not private.

    \b
    Example:
      sklar evaluate people.csv synthetic.csv -s people.toml --target income --report people.custodian.html
      sklar evaluate people.csv synthetic.csv -s people.toml --target income --keys age,sex --by sex
      sklar evaluate people.csv bits.parquet -s people.toml --binary
    """
    from sklar.lab.evaluate import evaluate
    from sklar.lab.evaluation import write_report
    from sklar.pipeline.model import load

    require_reportable(report)
    if binary:
        given = {"--report": report, "--scatter": scatter, "--target": target, "--holdout": holdout}
        _queries_alone(real, synthetic, schema, given | {"--attacks": attacks}, query_budget, seed, read, json)
        return
    _require_scatter(scatter, columns, synthetic)
    names = table_names(synthetic)
    claims = {name: load(path).claim for name, path in zip(names, model or (), strict=False)}
    with step_bar("evaluating") as progress:
        found = [
            evaluate(
                real, path, schema, target, holdout, name=name, folds=folds, seed=seed, **wanted,
                query_budget=parse_numbers(query_budget, "--query-budget", "0.9,1e-9") or (),
                claim=claims.get(name), read=read, progress=part_of(progress, name, at, len(names)),
                attacks=parse_words(attacks) or (), sensitive=sensitive or (), keys=parse_words(keys), by=by or (),
            )
            for at, (name, path) in enumerate(zip(names, synthetic, strict=True))
        ]  # fmt: skip
    if scatter is not None:
        from sklar.lab.pictures import scatter as draw

        draw(synthetic[0], schema, scatter, real=real, columns=parse_words(columns), seed=seed, read=read)
    several = len(found) > 1
    hand_over(found, print_one=lambda one: show_evaluation(one, several), report=report, write=write_report, json=json)


def _queries_alone(
    real: str,
    binary: Sequence[str],
    schema: str,
    idle: dict[str, str | None],
    query_budget: str,
    seed: int,
    read: Any,
    json: bool,
) -> None:
    """Evaluate the counting queries of binary tables."""
    from sklar.lab.binary import evaluate_binary

    given = [name for name, value in idle.items() if value is not None]
    if given:
        raise UsageError(
            f"{given[0]} is not available for a binary table, which answers counting queries only; omit it."
        )
    budget = parse_numbers(query_budget, "--query-budget", "0.9,1e-9") or ()
    found = [
        evaluate_binary(real, path, schema, name=name, query_budget=budget, seed=seed, read=read)
        for name, path in zip(table_names(binary), binary, strict=True)
    ]
    hand_over(
        found, print_one=lambda one: show_queries(one.queries, one.name), report=None, write=lambda *_: None, json=json
    )


def _require_scatter(scatter: str | None, columns: str | None, synthetic: Sequence[str]) -> None:
    """Refuse a scatter grid of several synthetic tables, and columns without a grid."""
    from sklar.lab.pictures import require_scatter

    if scatter is None and columns is not None:
        raise UsageError("--columns are those of a scatter grid: add --scatter FILE, or omit them.")
    if scatter is not None and len(synthetic) > 1:
        raise UsageError("a scatter grid shows one synthetic table beside the real one; give one.")
    if scatter is not None:
        require_scatter(scatter, True)


def table_names(paths: Sequence[str]) -> list[str]:
    """Return distinct names of tables: those of the files, else their paths, else numbered paths."""
    for names in ([Path(path).stem for path in paths], list(paths)):
        if len(set(names)) == len(paths):
            return names
    return [f"{path} ({at})" for at, path in enumerate(paths, 1)]


def show_evaluation(evaluation: Evaluation, named: bool) -> None:
    """Print warnings, verdict, scores, columns, queries, groups and attacks of one table."""
    show.print_line()
    if named:
        show.print_line(f"{evaluation.name}:")
    for warning in evaluation.warnings:
        show.note(f"Warning: {warning}")
    for sentence in evaluation.verdict:
        show.print_line(sentence)
    show.print_line(f"What to do next: {evaluation.next_step}")
    show.print_line()
    rows = [
        [s.about.name, show.format_number(s.value), show.format_number(s.floor), s.about.better, s.grade]
        for s in evaluation.scores.values()
    ]
    show.print_table(["metric", "value", "floor", "better", "grade"], rows)
    for score in evaluation.scores.values():
        if score.value is None:
            show.print_line(f"{score.about.name}: {score.reason}")
    show.print_line()
    show.print_table(
        ["column", "null", "mean", "sd", "5%", "50%", "95% (real / synthetic)"], map(_column_line, evaluation.columns)
    )
    show.print_line()
    show_queries(evaluation.overview.queries)
    for found in evaluation.subgroups:
        show.print_line()
        show.print_table(
            [found.by, "rows", "tvd1 (floor)", "tvd2 (floor)", "means (floor)", "largest error of a mean"],
            map(_group_line, found.groups),
        )
    for sentence in (sentence for result in evaluation.attacks for sentence in result.verdict):
        show.print_line(sentence)


def _group_line(one: Subgroup) -> list[str]:
    """Return the errors of one group."""
    pairs = ((one.tvd1, one.tvd1_floor), (one.tvd2, one.tvd2_floor), (one.means, one.means_floor))
    errors = [f"{show.format_number(value)} ({show.format_number(floor)})" for value, floor in pairs]
    return [one.value, f"{one.rows[0]:,} / {one.rows[1]:,}", *errors, one.furthest]


def show_queries(queries: QueryProfiles, name: str = "queries") -> None:
    """Print the errors of counting queries."""
    found = [(one, one.answered[0].lines) for one in queries.sets]
    rows = [[f.name, f"{f.queries:,}", *(f"{x.average:,.0f} / {x.largest:,.0f}" for x in lines)] for f, lines in found]
    show.print_table([name, "number", "95%", "99%", "100% (average / largest error in rows)"], rows)


def _column_line(one: ColumnSummary) -> list[str]:
    """Return the summary of one column in both tables."""
    places = [one.levels.index(level) for level in (0.05, 0.5, 0.95)]
    sides = [
        [f"{side.null:.1%}", one.text(side.mean), one.text(side.sd, length=True)]
        + [one.text(side.quantiles[place] if side.quantiles else None) for place in places]
        for side in (one.real, one.synthetic)
    ]
    return [one.column, *(f"{a} / {b}" for a, b in zip(*sides, strict=True))]

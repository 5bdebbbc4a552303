"""sklar evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sklar.cli import show
from sklar.cli.findings import hand_over
from sklar.cli.guard import guarded
from sklar.cli.options import STANDARD_OUTPUT, Delimiter, Encoding, NullValues, SchemaFile, reader_options
from sklar.cli.progress import step_bar

if TYPE_CHECKING:
    from sklar.pipeline.evaluate import Evaluation

NAME = "evaluate"


@guarded
def command(
    real: Annotated[str, typer.Argument(metavar="REAL", help="The real table.")],
    synthetic: Annotated[list[str], typer.Argument(metavar="SYNTHETIC...", help="One or several synthetic tables.")],
    schema: SchemaFile,
    target: Annotated[str | None, typer.Option("--target", help="Column to predict from the others.")] = None,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="Real rows that no synthesizer saw.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="HTML report; its name ends in .custodian.html.")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="All results as JSON; - for standard output.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="FILE", help="Model file whose claim is shown; one a table.")
    ] = None,
    learners: Annotated[
        str | None, typer.Option("--learners", help="boosting,forest,linear,svc,tree or all; default: the quick ones.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Folds of the real table, without a hold-out.")] = 3,
    weights: Annotated[str, typer.Option("--weights", help="alpha,beta,gamma of G_eps+.")] = "1,1,1",
    attacks: Annotated[
        str | None,
        typer.Option("--attacks", help="membership,copies,singling-out,linkability,attribute: report these besides."),
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", metavar="COLUMN", help="For the attack attribute; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Fixes subsamples, splits and folds.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
) -> None:
    """Compare synthetic tables, whoever made them, with the real one.

    Computed from real rows without noise: the results are for the custodian, and not private.

    \b
    Example:
      sklar evaluate people.csv synthetic.csv -s people.toml --target income --report people.custodian.html
    """
    from sklar.pipeline.evaluate import NOTICE, evaluate_tables, require_outputs, write_json, write_report
    from sklar.pipeline.fitted import load

    require_outputs(report, None if json == STANDARD_OUTPUT else json)
    names = table_names(synthetic)
    claims = {name: load(path).claim for name, path in zip(names, model or (), strict=False)}
    with step_bar("evaluating") as progress:
        found = evaluate_tables(
            real, dict(zip(names, synthetic, strict=True)), schema, target, holdout,
            learners=None if learners is None else "all" if learners == "all" else learners.split(","),
            folds=folds, weights=_numbers(weights), claims=claims, seed=seed,
            reader=reader_options(delimiter, encoding, null_value, None), progress=progress,
            attacks=() if attacks is None else attacks.split(","), sensitive=sensitive or (),
        )  # fmt: skip
    hand_over(
        found, notice=NOTICE, tell=lambda one: _tell(one, len(found) > 1),
        report=(report, write_report), json=(json, write_json),
    )  # fmt: skip


def table_names(paths: Sequence[str]) -> list[str]:
    """The names of the files where they differ, else their paths, else numbered."""
    for names in ([Path(path).stem for path in paths], list(paths)):
        if len(set(names)) == len(paths):
            return names
    return [f"{path} ({at})" for at, path in enumerate(paths, 1)]


def _tell(evaluation: Evaluation, named: bool) -> None:
    show.line()
    if named:
        show.line(f"{evaluation.name}:")
    for warning in evaluation.warnings:
        show.note(f"Warning: {warning}")
    for sentence in evaluation.verdict:
        show.line(sentence)
    show.line()
    rows = [
        [s.about.name, show.number(s.value), show.number(s.floor), s.about.better, s.grade]
        for s in evaluation.scores.values()
    ]
    show.table(["metric", "value", "floor", "better", "grade"], rows)
    for score in evaluation.scores.values():
        if score.value is None:
            show.line(f"{score.about.name}: {score.reason}")
    for sentence in (sentence for result in evaluation.attacks for sentence in result.verdict):
        show.line(sentence)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"write three numbers as 1,1,1; found {text!r}", param_hint="--weights") from None

"""sklar estimate."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json, ModelFile
from sklar.cli.terminal.progress import row_bar


@guard_command
def command(
    model: ModelFile,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help='Such as "mean(income) by sex where age=30..40"; see below.')
    ],
    confidence: Annotated[float, typer.Option("--confidence", help="Coverage of the intervals.")] = 0.95,
    of: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="population|table",
            help="Estimate the population or the private table; see docs/inference.md.",
        ),
    ] = "population",
    replicas: Annotated[
        int, typer.Option("--replicas", help="Number of replicas of the fit; they are cached in MODEL.replicas.")
    ] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the replicas.")] = 0,
    json: Json = False,
) -> None:
    """Estimate a statistic with error bars, at no privacy cost.

    A question is a statistic of columns, optionally followed by `by COLUMN` (groups) and `where COLUMN=VALUE and ...`
    (conditions). Statistics: share, mean, total, median, quantile, difference (between two groups), correlation,
    linear and logistic.

    \b
    Example:
      sklar estimate people.sklar "mean(income) by sex"
      sklar estimate people.sklar "share(smoker=yes) where age=30..40"
      sklar estimate people.sklar "quantile(income, 0.9)" --confidence 0.9
      sklar estimate people.sklar "difference(income) by sex"
      sklar estimate people.sklar "linear(income ~ age + sex)" --json
    """
    from sklar.pipeline.model import load

    fitted = load(model)
    with row_bar("making replicas", replicas) as done:
        found = fitted.estimate(
            question, confidence=confidence, of=of, replicas=replicas, seed=seed, done=done  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
    answers = found if isinstance(found, tuple) else (found,)
    if json:
        show.as_json([answer.to_dict() for answer in answers])
        return
    unit = "rows" if fitted.schema.person is None else "persons"
    headings = ["group", "term", "value", "low", "high", f"effective {unit}"]
    show.print_line(f"{answers[0].name}, {confidence:.4g} intervals for the {of}:")
    rows = [
        [x.group, x.term, *(show.format_number(number) for number in (x.value, x.low, x.high)), x.effective_rows]
        for x in answers
    ]
    kept = [i for i in range(len(headings)) if i == 2 or any(row[i] is not None for row in rows)]
    show.print_table([headings[i] for i in kept], [["-" if row[i] is None else row[i] for i in kept] for row in rows])
    for how in dict.fromkeys(answer.how for answer in answers):
        show.print_paragraph(how[:1].upper() + how[1:] + ".")

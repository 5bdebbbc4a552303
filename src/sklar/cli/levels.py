"""sklar levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    Json,
    MethodOptions,
    SchemaFile,
    parse_numbers,
    read_options,
    shared_options,
    text_reading,
)
from sklar.cli.terminal.progress import step_bar

if TYPE_CHECKING:
    from sklar.lab.levels import LevelChoice


@guard_command
@shared_options(read=text_reading)
def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The real table.")],
    schema: SchemaFile,
    target: Annotated[
        str, typer.Option("--target", help="The response: the column to predict, and the root of the vine.")
    ],
    sensitive: Annotated[str, typer.Option("--sensitive", metavar="A,B", help="The columns to protect.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for the report, the privacy-utility plot and the truncated model.",
        ),
    ] = None,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="Rows to test on; default: a fifth of FILE.")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option("--levels", metavar="1,5,10", help="Truncation levels; default: 1, every fifth, and the highest."),
    ] = None,
    attacks: Annotated[
        str,
        typer.Option(
            "--attacks", help="Attacks: attribute (MAB, WCAB, MR2, MSE), shadow (PG; takes longest), or both."
        ),
    ] = "attribute,shadow",
    privacy: Annotated[str, typer.Option("--privacy", help="Privacy measure P_t: mab, wcab, mr2, mse or pg.")] = "mab",
    weight: Annotated[float, typer.Option("--weight", help="Weight a of privacy in PU_t = a P_t + (1 - a) U_t.")] = 0.5,
    learner: Annotated[
        str, typer.Option("--learner", help="Learner of the utility: boosting, forest, linear, svc or tree.")
    ] = "forest",
    sets: Annotated[int, typer.Option("--sets", help="Number of synthetic tables for the utility of a level.")] = 50,
    published: Annotated[
        bool, typer.Option("--published", help="Method and attackers as published, without our additions.")
    ] = False,
    profile: Annotated[str, typer.Option("--profile", help="Sizes of the attacks' games: paper or quick.")] = "paper",
    option: MethodOptions = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes of the attacks.")] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="PATH", help="Folder for finished parts, to resume from; default: FILE.levels."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of split, fit, samples and targets.")] = 0,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Choose how many vine trees TVineSynth keeps.

    A level is the number of trees that are kept. The method `tvine`, which has no DP guarantee, is fitted once. For
    every level a learner is trained on synthetic tables, attacks try to infer the sensitive columns and who was in
    the table, and PU_t weighs utility and privacy. Computed from real rows without noise: the results are for the
    custodian, and not private.

    \b
    Example:
      sklar levels people.csv -s people.toml --target ill --sensitive income,cost -o levels
      sklar levels people.csv -s people.toml --target ill --sensitive cost --attacks attribute --profile quick --sets 5
    """
    from sklar.lab.levels import compare_levels

    with step_bar("weighing levels") as progress:
        found = compare_levels(
            file, schema, target, [name.strip() for name in sensitive.split(",")], holdout=holdout,
            candidates=parse_numbers(levels, "--levels", "1,5,10", int), attacks=attacks.split(","), privacy=privacy,
            weight=weight, learner=learner, sets=sets, profile=profile, published=published, workers=workers, seed=seed,
            state=state or f"{file}.levels", read=read, progress=progress, **read_options(option),
        )  # fmt: skip
    files = () if output is None else found.save(output)
    if json:
        show.as_json({**found.to_dict(), "files": [str(path) for path in files]})
        return
    _show(found)
    for path in files:
        show.print_line(f"Written: {path}")


def _show(found: LevelChoice) -> None:
    from sklar.report.page import NOTICE

    show.print_line(NOTICE)
    show.print_line(found.model.claim.label)
    show.print_line()
    show.print_table(found.headings, found.rows)
    show.print_line()
    real = ", ".join(f"{name} {value:.3f}" for name, value in found.real.items())
    show.print_line(f"The same learner trained on real rows: {real}.")
    own = ", ".join(f"{name}: {level}" for name, level in found.by_column.items())
    show.print_line(f"Chosen level: {found.chosen} (PU_t with a = {found.weight:g}, P_t from {found.privacy}; {own}).")

"""sklar split."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json, make_reading, shared_options
from sklar.cli.terminal.progress import pass_bar


@guard_command
@shared_options(read=make_reading)
def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The private table.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Rows for training.")],
    holdout: Annotated[str, typer.Option("--holdout", metavar="FILE", help="Rows that no synthesizer may see.")],
    share: Annotated[float, typer.Option("--share", help="Share of the rows to hold out.")] = 0.2,
    key: Annotated[
        str | None, typer.Option("--key", metavar="COLUMN", help="Rows with the same key stay together.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same split.")] = None,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Hold out random rows for tests and attacks.

    Both files contain real rows and are readable by their owner only.

    \b
    Example:
      sklar split people.csv -o train.csv --holdout held.csv --seed 1
    """
    from sklar.lab.split import split

    with pass_bar("reading rows", file) as progress:
        split(file, output, holdout, share=share, key=key, seed=seed, read=replace(read, progress=progress))
    text = f"Training rows are in {output}, held-out rows in {holdout}. Both are real: keep them private."
    show.print_result(json, {"output": output, "holdout": holdout}, text)

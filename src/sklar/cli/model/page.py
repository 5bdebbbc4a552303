"""sklar page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json, ModelFile
from sklar.cli.terminal.progress import step_bar


@guard_command
def command(
    model: ModelFile,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Output file; default: beside the model, *.page.html."),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option("--ask", metavar="QUESTION", help="A further question to answer in the page; repeatable."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="FILE", help="The ledger of the fit; an extract is included.")
    ] = None,
    sign: Annotated[
        str | None, typer.Option("--sign", metavar="KEY", help="Sign with this private key, made by `sklar key`.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the release.")] = None,
    json: Json = False,
) -> None:
    """Write a release as one page, to look at, sample and verify.

    The page contains the model file and needs no installation and no network: any browser from 2023 on opens it. It
    shows every column and pair beside what was measured, draws rows, answers questions with intervals, and checks its
    own hashes. No row is read, and nothing is charged.

    \b
    Example:
      sklar page people.sklar -o people.page.html
      sklar page people.sklar --ask "mean(income) by sex where age=30..40" --ledger people.ledger --sign custodian.key
    """
    from sklar.pipeline.model import load
    from sklar.pipeline.release_page.gather import page_path

    place = output or page_path(model)
    with step_bar("the page") as done:
        load(model).page(place, questions=questions or (), ledger=ledger, sign=sign, name=name, done=done)
    size = Path(place).stat().st_size
    text = f"The page is in {place} ({size / 1e6:.1f} MB); it may be published. Open it in a browser."
    show.print_result(json, {"page": place, "bytes": size, "signed": sign is not None}, text)

"""sklar report."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json, ModelFile


@guard_command
def command(
    model: ModelFile,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Output file; default: beside the model, *.public.html."),
    ] = None,
    json: Json = False,
) -> None:
    """Report the quality of a release, on a page to publish.

    Computed from the noisy releases in the model file alone: no row is read, and nothing is charged. It shows what is
    accurate and what is not, interval widths, contradicted tables and estimated errors.

    \b
    Example:
      sklar report people.sklar -o people.public.html
    """
    from sklar.pipeline.model import load
    from sklar.pipeline.public_report.report import public_path

    page = output or (None if json else public_path(model))
    found = load(model).report(page)
    if json:
        show.as_json(found.to_dict())
        return
    show.print_line("What is accurate:")
    for line in found.trust:
        show.print_paragraph(f"- {line}")
    show.print_line("What is not accurate:")
    for line in found.doubt:
        show.print_paragraph(f"- {line}")
    show.print_line(f"The page is in {page}; it may be published.")

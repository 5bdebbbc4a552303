"""sklar mcp."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal.guard import guard_command


@guard_command
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A released model file.")],
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Maximum rows per sampling call.")] = 1000,
) -> None:
    """Serve a released model to AI agents (Model Context Protocol).

    It uses the Model Context Protocol on standard input and output. Tools: schema, sample, estimate, report and verify.
    It opens the model file only, never rows or a ledger, so any number of answers costs no privacy.

    \b
    Example:
      sklar mcp people.sklar
    """
    from sklar.pipeline.agents import serve_model

    serve_model(model, max_rows=max_rows)

"""sklar bench verify: check an entry of the open benchmark with the public table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import REFUSED, guard_command
from sklar.cli.terminal.options import Json
from sklar.errors import UsageError

app = typer.Typer(help="Check entries of the open benchmark.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def describe_group() -> None:
    """Check entries of the open benchmark."""


@app.command("verify")
@guard_command
def verify(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The entry, a zip file.")],
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="FILE", help="The rows that were learned from; by default ENTRY.real.parquet."),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="FILE", help="The rows to test on; by default ENTRY.test.parquet."),
    ] = None,
    json: Json = False,
) -> None:
    """Verify an entry of the open benchmark from the public table.

    Recomputes the scores, verifies the release, draws its rows again, and tests whether released minus exact counts
    look like the stated noise. Exit code 1 if anything contradicts the entry.

    \b
    Example:
      sklar bench verify adult.zip --table adult.parquet
    """
    from sklar.lab.entries.check import verify_entry

    start = Path(entry).with_suffix("")
    real, beside = table or f"{start}.real.parquet", Path(f"{start}.test.parquet")
    if table is None and not Path(real).exists():
        raise UsageError(
            f"the rows of the table are not in {real}: give them by --table (benchmarks.open entry writes them)"
        )
    found = verify_entry(entry, real, test or (str(beside) if beside.exists() else None))
    if json:
        show.as_json(found.to_dict())
    else:
        for line in str(found).splitlines():
            show.print_paragraph(line)
    if not found.ok:
        raise typer.Exit(REFUSED)

"""sklar demo."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json, MethodName
from sklar.cli.terminal.progress import step_bar


@guard_command
def command(
    directory: Annotated[
        str, typer.Argument(metavar="[DIRECTORY]", help="New or empty folder for the files.")
    ] = "sklar-demo",
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Privacy budget.")] = 1.0,
    rows: Annotated[int, typer.Option("--rows", help="Rows of the example table.")] = 20_000,
    method: MethodName = None,
    report: Annotated[bool, typer.Option(help="Also compare both tables, in a report for the custodian.")] = False,
    json: Json = False,
) -> None:
    """Run the whole workflow on an invented example table.

    Writes the example table, its schema, ledger, model, synthetic table, claim, public report and release bundle to a
    folder.

    \b
    Example:
      sklar demo
      sklar demo my-folder -e 0.5 --method independent
    """
    from sklar.lab.demo import demo

    with step_bar("demo") as steps:
        made = demo(directory, epsilon=epsilon, rows=rows, method=method, report=report, progress=steps)
    if json:
        show.as_json({"claim": made.claim, "rows": made.rows, "files": [str(path) for path in made.files]})
        return
    folder = made.folder.resolve()
    show.print_paragraph(made.promise)
    show.print_line(f"The rest of the claim: {folder / 'claim.txt'}")
    show.print_line()
    show.print_line("Three things to look at:")
    show.print_line(f"  {made.rows:,} synthetic rows: {folder / 'synthetic.csv'}")
    show.print_line(f"  the public report: {folder / 'people.public.html'}")
    show.print_line(f"  the release bundle: {folder / 'people.release.zip'}")
    show.print_line(f"    verify it with: sklar verify {folder / 'people.release.zip'}")
    show.print_line(f"The other files are described in {folder / 'README.txt'}")

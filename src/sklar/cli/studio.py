"""sklar studio."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json


@guard_command
def command(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="Folder with the tables; default: the current one.")
    ] = ".",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port of the page; default: 8765, or a free one.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    json: Json = False,
) -> None:
    """Open a local web page for the whole workflow.

    It leads from a table to a verified release, for one folder and one custodian, on this computer only. Anyone with
    the printed address has access. The page runs the same commands as the terminal and shows them; jobs continue when
    the page or the studio is closed.

    \b
    Example:
      sklar studio
      sklar studio clinic --port 8800 --no-browser
    """
    from sklar.studio.serve import open_studio

    def announce(text: str, address: str) -> None:
        if json:
            show.as_json({"address": address})
        else:
            show.print_line(text)
        sys.stdout.flush()

    open_studio(folder, port, browser, tell=announce)

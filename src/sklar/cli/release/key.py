"""sklar key."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json

NAME = "key"


@guarded
def command(
    path: Annotated[str, typer.Argument(metavar="FILE", help="The private key; the public one is FILE.pub.")],
    json: Json = False,
) -> None:
    """Make a pair of keys to sign releases with.

    The private key is readable by its owner only and never overwritten. Publish the other one.

    \b
    Example:
      sklar key custodian.key
    """
    from sklar.pipeline.bundle.keys import make_key

    private, public = make_key(path)
    if json:
        show.as_json({"private": str(private), "public": str(public)})
        return
    show.line(f"The private key is in {private}: keep it. The public one is in {public}: publish it.")

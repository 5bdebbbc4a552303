"""sklar methods."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json


@guard_command
def command(
    name: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Show the options of this method.")] = None,
    json: Json = False,
) -> None:
    """List the methods and their guarantees, or the options of one.

    \b
    Example:
      sklar methods
      sklar methods vine
    """
    from sklar.lab.methods import baseline_methods, describe_options, list_methods, private_methods

    if name is not None:
        options = describe_options(name)
        if json:
            show.as_json([{"option": option, "default": default, "meaning": text} for option, default, text in options])
            return
        show.print_table(["option (-O)", "default", "meaning"], options)
        return
    if json:
        show.as_json(list_methods())
        return
    rows = [
        (
            f"{x['name']} (default)" if x["default"] else x["name"],
            x["summary"],
            "yes" if x["pure_epsilon"] else "no",
            x["neighbours"],
        )
        for x in private_methods()
    ]
    show.print_table(["method", "what it is", "delta 0", "neighbours"], rows)
    show.print_line("NO DP GUARANTEE (these learn from the rows themselves, and need --no-guarantee):")
    show.print_table(["method", "what it is"], [(x["name"], x["summary"]) for x in baseline_methods()])
    show.print_line("Options of a method: sklar methods METHOD.")

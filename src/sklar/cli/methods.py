"""sklar methods."""

from __future__ import annotations

from typing import Any

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json


@guarded
def command(json: Json = False) -> None:
    """List the methods, their guarantees and their options.

    \b
    Example:
      sklar methods
    """
    from sklar.lab.methods import baseline_methods, private_methods

    private, disclosed = private_methods(), baseline_methods()
    if json:
        show.as_json([*private, *disclosed])
        return
    rows = [
        (
            f"{x['name']} (default)" if x["default"] else x["name"],
            x["summary"],
            "yes" if x["pure_epsilon"] else "no",
            x["neighbours"],
            _options(x),
        )
        for x in private
    ]
    show.table(["method", "what it is", "delta 0", "neighbours", "options (-O)"], rows)
    show.line("NO DP GUARANTEE (these learn from the rows themselves, and need --no-guarantee):")
    show.table(["method", "what it is", "options (-O)"], [(x["name"], x["summary"], _options(x)) for x in disclosed])


def _options(facts: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in facts["options"].items())

"""sklar methods."""

from __future__ import annotations

import dataclasses
from typing import Any

from sklar.cli import show
from sklar.cli.guard import guarded
from sklar.cli.options import Json

NAME = "methods"


@guarded
def command(json: Json = False) -> None:
    """List the methods, what they promise and their options.

    \b
    Example:
      sklar methods
    """
    from sklar.methods.registry import DEFAULT_METHOD, METHODS

    facts: list[dict[str, Any]] = [
        {
            "name": method.name,
            "default": method.name == DEFAULT_METHOD,
            "summary": method.summary,
            "guarantee": "differential privacy",
            "neighbours": method.neighbours,
            "pure_epsilon": not method.needs_delta,
            "options": {f.name: _default(f) for f in dataclasses.fields(method.options)},
        }
        for method in METHODS.values()
    ]
    if json:
        show.as_json(facts)
        return
    rows = [
        (
            f"{x['name']} (default)" if x["default"] else x["name"],
            x["summary"],
            "yes" if x["pure_epsilon"] else "no",
            x["neighbours"],
            ", ".join(f"{key}={value}" for key, value in x["options"].items()),
        )
        for x in facts
    ]
    show.table(["method", "what it is", "delta 0", "neighbours", "options (-O)"], rows)


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default is not dataclasses.MISSING else None

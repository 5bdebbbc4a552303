"""sklar inspect."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli import show
from sklar.cli.guard import guarded
from sklar.cli.options import Json

NAME = "inspect"


@guarded
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    json: Json = False,
) -> None:
    """Show what a model promises and holds.

    Its claim, what was measured with which noise, its margins and structure.

    \b
    Example:
      sklar inspect people.sklar
    """
    from sklar.pipeline.fitted import load

    facts = load(model).inspect()
    if json:
        show.as_json(facts)
        return
    show.paragraph(facts["claim"])
    show.line()
    show.line(f"About {facts['rows_estimate']:,} rows. What was measured:")
    show.table(["step", "label", "tables", "values", "noise", "std"], [_step(step) for step in facts["steps"]])
    show.line("Margins:")
    show.table(["column", "kind", "cells", "null", "distribution"], [_margin(margin) for margin in facts["margins"]])
    if facts.get("structure"):
        show.line("Structure:")
        _structure(facts["structure"])


def _step(step: dict[str, Any]) -> list[object]:
    noise: dict[str, Any] = step["noise"] or {"kind": "choice", "std": None}
    return [step["step"], step["label"], step["releases"], step["values"], noise["kind"], show.number(noise["std"])]


def _margin(margin: dict[str, Any]) -> list[object]:
    null = f"{margin['null']:.1%}" if "null" in margin else "-"
    if "top" in margin:
        words = ", ".join(f"{label} {share:.1%}" for label, share in margin["top"].items())
    elif "quantiles" in margin:
        words = ", ".join(f"{level} {_short(value)}" for level, value in margin["quantiles"].items())
    else:
        words = f"true {margin['true']:.1%}"
    return [margin["column"], margin["kind"], margin["cells"], null, words]


def _structure(structure: Any) -> None:
    """Whatever a model tells about itself: lines of plain data."""
    items = structure.items() if isinstance(structure, dict) else enumerate(structure, 1)
    for key, value in items:
        show.line(f"  {key}: {value if not isinstance(value, list) else '; '.join(map(str, value))}")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

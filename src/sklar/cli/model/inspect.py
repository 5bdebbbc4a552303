"""sklar inspect."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json, ModelFile


@guard_command
def command(
    model: ModelFile,
    json: Json = False,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the model to this file, .svg or .png.")] = None,
    picture: Annotated[
        str,
        typer.Option(metavar="trees|levels|pairs|scatter", help="What to draw; levels and pairs for tvine and rvine."),
    ] = "trees",
) -> None:
    """Show claim, measurements and structure of a model.

    \b
    Example:
      sklar inspect people.sklar
      sklar inspect people.sklar --plot vine.svg
      sklar inspect tvine.sklar --plot levels.png --picture levels
    """
    from sklar.pipeline.model import load

    fitted = load(model)
    facts = fitted.inspect()
    if plot is not None:
        from sklar.lab.pictures import draw_model

        draw_model(fitted, plot, picture)
    if json:
        show.as_json(facts)
        return
    show.print_claim(fitted.claim)
    show.print_line()
    if facts["claim_record"]["guarantee"]:
        show.print_line(f"About {facts['rows_estimate']:,} rows. Measurements:")
        headings = ["step", "label", "tables", "values", "noise", "std", "budget"]
        show.print_table(headings, [_make_step_line(step) for step in facts["steps"]])
    else:
        show.print_line(f"NO DP GUARANTEE. Learned from {facts['rows_estimate']:,} rows. {facts['fit']['warning']}")
    show.print_line("Margins:")
    headings = ["column", "kind", "cells", "null", "undetectable", "distribution"]
    show.print_table(headings, [_make_margin_line(margin) for margin in facts["margins"]])
    for sentence in facts.get("warnings", ()):
        show.print_line(f"Note: {sentence}")
    if facts.get("structure"):
        show.print_line("Structure:")
        _structure(facts["structure"])


def _make_step_line(step: dict[str, Any]) -> list[object]:
    noise: dict[str, Any] = step["noise"] or {"kind": "choice", "std": None}
    share = "-" if step["share"] is None else f"{step['share']:.1%}"
    words = [
        step["step"],
        step["label"],
        step["releases"],
        step["values"],
        noise["kind"],
        show.format_number(noise["std"]),
    ]
    return [*words, share]


def _make_margin_line(margin: dict[str, Any]) -> list[object]:
    null = f"{margin['null']:.1%}" if "null" in margin else "-"
    if "top" in margin:
        words = ", ".join(f"{label} {share:.1%}" for label, share in margin["top"].items())
    elif "quantiles" in margin:
        words = ", ".join(f"{level} {_format_short(value)}" for level, value in margin["quantiles"].items())
    else:
        words = f"true {margin['true']:.1%}"
    unseen = ", ".join(f"{what} {_percent(share)}" for what, share in margin.get("unseen", {}).items()) or "-"
    return [margin["column"], margin["kind"], margin["cells"], null, unseen, words]


def _structure(structure: dict[str, Any]) -> None:
    """Print the vine, if there is one, and other facts about the structure line by line."""
    rest = dict(structure)
    trees, drawing = rest.pop("trees", []), rest.pop("drawing", "")
    errors, calibration = rest.pop("expected_margin_error", {}), rest.pop("calibration", {})
    if drawing:
        show.print_line("Tree one:")
        show.print_line(drawing)
    if trees:
        show.print_table(
            ["tree", "edge", "given", "family", "tau"], [_make_edge_line(t, e) for t in trees for e in t["edges"]]
        )
    for key, value in {**rest, **{f"calibration {key}": value for key, value in calibration.items()}}.items():
        show.print_line(f"{key.replace('_', ' ')}: {_format_short(value)}")
    if errors:
        show.print_line("Expected error of each margin from the noise alone (total variation):")
        show.print_line(", ".join(f"{name} {error:.3f}" for name, error in errors.items()))


def _make_edge_line(tree: dict[str, Any], edge: dict[str, Any]) -> list[object]:
    given = ", ".join(edge["given"]) or "-"
    return [tree["tree"], f"{edge['first']} - {edge['second']}", given, edge["family"], f"{edge['tau']:+.2f}"]


def _percent(share: float) -> str:
    """Return a share with two significant digits."""
    return f"below {100 * share:.2g}%"


def _format_short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

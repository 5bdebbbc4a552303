"""sklar plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    Delta,
    Json,
    MethodName,
    MethodOptions,
    NeighboursName,
    Rho,
    RowsPerPerson,
    Target,
    parse_numbers,
    read_options,
)

if TYPE_CHECKING:
    from sklar.pipeline.plan import Plan

MAX_BAR_WIDTH = 40
"""Characters of the longest bar of the curve."""


@guard_command
def command(
    schema: Annotated[str, typer.Argument(metavar="TOML", help="Public facts about the columns.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", help="Privacy budget, or several to compare: 0.5,1,3.")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", help="Guessed number of rows; the file is not read.")] = 10_000,
    persons: Annotated[
        int | None, typer.Option("--persons", help="Guessed number of persons, if the rows of a person share one vote.")
    ] = None,
    want: Annotated[
        str | None, typer.Option("--want", help='Find the epsilon for "shares within 0.01" or "nulls under 2% seen".')
    ] = None,
    target: Target = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the curve of accuracy over epsilon as .html, .svg or .png."
        ),
    ] = None,
    delta: Delta = 1e-9,
    rho: Rho = None,
    method: MethodName = None,
    neighbours: NeighboursName = None,
    rows_per_person: RowsPerPerson = 1,
    option: MethodOptions = None,
    noise: Annotated[bool, typer.Option("--noise", help="Also show the noise of every kind of table.")] = False,
    json: Json = False,
) -> None:
    """Forecast accuracy without reading the data.

    Prints the expected errors for every epsilon, and a curve. Errors are typical ones, relative to the real rows. They
    are computed from the schema, the noise and your guess at the number of rows; nothing is spent.

    \b
    Example:
      sklar plan people.toml -e 0.5,1,3 --rows 30000
      sklar plan people.toml --rows 30000 --want "shares within 0.01"
      sklar plan panel.toml -e 2 --persons 545
    """
    from sklar.pipeline.plan import plan
    from sklar.schema.table import Schema

    given: Any = neighbours
    found = plan(
        Schema.read(schema), method, parse_numbers(epsilon, "--epsilon"), delta, rows, persons=persons, target=target,
        want=want, rho=rho, neighbours=given, rows_per_person=rows_per_person, options=read_options(option),
    )  # fmt: skip
    if output is not None:
        found.write(output)
    if json:
        show.as_json(found.to_dict())
        return
    _show(found, noise)
    if output is not None:
        show.print_line(f"The curve is in {output}.")


def _show(found: Plan, noise: bool) -> None:
    for sentence in str(found).splitlines():
        show.print_paragraph(sentence)
    headings, rows = found.table()
    if rows and len(headings) > 2:
        show.print_line()
        show.print_table(headings, rows)
    _draw(found)
    if noise or not rows:
        for fit in found.fits:
            show.print_line()
            show.print_line("" if fit.epsilon is None else f"Noise at epsilon {fit.epsilon:g}:")
            _show_noise(fit)


def _draw(found: Plan) -> None:
    """Print the error of a share over epsilon as bars."""
    if not found.curve:
        return
    show.print_line()
    show.print_line("Error of a share (percentage points), over epsilon:")
    most = max(one.shares for _, one in found.curve)
    for epsilon, one in found.curve:
        show.print_line(
            f"{epsilon:>7g} {'#' * max(round(MAX_BAR_WIDTH * one.shares / most), 1)} {100 * one.shares:.2g}"
        )


def _show_noise(fit: Any) -> None:
    show.print_table(
        ["measured", "tables", "cells", "noise", "std (rows)", "std / rows", "expected TVD"],
        [
            (
                x.label,
                x.tables,
                x.cells,
                x.noise,
                show.format_number(x.std),
                f"{x.share_of_rows:.3%}",
                f"{x.expected_tvd:.3f}",
            )
            for x in fit.lines
        ],
    )
    show.print_line("Expected TVD: total variation distance due to the noise alone in one such table.")

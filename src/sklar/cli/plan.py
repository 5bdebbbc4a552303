"""sklar plan."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import (
    Delta,
    Epsilon,
    Json,
    MethodName,
    MethodOptions,
    NeighboursName,
    Rho,
    RowsPerPerson,
    read_options,
)

NAME = "plan"


@guarded
def command(
    schema: Annotated[str, typer.Argument(metavar="TOML", help="Public facts about the columns.")],
    rows: Annotated[int, typer.Option("--rows", help="A guess at the number of rows.")] = 10_000,
    epsilon: Epsilon = None,
    delta: Delta = 1e-9,
    rho: Rho = None,
    method: MethodName = None,
    neighbours: NeighboursName = None,
    rows_per_person: RowsPerPerson = 1,
    option: MethodOptions = None,
    json: Json = False,
) -> None:
    """Tell the noise to expect before anything is spent.

    One line for each kind of table and margin that would be measured. No rows are touched.

    \b
    Example:
      sklar plan people.toml -e 1 --rows 30000
    """
    from sklar.pipeline.plan import plan
    from sklar.schema.table import Schema

    given: Any = neighbours
    lines = plan(
        Schema.read(schema), method, epsilon, delta, rows,
        rho=rho, neighbours=given, rows_per_person=rows_per_person, options=read_options(option),
    )  # fmt: skip
    if json:
        show.as_json([line.to_dict() for line in lines])
        return
    show.table(
        ["measured", "tables", "cells", "noise", "std (rows)", "std / rows", "expected TVD"],
        [
            (x.label, x.tables, x.cells, x.noise, show.number(x.std), f"{x.share_of_rows:.3%}", f"{x.expected_tvd:.3f}")
            for x in lines
        ],
    )
    show.line("Expected TVD: total variation distance that the raw noise alone would cause in one such table.")

"""sklar audit."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import REFUSED, guarded
from sklar.cli.terminal.options import Json, MethodOptions, NeighboursName, read_options
from sklar.cli.terminal.progress import step_bar

NAME = "audit"


@guarded
def command(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A DP method; see `sklar methods`.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The epsilon to claim.")],
    delta: Annotated[float, typer.Option("--delta", help="The delta to claim; 0 for pure epsilon.")] = 1e-9,
    runs: Annotated[int, typer.Option("--runs", help="Fits for each pair of neighbouring tables.")] = 2_000,
    neighbours: NeighboursName = None,
    persons: Annotated[
        int | None,
        typer.Option("--persons", help="Neighbours differ by a whole person, of whose many rows so many are used."),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option("--pair", help="'lone label', 'extreme value' or 'all null'; repeatable. Default: all."),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of all bounds together.")] = 0.99,
    method_option: MethodOptions = None,
    json: Json = False,
) -> None:
    """Look for more privacy loss than a method claims.

    Fits it many times on worst-case neighbours, and bounds from its releases what it gives away. The tables are
    public and small; no private row is read. Exit code 1 if the claim is contradicted.

    \b
    Example:
      sklar audit independent -e 1 --runs 2000
      sklar audit independent -e 1 --runs 2000 --persons 5
    """
    from sklar.lab.audit.audit import audit

    relation: Any = neighbours
    with step_bar("auditing") as progress:
        found = audit(
            method, epsilon, delta, runs=runs, neighbours=relation, persons=persons, pairs=pair, confidence=confidence,
            progress=progress, **read_options(method_option),
        )  # fmt: skip
    if json:
        show.as_json(found.to_dict())
    else:
        show.paragraph(found.verdict)
        rows = [
            [
                p.name,
                show.interval(p.mu),
                show.number(p.stated_mu),
                "-" if p.epsilon_of_mu is None else f"{p.epsilon_of_mu.low:.3g}",
                f"{p.epsilon_low:.3g}",
                show.interval(p.noise),
                f"{p.visible:.3g}",
            ]
            for p in found.pairs
        ]
        if found.claimed_mu is not None:
            show.line(f"mu by the claim: {found.claimed_mu:.3f}")
        if found.mu is not None and len(rows) > 1:
            rows.append(["all of them", show.interval(found.mu), *["-"] * 5])
        headings = [
            "neighbours",
            "mu",
            "mu by exact shifts",
            "epsilon by mu >=",
            "epsilon by counting >=",
            "noise / stated",
            "visible epsilon",
        ]
        show.table(headings, rows)
        for fault in found.faults:
            show.line(fault)
    if not found.passed:
        raise typer.Exit(REFUSED)

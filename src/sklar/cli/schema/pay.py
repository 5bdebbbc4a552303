"""sklar schema pay."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    DataFile,
    Epsilon,
    Force,
    Json,
    LedgerFile,
    NewLedger,
    Rho,
    RowsPerPerson,
    make_reading,
    refuse_overwriting,
    shared_options,
)
from sklar.cli.terminal.progress import pass_bar


@guard_command
@shared_options(read=make_reading)
def command(
    schema: Annotated[str, typer.Argument(metavar="TOML", help='A schema with facts of source "pay".')],
    output: Annotated[str, typer.Option("--output", "-o", metavar="TOML", help="The schema with measured facts.")],
    file: DataFile = None,
    epsilon: Epsilon = None,
    delta: Annotated[
        float, typer.Option("--delta", help="Delta of (epsilon, delta)-DP; labels need one above 0.")
    ] = 1e-10,
    rho: Rho = None,
    keep_listed: Annotated[
        bool,
        typer.Option(
            "--keep-listed",
            help="Keep stated labels and search within stated bounds. Claims list them as assumed.",
        ),
    ] = False,
    ledger: LedgerFile = None,
    new_ledger: NewLedger = False,
    neighbours: Annotated[
        str | None,
        typer.Option("--neighbours", help="Neighbouring tables: add-remove or replace; default: that of the ledger."),
    ] = None,
    rows_per_person: RowsPerPerson = 1,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="Guessed number of rows, to show which labels are lost.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show how rare a label may be; nothing is read or paid.")
    ] = False,
    force: Force = False,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Measure bounds and labels under differential privacy.

    Every bound and list of values of source "pay" is measured, paid for from the budget and marked "measured". What the
    schema states for them is not used, since it may come from the rows. The price is written into the schema, and a fit
    with it adds the price to its claim.

    \b
    Example:
      sklar schema pay people.toml people.csv -e 0.2 -o paid.toml
      sklar schema pay people.toml -e 0.2 -o paid.toml --rows 20000 --dry-run
    """
    from sklar.accounting.budget import Budget
    from sklar.accounting.unit import make_unit
    from sklar.export.atomic import refuse_replacing, require_writable
    from sklar.pipeline.fit.book import charged_files
    from sklar.pipeline.fit.pay import pay, rows_to_find_label
    from sklar.schema.table import Schema

    facts = Schema.read(schema)
    require_writable(output)  # before budget is spent
    refuse_overwriting(None if dry_run else output, force)
    refuse_replacing([output], charged_files(file, ledger))
    relation: Any = neighbours
    unit = make_unit(facts.person, relation or "add-remove", rows_per_person)
    least = None
    if epsilon is not None or rho is not None:
        least = rows_to_find_label(facts, Budget(epsilon=epsilon, rho=rho, delta=delta), unit)
    if least is not None and not json:
        show.note(_describe_threshold(least, rows, "rows" if facts.person is None else "persons"))
    if dry_run:
        if json:
            show.as_json({"rows_to_find_label": least, "share_of_rows": least / rows if least and rows else None})
        return
    with pass_bar("reading rows") as progress:
        paid = pay(
            file, facts, epsilon, delta, ledger, relation, rows_per_person, rho=rho, keep_listed=keep_listed,
            new_ledger=new_ledger,
            read=replace(read, progress=progress),
        )  # fmt: skip
    paid.schema.write(output)
    if json:
        show.as_json({"output": output, **paid.to_dict()})
        return
    for note in paid.notes:
        show.print_line(note)
    spent = f"epsilon {show.format_number(paid.epsilon)} at delta {show.format_number(paid.delta)}"
    show.print_line(f"Spent: {spent}{'' if paid.ledger is None else f', charged to {paid.ledger}'}.")
    show.print_line(f"The schema with these facts and their price, which a fit adds to its claim, is in {output}.")


def _describe_threshold(least: int, rows: int | None, what: str) -> str:
    share = "" if rows is None else f", {least / rows:.2g} of {rows:,}; rarer ones become `other`"
    return f"A label is found with probability 1/2 if about {least:,} {what} have it{share}."

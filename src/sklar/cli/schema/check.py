"""sklar schema check; the group of commands about schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.schema import confirm as schema_confirm
from sklar.cli.schema import draft as schema_draft
from sklar.cli.schema import pay as schema_pay
from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    Json,
    MethodName,
    MethodOptions,
    Target,
    make_reading,
    read_options,
    shared_options,
)

if TYPE_CHECKING:
    from sklar.lab.tables.checks import SchemaCheck

app = typer.Typer(
    help="Draft, confirm, check and measure facts about a table.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Draft, confirm, check and measure facts about a table."""


for name, module in (("draft", schema_draft), ("confirm", schema_confirm), ("pay", schema_pay)):
    app.command(name)(module.command)


@app.command("check")
@guard_command
@shared_options(read=make_reading)
def check(
    schema: Annotated[str, typer.Argument(metavar="TOML", help="The schema.")],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Data that should have the columns of the schema.")
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Show EXACT counts of private rows: how often each value rule fires.")
    ] = False,
    no_look: Annotated[
        bool, typer.Option("--no-look", help="Read no value of the file, not even to find unreadable columns.")
    ] = False,
    method: MethodName = None,
    target: Target = None,
    option: MethodOptions = None,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Check a schema alone, against a file or for a method.

    Nothing is spent. Columns whose values cannot be parsed, or are lost, are listed with exact counts of private rows,
    which are for the custodian only. --audit shows such counts for every column, --no-look reads no value.

    \b
    Example:
      sklar schema check people.toml people.csv
      sklar schema check people.toml --method dpc-gauss
    """
    from sklar.lab.tables.checks import audit_schema, check_schema, unread_columns
    from sklar.methods.registry import DEFAULT_METHOD
    from sklar.schema.table import Schema

    if audit and file is None and read.sql is None:
        raise typer.BadParameter("give the FILE to audit", param_hint="--audit")
    facts = Schema.read(schema)
    if method is None and (target is not None or option):
        method = DEFAULT_METHOD
    found = check_schema(facts, file, read, method=method, target=target, **read_options(option))
    given = file is not None or read.sql is not None
    counts = audit_schema(file, facts, read) if audit or (given and not no_look) else None
    unread = unread_columns(counts, facts) if counts else ()
    if json:
        unreadable = {"unread": unread, "notice": counts.notice} if counts else {}
        show.as_json(found.to_dict() | unreadable | ({"audit": counts.to_dict()} if counts and audit else {}))
        return
    _show(schema, file, found)
    if unread and counts:
        show.print_line(f"{counts.notice}")
        for sentence in unread:
            show.print_line(f"  {sentence}")
    if counts and audit:
        _show_counts(counts)


def _show(schema: str, file: str | None, found: SchemaCheck) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.columns.items())
    show.print_line(f"{schema}: {sum(found.columns.values())} columns ({kinds}), {found.rules} rules; no faults.")
    if found.file_columns is not None:
        show.print_line(f"{file}: has all columns that a fit reads, and {found.file_ignored} more that it does not.")
    if found.method is not None:
        show.print_line(f"{found.method}: can be fitted with this schema.")
    if found.unconfirmed:
        facts = ", ".join(found.unconfirmed)
        show.print_line(
            f"A private fit refuses these facts until they are confirmed or paid for (sklar schema confirm {schema}): "
            f"{facts}."
        )


def _show_counts(counts: Any) -> None:
    show.print_line()
    show.print_line(counts.notice)
    rows = [[c.column, c.kind, c.inside, c.below, c.above, c.other, c.unreadable, c.missing] for c in counts.columns]
    show.print_table(["column", "kind", "inside", "below", "above", "other", "unreadable", "missing"], rows)

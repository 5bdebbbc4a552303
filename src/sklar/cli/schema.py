"""sklar schema check."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli import show
from sklar.cli.guard import guarded
from sklar.cli.options import Delimiter, Encoding, Json, Sql, reader_options

app = typer.Typer(help="Check the public facts about a table.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Check the public facts about a table."""


@app.command("check")
@guarded
def check(
    schema: Annotated[str, typer.Argument(metavar="TOML", help="The schema.")],
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Data that should have its columns.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Check a schema, and that a file has its columns.

    No value of the file is looked at, and nothing is spent.

    \b
    Example:
      sklar schema check people.toml people.csv
    """
    from sklar.pipeline.schema_check import check_schema
    from sklar.schema.table import Schema

    found = check_schema(Schema.read(schema), file, reader_options(delimiter, encoding, None, sql))
    if json:
        show.as_json(found.to_dict())
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.columns.items())
    show.line(f"{schema}: {sum(found.columns.values())} columns ({kinds}), {found.constraints} constraints; no faults.")
    if found.file_columns is not None:
        show.line(f"{file}: has all columns of the schema, and {found.file_ignored} more that would not be read.")
    if found.unconfirmed:
        show.line(
            f"A private fit refuses these facts until they are confirmed or paid for: {', '.join(found.unconfirmed)}."
        )

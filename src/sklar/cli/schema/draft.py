"""sklar schema draft."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    STANDARD_OUTPUT,
    Force,
    Json,
    make_reading,
    refuse_json_with_data,
    refuse_overwriting,
    shared_options,
)
from sklar.cli.terminal.progress import pass_bar


@guard_command
@shared_options(read=make_reading)
def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The private table, or a folder or database of several.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="TOML", help="The drafted schema; - prints it.")],
    sdv: Annotated[
        str | None, typer.Option("--sdv", metavar="JSON", help="SDV metadata, for the kinds of columns.")
    ] = None,
    rows: Annotated[
        int,
        typer.Option(
            "--rows",
            "-n",
            min=1,
            help="Guess labels and rules from at most this number of rows; bounds are of all rows.",
        ),
    ] = 100_000,
    preview: Annotated[
        bool, typer.Option("--preview", help="With --json: also how rows are read, for your eyes only.")
    ] = False,
    force: Force = False,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Draft a schema from the rows, with questions to answer.

    The guesses, including kinds, come from the private rows without noise. Each is marked from-rows, and a private fit
    refuses it until you have confirmed it or, for bounds and values, pay for it.

    \b
    Example:
      sklar schema draft people.csv -o people.toml
    """
    from sklar.lab.drafting.draft import INTRODUCTION, draft_schema
    from sklar.lab.drafting.preview import preview_table

    refuse_json_with_data(output, json)
    refuse_overwriting(output, force)
    sdv_table = read.table if sdv else None  # with metadata, --table names one of their tables
    with pass_bar("reading rows") as progress:
        reading_rows = replace(read, progress=progress, table=None if sdv else read.table)
        draft = draft_schema(file, sdv=sdv, table=sdv_table, rows=rows, read=reading_rows)
        shown = preview_table(file, draft, reading_rows, rows).to_dict() if preview and json else None
    about = draft.remarks[len(INTRODUCTION) :]
    if output == STANDARD_OUTPUT:
        show.print_line(draft.toml())
        show.note(draft.todo)
        return
    draft.write(output)
    if json:
        show.as_json(_as_data(output, draft) | ({} if shown is None else {"preview": shown | {"remarks": about}}))
        return
    for remark in about:
        show.print_line(remark)
    show.print_line(draft.guessed)
    show.print_line()
    show.print_line(f"The draft is in {output}. {INTRODUCTION[0]}")
    show.print_line(f"Next: sklar schema confirm {shlex.quote(output)} --by NAME   (a question for each column)")


def _as_data(output: str, draft: Any) -> dict[str, Any]:
    columns = {name: {"kind": column.kind, "notes": draft.notes[name]} for name, column in draft.items()}
    return {"output": output, "remarks": draft.remarks, "columns": columns}

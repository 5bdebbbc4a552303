"""sklar complete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Force, Json, ModelFile, make_reading, shared_options
from sklar.cli.terminal.progress import pass_bar


@guard_command
@shared_options(read=make_reading)
def command(
    model: ModelFile,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A table with some of the columns; for two tables, their folder.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The completed table; for two tables FOLDER/.")
    ],
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same rows.")] = None,
    nulls: Annotated[
        Literal["draw", "keep"], typer.Option("--nulls", help="Whether empty cells are drawn, or stay empty.")
    ] = "draw",
    force: Force = False,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Draw the missing values and columns of rows.

    Given cells stay as they are and drawn ones depend on them, so nothing is protected and the file is readable by its
    owner only. For longitudinal data, later rows of each person are drawn as well.

    \b
    Example:
      sklar complete people.sklar partial.csv -o whole.csv --seed 1
    """
    from sklar.export.atomic import make_folder
    from sklar.export.write import require_table_output, write_table
    from sklar.lab.completing import complete
    from sklar.pipeline.model import load
    from sklar.pipeline.sampling.write import files_of_tables, has_two_tables

    loaded = load(model)
    two = has_two_tables(loaded)
    files = files_of_tables(loaded, output, force=force) if two else {}
    if not two:
        require_table_output(output, force=force)
    with pass_bar("reading rows", file) as progress:
        found = complete(loaded, file, seed=seed, nulls=nulls, read=replace(read, progress=progress))
    if two:
        make_folder(output)
    tables = {path: found[name] for name, path in files.items()} if two else {output: found}
    for path, table in tables.items():
        write_table(table, path, mode=0o600)
    rows = sum(table.num_rows for table in tables.values())
    facts = {"tables": {name: _facts(found[name]) for name in files}} if two else _facts(found)
    data = {"output": output, "rows": rows, **facts}
    text = (
        f"{rows:,} completed rows are in {output}. Their cells are given or depend on given cells: protect the file "
        "like the input."
    )
    show.print_result(json, data, text)


def _facts(table: Any) -> dict[str, Any]:
    """Return the number of rows of a table, and its notes."""
    notes = table.schema.metadata or {}
    return {"rows": table.num_rows, **{key.decode(): text.decode() for key, text in notes.items()}}

"""sklar complete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json, ModelFile, reading, shared_options
from sklar.cli.terminal.progress import pass_bar


@guarded
@shared_options(read=reading)
def command(
    model: ModelFile,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table with some of its columns.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where the whole rows go.")],
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same rows.")] = None,
    nulls: Annotated[
        Literal["draw", "keep"], typer.Option("--nulls", help="Whether empty cells are drawn, or stay empty.")
    ] = "draw",
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Draw the values that rows lack, given those they have.

    Given cells stay as they are and are not protected, so the file is readable by its owner only.

    \b
    Example:
      sklar complete people.sklar partial.csv -o whole.csv --seed 1
    """
    from sklar.export.write import require_table_output, write_table
    from sklar.lab.complete import complete
    from sklar.pipeline.model import load

    require_table_output(output)
    with pass_bar("reading rows", file) as progress:
        table = complete(load(model), file, seed=seed, nulls=nulls, read=replace(read, progress=progress))
    write_table(table, output, mode=0o600)
    notes = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    told = f"{table.num_rows:,} whole rows are in {output}. Given cells are as they were: keep them as private."
    show.result(json, {"output": output, "rows": table.num_rows, **notes}, told)

"""sklar sample."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli import show
from sklar.cli.guard import guarded
from sklar.cli.options import STANDARD_OUTPUT, Json, SafeCsv, Seed, refuse_json_with_data
from sklar.cli.progress import row_bar

NAME = "sample"


@guarded
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help=".csv, .tsv, .parquet, .feather, .arrow, or - for CSV."),
    ],
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Default: about as many as the table had.")] = None,
    seed: Seed = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given", metavar="COLUMN=VALUE", help="Condition; repeatable. VALUE: x, low..high, x,y or null."
        ),
    ] = None,
    iid: Annotated[
        bool, typer.Option("--iid", help="Independent rows, as samples of over a million always are.")
    ] = False,
    safe_csv: SafeCsv = False,
    json: Json = False,
) -> None:
    """Sample rows from a model. It costs no privacy, however often it is done.

    \b
    Example:
      sklar sample people.sklar -n 1000 -o out.parquet --seed 7
      sklar sample people.sklar -n 500 -o - --given sex=F --given age=30..40
    """
    from sklar.pipeline.fitted import load
    from sklar.pipeline.sample import sample_to_file
    from sklar.sample.given_text import parse_given

    refuse_json_with_data(output, json)
    fitted = load(model)
    conditions = parse_given(fitted.schema, given or ()) or None
    with row_bar("writing rows", rows) as written:
        count = sample_to_file(
            fitted, output, rows, seed=seed, given=conditions, iid=iid, safe=safe_csv, written=written
        )
    claim = fitted.claim
    if json:
        show.as_json({"output": output, "rows": count, "guarantee": claim.label})
        return
    if not claim.guarantee:
        show.note(f"{claim.label}: these rows may reveal facts about single people.")
    if output != STANDARD_OUTPUT:
        show.line(f"{count:,} rows are in {output}.")

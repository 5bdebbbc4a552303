"""sklar fit."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli import show
from sklar.cli.guard import guarded
from sklar.cli.options import (
    Delimiter,
    Delta,
    Encoding,
    Epsilon,
    Json,
    LedgerFile,
    MethodName,
    MethodOptions,
    NeighboursName,
    NoGuarantee,
    NullValues,
    Rho,
    RowsPerPerson,
    SchemaFile,
    Sql,
    Target,
    read_options,
    reader_options,
)
from sklar.cli.progress import pass_bar

NAME = "fit"


@guarded
def command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The private table: CSV, TSV, Parquet, Arrow or Feather.")
    ],
    schema: SchemaFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The model file, as people.sklar.")],
    epsilon: Epsilon = None,
    delta: Delta = 1e-9,
    rho: Rho = None,
    method: MethodName = None,
    ledger: LedgerFile = None,
    neighbours: NeighboursName = None,
    rows_per_person: RowsPerPerson = 1,
    target: Target = None,
    no_guarantee: NoGuarantee = False,
    option: MethodOptions = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Fit a private model of a table.

    The model may be published under its claim.

    \b
    Example:
      sklar fit people.csv -s people.toml -e 1 -o people.sklar
    """
    from sklar.export.atomic import require_writable
    from sklar.pipeline.fit import fit
    from sklar.schema.table import Schema

    facts, options = Schema.read(schema), read_options(option)
    require_writable(output)  # before budget is spent
    with pass_bar("reading rows") as progress:
        model = fit(
            file, facts, method=method, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger,
            neighbours=_relation(neighbours), rows_per_person=rows_per_person, target=target,
            no_guarantee=no_guarantee,
            reader=reader_options(delimiter, encoding, null_value, sql, progress), **options,
        )  # fmt: skip
    model.save(output)
    if json:
        show.as_json({"model": output, "claim": str(model.claim), "claim_record": model.claim.to_dict()})
        return
    show.paragraph(str(model.claim))
    show.line()
    show.line(f"The model is in {output}.")


def _relation(name: str | None) -> Any:
    """The pipeline checks it."""
    return name

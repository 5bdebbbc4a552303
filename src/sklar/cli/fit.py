"""sklar fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import (
    CacheFolder,
    DataFile,
    Delimiter,
    Delta,
    Encoding,
    Epsilon,
    Json,
    LedgerFile,
    MethodName,
    MethodOptions,
    NeighboursName,
    NewLedger,
    NoGuarantee,
    NullValues,
    Rho,
    RowsAreRows,
    RowsPerPerson,
    SchemaFile,
    SparkMaster,
    Sql,
    Target,
    read_options,
    reader_options,
    require_data,
)
from sklar.cli.terminal.progress import pass_bar

if TYPE_CHECKING:
    from sklar.pipeline.model import Model

NAME = "fit"


@guarded
def command(
    schema: SchemaFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The model file, as people.sklar.")],
    file: DataFile = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-9,
    rho: Rho = None,
    method: MethodName = None,
    ledger: LedgerFile = None,
    new_ledger: NewLedger = False,
    neighbours: NeighboursName = None,
    rows_per_person: RowsPerPerson = 1,
    target: Target = None,
    no_guarantee: NoGuarantee = False,
    option: MethodOptions = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
    sql: Sql = None,
    rows_are_rows: RowsAreRows = False,
    cache: CacheFolder = None,
    spark: SparkMaster = None,
    json: Json = False,
) -> None:
    """Fit a private model of a table.

    The model may be published under its claim. Methods without a guarantee need --no-guarantee, and say so.

    \b
    Example:
      sklar fit people.csv -s people.toml -e 1 -o people.sklar
    """
    from sklar.export.atomic import require_writable
    from sklar.pipeline.fit.request import FitRequest
    from sklar.pipeline.fit.run import fitting
    from sklar.schema.table import Schema

    require_data(file, sql)
    facts, options, relation = Schema.read(schema), read_options(option), cast(Any, neighbours)
    require_writable(output)  # before budget is spent
    with pass_bar("reading rows", file) as passes:
        read = reader_options(delimiter, encoding, null_value, sql, passes, cache, spark, rows_are_rows=rows_are_rows)
        request = FitRequest(
            data=file, schema=facts, method=method, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger,
            new_ledger=new_ledger, neighbours=relation, rows_per_person=rows_per_person, target=target,
            no_guarantee=no_guarantee, read=read, options=options,
        )  # fmt: skip
        with fitting(request) as model:
            model.save(output)  # inside: if it fails, the fit can be resumed and costs nothing again
    _tell(model, output, passes.count, json)


def _tell(model: Model, output: str, passes: int, json: bool) -> None:
    if json:
        claim = {"claim": str(model.claim), "claim_record": model.claim.to_dict()}
        show.as_json({"model": output, **claim})
    else:
        show.paragraph(str(model.claim))
        show.line()
        show.line(f"The model is in {output}.")
    # Beside the output, which may be published: how often depends on the exact size of the table.
    show.note(f"The rows were read {'once' if passes == 1 else f'{passes} times'}.")

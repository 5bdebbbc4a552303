"""sklar fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    DataFile,
    Force,
    Json,
    SchemaFile,
    fit_settings,
    large_reading,
    refuse_overwriting,
    require_data,
    shared_options,
)
from sklar.cli.terminal.progress import pass_bar

if TYPE_CHECKING:
    from sklar.cli.terminal.progress import Passes
    from sklar.pipeline.model import Model


@guard_command
@shared_options(fit=fit_settings, read=large_reading)
def command(
    schema: SchemaFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Output file, such as people.sklar.")],
    file: DataFile = None,
    force: Force = False,
    *,
    fit: Any,
    read: Any,
    json: Json = False,
) -> None:
    """Fit a private model of a table.

    The model may be published under its claim. Methods without a guarantee need --no-guarantee.

    \b
    Example:
      sklar fit people.csv -s people.toml -e 1 -o people.sklar
    """
    from sklar.export.atomic import refuse_replacing, require_writable
    from sklar.pipeline.fit.book import charged_files
    from sklar.pipeline.fit.request import FitRequest
    from sklar.pipeline.fit.run import open_fit
    from sklar.schema.table import Schema

    require_data(file, read)
    facts = Schema.read(schema)
    require_writable(output)  # before budget is spent
    refuse_overwriting(output, force)
    refuse_replacing([output], [schema, *charged_files(file, fit["ledger"])])
    with pass_bar("reading rows", file) as passes:
        request = FitRequest(data=file, schema=facts, read=replace(read, progress=passes), **fit)
        with open_fit(request) as model:
            model.save(output, force=True)  # inside the block: if it fails, the fit can be resumed at no cost
    _show(model, output, passes, json)


def _show(model: Model, output: str, passes: Passes, json: bool) -> None:
    if json:
        claim = {"claim": str(model.claim), "claim_record": model.claim.to_dict()}
        show.as_json({"model": output, **claim})
    else:
        show.print_claim(model.claim)
        show.print_line()
        show.print_line(f"The model is in {output}.")
    # On standard error, since the output may be published: the count depends on the exact size of the table.
    often = "once" if passes.count == 1 else f"{passes.count} times"
    show.note(f"The rows were {'counted in the database' if passes.where == 'database' else 'read'} {often}.")

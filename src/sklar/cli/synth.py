"""sklar synth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import (
    STANDARD_OUTPUT,
    DataFile,
    Force,
    Json,
    SafeCsv,
    SchemaFile,
    Seed,
    fit_settings,
    large_reading,
    refuse_json_with_data,
    refuse_overwriting,
    require_data,
    shared_options,
)
from sklar.cli.terminal.progress import pass_bar, step_bar

if TYPE_CHECKING:
    from sklar.accounting.claim import Claim


@guarded
@shared_options(fit=fit_settings, read=large_reading)
def command(
    schema: SchemaFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The synthetic table; - for CSV here.")],
    file: DataFile = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Default: about as many as the table has.")] = None,
    seed: Seed = None,
    model: Annotated[str | None, typer.Option("--model", metavar="FILE", help="Keep the model here, too.")] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            callback=show.name_report,
            help="Evaluate, too: HTML for the custodian, written as *.custodian.html.",
        ),
    ] = None,
    public_report: Annotated[
        bool, typer.Option(help="Write what the release is worth beside it, as synthetic.public.html.")
    ] = True,
    safe_csv: SafeCsv = False,
    force: Force = False,
    *,
    fit: Any,
    read: Any,
    json: Json = False,
) -> None:
    """Turn a private table into a synthetic one.

    Fits a model and samples from it. --model keeps the model, for more samples at no further cost.

    \b
    Example:
      sklar synth people.csv -s people.toml -e 1 -o synthetic.csv
    """
    from sklar.export.atomic import refuse_replacing
    from sklar.lab.evaluate import report_on
    from sklar.pipeline.fit.request import FitRequest
    from sklar.pipeline.public_report.report import public_path
    from sklar.pipeline.synth import Output, synthesize
    from sklar.schema.table import Schema

    require_data(file, read)
    refuse_json_with_data(output, json)
    page = public_path(output) if public_report and _reported(output, fit["method"]) else None
    for place, hint in ((output, "-o"), (model, "--model"), (report, "--report"), (page, "-o")):
        refuse_overwriting(place, force, hint)
    refuse_replacing([model, report, page], [schema])
    wanted = Output(path=output, rows=rows, seed=seed, safe=safe_csv, model_path=model, report_path=page, force=force)
    facts = Schema.read(schema)
    require_reportable(report, output)
    with pass_bar("reading rows", file) as passes:
        request = FitRequest(data=file, schema=facts, read=replace(read, progress=passes), **fit)
        fitted, count = synthesize(request, wanted)
    if report is not None:
        read = replace(read, cache=None, spark=None)
        with step_bar("evaluating") as steps:
            report_on(file, output, fitted, report, target=fit["target"], read=read, progress=steps)
    _tell(fitted.claim, output, count, page, json)
    if report is not None and not json:
        show.line(f"The report on it, for the custodian only, is in {report}.")


def require_reportable(report: str | None, output: str) -> None:
    """A report needs a name of its own kind, and a synthetic table that can be read again."""
    from sklar.report.page import require_report

    if report is None:
        return
    if output == STANDARD_OUTPUT:
        raise typer.BadParameter("write the table to a file to have a report on it", param_hint="--report")
    require_report(report)


def _reported(output: str, method: str | None) -> bool:
    """Whether there is a place beside the table, and a promise to report on."""
    from sklar.methods.registry import BASELINE_NAMES

    return output != STANDARD_OUTPUT and method not in BASELINE_NAMES


def _tell(claim: Claim, output: str, rows: int, page: str | None, json: bool) -> None:
    if json:
        told = {"output": output, "rows": rows, "claim": str(claim), "claim_record": claim.to_dict()}
        show.as_json(told if page is None else {**told, "public_report": page})
    elif output == STANDARD_OUTPUT:
        show.note(str(claim))
    else:
        show.paragraph(str(claim))
        show.line()
        show.line(f"{rows:,} synthetic rows are in {output}.")
        if page is not None:
            show.line(f"What they are worth, from releases only, is told in {page}; it may be published.")

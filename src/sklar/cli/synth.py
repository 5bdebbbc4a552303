"""sklar synth."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    STANDARD_OUTPUT,
    DataFile,
    Force,
    Json,
    SafeCsv,
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
    from sklar.pipeline.model import Model


FoundSchema = Annotated[
    str | None,
    typer.Option(
        "--schema", "-s", metavar="TOML", help="Public facts about the columns; without it they are measured."
    ),
]


@guard_command
@shared_options(fit=fit_settings, read=large_reading)
def command(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The synthetic table; - prints CSV.")],
    file: DataFile = None,
    schema: FoundSchema = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Number of rows; default: about that of the table.")
    ] = None,
    seed: Seed = None,
    model: Annotated[str | None, typer.Option("--model", metavar="FILE", help="Also save the model here.")] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            callback=show.name_report,
            help="Also compare with the real rows, in a report for the custodian (*.custodian.html).",
        ),
    ] = None,
    public_report: Annotated[
        bool,
        typer.Option(help="Write a quality report that may be published beside the output, as synthetic.public.html."),
    ] = True,
    like_input: Annotated[
        bool, typer.Option("--like-input", help="Use delimiter, encoding and decimal sign of the input.")
    ] = False,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="FILE", help="Use delimiter, encoding and decimal sign of this text file."),
    ] = None,
    safe_csv: SafeCsv = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Never prompt.")] = False,
    force: Force = False,
    *,
    fit: Any,
    read: Any,
    json: Json = False,
) -> None:
    """Make a private synthetic table from a real one.

    Fits a model and samples from it. --model saves the model, for more samples at no further cost.

    Without a schema, facts about the columns are measured and paid for from epsilon; the schema found is written beside
    the output, as synthetic.schema.toml. Stating them in a schema leaves more for the model: see `sklar schema draft`.

    \b
    Example:
      sklar synth people.csv -e 1 -o synthetic.csv
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
    if fit["epsilon"] is None and fit["rho"] is None:
        fit = {**fit, "epsilon": _prompt_epsilon(quiet=yes or json)}
    if like_input and like is None and file is None:
        raise typer.BadParameter("there is no input file to copy the style of", param_hint="--like-input")
    page = public_path(output) if public_report and _has_report(output, fit["method"]) else None
    found = None if schema is not None or output == STANDARD_OUTPUT else found_schema_path(output)
    places = ((output, "-o"), (model, "--model"), (report, "--report"), (page, "-o"), (found, "-o"))
    for place, hint in places:
        refuse_overwriting(place, force, hint)
    refuse_replacing([model, report, page, found], [schema])
    wanted = Output(
        path=output, rows=rows, seed=seed, safe=safe_csv, model_path=model, report_path=page, schema_path=found,
        like=like or (file if like_input else None), force=force,
    )  # fmt: skip
    facts: Any = None if schema is None else Schema.read(schema)
    require_reportable(report, output)
    with pass_bar("reading rows", file) as passes:
        request = FitRequest(data=file, schema=facts, read=replace(read, progress=passes), **fit)
        fitted, count = synthesize(request, wanted)
    if report is not None:
        read = replace(read, cache=None, spark=None)
        with step_bar("evaluating") as steps:
            report_on(file, output, fitted, report, target=fit["target"], read=read, progress=steps)
    _show(fitted, fit["epsilon"], output, count, page, found, json)
    if report is not None and not json:
        show.print_line(f"The report on it, for the custodian only, is in {report}.")


def found_schema_path(output: str) -> str:
    """Return the path of the found schema: beside the output, as synthetic.schema.toml."""
    return os.path.splitext(output)[0] + ".schema.toml"


ABOUT_EPSILON = """\
Epsilon bounds what anyone can learn about one person from the release, with any other knowledge.
A belief about a person of probability 1% can grow to at most:
{table}
1 is a usual choice for data on people, 0.1 is strict, 10 protects little. A larger epsilon is more accurate.
Every release adds to what was spent on the table: choose epsilon before you look at any result.
Give it as -e 1."""


def _prompt_epsilon(*, quiet: bool) -> float:
    """Explain epsilon and prompt for it at a terminal; otherwise explain how to give it."""
    from sklar.accounting.budget import risk

    risks = "   ".join(f"epsilon {epsilon:g}: {risk(epsilon):.1%}" for epsilon in (0.1, 0.5, 1, 2, 3, 5, 10))
    text = ABOUT_EPSILON.format(table=f"  {risks}")
    if quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter(f"epsilon has no default.\n{text}", param_hint="-e")
    show.note(text)
    while True:
        typed = typer.prompt("epsilon", err=True)
        try:
            return float(typed)
        except ValueError:
            show.note("Write a number, such as 1 or 0.5; Ctrl-C stops.")


def require_reportable(report: str | None, output: str) -> None:
    """Refuse a report without a proper name, or on a table that cannot be read again."""
    from sklar.report.page import require_report

    if report is None:
        return
    if output == STANDARD_OUTPUT:
        raise typer.BadParameter("a report needs a table in a file, not on standard output", param_hint="--report")
    require_report(report)


def _has_report(output: str, method: str | None) -> bool:
    """Return whether the table is a file and the method has a guarantee to report on."""
    from sklar.methods.registry import BASELINE_NAMES

    return output != STANDARD_OUTPUT and method not in BASELINE_NAMES


def _show(
    fitted: Model, epsilon: float | None, output: str, rows: int, page: str | None, found: str | None, json: bool
) -> None:
    from sklar.pipeline.found_facts import PROTECTS_ROWS, UNFOUND

    claim, facts = fitted.claim, fitted.found_facts
    if json:
        result: dict[str, Any] = {"output": output, "rows": rows, "claim": str(claim), "claim_record": claim.to_dict()}
        result |= {} if facts is None else {"found": {"share": facts.share, "columns": dict(facts.columns)}}
        result |= {} if found is None else {"schema": found}
        show.as_json(result if page is None else {**result, "public_report": page})
        return
    if output == STANDARD_OUTPUT:
        show.note(str(claim))
        return
    if facts is not None:
        for line in facts.lines(epsilon):
            show.print_line(line)
        show.print_line()
    show.print_claim(claim)
    show.print_line()
    if found is not None:
        show.print_paragraph(PROTECTS_ROWS)
        show.print_paragraph(UNFOUND)
        show.print_line()
    show.print_line(f"{rows:,} synthetic rows are in {output}.")
    if found is not None:
        show.print_line(f"The found schema is in {found}: edit it, and use it with -s.")
        show.print_line(
            "For better accuracy: state labels and bounds that you know (this saves their price), or use more rows."
        )
    if page is not None:
        show.print_line(f"A report on their quality, from releases only, is in {page}; it may be published.")

"""Make a synthetic table from a private one in one step: fit, optionally save the model, and write a sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from sklar.given_numbers import whole_number
from sklar.pipeline.fit.book import charged_files
from sklar.pipeline.fit.request import FitRequest, fit_request
from sklar.pipeline.fit.run import open_fit
from sklar.pipeline.fit.style import like_dialect, style_of
from sklar.pipeline.model import Model
from sklar.pipeline.sampling.write import SampleRequest, sample_to_file
from sklar.sample.rng import seed_entropy
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The outputs of `synthesize`, explained at `synth`."""

    path: str | PathLike[str]
    rows: int | None = None
    seed: int | None = None
    safe: bool = False
    model_path: str | PathLike[str] | None = None
    report_path: str | PathLike[str] | None = None
    schema_path: str | PathLike[str] | None = None
    like: str | PathLike[str] | None = None
    force: bool = False


def synth(
    data: Any,
    schema: Schema | str | PathLike[str] | None,
    output: str | PathLike[str],
    *,
    rows: int | None = None,
    sample_seed: int | None = None,
    safe: bool = False,
    model: str | PathLike[str] | None = None,
    report: str | PathLike[str] | None = None,
    found_schema: str | PathLike[str] | None = None,
    like: str | PathLike[str] | None = None,
    force: bool = False,
    **settings: Any,
) -> Model:
    """Fit a model and write a sample of it; everything is validated before budget is spent.

    Args:
        data: The table, as for `fit`.
        schema: Public facts about the columns, or the path of a schema file; None measures and pays for all facts.
        output: The synthetic table; its ending determines the format, and `-` is CSV on standard output.
        rows: Number of rows; by default about that of the table.
        sample_seed: Seed of the sampling. The noise of the fit is never seeded.
        safe: Escape texts that a spreadsheet would take for formulas.
        model: File for the model, if any.
        report: File for the public report, as "people.public.html", if any.
        found_schema: File for the schema with all measured facts, if any.
        like: A text file, as the input, whose delimiter and encoding the output has, with decimal commas if the schema
            has them.
        force: Overwrite existing files; otherwise they are refused before budget is spent.
        settings: Arguments of `fit`: epsilon, method, ledger, options of the method and so on.
    """
    wanted = Output(
        path=output, rows=rows, seed=sample_seed, safe=safe, model_path=model, report_path=report,
        schema_path=found_schema, like=like, force=force,
    )  # fmt: skip
    return synthesize(fit_request(data, schema, **settings), wanted)[0]


def synthesize(request: FitRequest, output: Output) -> tuple[Model, int]:
    """Fit a model and write a sample of it, after validating everything; return the model and the number of rows."""
    _require_output(output, charged_files(request.data, request.ledger))
    dialect = None if output.like is None else like_dialect(output.like, request.read)
    with open_fit(request) as model:
        # Outputs are written while the fit is open: if that fails, it can be resumed at no further cost.
        if output.model_path is not None:
            model.save(output.model_path, force=True)  # existing files were refused above
        if output.schema_path is not None:
            model.schema.write(output.schema_path)
        style = None if dialect is None else style_of(model.schema, dialect)
        wanted = SampleRequest(rows=output.rows, seed=output.seed, safe=output.safe, force=True, style=style)
        report = _rows_progress(request.read.progress, model.rows_estimate if output.rows is None else output.rows)
        count = sample_to_file(model, output.path, wanted, report)
        if output.report_path is not None:
            getattr(request.read.progress, "doing", lambda what: None)("checking the model against its releases")
            model.report(output.report_path)
        return model, count


def _rows_progress(progress: Callable[[float], None] | None, rows: int) -> Callable[[int], None] | None:
    """Return a callback that reports sampled rows to the progress bar of a fit; None if that has no named steps."""
    doing = getattr(progress, "doing", None)
    if doing is None or progress is None:
        return None
    doing("sampling rows")
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if more:
            progress(done / rows)

    return report


def _require_output(output: Output, inputs: Sequence[Any]) -> None:
    from sklar.export.atomic import refuse_overwriting, refuse_replacing, require_writable
    from sklar.export.write import STANDARD_OUTPUT, require_table_output, require_text_output
    from sklar.report.page import require_public_report
    from sklar.schema.address import file_address, table_address

    require_table_output(output.path, force=output.force)
    for path in (output.model_path, output.schema_path):
        if path is not None:
            require_writable(path)
            refuse_overwriting(path, force=output.force)
    if output.like is not None:
        require_text_output(output.path)
    if output.report_path is not None:
        require_public_report(output.report_path)
        refuse_overwriting(output.report_path, force=output.force)
    name = os.fspath(output.path)
    added = name == STANDARD_OUTPUT or table_address(name) is not None or file_address(name) is not None
    refuse_replacing([None if added else name, output.model_path, output.report_path, output.schema_path], inputs)
    if output.rows is not None:
        whole_number(output.rows, "the number of rows")
    seed_entropy(output.seed)

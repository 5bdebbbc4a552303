"""From a private table to a synthetic one in one go: fit, keep the model if wanted, and write a sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from sklar.given_numbers import whole_number
from sklar.pipeline.fit.book import charged_files
from sklar.pipeline.fit.request import FitRequest, fit_request
from sklar.pipeline.fit.run import fitting
from sklar.pipeline.fit.style import like_dialect, style_of
from sklar.pipeline.model import Model
from sklar.pipeline.sampling.write import SampleRequest, sample_to_file
from sklar.sample.rng import seed_entropy
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where the synthetic table goes and what it is like.

    Attributes:
        path: The file; its end tells the format, and `-` is CSV on standard output.
        rows: How many rows; by default about as many as the table has.
        seed: Seed of the sampling. The noise of the fit is never seeded.
        safe: Disarm texts that a spreadsheet would take for formulas.
        model_path: Where to keep the model as well, if anywhere.
        report_path: Where the report that may be published goes, if anywhere.
        schema_path: Where the schema goes with the facts that the fit measured, if anywhere.
        like: A text file whose delimiter, encoding and, by the formats of the schema, decimal sign the output has.
        force: Overwrite files that are there already.
    """

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
    """Fit a model and write a sample of it in one go; everything that can be refused is, before budget is spent.

    Args:
        data: The table, as for `fit`.
        schema: Public facts about the columns, or the path of a schema file; None has all facts measured and paid for.
        output: The synthetic table; its end tells the format, and `-` is CSV on standard output.
        rows: How many rows; by default about as many as the table has.
        sample_seed: Seed of the sampling. The noise of the fit is never seeded.
        safe: Disarm texts that a spreadsheet would take for formulas.
        model: Where to keep the model as well, if anywhere.
        report: Where the report that may be published goes, as "people.public.html"; nowhere by default.
        found_schema: Where the schema goes with all facts that were measured, if anywhere.
        like: A text file, as the input, whose delimiter and encoding the output has, with decimal commas if the schema
            has them.
        force: Overwrite files that are there already; without it they are refused before budget is spent.
        settings: What `fit` takes: epsilon, method, ledger, options of the method and so on.
    """
    wanted = Output(
        path=output, rows=rows, seed=sample_seed, safe=safe, model_path=model, report_path=report,
        schema_path=found_schema, like=like, force=force,
    )  # fmt: skip
    return synthesize(fit_request(data, schema, **settings), wanted)[0]


def synthesize(request: FitRequest, output: Output) -> tuple[Model, int]:
    """Fit a model and write a sample of it; everything that can be refused is refused before budget is spent.

    Args:
        request: What is fitted, and how.
        output: Where the sample goes.

    Returns:
        The model and the number of rows written.
    """
    _require_output(output, charged_files(request.data, request.ledger))
    dialect = None if output.like is None else like_dialect(output.like, request.read)
    with fitting(request) as model:
        # Written while the fit is open: if that fails, it can be resumed and costs nothing again.
        if output.model_path is not None:
            model.save(output.model_path, force=True)  # what may not be overwritten was refused above
        if output.schema_path is not None:
            model.schema.write(output.schema_path)
        style = None if dialect is None else style_of(model.schema, dialect)
        asked = SampleRequest(rows=output.rows, seed=output.seed, safe=output.safe, force=True, style=style)
        told = _telling(request.read.progress, model.rows_estimate if output.rows is None else output.rows)
        count = sample_to_file(model, output.path, asked, told)
        if output.report_path is not None:
            getattr(request.read.progress, "doing", lambda what: None)("checking the model against its releases")
            model.report(output.report_path)
        return model, count


def _telling(progress: Callable[[float], None] | None, rows: int) -> Callable[[int], None] | None:
    """Tells the bar of a fit about rows that are sampled; None where there is none, or one that only knows passes."""
    doing = getattr(progress, "doing", None)
    if doing is None or progress is None:
        return None
    doing("sampling rows")
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if more:
            progress(done / rows)

    return tell


def _require_output(output: Output, inputs: Sequence[Any]) -> None:
    from sklar.export.atomic import refuse_overwriting, refuse_replacing, require_writable
    from sklar.export.write import STANDARD_OUTPUT, require_table_output, require_text_output
    from sklar.report.page import require_public_report
    from sklar.schema.address import file_address, table_address

    require_table_output(output.path, force=output.force)
    if output.model_path is not None:
        require_writable(output.model_path)
        refuse_overwriting(output.model_path, force=output.force)
    if output.schema_path is not None:
        require_writable(output.schema_path)
        refuse_overwriting(output.schema_path, force=output.force)
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

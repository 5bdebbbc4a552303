"""From a private table to a synthetic one in one go: fit, keep the model if wanted, and write a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from sklar.pipeline.fit import fitting
from sklar.pipeline.fitted import Model
from sklar.pipeline.sample import sample_to_file
from sklar.sample.draw import whole_number
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
    """

    path: str | PathLike[str]
    rows: int | None = None
    seed: int | None = None
    safe: bool = False
    model_path: str | PathLike[str] | None = None


def synthesize(data: Any, schema: Schema, output: Output, **settings: Any) -> tuple[Model, int]:
    """Fit a model and write a sample of it; everything that can be refused is refused before budget is spent.

    Args:
        data: What `fit` takes.
        schema: Public facts about the columns.
        output: Where the sample goes.
        **settings: Everything else that `fitting` takes.

    Returns:
        The model and the number of rows written.
    """
    _require_output(output)
    with fitting(data, schema, **settings) as model:
        # Written while the fit is open: if that fails, it can be resumed and costs nothing again.
        if output.model_path is not None:
            model.save(output.model_path)
        return model, sample_to_file(model, output.path, output.rows, seed=output.seed, safe=output.safe)


def report_on(
    data: Any,
    output: str | PathLike[str],
    model: Model,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    reader: Mapping[str, Any] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> None:
    """Write the custodian's report on a synthetic table that was just made. Computed from real rows: not private."""
    from sklar.pipeline.evaluate import evaluate

    found = evaluate(
        data, output, model.schema, target, claim=model.claim, reader=reader, synthetic_reader={}, progress=progress
    )
    found.html(path)


def _require_output(output: Output) -> None:
    from sklar.export.atomic import require_writable
    from sklar.export.write import require_table_output

    require_table_output(output.path)
    if output.model_path is not None:
        require_writable(output.model_path)
    if output.rows is not None:
        whole_number(output.rows, "the number of rows")
    seed_entropy(output.seed)

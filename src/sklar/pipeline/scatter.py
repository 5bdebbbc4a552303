"""Scatter grids of tables: every pair of some columns of numbers, a real table beside a synthetic one if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from sklar.errors import UsageError
from sklar.report.canvas import require_picture, write_picture
from sklar.report.scatter_grid import MOST_COLUMNS, scatter_grid
from sklar.sample.rng import substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema


def scatter(
    synthetic: Any,
    schema: Schema | str | PathLike[str],
    path: str | PathLike[str],
    *,
    real: Any = None,
    columns: Sequence[str] | None = None,
    seed: int = 0,
    read: ReadOptions | None = None,
) -> None:
    """Draw a grid of scatter plots, histograms on its diagonal.

    With real rows, those are drawn below the diagonal and synthetic ones above, and the file is for the custodian: its
    name must hold `.custodian.`, and only its owner can read it.

    Args:
        synthetic: The synthetic table.
        schema: Public facts about the columns, or the path of a schema file.
        path: Ends in .svg or .png.
        real: The real table.
        columns: Columns of numbers, at most 8; by default the first ones.
        seed: Fixes which rows of large tables are drawn.
        read: How to read the tables: delimiter, encoding, null_values.
    """
    from sklar.disclosed.metrics.reading import read_table
    from sklar.disclosed.metrics.table import numeric_names

    require_scatter(path, real is not None)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    known = numeric_names(facts)
    names = known[:MOST_COLUMNS] if columns is None else tuple(columns)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not a column of numbers of the schema.")
    streams = substreams(seed, 2)
    tables = {
        role: read_table(data, facts, rng, role=role, read=read).numbers
        for (role, data), rng in zip({"synthetic": synthetic, "real": real}.items(), streams, strict=True)
        if data is not None
    }
    shown = {role: {name: numbers[name] for name in names} for role, numbers in tables.items()}
    canvas = scatter_grid(shown["synthetic"], real=shown.get("real"))
    write_picture(canvas, path, mode=None if real is None else 0o600)


def require_scatter(path: str | PathLike[str], real: bool) -> None:
    """Refuse a name that does not tell the form, or whom a picture of real rows is for."""
    require_picture(path)
    if real and ".custodian." not in fspath(path):
        raise UsageError("a picture of real rows is for the custodian: let its name end in .custodian.svg or .png")

"""Scatter grids: every pair of some columns of numbers, one table or a real beside a synthetic one."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.errors import MissingExtraError, UsageError
from sklar.export.atomic import atomic_file

Table = Mapping[str, NDArray[np.float64]]
MOST_POINTS = 5_000
MOST_COLUMNS = 8
ENDINGS = (".svg", ".png")


def scatter_grid(path: str | PathLike[str], synthetic: Table, *, real: Table | None = None) -> None:
    """Draw a grid of scatter plots, histograms on its diagonal.

    With real rows, those are drawn below the diagonal and synthetic ones above, and the file is for the custodian: its
    name must hold `.custodian.`, and only its owner can read it.

    Args:
        path: Ends in .svg or .png.
        synthetic: Columns of numbers by name, at most 8; rows beyond 5,000 are thinned evenly.
        real: The same columns of the real table.
    """
    place = fspath(path)
    _check(place, synthetic, real)
    picture = _drawn(synthetic, real, place.rsplit(".", 1)[-1])
    with atomic_file(place, mode=None if real is None else 0o600) as file:
        file.write(picture)


def _check(place: str, synthetic: Table, real: Table | None) -> None:
    if not place.endswith(ENDINGS):
        raise UsageError(f"a scatter grid is written as .svg or .png; found '{place}'")
    if not 2 <= len(synthetic) <= MOST_COLUMNS:
        raise UsageError(f"a scatter grid takes 2 to {MOST_COLUMNS} columns; found {len(synthetic)}")
    if real is not None and list(real) != list(synthetic):
        raise UsageError("real and synthetic rows must have the same columns, in the same order")
    if real is not None and ".custodian." not in place:
        raise UsageError("a picture of real rows is for the custodian: let its name end in .custodian.svg or .png")


def _drawn(synthetic: Table, real: Table | None, form: str) -> bytes:
    try:
        importlib.import_module("matplotlib").use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'sklar[eval]'.") from None
    names = list(synthetic)
    figure, axes = pyplot.subplots(len(names), len(names), figsize=(1.8 * len(names), 1.8 * len(names)))
    for line, below in enumerate(names):
        for column, beside in enumerate(names):
            table = real if real is not None and line > column else synthetic
            _panel(axes[line, column], table, real, beside, below)
            axes[line, column].set(xticks=[], yticks=[])
            axes[line, column].set_xlabel(beside if line == len(names) - 1 else "")
            axes[line, column].set_ylabel(below if column == 0 else "")
    if real is not None:
        figure.suptitle("below the diagonal: real rows (not private); above: synthetic rows")
    figure.tight_layout()
    target = io.BytesIO()
    figure.savefig(target, format=form, dpi=110)
    pyplot.close(figure)
    return target.getvalue()


def _panel(axis: Any, table: Table, real: Table | None, beside: str, below: str) -> None:
    both = [table] if real is None else [real, table]
    if beside == below:
        values = [part[beside][~np.isnan(part[beside])] for part in both]
        axis.hist(values[-1], bins=30, color="#4477aa", density=True)
        if real is not None:
            axis.hist(values[0], bins=30, histtype="step", color="#222222", density=True)
        return
    step = -(-len(table[beside]) // MOST_POINTS)
    color = "#222222" if table is real else "#4477aa"
    # Points as pixels: thousands of vector marks would make the file huge.
    axis.plot(table[beside][::step], table[below][::step], ",", color=color, rasterized=True)

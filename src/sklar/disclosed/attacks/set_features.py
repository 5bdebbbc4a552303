"""A whole synthetic table as a vector of features.

Moments, histograms, correlations and all of them together, as in Stadler et al. (2022); and besides, what these do not
have, the distance from a target to its closest synthetic row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.disclosed.attacks.distances import points
from sklar.disclosed.attacks.regression import Layout, layout_of
from sklar.disclosed.metrics.grid import CoarseGrid, coarse_grid
from sklar.disclosed.metrics.table import ExactTable, ordered_values

CELLS = 25
LABELS = 8
Floats = npt.NDArray[np.float64]
TABLE_SETS = ("naive", "histogram", "correlation")
SETS = (*TABLE_SETS, "ensemble", "closest")
"""Moments; shares of cells; correlations; all of these together; the row closest to a target."""
CLOSEST = "closest"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureMaker:
    """How tables become vectors; public facts and the most frequent labels, the same for all tables."""

    grid: CoarseGrid
    layout: Layout
    ordered: tuple[str, ...]
    labels: tuple[str, ...]


def feature_maker(real: ExactTable) -> FeatureMaker:
    """Features for tables like this one."""
    return FeatureMaker(
        grid=coarse_grid(real.schema, CELLS),
        layout=layout_of(real),
        ordered=tuple(name for name in real.names if real.schema[name].ordered),
        labels=tuple(name for name in real.names if not real.schema[name].ordered),
    )


def table_features(table: ExactTable, tables: int, maker: FeatureMaker) -> dict[str, Floats]:
    """Features of each of so many tables of equal size that lie one after the other in one table."""
    size = table.rows // tables
    values = [_filled(ordered_values(table, name)[: size * tables].reshape(tables, size)) for name in maker.ordered]
    codes = {name: table.codes[name][: size * tables].reshape(tables, size) for name in table.names}
    shares = {name: _shares(maker.grid.lookups[name][codes[name]], maker.grid.sizes[name]) for name in table.names}
    naive = [f for x in values for f in (x.mean(axis=1), np.median(x, axis=1), x.var(axis=1))]
    for name in maker.labels:
        naive += [(shares[name] > 0).sum(axis=1), shares[name].argmax(axis=1), shares[name].max(axis=1)]
    return {
        "naive": np.stack([np.asarray(x, dtype=np.float64) for x in naive], axis=1),
        "histogram": np.concatenate([shares[name] for name in table.names], axis=1),
        "correlation": _correlations(values, codes, maker),
    }


def closest_features(table: ExactTable, tables: int, real: ExactTable, targets: npt.NDArray[np.int64]) -> Floats:
    """For each table and target, the log of the distance to the closest row: shape (tables, targets)."""
    size = table.rows // tables
    rows, people = points(real, [table, real.take(targets)])
    labels = [name for name in real.names if not real.schema[name].ordered]
    codes, own = ([t.codes[name] for name in labels] for t in (table, real.take(targets)))
    out = np.empty((tables, len(targets)))
    for at in range(len(targets)):
        gaps = ((rows.numbers - people.numbers[at]) ** 2).sum(axis=1)
        for mine, theirs in zip(own, codes, strict=True):
            gaps = gaps + (theirs != mine[at])
        out[:, at] = np.log(np.sqrt(gaps[: size * tables].reshape(tables, size).min(axis=1)) + 1e-6)
    return out


def _filled(values: Floats) -> Floats:
    """Null becomes the mean of the known values of its table."""
    null = np.isnan(values)
    if not null.any():
        return values
    known = np.maximum((~null).sum(axis=1, keepdims=True), 1)
    return np.where(null, np.where(null, 0.0, values).sum(axis=1, keepdims=True) / known, values)


def _shares(cells: npt.NDArray[np.int64], size: int) -> Floats:
    tables, rows = cells.shape
    flat = (cells + np.arange(tables)[:, None] * size).ravel()
    return np.bincount(flat, minlength=tables * size).reshape(tables, size) / rows


def _correlations(values: list[Floats], codes: dict[str, npt.NDArray[np.int64]], maker: FeatureMaker) -> Floats:
    marks = [(codes[name] == code).astype(float) for name in maker.labels for code in maker.layout.shown[name][:LABELS]]
    columns = [*values, *marks]
    if len(columns) < 2:
        return np.zeros((len(next(iter(codes.values()))), 0))
    cube = np.stack(columns, axis=2)
    cube = cube - cube.mean(axis=1, keepdims=True)
    spread = np.sqrt((cube**2).sum(axis=1, keepdims=True))
    cube = np.divide(cube, spread, out=np.zeros_like(cube), where=spread > 1e-12)
    products = np.matmul(cube.transpose(0, 2, 1), cube)
    first, second = np.triu_indices(len(columns), 1)
    return products[:, first, second]

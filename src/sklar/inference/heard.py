"""What a model was told, as linear functions of rows: counts of cells of one column and of several, sums of products.

Each released number is the sum over rows of a known function, with known noise; which function, a replay tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from sklar.arrays import Floats
from sklar.inference.columns import ColumnSums, column_sums, known_rows
from sklar.inference.fitted import Fitted
from sklar.inference.mechanism.sums import CodeTable, contrast_weights, sphere_points
from sklar.inference.released_tables import ReleasedTable, design_of, of_cells, tables_of_step
from sklar.model.pairs.interactions import centred
from sklar.release.features import Feature, PairSums, StarSums
from sklar.release.values import NoisySums
from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Integer, Real

GRIDDED = (Integer, Real, Datetime)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummedProduct:
    """One sum over rows of the product of two coordinates of a row's point on a sphere, or of one and a contrast.

    Attributes:
        places: Of the two scores; of the contrast and the score.
    """

    feature: PairSums | StarSums
    places: tuple[int, int]

    def values(self, codes: CodeTable) -> Floats:
        """The product in each row."""
        points, (first, second) = sphere_points(self.feature.scores, codes), self.places
        if isinstance(self.feature, StarSums):
            return contrast_weights(self.feature.contrasts, codes)[first] * points[:, second]
        return points[:, first] * points[:, second]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """Released numbers about several columns.

    Attributes:
        columns: Which.
        of: A table's cells, or a product that is summed.
        values: The numbers, with noise.
        sigma: Standard deviation of the noise on each.
    """

    columns: tuple[str, ...]
    of: ReleasedTable | SummedProduct
    values: Floats
    sigma: float

    @property
    def turn(self) -> Floats:
        """What was released of the cells: all, or what is left of interactions without their margins."""
        whole = np.eye(self.values.size)
        if isinstance(self.of, ReleasedTable) and self.of.interaction:
            return np.stack([centred(line.reshape(self.of.observed.shape)).ravel() for line in whole])
        return whole

    def functions(self, codes: CodeTable) -> Any:
        """The functions that are summed, at each row (line), sparse."""
        if isinstance(self.of, SummedProduct):
            return sparse.csr_array(self.of.values(codes)[:, None])
        place = np.zeros(codes.rows, dtype=np.int64)
        for name, lookup, size in zip(self.columns, self.of.lookups, self.of.observed.shape, strict=True):
            place = place * size + lookup[codes.columns[name]]
        shape = (codes.rows, self.values.size)
        return sparse.csr_array((np.ones(codes.rows), (np.arange(codes.rows), place)), shape=shape)


@dataclass(slots=True, kw_only=True, eq=False)
class Heard:
    """All linear functions of rows that releases tell.

    Attributes:
        fitted: The fit.
        tables: Released tables, also the number of rows as one of a single cell.
        linear: What is told of several columns.
        places: By column the number that each base code stands for, from 0 to 1; NaN for labels and missing ones.
    """

    fitted: Fitted
    tables: Sequence[ReleasedTable]
    linear: tuple[Linear, ...]
    places: Mapping[str, Floats]
    _columns: dict[tuple[str, bool], ColumnSums | None] = field(default_factory=dict[Any, Any], init=False)

    @property
    def rows_sigma(self) -> float:
        """Of the number of rows."""
        return known_rows(self.tables, -1, self.fitted.public_rows).sigma

    def column(self, name: str, unbiased: bool) -> ColumnSums | None:
        """What is told of one column, without belief in its tails if asked for."""
        if (name, unbiased) not in self._columns:
            at, schema = self.fitted.schema.modelled.index(name), self.fitted.schema
            own = [table for table in self.tables if table.columns == (at,) and of_cells(table, schema)]
            known = known_rows(self.tables, at, self.fitted.public_rows)
            mass, column = self.fitted.model.margins[at].dense(), schema[name]
            widths = np.zeros(0) if unbiased or np.isnan(self.places[name]).all() else _widths(column)
            self._columns[name, unbiased] = column_sums(own, mass, widths, known, self.fitted.rows)
        return self._columns[name, unbiased]

    def level_error(self, name: str, at: float) -> float:
        """Standard deviation of the share of rows up to a quantile of a column, by noise and by chance."""
        sums, mass = self.column(name, True), self.fitted.model.margins[self.fitted.schema.modelled.index(name)].dense()
        if sums is None:
            return 0.0
        number = ~np.isnan(self.places[name])
        upto = np.cumsum(mass * number) - at * mass[number].sum()
        noise = float(sums.means(np.stack([upto <= 0, upto < mass]) * number)[1].max())  # without the cell, and with it
        return float(np.sqrt(noise + at * (1 - at) / self.fitted.rows))


def _widths(column: Column) -> Floats:
    """Of codes that are numbers; none for a value singled out among ranges, which has no density."""
    if not isinstance(column, GRIDDED):
        return np.zeros(0)
    widths = column.grid.widths[: column.value_cells].astype(np.float64)
    return np.where(column.grid.is_atom[: column.value_cells] & (widths < np.median(widths)), 0.0, widths)


def _places(column: Column, size: int) -> Floats:
    place = np.full(size, np.nan)
    if isinstance(column, GRIDDED):
        upto = np.cumsum(column.grid.widths[: column.value_cells])
        place[: column.value_cells] = (upto - column.grid.widths[: column.value_cells] / 2) / max(upto[-1], 1e-300)
    return place


def listen(fitted: Fitted) -> Heard:
    """All linear functions of rows that the releases tell."""
    design, names, schema = design_of(fitted), fitted.schema.modelled, fitted.schema
    steps = zip(fitted.recorded, design.asked, strict=True)
    tables = [table for step, asked in steps for table in tables_of_step(schema, step.label, asked, step.releases)]
    linear = [
        Linear(columns=tuple(names[j] for j in t.columns), of=t, values=t.told(t.observed).ravel(), sigma=t.sigma)
        for t in tables
        if len(t.columns) > 1
    ]
    for place, feature in design.features.items():
        (release,) = fitted.recorded[place].releases
        if isinstance(release, NoisySums):
            linear += _products(feature, release)
    places = {name: _places(schema[name], schema.size(name)) for name in names}
    return Heard(fitted=fitted, tables=tables, linear=tuple(linear), places=places)


def _products(feature: Feature, release: NoisySums) -> Iterator[Linear]:
    """Products that are summed over all rows, each on its own; other features are not linear, or of one column."""
    sigma = release.noise.std_on(release.resolution)
    told: list[tuple[tuple[str, str], tuple[int, int], float]] = []
    if isinstance(feature, PairSums) and feature.contrasts is None:
        names = feature.scores.columns
        pairs = combinations(range(feature.scores.count), 2)
        told = [((names[i], names[j]), (i, j), x) for (i, j), x in zip(pairs, release.values, strict=True)]
    elif isinstance(feature, StarSums):
        lines, target = release.values.reshape(len(feature.contrasts.lookups), -1), feature.contrasts.column
        named = list(enumerate(feature.scores.columns))
        told = [((name, target), (i, j), line[j]) for i, line in enumerate(lines) for j, name in named]
    for columns, places, value in told:
        if columns[0] != columns[1]:
            assert isinstance(feature, PairSums | StarSums)
            product = SummedProduct(feature=feature, places=places)
            yield Linear(columns=columns, of=product, values=np.array([value]), sigma=sigma)

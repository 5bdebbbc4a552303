"""Every measurement of a fit that is a noisy sum over rows of a known function: tables, agreements, score products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from sklar.arrays import Floats
from sklar.counting.code_table import CodeTable
from sklar.counting.sphere import contrast_weights, row_points
from sklar.inference.columns import ColumnEstimator, estimate_row_count, fit_column_estimator
from sklar.inference.fitted import Fitted
from sklar.inference.tables import all_tables, counts_cells, is_interaction, measured_part
from sklar.model.pairs.interactions import centre
from sklar.release.agreements import Agreements
from sklar.release.counts import Counts, Interaction
from sklar.release.measurements import Measurement
from sklar.release.sphere import PairSums, StarSums
from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Integer, Real

GRIDDED = (Integer, Real, Datetime)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearStatistic:
    """A noisy linear statistic of several columns: the cells of a table, a count of agreements, or a sum of products.

    Attributes:
        columns: The columns.
        measurement: The measurement that contains it.
        place: For a sum of products, the two scores, or the contrast and the score; None for counts.
        values: The noisy numbers.
        sigma: Standard deviation of the noise on each number.
    """

    columns: tuple[str, ...]
    measurement: Measurement
    place: tuple[int, int] | None
    values: Floats
    sigma: float

    @property
    def projection(self) -> Floats:
        """Linear map from cell sums to what was measured: the identity, or the part that margins do not determine."""
        whole = np.eye(self.values.size)
        if is_interaction(self.measurement):
            return np.stack([centre(line.reshape(self.measurement.values.shape)).ravel() for line in whole])
        return whole

    def evaluate(self, codes: CodeTable) -> Any:
        """Evaluate the summed functions at each row: a sparse matrix with one line per row."""
        query = self.measurement.query
        if isinstance(query, PairSums | StarSums):
            return sparse.csr_array(self._products(query, codes)[:, None])
        if isinstance(query, Agreements):
            equal = codes.columns[self.columns[0]] == codes.columns[self.columns[1]]
            return sparse.csr_array(equal[:, None].astype(np.float64))
        assert isinstance(query, Counts | Interaction)
        cell = np.zeros(codes.rows, dtype=np.int64)
        for name, partition, size in zip(query.columns, query.partitions, query.shape, strict=True):
            cell = cell * size + partition[codes.columns[name]]
        shape = (codes.rows, self.values.size)
        return sparse.csr_array((np.ones(codes.rows), (np.arange(codes.rows), cell)), shape=shape)

    def _products(self, query: PairSums | StarSums, codes: CodeTable) -> Floats:
        """Return the score product of each row, in the units of the sums."""
        assert self.place is not None
        points, (first, second) = row_points(query.scores, codes.columns), self.place
        if isinstance(query, StarSums):
            whole = contrast_weights(query.contrasts, codes.columns)[first] * points[:, second]
        else:
            whole = points[:, first] * points[:, second]
        return query.resolution * whole.astype(np.float64)


@dataclass(slots=True, kw_only=True, eq=False)
class LinearMeasurements:
    """All measurements of a fit as linear functions of rows.

    Attributes:
        fitted: The fit.
        tables: Measured tables, including the number of rows as a table of one cell.
        linear: Statistics of several columns.
        places: For each column the position of each base code between 0 and 1; NaN for labels and missing values.
    """

    fitted: Fitted
    tables: Sequence[Measurement]
    linear: tuple[LinearStatistic, ...]
    places: Mapping[str, Floats]
    _columns: dict[tuple[str, bool], ColumnEstimator | None] = field(default_factory=dict[Any, Any], init=False)

    @property
    def rows_sigma(self) -> float:
        """Standard deviation of the noise on the number of rows."""
        return estimate_row_count(self.tables, "", self.fitted.setting.rows).sigma

    def column(self, name: str, unbiased: bool) -> ColumnEstimator | None:
        """Return the estimator for one column, cached; `unbiased` makes no assumptions about its tails."""
        if (name, unbiased) not in self._columns:
            at, schema = self.fitted.schema.modelled.index(name), self.fitted.schema
            own = [table for table in self.tables if table.query.columns == (name,) and counts_cells(table, schema)]
            known = estimate_row_count(self.tables, name, self.fitted.setting.rows)
            mass, column = self.fitted.model.margins[at].dense(), schema[name]
            widths = np.zeros(0) if np.isnan(self.places[name]).all() else _widths(column)
            self._columns[name, unbiased] = fit_column_estimator(
                own, mass, widths, known, self.fitted.rows, tails=not unbiased
            )
        return self._columns[name, unbiased]

    def level_error(self, name: str, at: float) -> float:
        """Return the standard deviation of the share of rows below a quantile, from noise and sampling."""
        sums, mass = self.column(name, True), self.fitted.model.margins[self.fitted.schema.modelled.index(name)].dense()
        if sums is None:
            return 0.0
        number = ~np.isnan(self.places[name])
        upto = np.cumsum(mass * number) - at * mass[number].sum()
        below = np.stack([upto <= 0, upto < mass]) * number  # without the cell of the quantile, and with it
        noise = float(sums.estimate_means(below)[1].max())
        return float(np.sqrt(noise + at * (1 - at) / self.fitted.rows))


def _widths(column: Column) -> Floats:
    """Return the widths of codes that are numbers; 0 for a single value among ranges, which has no density."""
    if not isinstance(column, GRIDDED):
        return np.zeros(0)
    widths = column.grid.widths[: column.value_cells].astype(np.float64)
    return np.where(column.grid.is_atom[: column.value_cells] & (widths < np.median(widths)), 0.0, widths)


def _place_codes(column: Column, size: int) -> Floats:
    place = np.full(size, np.nan)
    if isinstance(column, GRIDDED):
        upto = np.cumsum(column.grid.widths[: column.value_cells])
        place[: column.value_cells] = (upto - column.grid.widths[: column.value_cells] / 2) / max(upto[-1], 1e-300)
    return place


def linear_measurements(fitted: Fitted) -> LinearMeasurements:
    """Return all measurements of a fit as linear statistics."""
    tables, schema = all_tables(fitted.measurements), fitted.schema
    linear = [
        LinearStatistic(
            columns=table.query.columns, measurement=table, place=None, sigma=table.sigma,
            values=measured_part(table, table.values.astype(np.float64)).ravel(),
        )
        for table in tables
        if len(table.query.columns) > 1
    ]  # fmt: skip
    for measurement in fitted.measurements:
        linear += [*_products(measurement), *_agreements(measurement)]
    places = {name: _place_codes(schema[name], schema.size(name)) for name in schema.modelled}
    return LinearMeasurements(fitted=fitted, tables=tables, linear=tuple(linear), places=places)


def _agreements(measurement: Measurement) -> Iterator[LinearStatistic]:
    """Yield each count of rows with equal values in two columns."""
    query = measurement.query
    if isinstance(query, Agreements):
        for first, second, value in zip(query.first, query.second, measurement.values, strict=True):
            yield LinearStatistic(
                columns=(first, second), measurement=measurement, place=None, values=np.array([value]),
                sigma=measurement.sigma,
            )  # fmt: skip


def _products(measurement: Measurement) -> Iterator[LinearStatistic]:
    """Yield each sum of score products over all rows.

    Averages over pairs or blocks of rows, nominal levels, products within classes and coefficients of one column are
    left out.
    """
    query, found = measurement.query, list[tuple[tuple[str, str], tuple[int, int], float]]()
    if isinstance(query, PairSums) and query.contrasts is None:
        names = query.scores.columns
        pairs = combinations(range(query.scores.count), 2)
        found = [((names[i], names[j]), (i, j), x) for (i, j), x in zip(pairs, measurement.values, strict=True)]
    elif isinstance(query, StarSums):
        lines, target = measurement.values.reshape(len(query.contrasts.lookups), -1), query.contrasts.column
        named = list(enumerate(query.scores.columns))
        found = [((name, target), (i, j), line[j]) for i, line in enumerate(lines) for j, name in named]
    for columns, place, value in found:
        if columns[0] != columns[1]:
            yield LinearStatistic(
                columns=columns, measurement=measurement, place=place, values=np.array([value]),
                sigma=measurement.sigma,
            )  # fmt: skip

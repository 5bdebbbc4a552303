"""Compare longitudinal data of two tables: transitions, and variance between persons.

Transitions: TVD of the table of (value in a row, value some rows later) over all persons, on the coarse public grid.
Variance between persons: variance of the means of persons, weighted by their rows, over that of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import SourceError, UsageError
from sklar.lab.tables.reading import read_table, read_whole
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_grid, ordered_values
from sklar.sample.rng import generator
from sklar.schema.persons.linked import has_linked_rows, linked_columns
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema

NUMERIC_GROUPS = 10
"""Groups of a numeric column in a transition table: tenths of the real rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectories:
    """The comparison of longitudinal data. Computed from real rows without noise: not private.

    Attributes:
        transitions: By column, the TVD of the table of its values in consecutive rows of a person.
        second: By column, this TVD for rows that are two apart.
        between: By column, the share of its variance between persons: real, and synthetic.
        rows: TVD of the number of rows per person.
        mixed: The mean of `transitions` for real rows with shuffled persons: the value without memory.
    """

    transitions: Mapping[str, float]
    second: Mapping[str, float]
    between: Mapping[str, tuple[float, float]]
    rows: float
    mixed: float

    @property
    def says(self) -> str:
        """Summarize the comparison in one sentence."""
        distance = float(np.mean(list(self.transitions.values())))
        return (
            f"Rows of a person: tables of consecutive rows differ by {distance:.1%} on average; with shuffled persons "
            f"the difference would be {self.mixed:.1%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def compare_trajectories(
    real: Any, synthetic: Any, schema: Schema, *, read: ReadOptions | None = None,
    read_synthetic: ReadOptions | None = None,
) -> Trajectories:  # fmt: skip
    """Compare the persons of two tables with the key and order of the schema.

    Args:
        real: The real table.
        synthetic: The synthetic one.
        schema: Public facts; its person must link rows.
        read: How to read the real table.
        read_synthetic: How to read the synthetic one.
    """
    if schema.person is None or not has_linked_rows(schema, schema.person):
        raise UsageError("the schema does not describe longitudinal data: it needs a person with order")
    moving = linked_columns(schema, schema.rules, schema.person).moving
    one, two = _Persons(real, schema, "real", read), _Persons(synthetic, schema, "synthetic", read_synthetic)
    grid = coarse_grid(schema)
    cells = {name: (one.cells(grid, name, one), two.cells(grid, name, one)) for name in moving}
    lags = [
        {
            name: _compute_total_variation(one.transitions(a, lag), two.transitions(b, lag))
            for name, (a, b) in cells.items()
        }
        for lag in (1, 2)
    ]
    shuffled = one.shuffle_persons()
    mixed = [
        _compute_total_variation(one.transitions(a, 1), shuffled.transitions(a[shuffled.order], 1))
        for a, _ in cells.values()
    ]
    between = {name: (one.variance_between(name), two.variance_between(name)) for name in moving}
    sizes = [np.bincount(np.bincount(persons.person)) / (persons.person.max() + 1) for persons in (one, two)]
    return Trajectories(
        transitions=lags[0], second=lags[1], mixed=float(np.mean(mixed)),
        between={name: pair for name, pair in between.items() if not np.isnan(pair).any()},
        rows=_compute_total_variation(*({(at,): share for at, share in enumerate(size.tolist())} for size in sizes)),
    )  # fmt: skip


class _Persons:
    """The rows of a table, sorted by person and order."""

    def __init__(self, data: Any, schema: Schema, role: str, read: ReadOptions | None):
        assert schema.person is not None and schema.person.order is not None
        whole = read_whole(data, read_options(read))
        if schema.person.key not in whole.column_names:
            raise SourceError(f"the {role} table lacks the key column '{schema.person.key}'")
        keys = whole.column(schema.person.key).combine_chunks().dictionary_encode()
        person = keys.indices.fill_null(len(keys.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64)
        table = read_table(whole, schema, generator(0), role=role, read=read, rows_kept=whole.num_rows)
        self._arrange(table, person, ordered_values(table, schema.person.order))

    def _arrange(self, table: ExactTable, person: Ints, when: Floats) -> None:
        self.order = np.lexsort((when, person))
        self.table, self.person = table.take(self.order), person[self.order]
        self._when = when[self.order]

    def shuffle_persons(self) -> _Persons:
        """Shuffle the persons of the rows."""
        other = object.__new__(_Persons)
        other._arrange(self.table, generator(0).permutation(self.person), self._when)
        return other

    def cells(self, grid: CoarseGrid, name: str, real: _Persons) -> Ints:
        """Return the cells of a column: tenths of the real rows for numbers with many values, else the coarse grid."""
        codes = grid.lookups[name][self.table.codes[name]]
        if grid.value_cells[name] <= NUMERIC_GROUPS or name not in self.table.numbers:
            return codes
        known = real.table.numbers[name]
        edges = np.unique(np.quantile(known[~np.isnan(known)], np.arange(1, NUMERIC_GROUPS) / NUMERIC_GROUPS))
        numbers = self.table.numbers[name]
        return np.where(np.isnan(numbers), NUMERIC_GROUPS + codes, np.searchsorted(edges, numbers, side="right"))

    def transitions(self, cells: Ints, lag: int) -> dict[tuple[int, int], float]:
        """Return the shares of (cell, cell `lag` rows later) over all persons."""
        same: Mask = self.person[lag:] == self.person[:-lag]
        pairs, counts = np.unique(np.stack([cells[:-lag][same], cells[lag:][same]]), axis=1, return_counts=True)
        total = max(int(counts.sum()), 1)
        return {(int(a), int(b)): n / total for (a, b), n in zip(pairs.T.tolist(), counts.tolist(), strict=True)}

    def variance_between(self, name: str) -> float:
        """Return the share of the variance between persons."""
        codes = self.table.codes[name].astype(np.float64)
        values = ordered_values(self.table, name) if self.table.schema[name].ordered else codes
        known = ~np.isnan(values)
        person, values = np.unique(self.person[known], return_inverse=True)[1].ravel(), values[known]
        if not len(values) or values.var() == 0:
            return float("nan")
        means = np.bincount(person, values) / np.bincount(person)
        return float(means[person].var() / values.var())


def _compute_total_variation(one: Mapping[Any, float], two: Mapping[Any, float]) -> float:
    return 0.5 * float(sum(abs(one.get(cell, 0.0) - two.get(cell, 0.0)) for cell in {*one, *two}))

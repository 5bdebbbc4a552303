"""How rows of a person go together, compared between two tables: transitions, and what lies between persons.

TVD of the table of (value at one row, value some rows later), over all persons, on the coarse public grid; and the
share of a column's variance that lies between persons (variance of the means of persons, each as often as it has rows,
over that of all rows).
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
from sklar.schema.persons.linked import linked_columns, links
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema

GROUPS = 10
"""Groups of a number in a transition table: tenths of the real rows, so that each says something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectories:
    """What was found about persons. Computed from real rows without noise: not private.

    Attributes:
        transitions: By column, the TVD of the table of its values in neighbouring rows of a person.
        second: The same for rows that are two apart.
        between: By column, the share of its variance that lies between persons: real, and synthetic.
        rows: TVD of the number of rows of a person.
        mixed: The mean of `transitions` for real rows whose persons were shuffled: what it is without any memory.
    """

    transitions: Mapping[str, float]
    second: Mapping[str, float]
    between: Mapping[str, tuple[float, float]]
    rows: float
    mixed: float

    @property
    def says(self) -> str:
        """In one sentence."""
        apart = float(np.mean(list(self.transitions.values())))
        return (
            f"Rows of a person: tables of neighbouring rows differ by {apart:.1%} on average; for rows of mixed "
            f"persons it would be {self.mixed:.1%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def trajectories(
    real: Any, synthetic: Any, schema: Schema, *, read: ReadOptions | None = None,
    read_synthetic: ReadOptions | None = None,
) -> Trajectories:  # fmt: skip
    """Compare the persons of two tables, both with the key and the order that the schema names.

    Args:
        real: The real table.
        synthetic: The synthetic one.
        schema: Public facts; its person links rows.
        read: How to read the real table.
        read_synthetic: How to read the synthetic one.
    """
    if schema.person is None or not links(schema, schema.person):
        raise UsageError(
            "the schema does not say that rows of a person follow one another: it needs a person with order"
        )
    moving = linked_columns(schema, schema.rules, schema.person).moving
    one, two = _Persons(real, schema, "real", read), _Persons(synthetic, schema, "synthetic", read_synthetic)
    grid = coarse_grid(schema)
    cells = {name: (one.cells(grid, name, one), two.cells(grid, name, one)) for name in moving}
    apart = {
        lag: {name: _distance(one.steps(a, lag), two.steps(b, lag)) for name, (a, b) in cells.items()} for lag in (1, 2)
    }
    shuffled = one.shuffled()
    mixed = [_distance(one.steps(a, 1), shuffled.steps(a[shuffled.order], 1)) for a, _ in cells.values()]
    between = {name: (one.between(name), two.between(name)) for name in moving}
    sizes = [np.bincount(np.bincount(persons.person)) / (persons.person.max() + 1) for persons in (one, two)]
    return Trajectories(
        transitions=apart[1],
        second=apart[2],
        between={name: pair for name, pair in between.items() if not np.isnan(pair).any()},
        rows=_distance(*({(at,): share for at, share in enumerate(size.tolist())} for size in sizes)),
        mixed=float(np.mean(mixed)),
    )


class _Persons:
    """The rows of a table, person by person and in order."""

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

    def shuffled(self) -> _Persons:
        """The same rows with the persons they belong to shuffled."""
        other = object.__new__(_Persons)
        other._arrange(self.table, generator(0).permutation(self.person), self._when)
        return other

    def cells(self, grid: CoarseGrid, name: str, real: _Persons) -> Ints:
        """Cells of a column: tenths of the real rows for numbers with many values, else the coarse grid."""
        codes = grid.lookups[name][self.table.codes[name]]
        if grid.value_cells[name] <= GROUPS or name not in self.table.numbers:
            return codes
        known = real.table.numbers[name]
        edges = np.unique(np.quantile(known[~np.isnan(known)], np.arange(1, GROUPS) / GROUPS))
        numbers = self.table.numbers[name]
        return np.where(np.isnan(numbers), GROUPS + codes, np.searchsorted(edges, numbers, side="right"))

    def steps(self, cells: Ints, lag: int) -> dict[tuple[int, int], float]:
        """Shares of (cell, cell so many rows later), over all persons."""
        same: Mask = self.person[lag:] == self.person[:-lag]
        pairs, counts = np.unique(np.stack([cells[:-lag][same], cells[lag:][same]]), axis=1, return_counts=True)
        total = max(int(counts.sum()), 1)
        return {(int(a), int(b)): n / total for (a, b), n in zip(pairs.T.tolist(), counts.tolist(), strict=True)}

    def between(self, name: str) -> float:
        """The share of the variance that lies between persons."""
        codes = self.table.codes[name].astype(np.float64)
        values = ordered_values(self.table, name) if self.table.schema[name].ordered else codes
        known = ~np.isnan(values)
        person, values = np.unique(self.person[known], return_inverse=True)[1].ravel(), values[known]
        if not len(values) or values.var() == 0:
            return float("nan")
        means = np.bincount(person, values) / np.bincount(person)
        return float(means[person].var() / values.var())


def _distance(one: Mapping[Any, float], two: Mapping[Any, float]) -> float:
    return 0.5 * float(sum(abs(one.get(cell, 0.0) - two.get(cell, 0.0)) for cell in {*one, *two}))

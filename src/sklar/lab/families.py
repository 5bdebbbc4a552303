"""Evaluate two linked tables: each by itself, and the dependence of rows on their parents. Not private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.lab.metrics.tvd import margin_distances
from sklar.lab.tables.reading import read_table, read_whole
from sklar.lab.tables.table import CoarseGrid, coarse_codes, coarse_grid
from sklar.sample.rng import generator
from sklar.schema.persons.tables import Tables, table_schemas
from sklar.schema.reading import ReadOptions, read_options

if TYPE_CHECKING:
    from sklar.lab.evaluation import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TablesEvaluation:
    """The evaluation of two synthetic tables. Computed from real rows without noise: not private.

    Attributes:
        tables: The evaluation of each table by name.
        cross: By (column of the parents, column of the rows), the TVD of their two-way table.
        independent: The mean of `cross` for real rows assigned to parents at random.
        rows: TVD of the number of rows per parent.
        orphans: Number of synthetic rows without a parent.
    """

    tables: Mapping[str, Evaluation]
    cross: Mapping[tuple[str, str], float]
    independent: float
    rows: float
    orphans: int

    @property
    def cross_tvd2(self) -> float:
        """Return the mean of `cross`."""
        return float(np.mean(list(self.cross.values())))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "tables": {name: found.to_dict() for name, found in self.tables.items()},
            "cross": {" x ".join(pair): value for pair, value in self.cross.items()},
            "cross_tvd2": self.cross_tvd2, "cross_tvd2_independent": self.independent, "rows_of_a_parent": self.rows,
            "orphans": self.orphans,
        }  # fmt: skip


def evaluate_tables(real: Any, synthetic: Any, tables: Tables, **settings: Any) -> TablesEvaluation:
    """Compare two synthetic tables with the real ones; settings are those of `evaluate`.

    Args:
        real: A mapping of both real tables.
        synthetic: A mapping of both synthetic tables.
        tables: Their schemas and key.
        settings: Settings of `evaluate` for both tables.
    """
    from sklar.lab.evaluate import evaluate

    if not isinstance(real, Mapping) or not isinstance(synthetic, Mapping):
        raise UsageError("give both tables, real and synthetic, as a mapping from their names")
    alone = {name: evaluate(real[name], synthetic[name], schema, **settings)
             for name, schema in table_schemas(tables.schema).items()}  # fmt: skip
    read = read_options(settings.get("read"))
    one, two = _Joined(real, tables, read), _Joined(synthetic, tables, read_options(settings.get("read_synthetic")))
    independent = float(np.mean(list(one.distances(one.shuffle_parents()).values())))
    return TablesEvaluation(
        tables=alone, cross=one.distances(two), independent=independent,
        rows=_compute_total_variation(one.numbers, two.numbers), orphans=two.orphans,
    )  # fmt: skip


class _Joined:
    """Rows with the columns of their parents, as cells of the coarse public grid."""

    def __init__(self, data: Mapping[str, Any], tables: Tables, read: ReadOptions):
        names, schemas = tables.parents, table_schemas(tables.schema)
        assert tables.schema.person is not None
        whole = {name: read_whole(data[name], read) for name in schemas}
        exact = {name: read_table(whole[name], schema, generator(0), role=name, read=read,
                                  rows_kept=whole[name].num_rows) for name, schema in schemas.items()}  # fmt: skip
        keys = [str(key) for key in whole[names.table].column(names.key).to_pylist()]
        place = {key: at for at, key in enumerate(keys)}
        keyed = whole[names.rows].column(tables.schema.person.key).to_pylist()
        parent = np.array([place.get(str(key), -1) for key in keyed], dtype=np.int64)
        grids: list[CoarseGrid] = [coarse_grid(schema) for schema in schemas.values()]
        self.columns = [schema.modelled for schema in schemas.values()]
        self.sizes = [[grid.sizes[name] for name in own] for grid, own in zip(grids, self.columns, strict=True)]
        self._heads, cells = (coarse_codes(table, grid) for table, grid in zip(exact.values(), grids, strict=True))
        self.orphans = int((parent < 0).sum())
        self._parent, self._cells = parent[parent >= 0], cells[:, parent >= 0]
        self.numbers = np.bincount(np.bincount(self._parent, minlength=len(keys))) / max(len(keys), 1)

    def shuffle_parents(self) -> _Joined:
        """Assign each row to a random parent."""
        other = object.__new__(_Joined)
        other.columns, other.sizes, other.orphans, other.numbers = self.columns, self.sizes, 0, self.numbers
        other._heads, other._cells = self._heads, self._cells
        other._parent = generator(0).integers(0, self._heads.shape[1], len(self._parent))
        return other

    def stack(self) -> np.ndarray:
        """Stack the cells of the parents' columns and of the rows' own columns, one line per column."""
        return np.vstack([self._heads[:, self._parent].astype(np.int64), self._cells.astype(np.int64)])

    def distances(self, other: _Joined) -> dict[tuple[str, str], float]:
        """Compute the TVD of the two-way table of each parent column with each column of the rows."""
        first = len(self.columns[0])
        pairs = [(a, first + b) for a in range(first) for b in range(len(self.columns[1]))]
        found = margin_distances(self.stack(), other.stack(), [*self.sizes[0], *self.sizes[1]], pairs)
        return {(self.columns[0][a], self.columns[1][b - first]): float(value)
                for (a, b), value in zip(pairs, found, strict=True)}  # fmt: skip


def _compute_total_variation(one: Ints | np.ndarray, two: Ints | np.ndarray) -> float:
    both = np.zeros((2, max(len(one), len(two))))
    both[0, : len(one)], both[1, : len(two)] = one, two
    return 0.5 * float(np.abs(both[0] - both[1]).sum())

"""Tables of all pairs at once equal the tables one by one, whether counted by bits or row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sklar.errors import TableTooLargeError
from sklar.rows import exact_counts, exact_pair_counts, open_rows, require_pair_room
from sklar.rows.pairs import pair_cell_count
from sklar.schema import Boolean, Integer, Schema


@pytest.mark.parametrize("kind", ["bits", "mixed"])
def test_all_pairs_equal_single_tables(kind):
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(6)]
    if kind == "bits":
        schema = Schema({name: Boolean() for name in names})
        table = pa.table({name: rng.random(203) < 0.3 for name in names})
    else:
        schema = Schema({name: Integer(0, j + 1) for j, name in enumerate(names)})
        table = pa.table({name: rng.integers(0, j + 2, 203) for j, name in enumerate(names)})
    lookups = [np.arange(schema.size(name), dtype=np.int32) for name in names]
    if kind == "mixed":
        lookups[5] = np.array([0, 0, 1, 1, 2, 2, 2], dtype=np.int32)
    rows = open_rows(table, schema)
    flat = exact_pair_counts(rows, names, lookups)
    pairs = itertools.combinations(range(6), 2)
    slow = exact_counts(rows, [((names[j], names[k]), (lookups[j], lookups[k])) for j, k in pairs])
    np.testing.assert_array_equal(flat, np.concatenate([t.ravel() for t in slow]))
    assert len(flat) == pair_cell_count([int(x.max()) + 1 for x in lookups])


def test_too_many_cells_are_refused_with_names():
    with pytest.raises(TableTooLargeError, match=r"'income' \(40,000\)"):
        require_pair_room(["age", "income"], [40_000, 40_000])
    require_pair_room(["age", "income"], [100, 40_000])

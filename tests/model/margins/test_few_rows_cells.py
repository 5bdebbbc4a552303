"""First cells: partitions of the base codes that follow from the schema alone."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.few_rows import first_cells
from sklar.schema.columns import Boolean, Category, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real

COLUMNS = {
    "real": Real(0, 1),
    "real with atoms": Real(-5, 9, atoms=(0.0, 0.5), nullable=True),
    "few cells": Real(0, 1, bins=4),
    "one cell": Real(0, 1, bins=1),
    "unit": Integer(0, 20, nullable=True),
    "wide": Integer(0, 1_000_000_000),
    "integers": Integer(-7, 4000),
    "two": Integer(3, 4),
    "one": Integer(3, 3),
    "dates": Datetime("1990-01-01", "2024-12-31"),
    "category": Category(("a", "b", "c"), nullable=True),
    "ordinal": Ordinal(("a", "b", "c", "d")),
    "boolean": Boolean(nullable=True),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_bins_are_all_used_and_values_share_none_with_null(name):
    column = COLUMNS[name]
    cells = first_cells(column)
    assert cells.size == column.size and cells.values == column.value_cells
    np.testing.assert_array_equal(np.unique(cells.parent), np.arange(cells.parent.max() + 1))
    for code in range(column.value_cells, column.size):
        assert np.sum(cells.parent == cells.parent[code]) == 1


@pytest.mark.parametrize("name", [n for n in COLUMNS if first_cells(COLUMNS[n]).coarse])
def test_atoms_stand_alone_and_the_chain_is_ordered(name):
    cells = first_cells(COLUMNS[name])
    assert cells.widths is not None and cells.widths.sum() == pytest.approx(1.0)
    assert np.all(np.diff(cells.chain) >= 0)
    for code in cells.atoms:
        assert np.sum(cells.parent == cells.parent[code]) == 1
    regular = np.setdiff1d(np.arange(cells.values), cells.atoms)
    np.testing.assert_array_equal(cells.parent[regular], cells.chain[regular])
    np.testing.assert_array_equal(np.unique(cells.chain[regular]), np.unique(cells.chain))


def test_a_real_column_has_equal_cells_and_its_bounds():
    cells = first_cells(Real(0, 10))
    assert cells.parent.max() + 1 == 32 + 2
    np.testing.assert_array_equal(cells.atoms, [0, cells.values - 1])
    assert set(np.bincount(cells.parent)[:32]) == {64}


def test_short_integer_ranges_are_counted_code_by_code():
    assert not first_cells(Integer(0, 39)).coarse
    assert first_cells(Integer(0, 40)).coarse

"""The order of synthetic rows tells nothing: shares in blocks of rows vary as those of independent rows do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import sklar
from tests.contracts.conditioned import CASES, SCHEMA, fitted
from tests.tiers import slow_unless

ROWS, BLOCKS = 4_000, 8
GIVEN = {"income": (20.0, 70.0), "region": ["n", "s", "e"]}
RULED = sklar.Schema(dict(SCHEMA), rules=[sklar.rules.Never(values={"region": "n", "smoker": True})])
"""Some rows are forbidden, so that they are drawn again."""


def order_surprise(table: pa.Table) -> float:
    """The largest chi-square of block by value over all columns, as a multiple of its quantile at 1e-8.

    Given how often each value occurs, rows in random order have a chi-square of (blocks - 1)(values - 1) degrees of
    freedom, whether or not those totals are themselves rounded; with five columns a false alarm has a rate below 1e-7.
    """
    ratios: list[float] = []
    for name in ("age", "income", "visits", "region", "smoker"):
        values = table.column(name).to_pandas()
        codes = (values.rank(pct=True, method="dense").fillna(0) * 4).round() if name in ("age", "income") else values
        counts = block_counts(codes.to_numpy())
        expected = counts.sum(0, keepdims=True) / BLOCKS
        statistic = float(((counts - expected) ** 2 / expected).sum())
        ratios.append(statistic / float(chi2.isf(1e-8, (BLOCKS - 1) * max(counts.shape[1] - 1, 1))))
    return max(ratios)


def block_counts(values: np.ndarray) -> np.ndarray:
    """Rows of each block (line) with each value that at least 80 rows have; the rest is one more."""
    found, place, often = np.unique(values, return_inverse=True, return_counts=True)
    kept = np.where(often >= 10 * BLOCKS, np.arange(len(found)), len(found))
    blocks = np.arange(len(values)) * BLOCKS // len(values)
    cells = np.zeros((BLOCKS, len(found) + 1))
    np.add.at(cells, (blocks, kept[place]), 1.0)
    return cells[:, cells.sum(0) >= 10 * BLOCKS]


def changed(fit: sklar.Model, **parts: Any) -> sklar.Model:
    """The model with other parts."""
    return sklar.Model(replace(fit._stored, **parts))


FAST = ("vine", "vine-few-rows", "independent", "dpcopula-hybrid", "rvine")
"""One model of each way to draw rows."""


@pytest.mark.parametrize("name", slow_unless(FAST.__contains__, CASES))
def test_blocks_vary_as_independent_rows_do(name):
    model = fitted(name)
    ruled = changed(model, schema=RULED)
    for label, table in {
        "rounded": model.sample(ROWS, seed=1),
        "independent": model.sample(ROWS, seed=2, iid=True),
        "given": model.sample(ROWS, seed=3, given=GIVEN),
        "stream": pa.Table.from_batches(model.stream(ROWS, seed=4)),
        "stream given": pa.Table.from_batches(model.stream(ROWS, seed=5, given=GIVEN)),
        "rules": ruled.sample(ROWS, seed=6),
        "rules given": ruled.sample(ROWS, seed=7, given=GIVEN),
    }.items():
        assert order_surprise(table) < 1, label


class Sorted:
    """A model whose rounded rows come in the order of their codes."""

    def __init__(self, model: Any):
        self.margins, self.rows_estimate, self.simulate = model.margins, model.rows_estimate, model.simulate
        self.proposals, self._rounded = model.proposals, model.simulate_rounded

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        codes = self._rounded(rows, rng)
        return codes[np.lexsort(codes.T)]


def test_rows_in_the_order_of_their_values_are_shuffled_and_would_be_caught(monkeypatch):
    model = changed(fitted("independent"), model=Sorted(fitted("independent").table_model))
    assert order_surprise(model.sample(ROWS, seed=1)) < 1
    monkeypatch.setattr("sklar.sample.draw.take", lambda table, rows: table)
    assert order_surprise(model.sample(ROWS, seed=1)) > 1

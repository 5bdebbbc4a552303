"""Measured tables name their columns, and the rows of a model are counted on the same partitions."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.accounting.noise import Noise
from sklar.inference.tables import (
    all_tables,
    free_dimensions,
    group_masses,
    measured_part,
    model_tables,
    partitions_of,
    shares_of_rows,
)
from sklar.model.margins.units import units_to_seek
from sklar.pipeline.bundle.bundle import stored_of
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Measurement
from sklar.release.scores import Scores
from sklar.release.sphere import PairSums
from sklar.sample.rng import generator
from tests.contracts.tables import people, schema
from tests.tiers import slow_unless


@pytest.mark.parametrize(
    "method",
    slow_unless(("vine", "independent").__contains__, ["vine", "independent", "dpc-gauss", "dpcopula-kendall"]),
)
def test_rows_and_margins_tell_the_same_tables_of_single_columns(method: str) -> None:
    few = sklar.Schema({name: schema()[name] for name in ("age", "income", "region")})
    fitted = stored_of(sklar.fit(people(300), few, method=method, epsilon=50.0)).fitted
    tables = model_tables(fitted.schema, fitted.measurements)
    codes = fitted.model.simulate_rounded(20_000, generator(1))
    assert tables
    for table, share in zip(tables, shares_of_rows(tables, fitted.schema, codes), strict=True):
        assert share.shape == table.values.shape and share.sum() == pytest.approx(1.0)
        for axis, (column, partition) in enumerate(zip(table.query.columns, partitions_of(table), strict=True)):
            at = fitted.schema.modelled.index(column)
            own = share.sum(axis=tuple(other for other in range(share.ndim) if other != axis))
            drawn = np.bincount(partition[codes[:, at]], minlength=len(own)) / len(codes)
            assert np.allclose(own, drawn)
            assert group_masses(partition, fitted.model.margins[at].dense(), len(own)).sum() == pytest.approx(1.0)


SUMS = PairSums(scores=Scores(columns=("a", "b"), lookups=(np.arange(2), np.arange(3))))
NOISE = Noise(kind="gaussian", scale=2.0)


def test_a_measurement_of_all_pairs_is_one_table_for_each() -> None:
    query = PairCounts(columns=("a", "b", "c"), partitions=(np.arange(2), np.arange(3), np.arange(2)))
    whole = Measurement(query=query, values=np.arange(6 + 4 + 6), noise=NOISE, label="pairs")
    sums = Measurement(query=SUMS, values=np.zeros(1), noise=NOISE)
    tables = all_tables([whole, sums])
    assert [table.query.columns for table in tables] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [table.values.shape for table in tables] == [(2, 3), (2, 2), (3, 2)]
    assert np.array_equal(np.concatenate([table.values.ravel() for table in tables]), np.arange(16))
    assert all(table.noise == NOISE and table.label == "pairs" for table in tables)


def test_an_interaction_measures_what_margins_leave_free() -> None:
    partitions = (np.arange(3), np.arange(4))
    values = generator(2).normal(size=(3, 4))
    counts, left = (
        Measurement(query=kind(columns=("a", "b"), partitions=partitions), values=values, noise=NOISE)
        for kind in (Counts, Interaction)
    )
    assert (free_dimensions(counts), free_dimensions(left)) == (12, 6)
    assert np.array_equal(measured_part(counts, values), values)
    assert np.allclose(measured_part(left, values).sum(axis=0), 0) and np.allclose(
        measured_part(left, values).sum(1), 0
    )


def test_totals_and_units_of_numbers_are_no_tables_of_a_model() -> None:
    facts = sklar.Schema({"x": sklar.Integer(0, 9_999)})
    search = units_to_seek(facts["x"])
    assert search is not None
    size = facts.size("x")
    partitions = (np.zeros(size, dtype=np.int32), search.lookup, np.arange(size) // 100)
    tables = [
        Measurement(query=Counts(columns=("x",), partitions=(one,)), values=np.zeros(int(one.max()) + 1), noise=NOISE)
        for one in partitions
    ]
    assert model_tables(facts, tables) == (tables[2],)

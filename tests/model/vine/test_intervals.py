"""Error bars: coverage where it is promised, labels where it is not."""

from dataclasses import replace

import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.model.axis import lay_out
from sklar.model.margins.margin import Margin
from sklar.model.pairs.copula import GaussianPair
from sklar.model.pairs.interactions import centre, with_margins
from sklar.model.vine.calibration import Calibration, Partition, SoftTable
from sklar.model.vine.intervals import NOISE_ONLY, PROMISED, count_interval, released_interval
from sklar.model.vine.model import VineFacts, VineModel
from sklar.model.vine.vine import Edge, Vine

ROWS, SIGMA, STRENGTH = 5_000.0, 25.0, 400.0
TRUTH = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4) * ROWS


def make_model(noise):
    """Three columns; a released table of the first two, in which the second column's codes 4 and 5 share a group."""
    sizes = (3, 5, 4)
    margins = tuple(
        Margin(column=f"c{j}", starts=np.arange(size), mass=np.full(size, 1 / size), size=size)
        for j, size in enumerate(sizes)
    )
    parts = (
        Partition(column=0, lookup=np.arange(3), count=3),
        Partition(column=1, lookup=np.array([0, 1, 2, 3, 3]), count=4),
        Partition(column=2, lookup=np.arange(4), count=4),
    )
    variance = STRENGTH * (SIGMA / ROWS) ** 2
    observed = (TRUTH + noise).ravel() / ROWS
    tables = (
        SoftTable(parts=(0, 1), observed=observed, variance=variance, dual=np.zeros(12)),
        SoftTable(parts=(2,), observed=np.full(4, 0.25), variance=variance, dual=np.zeros(4)),
    )
    edges = tuple(
        Edge(first=a, second=b, given=(), copula=GaussianPair(corr=0.3), family="gaussian", tau=0.2)
        for a, b in ((0, 1), (1, 2))
    )
    return VineModel(
        margins=margins,
        scales=tuple(lay_out(m.starts, m.mass, m.size, nominal=False) for m in margins),
        vine=Vine(size=3, trees=(edges,)),
        calibration=Calibration(partitions=parts, tables=tables, level=0.0, effective=1.0, ceiling=np.inf),
        facts=VineFacts(rows=ROWS, margin_error=(), strength=STRENGTH, pairs=1, noise="gaussian"),
    )


QUERIES = {
    "one cell": ({0: [1], 1: [2]}, lambda t: t[1, 2]),
    "a group of codes": ({0: [0], 1: [3, 4]}, lambda t: t[0, 3]),
    "a margin": ({0: [0, 2]}, lambda t: t[[0, 2]].sum()),
    "many cells": ({0: [0, 1], 1: [0, 1, 2]}, lambda t: t[:2, :3].sum()),
}


def masks(query):
    sizes = (3, 5, 4)
    return {j: np.isin(np.arange(sizes[j]), values) for j, values in query.items()}


@pytest.mark.parametrize("query, truth", QUERIES.values(), ids=QUERIES.keys())
def test_promised_coverage_is_kept(query, truth):
    rng = np.random.default_rng(1)
    held = []
    for _ in range(1_000):
        model = make_model(np.round(rng.normal(0, SIGMA, (3, 4))))
        interval = released_interval(model, masks(query), 0.9)
        assert interval.label == PROMISED
        held.append(interval.low <= truth(TRUTH) <= interval.high)
    assert 0.9 - 0.05 < np.mean(held) < 0.9 + 0.045


def test_queries_that_cut_a_group_or_need_other_columns_are_noise_only():
    model = make_model(np.zeros((3, 4)))
    rng = np.random.default_rng(2)
    for query in ({1: [3]}, {0: [0], 2: [1]}):
        interval = count_interval(model, masks(query), rng)
        assert interval.label == NOISE_ONLY
        assert interval.low < interval.estimate < interval.high


def test_the_quietest_table_answers():
    model = make_model(np.zeros((3, 4)))
    finer = SoftTable(
        parts=(0,), observed=np.array([0.2, 0.3, 0.5]), variance=STRENGTH * (5.0 / ROWS) ** 2, dual=np.zeros(3)
    )
    model = replace(model, calibration=replace(model.calibration, tables=(*model.calibration.tables, finer)))
    interval = count_interval(model, masks({0: [2]}), np.random.default_rng(3))
    assert np.isclose(interval.estimate, 0.5 * ROWS)
    assert interval.high - interval.estimate < 12


def test_noise_only_bars_grow_with_the_noise():
    quiet = make_model(np.zeros((3, 4)))
    loud = replace(
        quiet,
        calibration=replace(
            quiet.calibration, tables=tuple(replace(t, variance=t.variance * 25) for t in quiet.calibration.tables)
        ),
    )
    loud = replace(loud, facts=replace(loud.facts, strength=STRENGTH))
    rng = np.random.default_rng(4)
    query = masks({0: [0], 1: [3], 2: [1]})
    widths = [i.high - i.low for i in (count_interval(m, query, rng) for m in (quiet, loud))]
    assert widths[0] > 0


@pytest.mark.parametrize("coverage", [0.0, 1.0, 95])
def test_senseless_coverage_is_refused(coverage):
    with pytest.raises(UsageError):
        count_interval(make_model(np.zeros((3, 4))), masks({0: [0]}), np.random.default_rng(5), coverage)


def interaction_model(rng, histograms=True):
    """The pair known by its interactions with noise, margins by histograms with noise of their own."""
    model = make_model(np.zeros((3, 4)))
    interactions = centre(TRUTH + rng.normal(0, SIGMA, (3, 4)))
    masses = TRUTH.sum(axis=1) / ROWS, TRUTH.sum(axis=0) / ROWS
    wrong = tuple(mass[::-1] for mass in masses)  # what was put in for the margins is not what the promise rests on
    pair = replace(
        model.calibration.tables[0],
        observed=with_margins(interactions, ROWS, wrong).ravel() / ROWS,
        content="interaction",
    )
    tables = [pair]
    for part, mass in zip((0, 1), masses, strict=True):
        observed = mass + rng.normal(0, 2 * SIGMA, len(mass)) / ROWS
        variance = 900.0 * (2 * SIGMA / ROWS) ** 2
        tables.append(
            SoftTable(parts=(part,), observed=observed, variance=variance, dual=np.zeros(len(mass)), strength=900.0)
        )
    kept = tuple(tables) if histograms else (pair,)
    return replace(model, calibration=replace(model.calibration, tables=kept))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one cell", "a group of codes", "many cells"])
def test_interactions_and_histograms_together_keep_the_promised_coverage(name):
    query, truth = QUERIES[name]
    rng, held = np.random.default_rng(6), []
    for _ in range(1_000):
        interval = released_interval(interaction_model(rng), masks(query), 0.9)
        assert interval.label == PROMISED
        held.append(interval.low <= truth(TRUTH) <= interval.high)
    assert 0.9 - 0.05 < np.mean(held) < 0.9 + 0.045


def test_interactions_promise_nothing_without_histograms_and_derived_tables_never_do():
    model = interaction_model(np.random.default_rng(7), histograms=False)
    assert released_interval(model, masks({0: [1], 1: [2]}), 0.9) is None
    made = make_model(np.zeros((3, 4)))
    tables = tuple(replace(table, content="derived") for table in made.calibration.tables)
    made = replace(made, calibration=replace(made.calibration, tables=tables))
    assert released_interval(made, masks({0: [1], 1: [2]}), 0.9) is None


def test_a_table_of_its_own_strength_has_the_noise_it_was_released_with():
    model = make_model(np.zeros((3, 4)))
    raised = tuple(replace(t, variance=t.variance / 4, strength=STRENGTH / 4) for t in model.calibration.tables)
    trusted = replace(model, calibration=replace(model.calibration, tables=raised))
    one, other = (released_interval(m, masks({0: [1], 1: [2]}), 0.9) for m in (model, trusted))
    assert np.isclose(one.high - one.low, other.high - other.low)


def test_noise_only_bars_hold_the_noise_of_margins():
    """Interactions without noise: what is left is that of the histograms, once for all tables of a column."""
    quiet = interaction_model(np.random.default_rng(8))
    pair, *histograms = quiet.calibration.tables
    still = replace(pair, variance=1e-14)
    loud = replace(quiet, calibration=replace(quiet.calibration, tables=(still, *histograms)))
    calm = tuple(replace(table, variance=1e-14) for table in (still, *histograms))
    calm = replace(quiet, calibration=replace(quiet.calibration, tables=calm))
    query = masks({0: [0], 1: [3]})  # cuts a group
    widths = [i.high - i.low for i in (count_interval(m, query, np.random.default_rng(9)) for m in (calm, loud))]
    assert widths[1] > 5 * widths[0]

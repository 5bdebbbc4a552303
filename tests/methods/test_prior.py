"""What a public table expects of margins and pairs, beside releases."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import sklar
from sklar.methods.prior import PublicMargin, _polynomials, expected_table, shrink_margins_to_prior
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.prior import PriorTables, pool_margins
from sklar.methods.vine.products import ScoreProduct
from sklar.model.axis import Scale
from sklar.model.margins.fit import Histogram
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.tables import MeasuredTable
from sklar.schema.prior import PublicColumn, PublicPrior

CODES = np.arange(32)
SCHEMA = sklar.Schema({"age": sklar.Integer(0, 31), "kind": sklar.Category(["a", "b", "c"])})


def a_prior(age: np.ndarray, kind: np.ndarray) -> PublicPrior:
    table = np.zeros((8, 4), dtype=np.int64)
    np.add.at(table, (age // 4, kind), 1)
    columns = (
        PublicColumn(name="age", counts=np.bincount(age, minlength=32), groups=CODES // 4),
        PublicColumn(name="kind", counts=np.bincount(kind, minlength=4), groups=np.arange(4)),
    )
    return PublicPrior(name="p", by="", rows=len(age), columns=columns, pairs=table.ravel())


def people(rows: int, seed: int, tilt: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(14 + tilt, 5, rows), 0, 31).astype(int)
    return age, np.minimum(age // 8, 2) * (rng.random(rows) < 0.8)


def test_the_expected_table_has_the_given_margins_and_the_public_dependence() -> None:
    prior = a_prior(*people(5000, 0))
    lookups = CODES // 16, np.array([0, 1, 1, 1])
    masses = np.array([0.3, 0.7]), np.array([0.6, 0.4])
    found = expected_table(prior, ("age", "kind"), lookups, masses)
    assert found is not None
    np.testing.assert_allclose(found.sum(axis=1), masses[0], atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), masses[1], atol=1e-9)
    age, kind = people(5000, 0)
    cells = [[np.sum((age // 16 == i) & (np.minimum(kind, 1) == j)) for j in (0, 1)] for i in (0, 1)]
    odds = cells[0][0] * cells[1][1] / max(cells[0][1] * cells[1][0], 1)
    assert found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0]) == pytest.approx(odds, rel=0.1)
    swapped = expected_table(prior, ("kind", "age"), lookups[::-1], masses[::-1])
    assert swapped is not None
    np.testing.assert_allclose(swapped.T, found, atol=1e-9)
    assert expected_table(prior, ("age", "nobody"), lookups, masses) is None


def test_polynomials_are_orthonormal_where_values_are_many() -> None:
    shares = np.full(2000, 1 / 2000)
    lines = _polynomials(sklar.Integer(0, 1999), shares)
    np.testing.assert_allclose(lines.T @ (lines * shares[:, None]), np.eye(4), atol=0.01)
    assert not _polynomials(sklar.Category(["a", "b", "c"]), np.full(4, 0.25)).any()


def seen(codes: np.ndarray, size: int, sigma: float, seed: int) -> Histogram:
    noise = np.random.default_rng(seed).normal(scale=sigma, size=size)
    return Histogram(lookup=np.arange(size), counts=np.bincount(codes, minlength=size) + noise, sigma=sigma)


def leaned(tilt: float) -> tuple[dict[str, PublicMargin], np.ndarray, PublicPrior]:
    prior = a_prior(*people(4000, 1, tilt))
    age, kind = people(1500, 2)
    histograms = {"age": [seen(age, 32, 40.0, 3)], "kind": [seen(kind, 4, 40.0, 4)]}
    return shrink_margins_to_prior(prior, SCHEMA, histograms, 1500.0), np.bincount(age, minlength=32) / 1500, prior


def test_a_good_public_margin_is_trusted() -> None:
    margins, truth, _ = leaned(0.0)
    assert 0.5 * np.abs(margins["age"].shares - truth).sum() < 0.08
    assert 1 / margins["age"].phi > 50


def test_a_shifted_public_margin_is_moved_back() -> None:
    margins, truth, prior = leaned(5.0)
    before = 0.5 * np.abs(prior.columns[0].counts / prior.rows - truth).sum()
    assert before > 0.3
    assert 0.5 * np.abs(margins["age"].shares - truth).sum() < 0.5 * before


def test_without_a_prior_nothing_is_expected() -> None:
    age, _ = people(100, 0)
    assert shrink_margins_to_prior(None, SCHEMA, {"age": [seen(age, 32, 1.0, 0)]}, 100.0) == {}


def axis_of(name: str, mass: np.ndarray) -> VineAxis:
    edges = np.concatenate([[0.0], np.cumsum(mass)])
    starts, widths = np.arange(len(mass)), np.ones(len(mass), dtype=np.int64)
    scale = Scale(order=starts, starts=starts, widths=widths, edges=edges)
    return VineAxis(name=name, scale=scale, coarse=None, ordered=True, numeric=True)


def test_tables_of_pairs_tell_margins_that_the_axes_do_not_know() -> None:
    """Eight columns whose axes are all off by a tenth, and tables of all their pairs with little noise."""
    rng, rows, sigma = np.random.default_rng(2), 10_000, 30.0
    truth, wrong = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.3, 0.3, 0.2, 0.2])
    groups = [Groups(lookup=np.arange(4), edges=np.concatenate([[0.0], np.cumsum(wrong)])) for _ in range(8)]
    tables = [
        MeasuredTable(
            columns=(a, b),
            groups=(groups[a], groups[b]),
            counts=rows * np.outer(truth, truth) + rng.normal(scale=sigma, size=(4, 4)),
            sigma=sigma,
        )
        for a, b in combinations(range(8), 2)
    ]
    found = pool_margins(tables, rows)
    assert sorted(found) == list(range(8))
    for column, (own, masses) in found.items():
        assert own is groups[column]
        np.testing.assert_allclose(masses, truth, atol=0.02)
    told = [replace(table, content="interaction") for table in tables]
    assert pool_margins(told, rows) == {}


def test_leaned_tables_have_the_margins_that_all_tables_tell() -> None:
    age, kind = people(5000, 0)
    prior = a_prior(age, kind)
    names = {"age": np.bincount(age // 8, minlength=4) / 5000, "kind": np.bincount(kind, minlength=3) / 5000}
    axes = (
        axis_of("age", np.full(32, 1 / 32)),
        axis_of("kind", np.array([0.4, 0.3, 0.3, 0.0]) * 0.999 + 0.00025),
    )
    first = Groups(lookup=CODES // 8, edges=np.linspace(0, 1, 5))
    second = Groups(
        lookup=np.minimum(np.arange(4), 2), edges=np.array([0, axes[1].scale.edges[1], axes[1].scale.edges[2], 1])
    )
    exact = np.zeros((4, 3))
    np.add.at(exact, (age // 8, kind), 1.0)
    pooled = {0: (first, names["age"]), 1: (second, names["kind"])}
    leaning = PriorTables(prior=prior, axes=axes, rows=5000.0, pooled=pooled)
    table = MeasuredTable(columns=(0, 1), groups=(first, second), counts=exact, sigma=40.0)
    (leaned,), phis = leaning.shrink_to_prior([table])
    np.testing.assert_allclose(leaned.counts.sum(axis=1), 5000 * names["age"], rtol=0.01, atol=5)
    np.testing.assert_allclose(leaned.counts.sum(axis=0), 5000 * names["kind"], rtol=0.01, atol=5)
    assert leaned.content == "interaction" and leaned.sigma < 20 and set(phis) == {(0, 1)}
    np.testing.assert_allclose(leaned.counts, exact, atol=60)


def test_sums_rule_out_a_public_table_of_other_people() -> None:
    age, kind = people(5000, 0)
    axes = tuple(
        axis_of(name, (np.bincount(codes, minlength=size) + 1) / (5000 + size))
        for name, codes, size in (("age", age, 32), ("kind", kind, 4))
    )
    leaning = PriorTables(prior=a_prior(age, kind), axes=axes, rows=5000.0)
    scores = (CODES - age.mean()) / age.std(), (np.arange(4) - kind.mean()) / kind.std()
    corr = float(np.mean(scores[0][age] * scores[1][kind]))
    assert corr > 0.4

    def contradicted(mean: float, variance: float) -> bool:
        return leaning.contradicted([ScoreProduct(columns=(0, 1), scores=scores, mean=mean, variance=variance)])

    assert not contradicted(corr, 1e-4) and not contradicted(corr + 0.05, 1e-3) and not contradicted(-corr, 1.0)
    assert contradicted(-corr, 1e-3)
    assert not leaning.contradicted([])

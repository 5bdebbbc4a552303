"""DPCopula-MLE and DPCopula-Hybrid: dependence is recovered, too small a table or too many cells are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import UnsupportedConditionError, UsageError
from sklar.methods import registry
from sklar.methods.dpcopula import hybrid, mle
from sklar.methods.dpcopula.hybrid import HYBRID, split_columns
from sklar.methods.dpcopula.mle import MLE, normal_scores
from sklar.methods.dpcopula.stages import vector_noise
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.conditioning import simulate_given
from sklar.model.correlation.bivariate import corr_of_table
from sklar.model.margins.margin import margin_from_dense
from tests.contracts.record_replay import DivergedError, compare, record

CORR = np.array([[1.0, 0.7], [0.7, 1.0]])


def table(rows, seed=0):
    """Two numbers whose dependence changes its sign with the group."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal(np.zeros(2), CORR, rows)
    group = rng.random(rows) < 0.4
    z[group, 1] *= -1
    x = np.floor(ndtr(z) * 100).astype(int)
    return pd.DataFrame({"group": group, "a": x[:, 0], "b": x[:, 1]})


FACTS = sklar.Schema({"group": sklar.Boolean(), "a": sklar.Integer(0, 99), "b": sklar.Integer(0, 99)})
PAIR = sklar.Schema({"a": sklar.Integer(0, 99), "b": sklar.Integer(0, 99)})


def fitted(data, facts, method, **options):
    return sklar.fit(data, facts, **({"method": method, "epsilon": 20.0} | options))._stored.model


@pytest.mark.parametrize("options", [{}, {"neighbours": "add-remove", "noise": "laplace"}, {"delta": 0.0}])
def test_mle_recovers_the_correlation(options):
    data = table(20_000)
    data = data[~data["group"]][["a", "b"]]
    model = fitted(data, PAIR, "dpcopula-mle", margins="laplace", k=1.0, **options)
    assert model.corr[0, 1] == pytest.approx(0.7, abs=0.1)


def test_mle_says_how_many_rows_it_needs():
    with pytest.raises(UsageError, match=r"needs about [\d,]+ rows for 2 columns"):
        fitted(table(300)[["a", "b"]], PAIR, "dpcopula-mle", epsilon=0.5)


def test_mle_measures_its_noise_on_reals():
    """8 columns, 150,000 rows, delta 0: taken for integer noise it would pass at .20; it is .36, beyond .25."""
    feature = mle._expected(8, 3_000, MLE.read_options({}))
    stage = Allowance(measure="epsilon", amount=1 / 9)
    noise = vector_noise(feature, stage, Unit(neighbours="replace"), None)
    assert (round(noise.std, 2), round(noise.std_on(feature.resolution), 2)) == (0.20, 0.36)
    with pytest.raises(UsageError, match=r"would be 0.36"):
        mle.require_enough(8, 150_000, MLE.read_options({}), stage, Unit(neighbours="replace"))


@pytest.mark.parametrize(("neighbours", "blocks_changed"), [("add-remove", 1), ("replace", 2)])
def test_mle_as_published_has_the_papers_noise_for_each_changed_block(neighbours, blocks_changed):
    """Algorithm 2: Lap(C(m, 2) 2 / (l epsilon2)), for a row that comes or goes; a replaced row changes two blocks."""
    options = MLE.read_options({"published": True})
    assert (options.margins, options.noise, options.repair, options.estimate) == (
        "efpa",
        "laplace",
        "eigenvalue",
        "likelihood",
    )
    noise = vector_noise(
        mle._expected(8, 20_000, options),
        Allowance(measure="epsilon", amount=1 / 9),
        Unit(neighbours=neighbours),
        options.noise,
    )
    assert noise.scale == pytest.approx(blocks_changed * 28 * 2 / 20_000 * 9, rel=1e-6)


def test_mle_as_published_needs_the_papers_number_of_blocks():
    """l > C(m, 2) / (0.025 epsilon2): 10,080 blocks of 50 rows for 8 columns."""
    options, stage = MLE.read_options({"published": True}), Allowance(measure="epsilon", amount=1 / 9)
    unit = Unit(neighbours="add-remove")
    mle.require_enough(8, 10_081 * 50, options, stage, unit)
    with pytest.raises(UsageError, match=r"504,050 rows for 8 columns.*10,080 blocks"):
        mle.require_enough(8, 10_079 * 50, options, stage, unit)
    with pytest.raises(UsageError, match="delta = 0"):
        fitted(table(300)[["a", "b"]], PAIR, "dpcopula-mle", published=True)


def test_mle_by_likelihood_recovers_the_correlation():
    data = table(20_000)
    data = data[~data["group"]][["a", "b"]]
    model = fitted(data, PAIR, "dpcopula-mle", estimate="likelihood", margins="laplace", k=1.0)
    assert model.corr[0, 1] == pytest.approx(0.7, abs=0.1)
    model = fitted(data, PAIR, "dpcopula-mle", published=True, delta=0.0, neighbours="add-remove", epsilon=60.0)
    assert model.corr[0, 1] == pytest.approx(0.7, abs=0.1)


def test_normal_scores_have_mean_zero_and_variance_one_under_the_margin():
    mass = np.random.default_rng(0).random(400)
    margin = margin_from_dense("x", mass / mass.sum())
    scores = normal_scores(margin) / 1024
    assert abs(scores @ margin.dense()) < 1e-3 and (scores**2) @ margin.dense() == pytest.approx(1, abs=0.03)
    assert (np.diff(scores) >= 0).all() and np.abs(scores).max() <= 3


def test_hybrid_keeps_a_dependence_that_changes_with_the_cell():
    model = fitted(table(8_000), FACTS, "dpcopula-hybrid")
    rows = model.simulate(20_000, np.random.default_rng(0))
    for group, sign in ((0, 1), (1, -1)):
        inside = rows[rows[:, 0] == group]
        assert sign * np.corrcoef(inside[:, 1], inside[:, 2])[0, 1] > 0.5
    assert abs((rows[:, 0] == 1).mean() - 0.4) < 0.03
    rounded = model.simulate_rounded(2_000, np.random.default_rng(1))
    assert abs((rounded[:, 0] == 1).mean() - model.weights[1]) <= 1 / 2_000


def test_hybrid_conditions_on_cells_and_on_the_rest():
    model = fitted(table(4_000), FACTS, "dpcopula-hybrid")
    allowed = {0: np.array([False, True]), 1: np.arange(100) >= 80}
    rows, _ = simulate_given(model, 500, allowed, np.random.default_rng(2))
    assert (rows[:, 0] == 1).all() and rows[:, 1].min() >= 80 and rows[:, 2].mean() < 45
    with pytest.raises(UnsupportedConditionError):
        simulate_given(model, 5, {0: np.array([False, False])}, np.random.default_rng(3))


def test_hybrid_without_small_or_without_large_columns():
    assert fitted(table(500)[["a", "b"]], PAIR, "dpcopula-hybrid").simulate(9, np.random.default_rng(0)).shape == (9, 2)
    facts = sklar.Schema({"group": sklar.Boolean()})
    model = fitted(table(500)[["group"]], facts, "dpcopula-hybrid")
    assert abs(model.simulate(4_000, np.random.default_rng(0)).mean() - 0.4) < 0.1


def test_hybrid_has_a_cell_for_unlisted_values_only_where_the_schema_names_one():
    facts = {
        "plain": sklar.Category(["f", "m"]),
        "named": sklar.Category(["f", "m"], other="x"),
        "bought": sklar.Category(["f", "m"], source={"values": "pay"}),
        "nullable": sklar.Category(["f", "m"], nullable=True),
        "nine": sklar.Ordinal(list("abcdefghi")),
        "ten": sklar.Ordinal(list("abcdefghij")),
    }
    split = split_columns(sklar.Schema(facts), HYBRID.read_options({}))
    assert split.small == (0, 1, 2, 3, 4) and split.shape == (2, 3, 3, 3, 9)
    assert [lookup.tolist() for lookup in split.lookups[:4]] == [[0, 1, 0], [0, 1, 2], [0, 1, 2], [0, 1, 2, 2]]
    assert split.codes[3].tolist() == [0, 1, 3]
    always = split_columns(sklar.Schema(facts), HYBRID.read_options({"unlisted": "always"}))
    assert always.shape == (3, 3, 3, 4, 10)


def test_hybrid_counts_and_samples_categories_as_two_cells():
    data = table(4_000)
    data["group"] = np.where(data["group"], "yes", "no")
    facts = sklar.Schema({"group": sklar.Category(["no", "yes"]), **{n: sklar.Integer(0, 99) for n in "ab"}})
    model = fitted(data, facts, "dpcopula-hybrid")
    assert len(model.weights) == 2 and abs(model.weights[1] - 0.4) < 0.05
    rows = model.simulate(4_000, np.random.default_rng(0))
    assert set(rows[:, 0]) == {0, 1} and model.margins[0].dense()[2] == 0


def test_hybrid_as_published_learns_each_cell_alone():
    options = HYBRID.read_options({"published": True})
    assert (options.bins, options.k, options.repair) == (1024, 8.0, "eigenvalue")
    with pytest.raises(UsageError, match="delta = 0"):
        fitted(table(300), FACTS, "dpcopula-hybrid", published=True)
    model = fitted(table(8_000), FACTS, "dpcopula-hybrid", published=True, delta=0.0, epsilon=2_000.0)
    for cell, sign in ((0, 1), (1, -1)):
        assert model.models[cell].corr[0, 1] == pytest.approx(sign * 0.7, abs=0.1)
        exact = np.bincount(table(8_000).query(f"group == {bool(cell)}")["a"], minlength=100)
        assert np.abs(model.models[cell].margins[0].dense() - exact / exact.sum()).max() < 2e-3


def test_hybrid_with_too_many_cells_says_how_many_and_which():
    facts = sklar.Schema({f"c{j}": sklar.Category(list("abcdefg")) for j in range(6)})
    with pytest.raises(UsageError, match=r"117,649 cells.*'c0' \(7\)"):
        split_columns(facts, HYBRID.read_options({}))


def test_numbers_of_few_values_are_large_where_cells_are_many():
    facts = {f"c{j}": sklar.Category(list("abcdefg")) for j in range(3)}
    numbers = {"year": sklar.Integer(2019, 2023), "weekday": sklar.Integer(1, 7)}
    assert split_columns(sklar.Schema(facts | numbers), HYBRID.read_options({})).small == (0, 1, 2, 3)
    fewer = {"c0": facts["c0"]} | numbers
    assert split_columns(sklar.Schema(fewer), HYBRID.read_options({})).small == (0, 1, 2)


def test_hybrid_survives_saving_and_few_rows():
    model, pool = fitted(table(3), FACTS, "dpcopula-hybrid", epsilon=0.1), ArrayPool(distinct=False)
    again = decode(encode(model, pool.keep), pool.arrays)
    one, two = (m.simulate(50, np.random.default_rng(4)) for m in (model, again))
    np.testing.assert_array_equal(one, two)


def test_a_table_of_ranks_has_the_correlation_behind_it():
    data = table(200_000)
    data = data[~data["group"]]
    counts = np.histogram2d(data["a"], data["b"], bins=[25, 25])[0]
    assert corr_of_table(counts / counts.sum()) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize(
    ("method", "option"), [(MLE, {"block_rows": 3}), (MLE, {"k": "x"}), (HYBRID, {"bins": 1}), (HYBRID, {"k": -1})]
)
def test_options_outside_the_rules_are_refused(method, option):
    with pytest.raises(UsageError, match=next(iter(option))):
        method.read_options(option)


def test_the_mutant_with_the_exact_size_of_a_cell_in_its_noise_is_caught(monkeypatch):
    """Noise scaled by how many rows a cell really has: the questions then depend on the rows."""
    real = hybrid.plan_noise
    size = {"now": 0}

    def leaking(allowance, unit, plan):
        return tuple(Noise(kind=n.kind, scale=n.scale * (1 + size["now"] / 1_000)) for n in real(allowance, unit, plan))

    base = table(200)
    other = pd.concat([base.iloc[1:], base.iloc[[0]].assign(group=~base["group"].iloc[0])], ignore_index=True)
    settings = {"schema": FACTS, "method": "dpcopula-hybrid", "epsilon": 1.0}

    def both():
        size["now"] = int(base["group"].sum())
        first = record(monkeypatch, data=base, **settings)
        size["now"] = int(other["group"].sum())
        try:
            return compare(first, record(monkeypatch, first, data=other, **settings))
        except DivergedError as error:
            return [str(error)]

    assert both() == []
    monkeypatch.setattr(hybrid, "plan_noise", leaking)
    monkeypatch.setattr(registry, "METHODS", {"dpcopula-hybrid": _without_plan(HYBRID)})
    assert both() != []


def _without_plan(method):
    import dataclasses

    return dataclasses.replace(method, plan=None)

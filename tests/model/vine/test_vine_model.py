"""The vine model: independent, rounded and conditional rows of one law."""

from itertools import combinations

import numpy as np
import pytest

from sklar.errors import UnsupportedConditionError
from sklar.model.axis import lay_out
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.conditioning import kish_size, simulate_given
from sklar.model.margins.margin import Margin
from sklar.model.pairs.copula import GaussianPair
from sklar.model.vine.calibration import (
    NO_TILT,
    Calibration,
    Partition,
    SoftTable,
    calibrate,
    cell_matrix,
)
from sklar.model.vine.model import VineFacts, VineModel
from sklar.model.vine.sampling import simulate_vine
from sklar.model.vine.vine import Edge, Vine

SIZES = (5, 7, 12, 3)


def edge(first, second, given, corr):
    return Edge(first=first, second=second, given=given, copula=GaussianPair(corr=corr), family="gaussian", tau=0.0)


def make_model(tilted=True):
    rng = np.random.default_rng(0)
    margins = tuple(
        Margin(column=f"c{j}", starts=np.arange(size), mass=rng.dirichlet(np.full(size, 3.0)), size=size)
        for j, size in enumerate(SIZES)
    )
    margins = (
        *margins[:2],
        Margin(column="c2", starts=np.array([0, 1, 4, 9]), mass=np.array([0.3, 0.2, 0.4, 0.1]), size=12),
        margins[3],
    )
    scales = tuple(lay_out(m.starts, m.mass, m.size, nominal=j == 3) for j, m in enumerate(margins))
    vine = Vine(
        size=4,
        trees=(
            (edge(0, 1, (), 0.7), edge(1, 2, (), -0.5), edge(1, 3, (), 0.3)),
            (edge(0, 2, (1,), 0.4), edge(2, 3, (1,), -0.3)),
        ),
    )
    facts = VineFacts(rows=1_000.0, margin_error=(), strength=1.0, pairs=2, noise="gaussian")
    plain = VineModel(margins=margins, scales=scales, vine=vine, calibration=NO_TILT, facts=facts)
    return tilt(plain, rng) if tilted else plain


def tilt(model, rng):
    parts = tuple(
        Partition(column=j, lookup=np.arange(len(s.starts)), count=len(s.starts)) for j, s in enumerate(model.scales)
    )
    tables = []
    for a, b in ((0, 3), (2, 3)):
        product = np.outer(model.margins[a].mass, model.margins[b].mass)
        product = product * rng.gamma(4.0, 0.25, product.shape)
        flat = (product / product.sum()).ravel()
        tables.append(SoftTable(parts=(a, b), observed=flat, variance=1e-4, dual=np.zeros(len(flat))))
    draft = Calibration(partitions=parts, tables=tuple(tables), level=0.0, effective=1.0, ceiling=1.0)
    particles = simulate_vine(model.vine, 50_000, rng, even=True)
    calibration, _ = calibrate(parts, tables, cell_matrix(draft, model.scales, particles))
    return VineModel(
        margins=model.margins, scales=model.scales, vine=model.vine, calibration=calibration, facts=model.facts
    )


ALL_PAIRS = tuple(combinations(range(4), 2))


def pair_distance(first, second, pairs=ALL_PAIRS):
    """Mean total variation distance over pairs of columns."""
    total = []
    for a, b in pairs:
        size = SIZES[a] * SIZES[b]
        tables = [np.bincount(x[:, a] * SIZES[b] + x[:, b], minlength=size) / len(x) for x in (first, second)]
        total.append(np.abs(tables[0] - tables[1]).sum() / 2)
    return float(np.mean(total))


MODEL = make_model()
LARGE = MODEL.simulate(400_000, np.random.default_rng(1))


def test_independent_rows_follow_the_weighted_vine():
    from sklar.model.axis import codes_at
    from sklar.model.vine.calibration import log_weights

    particles = simulate_vine(MODEL.vine, 400_000, np.random.default_rng(2))
    weights = np.exp(log_weights(MODEL.calibration, MODEL.scales, particles))
    assert abs(weights.mean() - 1) < 0.05
    for a, b in combinations(range(4), 2):
        first, second = (codes_at(MODEL.scales[j], particles[:, j]).astype(int) for j in (a, b))
        cell = first * SIZES[b] + second
        expected = np.bincount(cell, weights, SIZES[a] * SIZES[b]) / weights.sum()
        seen = np.bincount(LARGE[:, a] * SIZES[b] + LARGE[:, b], minlength=len(expected)) / len(LARGE)
        assert np.abs(seen - expected).sum() / 2 < 0.02


def test_rows_are_int32_codes_in_fortran_order_and_seeded():
    rows = MODEL.simulate(1_234, np.random.default_rng(3))
    assert rows.shape == (1_234, 4)
    assert rows.dtype == np.int32
    assert rows.flags.f_contiguous
    assert np.array_equal(rows, MODEL.simulate(1_234, np.random.default_rng(3)))
    assert rows.min() >= 0
    assert np.all(rows.max(axis=0) < SIZES)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_few_rows(rows):
    for draw in (MODEL.simulate, MODEL.simulate_rounded):
        assert draw(rows, np.random.default_rng(4)).shape == (rows, 4)


def test_rounded_rows_are_nearer_to_the_model():
    rng = np.random.default_rng(5)
    released = ((0, 3),)
    rounded = np.mean([pair_distance(MODEL.simulate_rounded(3_000, rng), LARGE, released) for _ in range(3)])
    independent = np.mean([pair_distance(MODEL.simulate(3_000, rng), LARGE, released) for _ in range(3)])
    assert rounded < 0.6 * independent


def test_large_rounded_samples_come_in_pieces(monkeypatch):
    monkeypatch.setattr("sklar.model.vine.model.ROWS_AT_A_TIME", 6_000)
    rows = MODEL.simulate_rounded(20_001, np.random.default_rng(6))
    assert rows.shape == (20_001, 4)
    assert pair_distance(rows, LARGE) < 0.025


CONDITIONS = {
    "one value": {1: [2]},
    "a range inside a margin cell": {2: [5, 6]},
    "two columns": {0: [0, 1], 3: [1]},
    "scattered values": {2: [0, 3, 10], 1: [0, 6]},
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS.keys())
def test_conditional_rows_follow_the_conditioned_law(condition):
    """Reference: rejection from a large unconditional sample of the calibrated model."""
    masks = {j: np.isin(np.arange(SIZES[j]), values) for j, values in condition.items()}
    keep = np.all([mask[LARGE[:, j]] for j, mask in masks.items()], axis=0)
    reference = LARGE[keep]
    rows, effective = simulate_given(MODEL, 20_000, masks, np.random.default_rng(7))
    assert all(mask[rows[:, j]].all() for j, mask in masks.items())
    assert effective > 5_000
    floor = pair_distance(reference[::2], reference[1::2])
    assert pair_distance(rows, reference) < floor + 0.02


def test_condition_without_mass_is_refused():
    with pytest.raises(UnsupportedConditionError, match="'c1'"):
        simulate_given(MODEL, 10, {1: np.zeros(7, bool)}, np.random.default_rng(8))


def test_condition_with_too_little_support_is_refused(monkeypatch):
    """The calibration leaves hardly anything of the set."""
    monkeypatch.setattr("sklar.model.conditioning.MAX_PROPOSALS", 20_000)
    margins = (
        Margin(column="a", starts=np.array([0, 1]), mass=np.array([0.5, 0.5]), size=2),
        Margin(column="b", starts=np.array([0, 1, 2]), mass=np.array([0.5, 0.4996, 0.0004]), size=3),
    )
    scales = tuple(lay_out(m.starts, m.mass, m.size, nominal=False) for m in margins)
    parts = tuple(Partition(column=j, lookup=np.arange(2 + j), count=2 + j) for j in range(2))
    table = SoftTable(
        parts=(0, 1), observed=np.zeros(6), variance=1.0, dual=np.array([0.0, -900.0, 0.0, 0.0, 0.0, 0.0])
    )
    tilted = Calibration(partitions=parts, tables=(table,), level=0.0, effective=1.0, ceiling=1.0)
    vine = Vine(size=2, trees=((edge(0, 1, (), 0.1),),))
    model = VineModel(margins=margins, scales=scales, vine=vine, calibration=tilted, facts=MODEL.facts)
    allowed = {0: np.array([True, False]), 1: np.array([False, True, True])}
    with pytest.raises(UnsupportedConditionError, match="effective sample size"):
        simulate_given(model, 5, allowed, np.random.default_rng(9))


def test_saved_and_loaded_models_draw_the_same_rows():
    pool = ArrayPool(distinct=True)
    tree = encode(MODEL, pool.keep)
    again = decode(tree, pool.arrays)
    assert np.array_equal(again.simulate(50, np.random.default_rng(1)), MODEL.simulate(50, np.random.default_rng(1)))


def test_effective_size_limits():
    assert kish_size(np.ones(10)) == 10.0
    assert kish_size(np.array([1.0, 0.0, 0.0])) == 1.0
    assert kish_size(np.zeros(3)) == 0.0


def test_description_tells_the_trees():
    told = MODEL.describe(["a", "b", "c", "d"])
    first, second = told["trees"]
    assert {(e["first"], e["second"]) for e in first["edges"]} == {("a", "b"), ("b", "c"), ("b", "d")}
    assert second["edges"][0]["given"] == ["b"]
    assert told["calibration"]["tables"] == 2
    drawing = told["drawing"].splitlines()
    assert drawing[0] == "b"
    assert len(drawing) == 4


def test_independent_rows_vary_as_independent_rows_do():
    # 200 samples of 400 rows: the variance of a count over samples is n p (1 - p); its estimate has a standard error of
    # 10%, so 45% off happens once in 100,000 seeds, and the seed is fixed.
    model = make_model()
    rng = np.random.default_rng(21)
    counts = np.array([np.bincount(model.simulate(400, rng)[:, 0], minlength=SIZES[0]) for _ in range(200)])
    share = counts.mean(axis=0) / 400
    ratio = counts.var(axis=0, ddof=1) / (400 * share * (1 - share))
    assert np.all(np.abs(ratio - 1) < 0.45)


def test_independent_rows_follow_vine_times_cut_weights():
    from sklar.model.axis import codes_at
    from sklar.model.vine.calibration import log_weights

    model = make_model()
    rng = np.random.default_rng(22)
    particles = simulate_vine(model.vine, 400_000, rng)
    weights = np.exp(log_weights(model.calibration, model.scales, particles))
    codes = np.column_stack([codes_at(scale, particles[:, j]) for j, scale in enumerate(model.scales)])
    rows = model.simulate(200_000, rng)
    for a, b in ALL_PAIRS:
        wanted = np.bincount(codes[:, a] * SIZES[b] + codes[:, b], weights, SIZES[a] * SIZES[b]) / weights.sum()
        found = np.bincount(rows[:, a] * SIZES[b] + rows[:, b], minlength=SIZES[a] * SIZES[b]) / len(rows)
        assert np.all(np.abs(found - wanted) < 6 * np.sqrt(wanted / 100_000) + 1e-4)


def test_triples_of_the_pool_are_what_its_particles_say():
    from sklar.model.vine.calibration import part_codes
    from sklar.model.vine.rounding import choose_triples, pair_axes, rounded_cells

    model = make_model()
    particles = simulate_vine(model.vine, 500, np.random.default_rng(23))
    assert sorted(pair_axes(model.calibration)) == [0, 2, 3]
    codes = part_codes(model.calibration.partitions, model.scales, particles)
    triples = choose_triples(model.calibration, np.random.default_rng(0))
    cells, counts = rounded_cells(model.calibration, codes, triples)
    assert np.array_equal(cells[:, :-1], cell_matrix(model.calibration, model.scales, particles).T)
    sizes = [model.calibration.partitions[j].count for j in (0, 2, 3)]
    assert counts == [*(len(table.observed) for table in model.calibration.tables), int(np.prod(sizes))]
    assert np.array_equal(cells[:, -1], np.ravel_multi_index([codes[j].astype(int) for j in (0, 2, 3)], sizes))


def test_rounded_rows_cover_each_margin_cell_evenly():
    rows = MODEL.simulate_rounded(5_000, np.random.default_rng(26))
    for start, stop in ((1, 4), (4, 9), (9, 12)):  # the wide cells of the third column
        counts = np.bincount(rows[:, 2], minlength=12)[start:stop]
        assert counts.max() - counts.min() <= 2


@pytest.mark.parametrize(
    ("tables", "rows", "size"),
    [(1, 100, 80_000), (1, 12_000, 96_000), (1, 1_000_000, 200_000), (2_000, 100, 30_000), (30_000, 10_000, 20_000)],
)
def test_pools_are_large_enough_for_few_rows_and_small_enough_for_many_tables(tables, rows, size):
    from sklar.model.vine.pool import pool_size

    table = SoftTable(parts=(0,), observed=np.ones(1), variance=1.0, dual=np.zeros(1))
    draft = Calibration(partitions=(), tables=(table,) * tables, level=0.0, effective=1.0, ceiling=1.0)
    assert pool_size(draft, rows, 8.0) == size


def in_margin_cells(rows):
    """The third column by margin cells: inside them independent rows carry the tilt, rounded ones lie evenly."""
    cells = rows.copy()
    cells[:, 2] = np.searchsorted(MODEL.scales[2].starts, rows[:, 2], side="right") - 1
    return cells


def test_large_samples_from_several_pools_follow_the_same_law(monkeypatch):
    model = make_model()
    monkeypatch.setattr("sklar.model.vine.model.LARGE_SAMPLE", 1_000)
    monkeypatch.setattr("sklar.model.vine.model.ROWS_AT_A_TIME", 4_000)
    many, few = (
        in_margin_cells(model.simulate_rounded(20_000, np.random.default_rng(24))),
        in_margin_cells(model.simulate(100_000, np.random.default_rng(25))),
    )
    for a, b in ALL_PAIRS:
        one = np.bincount(many[:, a] * SIZES[b] + many[:, b], minlength=SIZES[a] * SIZES[b]) / len(many)
        two = np.bincount(few[:, a] * SIZES[b] + few[:, b], minlength=SIZES[a] * SIZES[b]) / len(few)
        assert 0.5 * np.abs(one - two).sum() < 0.02

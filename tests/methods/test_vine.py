"""The DP vine through a Door: what it asks, what it spends, and what comes out on easy and on hostile tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.errors import SklarError, UsageError
from sklar.methods.vine.axes import lay_out_axes
from sklar.methods.vine.estimate import _eligible
from sklar.methods.vine.fit import VINE
from sklar.methods.vine.options import VineOptions
from sklar.methods.vine.stages import cut_stages, has_few_rows
from sklar.methods.vine.tree import choose_tree
from sklar.model.conditioning import simulate_given
from sklar.model.margins.margin import margin_from_dense
from sklar.model.vine.model import VineModel
from sklar.pipeline.verify.checks import model_difference
from sklar.release.replay import ReplayDoor
from sklar.schema.columns import Boolean, Category, Ordinal
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema
from tests.methods.fits import make_setting, open_door


@pytest.fixture(autouse=True)
def fewer_particles(monkeypatch):
    monkeypatch.setattr("sklar.methods.vine.calibrate.PARTICLES", 20_000)


MIXED = Schema(
    {
        "age": Integer(0, 99),
        "income": Real(0.0, 100.0, nullable=True),
        "group": Category(("a", "b", "c", "d")),
        "level": Ordinal(("low", "mid", "high")),
        "smoker": Boolean(nullable=True),
    }
)


def mixed_codes(rows, rng):
    """Age drives income; income is null for group a; level follows age; smoker depends on group."""
    age = rng.integers(0, 100, rows)
    group = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    money = np.clip(age + rng.normal(0, 10, rows), 0.5, 99.5)
    income = np.where(group == 0, MIXED["income"].null_code, MIXED["income"].grid.code(money))
    level = np.clip(age // 34 + (rng.random(rows) < 0.1), 0, 2)
    smoker = np.where(rng.random(rows) < 0.8, group % 2, 2)
    return np.column_stack([age, income, group, level, smoker])


def table(codes, a, b, shape, cut=lambda j, x: x):
    cell = cut(a, codes[:, a]) * shape[1] + cut(b, codes[:, b])
    return np.bincount(cell, minlength=shape[0] * shape[1]) / len(codes)


def coarse(column, codes):
    """Ten bands of age and income, the null of income kept apart; other columns as they are."""
    if column == 0:
        return codes // 10
    if column == 1:
        null = MIXED["income"].null_code
        return np.where(codes == null, 10, np.minimum(codes * 10 // null, 9))
    return codes


SHAPES = (10, 11, 5, 4, 3)


def pair_error(first, second):
    errors = [
        np.abs(table(first, a, b, (SHAPES[a], SHAPES[b]), coarse) - table(second, a, b, (SHAPES[a], SHAPES[b]), coarse))
        for a, b in combinations(range(5), 2)
    ]
    return float(np.mean([error.sum() / 2 for error in errors]))


def setting_of(schema, codes, amount, seed=0, options=None, measure="rho", neighbours="add-remove"):
    unit = Unit(neighbours=neighbours)
    return make_setting(
        schema, options or VineOptions(), amount, measure=measure, unit=unit, rows=len(codes), seed=seed
    )


def fit(schema, codes, amount, seed=0, **settings):
    setting = setting_of(schema, codes, amount, seed, **settings)
    door = open_door(schema, codes, setting.unit, seed)
    return door, VINE.fit(setting, door)


@pytest.fixture(scope="module")
def real():
    return mixed_codes(20_000, np.random.default_rng(0))


def valid(model, schema, rows=200):
    rng = np.random.default_rng(9)
    sizes = [schema.size(name) for name in schema.modelled]
    for draw in (model.simulate, model.simulate_rounded):
        codes = draw(rows, rng)
        assert codes.shape == (rows, len(sizes))
        assert np.all((codes >= 0) & (codes < sizes))
    for margin in model.margins:
        assert np.isclose(margin.mass.sum(), 1.0)
        assert np.all(np.isfinite(margin.mass))


def test_dependence_nulls_included_is_kept(real):
    _, model = fit(MIXED, real, 5.0)
    assert isinstance(model, VineModel)
    rows = model.simulate_rounded(20_000, np.random.default_rng(1))
    assert pair_error(rows, real) < 0.04
    null = rows[:, 1] == MIXED["income"].null_code
    assert np.mean(null[rows[:, 2] == 0]) > 0.9
    assert np.mean(null[rows[:, 2] != 0]) < 0.1


@pytest.mark.slow
def test_more_budget_less_error(real):
    errors = []
    for amount in (0.001, 0.05, 5.0):
        _, model = fit(MIXED, real, amount)
        errors.append(pair_error(model.simulate_rounded(20_000, np.random.default_rng(1)), real))
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"neighbours": "replace"},
        {"measure": "epsilon"},
        pytest.param({"options": VineOptions(target="smoker")}, marks=pytest.mark.slow),
        pytest.param({"options": VineOptions(workload=("age * *",))}, marks=pytest.mark.slow),
    ],
    ids=["add-remove", "replace", "pure", "target", "workload"],
)
def test_all_of_the_budget_and_no_more_is_spent(real, settings):
    door, model = fit(MIXED, real, 1.0, **settings)
    assert 0.99 < door.spent(settings.get("measure", "rho")) <= 1.0 + 1e-9
    valid(model, MIXED)


def test_row_accesses_are_the_documented_ones(real):
    door, _ = fit(MIXED, real, 0.02)
    planned = ["distances from the first model", "planned tables"]
    assert door.labels == ["rows", "margins", "finer margins", "correlations", "pairs", "tree one", *planned]
    assert door.columns("correlations") == [("age", "income", "level", "smoker")]
    assert len(door.columns("pairs")) == 10
    assert len(door.columns("tree one")) == 4
    door, _ = fit(MIXED, real, 10.0, options=VineOptions(target="smoker"), neighbours="replace")
    assert door.labels == ["margins", "finer margins", "pairs", "tree one", "target", "target triples"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [VineOptions(), VineOptions(target="smoker"), VineOptions(workload=("age * *",))],
    ids=["plain", "target", "workload"],
)
@pytest.mark.parametrize("amount", [0.02, 1.0])
def test_requests_depend_on_earlier_releases_only(real, options, amount):
    """Replay: from the recorded releases alone, without any rows, the method asks for the same to the last bit."""
    first, model = fit(MIXED, real, amount, options=options)
    replay = ReplayDoor(unit=first.unit, recorded=first.recorded)
    again = VINE.fit(setting_of(MIXED, real, amount, options=options), replay)
    replay.require_end()
    assert model_difference(model, again) == 0.0
    draws = [m.simulate(100, np.random.default_rng(3)) for m in (model, again)]
    assert np.array_equal(*draws)


def test_with_few_rows_each_column_has_one_table_with_the_target(real):
    """Pairs can bear six groups: no triples, and the pairs without the target are counted as such."""
    codes, options = real[:1_500], VineOptions(target="smoker")
    door, model = fit(MIXED, codes, 0.0166, options=options)
    asked = {label: door.columns(label) for label in door.labels}
    assert "target triples" not in asked
    assert sorted(asked["target"]) == [(name, "smoker") for name in ("age", "group", "income", "level")]
    assert len(asked["pairs"]) == len(asked["halves with the target"]) == 6
    assert all(columns[2] == "smoker" for columns in asked["halves with the target"])
    assert 0.99 * 0.0166 < door.spent() <= 0.0166 * (1 + 1e-9)
    rows = model.simulate_rounded(1_500, np.random.default_rng(2))
    shares = [table(c, 2, 4, (4, 3)) for c in (rows, codes)]
    independent = np.outer(np.bincount(codes[:, 2]), np.bincount(codes[:, 4])).ravel() / 1_500**2
    assert np.abs(shares[0] - shares[1]).sum() < 0.5 * np.abs(independent - shares[1]).sum()


def test_with_few_rows_dependence_differs_between_classes():
    """A correlation of one sign in each class, and of none on the whole: tables of pairs cannot tell it."""
    rng, rows = np.random.default_rng(8), 1_500
    a, y = rng.integers(0, 100, rows), rng.integers(0, 2, rows)
    codes = np.column_stack([a, np.where(y == 1, a, 99 - a), rng.integers(0, 3, rows), y])
    schema = Schema({"a": Integer(0, 99), "b": Integer(0, 99), "k": Category(("p", "q", "r")), "y": Boolean()})
    door, model = fit(schema, codes, 0.0166, options=VineOptions(target="y"))
    assert "halves with the target" in door.labels
    made = model.simulate_rounded(rows, rng)
    corr = [np.corrcoef(made[made[:, 3] == k, :2].T)[0, 1] for k in (0, 1)]
    assert corr[0] < -0.3 and corr[1] > 0.3


def test_sums_stay_in_use_with_a_target_where_they_tell_nearly_all():
    numbers = {f"x{j}": Integer(0, 99) for j in range(12)} | {"y": Boolean()}
    labels = {**numbers, "x0": Category(tuple("abcdef"))}
    unit = Unit(neighbours="add-remove")
    for columns, target, few in ((numbers, "y", True), (numbers, None, False), (labels, "y", False)):
        options, schema = VineOptions(target=target), Schema(columns)
        stages = cut_stages(schema, options, Allowance(measure="rho", amount=0.068), unit, 2_000)
        assert has_few_rows(schema, stages) == few


@pytest.mark.slow
def test_target_tables_sharpen_the_target(real):
    rng = np.random.default_rng(5)
    flag = ((real[:, 0] > 50) ^ (real[:, 3] == 0)).astype(int)
    codes = np.column_stack([real[:, [0, 2, 3]], np.where(rng.random(len(real)) < 0.9, flag, 1 - flag)])
    schema = Schema({"age": Integer(0, 99), "group": MIXED["group"], "level": MIXED["level"], "y": Boolean()})
    errors = []
    for options in (VineOptions(), VineOptions(target="y")):
        _, model = fit(schema, codes, 0.05, options=options)
        rows = model.simulate_rounded(20_000, np.random.default_rng(2))
        cells = [(c[:, 0] // 10 * 4 + c[:, 2]) * 2 + c[:, 3] for c in (rows, codes)]
        shares = [np.bincount(cell, minlength=80) / len(cell) for cell in cells]
        errors.append(np.abs(shares[0] - shares[1]).sum() / 2)
    assert errors[1] < errors[0]


def test_dependence_differs_between_classes():
    """Four numbers whose correlation has one sign in two classes, the other in the third, and none among nulls.

    The vine alone knows it, before it is calibrated, and has the classes' shares and means.
    """
    rng, rows = np.random.default_rng(6), 20_000
    y = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    common = np.array([0.7, 0.7, -0.7, 0.0])[y][:, None] * rng.normal(size=(rows, 1)) * np.array([1.0, 1.0, -1.0, -1.0])
    numbers = np.where(y[:, None] == 2, common * [1, -1, 1, -1], common) + 0.7 * rng.normal(size=(rows, 4))
    numbers += 0.5 * (y == 1)[:, None]
    schema = Schema(
        {f"x{j}": Real(-5.0, 5.0, bins=64) for j in range(4)} | {"y": Category(("p", "q", "r"), nullable=True)}
    )
    codes = np.column_stack([*(schema[f"x{j}"].grid.code(numbers[:, j]) for j in range(4)), y])
    _, model = fit(schema, codes, 0.5, options=VineOptions(target="y", calibration=False))
    made = model.simulate(20_000, np.random.default_rng(2))
    for number in range(4):
        real, drawn = codes[y == number, :4], made[made[:, 4] == number, :4]
        assert len(drawn) / 20_000 == pytest.approx(len(real) / rows, abs=0.02)
        assert np.corrcoef(drawn.T) == pytest.approx(np.corrcoef(real.T), abs=0.3)
        assert drawn.mean(axis=0) == pytest.approx(real.mean(axis=0), rel=0.02)


@pytest.mark.slow
def test_next_to_no_noise_is_not_answered_with_absurd_weights(real):
    """A row too few in a cell moves log-weights by one, even where noise is a hundredth of a row."""
    _, model = fit(MIXED, real, 2_000.0, options=VineOptions(target="smoker"))
    assert max(np.abs(table.dual).max() for table in model.calibration.tables) < 10


@pytest.mark.slow
def test_single_amounts_that_tell_the_target_are_kept():
    """Most rows have none; each amount, all of one public cell, tells the class."""
    rng, rows = np.random.default_rng(4), 20_000
    amounts, classes = np.array([4_000, 4_100, 4_200, 4_300, 4_400, 4_500]), np.array([0, 1, 0, 1, 0, 1])
    pick = rng.integers(0, len(amounts), rows)
    none = rng.random(rows) < 0.9
    y = np.where(none, rng.integers(0, 2, rows), classes[pick])
    codes = np.column_stack([np.where(none, 0, amounts[pick]), y, rng.integers(0, 100, rows)])
    schema = Schema({"gain": Integer(0, 99_999), "y": Boolean(), "age": Integer(0, 99)})
    _, model = fit(schema, codes, 2.0, options=VineOptions(target="y"))
    made = model.simulate_rounded(rows, np.random.default_rng(2))
    agree = [np.mean(made[made[:, 0] == amount, 1] == one) for amount, one in zip(amounts, classes, strict=True)]
    assert min(agree) > 0.9


def rule_of_three(rng, values, flips=0.1):
    """y is a + b modulo a number in nine rows of ten, and no two columns depend on each other."""
    labels, rows = Category(tuple("uvw"[:values])), 10_000
    schema = Schema(dict.fromkeys("abyc", labels) | {"d": Integer(0, 99), "e": Category(("p", "q", "r"))})
    a, b, c = (rng.integers(0, values, rows) for _ in range(3))
    moved = np.where(rng.random(rows) < flips, rng.integers(1, values, rows), 0)
    columns = [a, b, (a + b + moved) % values, c, rng.integers(0, 100, rows), rng.integers(0, 3, rows)]
    return schema, np.column_stack(columns)


@pytest.mark.slow
@pytest.mark.parametrize("options", [VineOptions(), VineOptions(target="y")], ids=["plain", "target"])
@pytest.mark.parametrize("values", [2, 3], ids=["xor", "modulo 3"])
def test_a_rule_of_three_columns_is_kept(values, options):
    """No pair of columns shows it: tables of three columns must be measured."""
    schema, codes = rule_of_three(np.random.default_rng(11), values)
    _, model = fit(schema, codes, 0.0166, options=options)
    rows = model.simulate_rounded(10_000, np.random.default_rng(2))
    assert np.mean((rows[:, 0] + rows[:, 1]) % values == rows[:, 2]) > 0.85


def test_values_keep_their_correlation_beside_nulls():
    """A fifth of one column is null, whatever the other one is: the values must not pay for it."""
    rng = np.random.default_rng(9)
    z = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 10_000)
    codes = np.clip((z * 15 + 50).astype(int), 0, 99)
    null = Integer(0, 99, nullable=True).null_code
    missing = rng.random(len(codes)) < 0.2
    codes[missing, 0] = null
    schema = Schema({"x": Integer(0, 99, nullable=True), "y": Integer(0, 99), "word": Category(("a", "b", "c"))})
    codes = np.column_stack([codes, rng.integers(0, 3, len(codes))])
    door, model = fit(schema, codes, 0.02)
    assert "correlations" in door.labels
    rows = model.simulate_rounded(10_000, np.random.default_rng(2))
    shown = rows[:, 0] != null
    assert abs(shown.mean() - 0.8) < 0.02
    assert abs(np.corrcoef(rows[shown, 0], rows[shown, 1])[0, 1] - 0.7) < 0.05
    assert abs(rows[shown, 1].mean() - rows[~shown, 1].mean()) < 2.5


@pytest.mark.parametrize("amount", [1e-9, 1e-3, 1e6])
def test_any_budget_gives_valid_rows(real, amount):
    _, model = fit(MIXED, real, amount)
    valid(model, MIXED)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_tiny_tables(rows):
    codes = mixed_codes(max(rows, 1), np.random.default_rng(1))[:rows]
    for settings in ({}, {"neighbours": "replace"}):
        _, model = fit(MIXED, codes, 0.5, **settings)
        valid(model, MIXED)


def test_one_column():
    schema = Schema({"x": Integer(0, 9)})
    _, model = fit(schema, np.full((1_000, 1), 3), 1.0)
    valid(model, schema)
    assert np.mean(model.simulate(1_000, np.random.default_rng(0)) == 3) > 0.9


def test_two_columns_and_a_copy():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 6, 5_000)
    schema = Schema({"x": Integer(0, 5), "copy": Integer(0, 5)})
    _, model = fit(schema, np.column_stack([x, x]), 1.0)
    rows = model.simulate_rounded(5_000, rng)
    assert np.mean(rows[:, 0] == rows[:, 1]) > 0.97


def test_constant_columns_and_copies():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 50, 5_000)
    schema = Schema({"k": Category(("only",)), "x": Integer(0, 49), "copy": Integer(0, 49), "l": Boolean()})
    _, model = fit(schema, np.column_stack([np.zeros_like(x), x, x, np.ones_like(x)]), 2.0)
    valid(model, schema)
    rows = model.simulate_rounded(5_000, rng)
    assert np.mean(np.abs(rows[:, 1] - rows[:, 2]) <= 3) > 0.9


def test_all_columns_constant():
    schema = Schema({name: Boolean(nullable=True) for name in "abcd"})
    _, model = fit(schema, np.zeros((2_000, 4), int), 1.0)
    valid(model, schema)
    assert np.mean(model.simulate(500, np.random.default_rng(0)) == 0) > 0.95


def test_conditional_rows_through_the_fitted_model(real):
    _, model = fit(MIXED, real, 2.0)
    mask = np.arange(MIXED.size("age")) >= 80
    rows, effective = simulate_given(model, 2_000, {0: mask}, np.random.default_rng(4))
    assert np.all(rows[:, 0] >= 80)
    assert effective > 1_000
    assert np.mean(rows[:, 3] == 2) > 0.8


def test_without_calibration_and_with_depth_one(real):
    _, model = fit(MIXED, real, 1.0, options=VineOptions(calibration=False, depth=1))
    assert model.calibration.tables == ()
    assert len(model.vine.trees) == 1
    valid(model, MIXED)


@pytest.mark.parametrize(
    "options",
    [
        {"target": "nobody"},
        {"shares": (1.0, 2.0)},
        {"shares": (1.0, 2.0, -1.0)},
        {"depth": 0},
        {"groups": (1, 5)},
        {"workload": "age * *"},
        {"workload": ["age"]},
        {"workload": ["age age"]},
        {"workload": ["age nobody"]},
        {"workload": ["age *"], "target": "smoker"},
    ],
    ids=str,
)
def test_senseless_options_are_refused_before_spending(options, tmp_path):
    unit, allowance = Unit(neighbours="add-remove"), Allowance(measure="rho", amount=1.0)
    with pytest.raises(UsageError):
        VINE.require_possible(MIXED, VineOptions(**options), allowance, unit, None)
    ledger = tmp_path / "people.ledger"
    frame = {"age": [1, 2], "income": [3.0, 4.0], "group": ["a", "b"], "level": ["low", "mid"], "smoker": [True, False]}
    with pytest.raises(SklarError):
        sklar.fit(frame, MIXED, method="vine", epsilon=1.0, ledger=ledger, new_ledger=True, **options)
    assert not ledger.exists()


@pytest.mark.slow
def test_beyond_forty_columns_pairs_are_chosen_privately():
    rng = np.random.default_rng(6)
    columns = 45
    z = rng.integers(0, 4, (4_000, columns))
    for j in range(0, 40, 2):
        z[:, j + 1] = np.where(rng.random(4_000) < 0.8, z[:, j], z[:, j + 1])
    schema = Schema({f"c{j}": Category(tuple("abcd")) for j in range(columns)})
    door, model = fit(schema, z, 20.0)
    assert door.labels == ["rows", "margins", "choose pairs", "pairs", "tree one"]
    assert door.spent() <= 20.0 * (1 + 1e-9)
    asked = set(door.columns("pairs"))
    assert sum((f"c{j}", f"c{j + 1}") in asked for j in range(0, 40, 2)) >= 19
    rows = model.simulate(4_000, rng)
    agreement = [np.mean(rows[:, j] == rows[:, j + 1]) for j in range(0, 40, 2)]
    assert np.mean(agreement) > 0.75


def test_outline_tells_the_noise_in_advance(real):
    from sklar.methods.vine.stages import outline_vine

    door, _ = fit(MIXED, real, 0.02)
    allowance = Allowance(measure="rho", amount=0.02)
    lines = {line.label: line for line in outline_vine(MIXED, VineOptions(), allowance, door.unit, len(real))}
    noise = {label: [request.noise for request in requests] for label, requests in door.requests.items()}
    assert lines["number of rows"].noise == noise["rows"][0]
    assert np.isclose(lines["correlations"].noise.scale, noise["correlations"][0].scale, rtol=1e-6)
    assert lines["tree one"].tables == len(noise["tree one"])
    assert np.isclose(lines["tree one"].noise.scale, noise["tree one"][0].scale, rtol=1e-6)
    pairs = [one.scale for one in noise["pairs"]]
    # Told for columns of many values; interactions of fewer groups carry less noise.
    assert min(pairs) <= lines["pairs"].noise.scale <= 1.25 * max(pairs)


@pytest.mark.slow
def test_few_values_need_few_rows_per_pair():
    """Tables of booleans can be measured where tables of numbers would drown: the vine is kept."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 2, (2_000, 12))
    codes[:, 1] = np.where(rng.random(2_000) < 0.9, codes[:, 0], codes[:, 1])
    booleans = Schema({f"b{j}": Boolean() for j in range(12)})
    numbers = Schema({f"x{j}": Integer(0, 99) for j in range(12)})
    _, model = fit(booleans, codes, 0.01)
    assert isinstance(model, VineModel)
    rows = model.simulate_rounded(2_000, rng)
    assert np.mean(rows[:, 0] == rows[:, 1]) > 0.8
    _, other = fit(numbers, codes, 0.01)
    assert not isinstance(other, VineModel)


def test_columns_that_are_known_are_joined_first():
    strengths = {(0, 1): 1.0, (0, 2): 9.0, (0, 3): 0.2, (1, 2): 8.0, (1, 3): 7.0, (2, 3): 0.5}
    assert set(choose_tree(4, strengths)) == {(0, 2), (1, 2), (1, 3)}
    assert set(choose_tree(4, strengths, frozenset({0, 1}))) == {(0, 1), (0, 2), (1, 3)}
    assert choose_tree(2, {}, frozenset({0, 1})) == ()


def test_deeper_edges_join_ordered_and_two_valued_columns_only():
    schema = Schema({"age": Integer(0, 99), "married": Boolean(), "region": Category(["N", "E", "S"])})
    masses = [np.arange(1.0, schema.size(name) + 1) for name in schema.modelled]
    margins = [margin_from_dense(name, mass / mass.sum()) for name, mass in zip(schema.modelled, masses, strict=True)]
    axes = lay_out_axes(schema, margins, {})
    assert _eligible(axes) == {0, 1}

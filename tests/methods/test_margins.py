"""Margins measured through a Door: what is asked follows the plan, and what comes out is close to the rows."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import plan_events
from sklar.accounting.events import CountEvent
from sklar.accounting.unit import Unit
from sklar.errors import UsageError
from sklar.methods.evidence import measure_all
from sklar.methods.margin_plan import MarginOptions, margin_noise, outline_margins, plan_margins
from sklar.methods.margins import MarginStage, MeasuredMargins, known_total, margin_steps
from sklar.model.margins.bins import find_anchors
from sklar.schema.columns import Boolean, Category, Ordinal
from sklar.schema.grid import has_multiples
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema
from tests.methods.fits import RecordingDoor, make_setting, open_door

ROWS = 20_000
SCHEMA = Schema(
    {
        "city": Category([f"c{i}" for i in range(12)], nullable=True),
        "grade": Ordinal(["a", "b", "c", "d"]),
        "smoker": Boolean(nullable=True),
        "age": Integer(16, 100),
        "gain": Integer(0, 100_000),
        "cost": Integer(0, 5_000_000),
        "dose": Real(0, 10, nullable=True),
    }
)


def draw_codes(seed: int, rows: int = ROWS) -> dict[str, np.ndarray]:
    """A table with smooth columns, atoms (gain 0, cost 1,000,000, dose at its bound), nulls, and no `other`."""
    rng = np.random.default_rng(seed)
    gain, cost, dose = (SCHEMA[name] for name in ("gain", "cost", "dose"))
    assert isinstance(gain, Integer) and isinstance(cost, Integer) and isinstance(dose, Real)
    gains = np.where(rng.random(rows) < 0.9, 0, rng.gamma(2, 4_000, rows).astype(np.int64))
    gains = np.where(rng.random(rows) < 0.02, 15_024, gains)
    costs = np.where(rng.random(rows) < 0.1, 1_000_000, rng.gamma(3, 300_000, rows).astype(np.int64))
    doses = dose.grid.code(np.clip(rng.normal(3, 2.5, rows), 0, 10))
    return {
        "city": rng.choice(14, rows, p=[0.4, 0.2, 0.1] + [0.03] * 9 + [0.0, 0.03]),
        "grade": rng.choice(4, rows, p=[0.1, 0.2, 0.3, 0.4]),
        "smoker": rng.choice(3, rows, p=[0.7, 0.3, 0.0]),
        "age": np.clip(rng.normal(45, 15, rows), 16, 100).astype(np.int64) - 16,
        "gain": gain.grid.code(gains),
        "cost": cost.grid.code(costs),
        "dose": np.where(rng.random(rows) < 0.05, dose.size - 1, doses),
    }


def measure(
    codes: dict[str, np.ndarray],
    *,
    schema: Schema = SCHEMA,
    total: tuple[float, float] = (0.0, math.inf),
    options: MarginOptions | None = None,
    neighbours: str = "add-remove",
    seed: int = 0,
    **amount: float,
) -> tuple[MeasuredMargins, RecordingDoor, Any]:
    """Return margins measured with all of an allowance, the Door and the setting."""
    ((kind, value),) = amount.items()
    unit, rows = Unit(neighbours=neighbours), len(next(iter(codes.values())))  # type: ignore[arg-type]
    setting = make_setting(schema, None, value, measure=kind, unit=unit, rows=rows)  # type: ignore[arg-type]
    stage = MarginStage(
        setting=setting,
        allowance=setting.allowance,
        total=known_total(setting, *total),
        options=options or MarginOptions(),
    )
    steps, door = margin_steps(lambda evidence: stage), open_door(schema, codes, unit, seed)
    return steps.estimate(measure_all(steps.ask, setting, door)), door, setting


@pytest.mark.slow
def test_what_is_asked_is_the_plan_and_costs_the_allowance():
    _, door, setting = measure(draw_codes(0), rho=0.05)
    assert door.labels == ["margins", "finer margins"]
    asked = Counter(request.noise for requests in door.requests.values() for request in requests)
    planned = plan_events(setting.allowance, door.unit, plan_margins(SCHEMA))
    wanted: Counter = Counter()
    for event in planned:
        wanted[event.noise] += event.tables
    assert asked == wanted
    spent = sum(CountEvent(label="x", noise=n, tables=t, unit=door.unit).rho for n, t in asked.items())
    assert spent == pytest.approx(setting.allowance.amount) == door.spent()


def test_noise_does_not_depend_on_the_rows():
    def scales(codes: dict[str, np.ndarray]) -> list[list[float]]:
        _, door, _ = measure(codes, rho=0.05, seed=3)
        return [[request.noise.scale for request in requests] for requests in door.requests.values()]

    constant = {name: np.zeros(50, dtype=np.int64) for name in SCHEMA.modelled}
    assert scales(draw_codes(0)) == scales(constant)


def test_weights_of_the_plan_sum_to_one_and_grow_with_the_bins():
    plan = plan_margins(SCHEMA)
    assert sum(line.weight for line in plan) == pytest.approx(1.0)
    mixed = Schema({"minute": Integer(0, 59), **{name: SCHEMA[name] for name in ("city", "grade", "smoker")}})
    noise = margin_noise(mixed, Allowance(measure="rho", amount=0.1), Unit(neighbours="add-remove"), MarginOptions())
    assert noise["margins of about 64 cells"].scale < noise["margins of about 16 cells"].scale
    assert noise["margins of about 16 cells"].scale < noise["margins of about 4 cells"].scale
    simple = plan_margins(SCHEMA, MarginOptions(repair="simplex"))
    assert all(line.label.startswith("margins of about") for line in simple)
    assert sum(line.tables for line in simple) == len(SCHEMA.modelled)


def test_the_outline_tells_every_table():
    allowance, unit = Allowance(measure="rho", amount=0.1), Unit(neighbours="add-remove")
    outline = outline_margins(SCHEMA, allowance, unit)
    assert {(x.label, x.tables) for x in outline} == {(x.label, x.tables) for x in plan_margins(SCHEMA)}
    assert {x.cells for x in outline if x.label == "single values"} == {100_001}


def test_margins_are_close_to_the_rows_and_keep_their_atoms():
    codes = draw_codes(1)
    found, _, _ = measure(codes, rho=0.02)
    assert abs(found.rows - ROWS) < 6 * found.rows_sigma
    for margin in found.margins:
        exact = np.bincount(codes[margin.column], minlength=margin.size) / ROWS
        groups = np.arange(margin.size) * 32 // margin.size
        error = 0.5 * np.abs(np.bincount(groups, margin.dense() - exact)).sum()
        assert error < 0.02, margin.column
    by_name = {margin.column: margin.dense() for margin in found.margins}
    gain, cost, dose = (np.bincount(codes[n], minlength=SCHEMA.size(n)) / ROWS for n in ("gain", "cost", "dose"))
    million = SCHEMA["cost"].grid.code(np.array([1_000_000]))[0]
    np.testing.assert_allclose(by_name["gain"][[0, 15_024]], gain[[0, 15_024]], atol=0.01)
    assert by_name["cost"][million] == pytest.approx(cost[million], abs=0.01)
    assert by_name["dose"][0] == pytest.approx(dose[0], abs=0.01)
    assert by_name["dose"][-1] == pytest.approx(dose[-1], abs=0.01)


def test_unlisted_labels_that_look_empty_get_nothing_and_nulls_a_little():
    measured, _, _ = measure(draw_codes(2), rho=0.02)
    found = {margin.column: margin.dense() for margin in measured.margins}
    city, smoker = SCHEMA["city"], SCHEMA["smoker"]
    assert found["city"][city.other_code] == 0 and found["city"][city.null_code] > 0.02
    assert 0 < found["smoker"][smoker.null_code] < 0.005
    assert found["grade"][SCHEMA["grade"].other_code] == 0


def test_releases_are_handed_on_with_their_lookups():
    found, _, _ = measure(draw_codes(3), rho=0.02)
    assert [margin.column for margin in found.margins] == list(SCHEMA.modelled)
    for margin, histograms in zip(found.margins, found.histograms, strict=True):
        assert histograms
        for seen in histograms:
            assert seen.lookup.shape == (SCHEMA.size(margin.column),)
            assert seen.counts.shape == (int(seen.lookup.max()) + 1,)
            if len(seen.counts) < 1_000:  # all but single values: constant on the cells of the margin
                assert np.array_equal(np.repeat(seen.lookup[margin.starts], margin.widths()), seen.lookup)


def test_almost_no_noise_gives_the_rows_back():
    codes = draw_codes(4)
    found, _, _ = measure(codes, rho=1e4)
    assert round(found.rows) == ROWS
    for margin in found.margins:
        if margin.size <= 128:  # few values are counted one by one, of more the light ones in blocks
            exact = np.bincount(codes[margin.column], minlength=margin.size) / ROWS
            assert np.abs(margin.dense() - exact).sum() < (1e-3 if margin.size <= 64 else 5e-3)


@pytest.mark.slow
def test_two_nulls_in_a_hundred_never_vanish():
    """113 of 5,960 rows against a noise of 35: a threshold of three deviations loses them in four of ten fits."""
    column = Real(0, 100, nullable=True)
    values = column.grid.code(np.random.default_rng(0).uniform(1, 99, 5_960))
    codes = {"x": np.where(np.arange(5_960) < 113, column.size - 1, values)}
    found = []
    for seed in range(30):
        measured, door, _ = measure(codes, schema=Schema({"x": column}), rho=0.00058, seed=seed)
        found.append(measured.margins[0].dense()[-1])
        assert 30 < door.requests["margins"][0].noise.std < 40
    assert min(found) > 0 and 0.4 * 113 / 5_960 < np.mean(found) < 1.75 * 113 / 5_960


@pytest.mark.slow
def test_bounds_much_too_wide_make_no_wild_tail():
    """Lognormal amounts on a range ten times their maximum: the standard deviation is that of the rows."""
    values = np.exp(0.5 * np.random.default_rng(1).normal(size=6_000))
    column = Real(0, 10 * float(values.max()))
    codes = {"x": column.grid.code(values)}
    middle = column.grid.starts + column.grid.widths / 2
    ratios = []
    for seed in range(12):
        mass = measure(codes, schema=Schema({"x": column}), rho=0.0005, seed=seed)[0].margins[0].dense()
        ratios.append(np.sqrt(mass @ middle**2 - (mass @ middle) ** 2) / values.std())
    assert np.mean(np.abs(np.log(ratios))) < 0.25 and np.sort(ratios)[-2] < 1.3 and max(ratios) < 1.8


@pytest.mark.slow
def test_amounts_that_are_mostly_zero_keep_their_spread():
    """Nine of ten are zero, the others lie in no cell that stands out of the noise: yet they do not crowd at zero."""
    rng = np.random.default_rng(4)
    amounts = np.where(rng.random(3_000) < 0.91, 0, np.exp(rng.normal(8.6, 0.8, 3_000))).clip(0, 99_000).astype(int)
    column, ratios = Integer(0, 100_000), []
    for seed in range(6):
        mass = measure({"x": amounts}, schema=Schema({"x": column}), rho=0.0005, seed=seed)[0].margins[0].dense()
        ratios.append(np.sqrt(mass @ column.grid.starts**2 - (mass @ column.grid.starts) ** 2) / amounts.std())
        assert abs(mass[0] - 0.91) < 0.1
    assert min(ratios) > 0.2 and max(ratios) < 3


@pytest.mark.parametrize("rho", [1e-12, 1e-5])
@pytest.mark.parametrize("rows", [0, 1, 30])
def test_drowned_tables_still_give_valid_margins(rho: float, rows: int):
    codes = draw_codes(5, rows=max(rows, 1))
    codes = {name: column[:rows] for name, column in codes.items()}
    found, _, _ = measure(codes, rho=rho)
    assert found.rows >= 1
    for margin in found.margins:
        dense = margin.dense()
        assert np.all(np.isfinite(dense)) and dense.min() >= 0 and dense.sum() == pytest.approx(1.0)


def test_a_public_number_of_rows_is_used_as_it_is():
    found, _, _ = measure(draw_codes(6), rho=1e-4, neighbours="replace")
    assert (found.rows, found.rows_sigma) == (ROWS, 0.0)


@pytest.mark.slow
def test_a_total_known_from_before_is_pooled():
    totals = [(12_345.0, 1e-6), (12_345.0, math.inf), (0.0, math.inf)]
    known, vague, plain = (measure(draw_codes(6), rho=1e-4, total=total)[0].rows for total in totals)
    assert known == pytest.approx(12_345.0) and vague == plain


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_laplace_noise_fits_into_either_allowance(neighbours: str):
    for amount in ({"epsilon": 1.0}, {"rho": 0.02}):
        options = MarginOptions(noise="laplace", repair="simplex")
        _, door, setting = measure(draw_codes(7), neighbours=neighbours, options=options, **amount)
        assert all(request.noise.kind == "laplace" for requests in door.requests.values() for request in requests)
        spent = door.spent("epsilon" if "epsilon" in amount else "rho")
        assert spent <= setting.allowance.amount * (1 + 1e-9)
        assert spent > 0.9 * setting.allowance.amount


def test_gaussian_noise_without_delta_is_refused():
    with pytest.raises(UsageError, match="delta"):
        measure(draw_codes(8, rows=10), epsilon=1.0, options=MarginOptions(noise="gaussian"))


def test_smooth_densities_beat_simple_repairs():
    codes = draw_codes(9, rows=3_000)

    def error(repair: str) -> float:
        options = MarginOptions(repair=repair)  # type: ignore[arg-type]
        found, _, _ = measure(codes, rho=0.01, seed=9, options=options)
        total = 0.0
        for margin in found.margins:
            exact = np.bincount(codes[margin.column], minlength=margin.size) / 3_000
            groups = np.arange(margin.size) * 100 // max(margin.size, 100)
            total += 0.5 * np.abs(np.bincount(groups, margin.dense() - exact)).sum()
        return total

    smooth, simplex, clip = error("density"), error("simplex"), error("clip")
    assert smooth < 0.8 * simplex < 0.8 * clip


def test_once_digits_are_found_no_histogram_cuts_through_a_number():
    column = Real(0, 10)
    values = np.random.default_rng(5).binomial(10, 0.4, ROWS).astype(float)
    both = {"x": column.grid.code(values), "y": smooth(6)}
    found, _, _ = measure(both, schema=Schema({"x": column, "y": Real(0, 10)}), rho=0.5)
    x, y = found.margins
    assert (x.decimals, y.decimals) == (0, None)
    anchor = find_anchors(column, 0)
    assert len(found.histograms[0]) == 2  # digits are not among them
    for seen in found.histograms[0]:
        assert np.array_equal(seen.lookup[anchor], seen.lookup[: column.value_cells])
    assert not np.array_equal(found.histograms[1][0].lookup[anchor], found.histograms[1][0].lookup[: len(anchor)])
    shares = np.bincount(anchor, x.dense()[: len(anchor)])[column.grid.code(np.arange(11.0))]
    assert np.abs(shares - np.bincount(values.astype(int), minlength=11) / ROWS).max() < 0.01


def smooth(seed: int) -> np.ndarray:
    return Real(0, 10).grid.code(np.random.default_rng(seed).beta(2, 3, ROWS) * 10)


def test_heaps_shape_the_cells_that_hold_them():
    """Half of the numbers are round: cells between have half of the smooth mass, however much the noise hides."""
    column, rng = Integer(0, 400_000), np.random.default_rng(11)
    values = rng.gamma(4, 10_000, ROWS)
    values = (
        np.where(rng.random(ROWS) < 0.5, 1_000 * np.round(values / 1_000), values).clip(0, 400_000).astype(np.int64)
    )
    (margin,) = measure({"x": column.grid.code(values)}, schema=Schema({"x": column}), rho=0.001)[0].margins
    ((unit, part),) = margin.heaping
    assert unit == 1_000 and abs(part - 0.5) < 0.05
    bulk = slice(*column.grid.code(np.array([20_000, 50_000])))  # every fifth cell or so holds a multiple of 1,000
    holds = has_multiples(column.grid, Fraction(1_000))[bulk]
    dense, width = margin.dense()[: column.value_cells][bulk], column.grid.widths[bulk]
    between = dense[~holds].sum() / width[~holds].sum() / (dense.sum() / width.sum())
    assert abs(between - 0.5) < 0.05


def test_cells_weigh_as_many_numbers_as_they_hold():
    """Cells of a tenth, cut in binary, hold no, one or two tenths."""
    column = Real(12, 60, decimals=1, bins=480)
    numbers = np.bincount(column.grid.code(np.arange(120, 601) / 10), minlength=column.value_cells)
    assert set(numbers) == {0, 1, 2}
    values = np.random.default_rng(11).integers(120, 601, ROWS) / 10
    (margin,) = measure({"x": column.grid.code(values)}, schema=Schema({"x": column}), rho=0.001)[0].margins
    assert np.abs(np.bincount(numbers, margin.dense()) - np.bincount(numbers, numbers / 481)).max() < 0.02

"""Bounds and labels from noisy counts: near the truth where it is clear, else public, and never as they are stated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.errors import SchemaError
from sklar.methods.facts.bounds import (
    FALSE_ALARM_RATE,
    FoundRange,
    NoisyCells,
    find_range,
    occupied_range,
    search_cells,
    with_bounds,
)
from sklar.methods.facts.fit import collect_facts, measuring_schema, requested_schema, with_labels
from sklar.methods.facts.marks import bounds_to_pay, labels_to_pay, must_pay, require_payable
from sklar.schema import AtMost, Boolean, Category, Column, Datetime, Function, Integer, Never, Ordinal, Real, Schema
from sklar.schema.columns import ANY_LABEL
from sklar.schema.table import schema_from_toml

BOTH = {"lower": "pay", "upper": "pay"}
SEARCHED = [
    Integer(0, 1, source=BOTH),
    Integer(-7, 1, source={"upper": "pay"}),
    Integer(0, 123_456, source={"lower": "pay"}),
    Integer(2 * 10**16, 2 * 10**16 + 1, source={"upper": "pay"}),
    Real(0, 1, source=BOTH),
    Real(2.5, 3.5, source={"upper": "pay"}),
    Real(-9.25, 1e6, source={"lower": "pay"}),
    Datetime("2000-01-01", "2001-01-01", source=BOTH),
    Datetime("2000-06-05T12:00:00", "2001-01-01", source={"upper": "pay"}),
    Datetime("0005-01-01", "0007-01-01", source={"lower": "pay"}),
]


def between(search: Any, first: int, last: int) -> FoundRange:
    return FoundRange(lower=float(search.bottoms[first]), upper=float(search.tops[last]), cut=0.0)


@pytest.mark.parametrize("column", SEARCHED, ids=str)
def test_the_search_is_a_partition_that_bounds_can_be_stated_by(column: Any) -> None:
    search = search_cells(column)
    Schema({"x": search.column})
    assert search.column.nullable and len(search.lookup) == search.column.size
    cells = search.lookup[:-1]
    assert (np.diff(cells) >= 0).all() and set(cells.tolist()) == set(range(search.cells))
    assert search.lookup[-1] == search.cells
    for first, last in [(0, 0), (0, search.cells - 1), (search.cells // 2, search.cells // 2), (search.cells - 1,) * 2]:
        found = with_bounds(column, search, between(search, first, last))
        Schema({"x": found})  # the bounds are valid and in order
        for fact in ("lower", "upper"):
            paid = column.provenance(fact) == "pay"
            assert found.provenance(fact) == ("measured" if paid else "assumed")
            assert paid or getattr(found, fact) == getattr(column, fact)


@pytest.mark.parametrize("column", SEARCHED, ids=str)
def test_what_is_stated_under_a_mark_is_never_used(column: Any) -> None:
    """It may have been read off the rows: another statement must lead to the same search."""
    if isinstance(column, Datetime):
        other: dict[str, Any] = {"lower": "1990-02-03", "upper": "2022-03-04"}
    else:
        other = {"lower": column.lower - 1, "upper": column.upper + 1}
    marked = {fact: value for fact, value in other.items() if column.provenance(fact) == "pay"}
    one, two = (
        search_cells(column),
        search_cells(
            replace(column, **marked, resolution=column.resolution)
            if isinstance(column, Datetime)
            else replace(column, **marked)
        ),
    )
    assert one.column == two.column and (one.bottoms == two.bottoms).all() and (one.tops == two.tops).all()


def test_the_measuring_schema_holds_nothing_that_is_stated_under_a_mark() -> None:
    def schema(lower: int, values: list[str]) -> Schema:
        return Schema(
            {
                "a": Integer(lower, 50, source=BOTH),
                "b": Category(values, source={"values": "pay"}),
                "c": Real(0, 1),
                "d": Boolean(source={"nullable": "pay"}),
            }
        )

    one, two = measuring_schema(schema(0, ["x"])), measuring_schema(schema(17, ["SECRET", "y"]))
    assert one == two and one.fingerprint == two.fingerprint
    assert one.modelled == ("a", "b")


def test_what_is_asked_holds_nothing_that_is_stated_under_a_mark() -> None:
    def schema(lower: int, values: list[str] | list[int], nullable: bool) -> Schema:
        marks = {"values": "pay", "nullable": "pay"}
        return Schema(
            {
                "a": Integer(lower, 50, source=BOTH),
                "b": Category(values, other="other" if type(values[0]) is str else -1, nullable=nullable, source=marks),
                "c": Real(lower, 8e6, step=0.001, source=BOTH),
                "d": Boolean(nullable=nullable, source={"nullable": "pay"}),
            },
            notes={"a": ["from 0 to SECRET"]},
        )

    one, two = requested_schema(schema(0, ["x"], False)), requested_schema(schema(17, ["SECRET", "y"], True))
    assert one == two and one.toml() == two.toml() and "SECRET" not in two.toml()
    assert requested_schema(one) == one and schema_from_toml(one.toml()) == one
    assert requested_schema(schema(0, [3, 4], False))["b"].integer_labels  # type: ignore[attr-defined]
    assert requested_schema(Schema({"b": Category(["x"], other=ANY_LABEL, source="pay")}))["b"].other == ANY_LABEL  # type: ignore[attr-defined]


def test_a_small_step_narrows_the_public_range() -> None:
    column = Real(0, 9, step=0.001, source=BOTH)
    wide: Any = with_bounds(column, search_cells(column), None)
    assert not wide.faults() and wide.upper == -wide.lower and 1e12 < wide.upper < 1e13


def clear(counts: dict[int, int], cells: int = 400, scale: float = 10.0, seed: int = 0) -> tuple[int, int] | None:
    exact = np.zeros(cells)
    for cell, count in counts.items():
        exact[cell] = count
    noise = np.random.default_rng(seed).normal(0, scale, cells)
    return occupied_range(np.round(exact + noise).astype(np.int64), Noise(kind="gaussian", scale=scale))


def test_clear_cells_give_the_range() -> None:
    assert clear({100: 500, 110: 3000, 131: 200}) == (100, 131)
    assert clear({0: 500}) == (0, 0)
    assert clear({399: 500}) == (399, 399)


def test_mass_that_is_spread_thinly_shows_in_its_sum() -> None:
    """No single cell is clear, at two standard deviations each, but 40 of them together are."""
    found = [clear(dict.fromkeys(range(200, 240), 25), seed=seed) for seed in range(20)]
    assert all(ends is not None for ends in found)
    lows, highs = np.array(found).T
    assert (np.median(np.abs(lows - 200)) <= 2) and (np.median(np.abs(highs - 239)) <= 2)


def test_noise_alone_gives_nothing() -> None:
    """Two alarms in 400 trials have probability below 1e-4 at the stated rate; the seeds are fixed."""
    alarms = sum(clear({}, seed=seed) is not None for seed in range(400))
    assert FALSE_ALARM_RATE == 3e-5 and alarms <= 1


def test_nothing_found_keeps_the_public_range() -> None:
    column = Integer(3, 4, source=BOTH)
    kept = with_bounds(column, search_cells(column), None)
    assert (kept.lower, kept.upper) == (-(10**15), 10**15)
    assert kept.provenance("lower") == kept.provenance("upper") == "public"


def test_bounds_hold_the_values_that_the_schema_states() -> None:
    column = Integer(0, 9, atoms=(999,), missing_value=-1 + 1, source=BOTH)
    search = search_cells(column)
    found = with_bounds(column, search, between(search, *(int(search.column.grid.code(np.array([20]))[0]),) * 2))
    assert (found.lower, found.upper) == (0, 999)
    when = Datetime("2000-01-01", "2001-01-01", missing_value="2000-05-05", source=BOTH)
    assert with_bounds(when, search_cells(when), FoundRange(lower=2010, upper=2011, cut=0.0)).lower == "2000-05-05"


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [(100.0, 70.0, 100.0), (100.1, 100.0, 150.0), (-70.0, -70.0, -50.0), (0.0, 0.0, 0.0), (1e-13, 0.0, 1e-9)],
)
def test_round_reals_are_the_outer_ends_of_their_cells(value: float, lower: float, upper: float) -> None:
    search = search_cells(Real(0, 1, source=BOTH))
    cell = int(search.lookup[search.column.grid.code(np.array([value]))[0]])
    assert (search.bottoms[cell], search.tops[cell]) == (lower, upper)
    sign = int(search.sign_lookup[search.column.grid.code(np.array([value]))[0]])
    assert sign == 1 + np.sign(value)


def test_whole_numbers_have_cells_without_gaps() -> None:
    search = search_cells(Integer(0, 1, source=BOTH))
    assert (search.bottoms[1:] == search.tops[:-1] + 1).all()
    pairs = list(zip(search.bottoms, search.tops, strict=True))
    assert all((n, n) in pairs for n in (-1, 0, 1, 2, 3)) and (71, 100) in pairs


def test_years_are_longer_the_longer_ago_they_are() -> None:
    search = search_cells(Datetime("2000-01-01", "2001-01-01", source=BOTH))
    pairs = list(zip(search.bottoms, search.tops, strict=True))
    assert (1800, 1819) in pairs and (1970, 1979) in pairs and (2005, 2009) in pairs and (2024, 2024) in pairs
    assert (search.bottoms[1:] == search.tops[:-1] + 1).all()


def searched(values: Any, column: Any, scale: float, seed: int) -> FoundRange | None:
    """The range found from noisy counts of these values, at 80% of the price, and of their signs, at 20%."""
    search, rng = search_cells(column), np.random.default_rng(seed)
    codes = search.column.grid.code(np.asarray(values).astype(search.column.grid.starts.dtype))
    counts = np.bincount(search.lookup[codes], minlength=search.cells)[: search.cells]
    signs = np.bincount(search.sign_lookup[codes], minlength=3)[:3]
    cells = NoisyCells(
        counts=np.rint(counts + rng.normal(0, scale, len(counts))).astype(np.int64),
        noise=Noise(kind="gaussian", scale=scale),
        signs=tuple(int(x) for x in np.rint(signs + rng.normal(0, 2 * scale, 3))),
        sign_std=2 * scale,
    )
    return find_range(search, cells)


SIGMA = 29.0
"""Noise of a cell at a tenth of epsilon 1, two columns."""
AMOUNTS = {
    "normal": (lambda rng, n: rng.normal(100, 15, n), Real(0, 1, source=BOTH)),
    "lognormal": (lambda rng, n: rng.lognormal(10, 1, n), Real(0, 1, source=BOTH)),
    "zero-inflated": (
        lambda rng, n: np.rint((rng.random(n) > 0.6) * rng.lognormal(7, 1.2, n)),
        Integer(0, 1, source=BOTH),
    ),
    "heavy-tailed": (lambda rng, n: 100 * np.abs(rng.standard_t(3, n)), Real(0, 1, source=BOTH)),
    "integer": (lambda rng, n: np.rint(np.clip(rng.gamma(6, 7, n) + 1, 0, 99)), Integer(0, 1, source=BOTH)),
    "negative": (lambda rng, n: -np.rint(rng.gamma(2, 300, n)), Integer(0, 1, source=BOTH)),
    "of both signs": (lambda rng, n: 500 * rng.standard_t(4, n), Real(0, 1, source=BOTH)),
}


@pytest.mark.parametrize("kind", AMOUNTS)
@pytest.mark.parametrize(
    ("rows", "outside", "moved"), [(2_000, 0.03, 0.03), (5_000, 0.015, 0.015), (20_000, 0.005, 0.01)]
)
def test_measured_bounds_cut_next_to_nothing(kind: str, rows: int, outside: float, moved: float) -> None:
    """Mean share of values outside, and how far cutting moves the mean (in standard deviations where it is near 0)."""
    draw, column = AMOUNTS[kind]
    cut: list[float] = []
    shift: list[float] = []
    for seed in range(8):
        values = draw(np.random.default_rng(seed), rows)
        found = searched(values, column, SIGMA, seed)
        assert found is not None
        kept = np.clip(values, found.lower, found.upper)
        cut.append(float(np.mean(kept != values)))
        shift.append(abs(kept.mean() - values.mean()) / max(abs(values.mean()), values.std() / 3))
        assert found.upper - found.lower <= 40 * np.ptp(values)
    assert np.mean(cut) <= outside and np.mean(shift) <= moved


def test_a_sign_that_does_not_occur_does_not_stretch_the_range() -> None:
    values = np.random.default_rng(0).integers(1, 90, 2000)
    found = [searched(values, Integer(0, 1, source=BOTH), SIGMA, seed) for seed in range(30)]
    assert all(one is not None and one.lower >= 0 for one in found)


def test_labels_become_a_column() -> None:
    column = Category(["stated"], other="rest", source={"values": "pay"})
    found = with_labels(column, ["b", "a", "rest"])
    assert found.values == ("a", "b") and found.provenance("values") == "measured"
    kept = with_labels(column, ["b"], keep_listed=True)
    assert kept.values == ("stated", "b") and kept.provenance("values") == "assumed"
    nothing = with_labels(column, [])
    assert nothing.values == ("(nothing found)",) and nothing.provenance("values") == "public"
    Schema({"a": found, "b": nothing})


def test_integer_labels_stay_integers_in_order() -> None:
    column = Ordinal([5], source={"values": "pay"})
    assert with_labels(column, ["10", "9", "9.0", "x", "007", str(2**70), "-3"]).values == (-3, 9, 10)
    assert with_labels(column, ["2"], keep_listed=True).values == (2, 5)
    Schema({"x": with_labels(column, [])})


def paid(**columns: Column) -> Schema:
    return Schema(columns)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (paid(x=Real(0, 1, decimals=2, source={"decimals": "pay"})), "decimals cannot be measured"),
        (paid(x=Integer(0, 9, bins=5, source="pay")), "bins cannot be measured"),
        (paid(x=Integer(0, 9, edges=(0, 3, 10), source=BOTH)), "delete edges"),
        (paid(x=Ordinal(["low", "high"], source="pay")), "order of its labels"),
        (paid(x=Category(["a"], parents={"a": "b"}, source="pay")), "delete parents"),
        (
            Schema({"x": Category(["a"], source="pay"), "y": Boolean()}, [Never(values={"x": "a", "y": True})]),
            "yet to be measured",
        ),
        (
            Schema(
                {"x": Integer(0, 9, source=BOTH), "y": Boolean()}, [Function(column="y", of="x", table={"3": True})]
            ),
            "yet to be measured",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_cannot_be_measured_is_refused(schema: Schema, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        require_payable(schema)


def test_marks_on_facts_that_state_nothing_are_harmless() -> None:
    schema = Schema(
        {
            "x": Integer(0, 9, source="pay"),
            "y": Boolean(source="pay"),
            "z": Category(["a"], source="pay"),
            "w": Real(0, 1),
        },
        [AtMost(low="x", high="w")],
    )
    require_payable(schema)
    assert must_pay(schema) and bounds_to_pay(schema) == ("x",) and labels_to_pay(schema) == ("z",)
    free = collect_facts(Schema({"y": schema["y"]}), {"y": schema["y"]}).schema
    assert free["y"] == Boolean(nullable=True, source={"nullable": "public"}) and not must_pay(free)

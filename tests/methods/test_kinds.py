"""Kinds from noisy counts of cell classes: what each kind of column is found to be, and how often it is wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.methods.facts.kinds import (
    MIN_SIGNAL,
    decide_kind,
    describe_unread,
    estimate_rows,
    names_key,
    unknown_schema,
)
from sklar.rows.encode.classes import cell_class
from sklar.schema.cell_classes import CELL_CLASSES, NULL_WORDS

CLASSES = {
    "": "null", "12": "whole", "12.0": "whole", "-3": "-whole", "0": "zero", "0.0": "zero", "1": "one", "1.0": "one",
    "1.234": "1.234", "1,234": "1,234", "1.234,5": "1.234,5", "1,234.50": "1,234.5", "1.234.567": "1.234,5",
    "12,5": "comma1", "-12,5": "-comma1", "0,123": "comma3", "007": "padded", "12345678901234567": "padded",
    "1 234,5": "1 234,5", "1'234.5": "1'234.5", "12 %": "% .", "12,5%": "% ,", "$1,200": "$ .", "-$3.5": "$ .",
    "€ 12,50": "€ ,", "80.5kg": "kg .", "2020-01-02": "date", "2020-01-02 00:00:00": "date",
    "2020-01-02T10:00:00Z": "datetime", "31.12.2020": "day.", "12/31/2020": "month/",
    "01/02/2020 10:30": "either/ time",
    "a@b.org": "identifier", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6": "identifier", "blue": "text",
    "x" * 50: "long text",
    "1e-3": "point", "-.5": "-point1", "0.12345": "point", "2.50": "point2",
    "1.2.3": "text", "12.5,3": "text", "99.99.2020": "text", "²": "text",
}  # fmt: skip


@pytest.mark.parametrize("text", CLASSES)
def test_classes(text: str) -> None:
    assert cell_class(text) == cell_class(f" {text}\u00a0") == CLASSES[text]


def draw(kind: str, rng: np.random.Generator, rows: int) -> list[str]:
    numbers = rng.lognormal(8, 1, rows)
    dates = [
        (int(d), int(m), int(y))
        for d, m, y in zip(
            rng.integers(1, 29, rows), rng.integers(1, 13, rows), rng.integers(1950, 2024, rows), strict=True
        )
    ]
    made: dict[str, list[str]] = {
        "integer": [f"{x:.0f}" for x in numbers],
        "real": [f"{x:.2f}" for x in numbers],
        "real comma": [f"{x:.2f}".replace(".", ",") for x in numbers],
        "real german": [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in numbers],
        "integer english": [f"{x:,.0f}" for x in numbers],
        "integer german": [f"{x:,.0f}".replace(",", ".") for x in numbers / 3],
        "real french": [f"{x:,.2f}".replace(",", " ").replace(".", ",") for x in numbers],
        "real swiss": [f"{x:,.2f}".replace(",", "'") for x in numbers],
        "real dollar": [f"${x:,.2f}" for x in numbers],
        "real euro": [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in numbers],
        "real percent": [f"{x:.1f} %".replace(".", ",") for x in rng.uniform(0, 100, rows)],
        "boolean": [str(x) for x in rng.integers(0, 2, rows)],
        "category": rng.choice(["a", "b", "c d"], rows).tolist(),
        "category codes": rng.choice(["007", "012", "x3"], rows).tolist(),
        "datetime": [f"{y:04}-{m:02}-{d:02}" for d, m, y in dates],
        "datetime german": [f"{d:02}.{m:02}.{y:04}" for d, m, y in dates],
        "datetime english": [f"{m:02}/{d:02}/{y:04}" for d, m, y in dates],
        "datetime british": [f"{d:02}/{m:02}/{y:04}" for d, m, y in dates],
        "ignore keys": [f"{x:016x}" for x in rng.integers(0, 2**62, rows)],
        "ignore prose": ["word " * 12] * rows,
    }
    return made[kind]


FORMATS = {
    "real comma": "1.234,56", "real german": "1.234,56", "integer english": "1,234.56", "integer german": "1.234,56",
    "real french": "1 234,56", "real swiss": "1'234.56", "real dollar": "$1,234.56 $", "real euro": "€1.234,56 €",
    "real percent": "1.234,56%", "datetime german": "%d.%m.%Y", "datetime english": "%m/%d/%Y",
    "datetime british": "%d/%m/%Y",
}  # fmt: skip
KINDS = (
    "integer",
    "real",
    "boolean",
    "category",
    "category codes",
    "datetime",
    "ignore keys",
    "ignore prose",
    *FORMATS,
)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_and_formats_are_found(kind: str) -> None:
    """2,000 rows, 30% of them missing, with the noise of 15 columns at 4% of epsilon 1: wrong once in 1,000 columns.

    Truth values of 0 and 1 may come out as whole numbers, which keep them: one in six does.
    """
    std, wrong, whole = 113.0, 0, 0
    rng = np.random.default_rng(1)
    for _ in range(40):
        cells = Counter(cell_class(text) for text in draw(kind, rng, 1400)) + Counter(null=600)
        noisy = {name: round(cells[name] + rng.normal(0, std / 1.5)) for name in CELL_CLASSES}
        column: Any = decide_kind(noisy, Noise(kind="gaussian", scale=std / 1.5))[0]
        same = column.kind == kind.split()[0] and getattr(column, "format", None) == FORMATS.get(kind)
        whole += kind == "boolean" and column.kind == "integer"
        wrong += not same
    assert wrong - whole <= 1 and whole <= 15


def test_digits_after_the_decimal_sign_are_found() -> None:
    rng = np.random.default_rng(1)
    for digits, expected in ((1, 1), (2, 2), (3, 3), (7, None)):
        cells = Counter(cell_class(f"{x:.{digits}f}") for x in rng.normal(170, 10, 2000))
        noisy = {name: round(cells[name] + rng.normal(0, 50)) for name in CELL_CLASSES}
        column: Any = decide_kind(noisy, Noise(kind="gaussian", scale=50.0))[0]
        assert column.kind == "real" and column.decimals == expected


def test_amounts_with_thousands_alone_have_two_digits() -> None:
    noise, rng = Noise(kind="gaussian", scale=50.0), np.random.default_rng(1)
    for texts, expected in (
        ([f"{x:,.2f}" for x in rng.uniform(1_000, 9_000, 2_000)], 2),
        ([f"{x:.3f} kg" for x in rng.uniform(0, 9, 2_000)], None),  # classes of units show no digits
    ):
        cells = Counter(cell_class(text) for text in texts)
        column: Any = decide_kind({name: round(cells[name] + rng.normal(0, 50)) for name in CELL_CLASSES}, noise)[0]
        assert column.kind == "real" and column.decimals == expected


@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_the_number_of_rows_has_the_noise_of_what_is_there(rows: int) -> None:
    """With 13 columns at 4% of epsilon 1: the noise of all classes of all columns would be 290 rows."""
    noise, rng, found = Noise(kind="gaussian", scale=105.0), np.random.default_rng(2), list[float]()
    for _ in range(40):
        tables = [{"null": rows // 3, name: rows - rows // 3} for name in ("whole", "text", "point2", "date") * 3]
        noisy = [{name: round(one.get(name, 0) + rng.normal(0, 105)) for name in CELL_CLASSES} for one in tables]
        found.append(estimate_rows(noisy, noise))
    assert np.std(found) < 90 and abs(np.mean(found) - rows) < 100


def test_a_column_below_the_noise_is_left_out_and_that_is_said() -> None:
    noise = Noise(kind="gaussian", scale=100.0)
    empty = dict.fromkeys(CELL_CLASSES, 0)
    column, note = decide_kind({**empty, "null": 5000, "whole": round(0.5 * MIN_SIGNAL * 100)}, noise)
    assert column.kind == "ignore" and "too few values" in note


def test_names_alone_tell_keys() -> None:
    schema = unknown_schema(["patientID", "age", "customer_id", "id", "video", "paid", "email"])
    assert [schema[name].kind for name in schema] == ["id", "unknown", "id", "id", "unknown", "unknown", "id"]
    assert schema.null_values == NULL_WORDS and names_key("Kunden-Nr") and not names_key("grid")
    assert unknown_schema(["id"])["id"].kind == "unknown"  # a table of keys alone is looked at


def test_numbers_beyond_0_and_1_that_noise_may_hide_are_not_lost() -> None:
    """A count of 0, 1 and now and then more: whole numbers keep all of it, truth values would not."""
    noise = Noise(kind="gaussian", scale=100.0)
    counts = dict.fromkeys(CELL_CLASSES, 0) | {"zero": 1200, "one": 500}
    assert decide_kind(counts, noise)[0].kind == "boolean"
    assert decide_kind({**counts, "whole": 250}, noise)[0].kind == "integer"


def test_values_that_are_written_otherwise_are_reported() -> None:
    noise = Noise(kind="gaussian", scale=30.0)
    counts = dict.fromkeys(CELL_CLASSES, 0) | {"comma2": 1100, "point2": 900}
    column, why = decide_kind(counts, noise)
    assert column.kind == "real" and not why
    assert describe_unread(column, counts).startswith("about 45% of the values are written otherwise")
    assert not describe_unread(column, {**counts, "point2": 0})

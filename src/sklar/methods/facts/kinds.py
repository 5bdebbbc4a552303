"""Finds the kinds and formats of columns of which nothing is stated, from one noisy table of cell classes a column.

A cell's class is a function of its text alone, so that a row is in one cell of each table. Counts below what noise
explains are taken as 0. A column holds numbers, or dates of one form, if at least three quarters of its values do;
else it holds words. Its format follows from the classes as well. Bounds and labels are left to be paid for (`fit`).

With counts of at least MIN_SIGNAL standard deviations a kind is wrong in fewer than one column of 1,000: measured on
four tables of 13 to 20 columns at 2,000 rows. A column below that is left out; where the table is, nothing more is
spent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.accounting.composition.discovery import find_noise_quantile
from sklar.accounting.noise import Noise
from sklar.errors import BudgetError
from sklar.methods.evidence import Evidence, Measure, Setting, Step, ask_in_order, measure_all, remembered
from sklar.methods.facts.fit import found_source, measuring_person
from sklar.methods.facts.marks import unknown_columns, with_calendars
from sklar.methods.method import as_if_paid
from sklar.methods.vine.pairs import chooses_pairs
from sklar.release.counts import Counts
from sklar.release.door import Door
from sklar.release.measurements import Request
from sklar.schema.cell_classes import (
    AMOUNTS,
    CELL_CLASSES,
    CURRENCIES,
    DATE,
    DATETIME,
    DIGITS,
    FRACTIONS,
    NULL,
    NULL_WORDS,
    NUMBERS,
    ORDERS,
    UNITS,
    WORDS,
    WRITTEN_DATES,
)
from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Unknown
from sklar.schema.coordinates import coordinates
from sklar.schema.number_formats import NumberFormat, read_number_format
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

STEP_NAME = "kinds"
"""As which measuring kinds stands in the ledger, and the label of its one step."""
KINDS_SHARE = 0.04
"""Share of the budget that finds kinds: at 2,000 rows of 15 columns 2.3% would do, 5.7% with 40% of values missing."""
MIN_SIGNAL = 13.3
"""Values that a column needs, in standard deviations of a count."""
MIN_MAJORITY = 0.75
"""Share of its values that makes a column one of numbers, or of dates."""
FALSE_CLASS_RATE = 1e-2
"""Probability with which some class that a column does not have is taken to be there."""
MIN_DECIMAL_SHARE = 0.15
"""Share of numbers with a fraction from which on a column is real; a few fractions may be slips."""
MIN_ONE_SHARE, MIN_ZERO_SHARE = 0.1, 0.05
"""Shares of 1 and 0 that make a column of nothing else one of truth values, and not of counts that are mostly 0."""
MAX_FINER_SHARE = 0.02
"""Share of numbers that may have more digits after the decimal sign than a column is found to have."""
MIN_REPORTED_UNREAD = 0.02
"""Smallest share of values written otherwise than a column's format that is reported, if noise does not explain it."""
CURRENCY_DIGITS = 2
"""Digits after the decimal sign of amounts of money, and of numbers that all have a sign between their thousands:
classes of cells show none of these."""
MIN_UNIT_SHARE = 0.5
"""Share of a column's numbers that have a unit, for it to be part of the format."""
_KEY_WORDS = frozenset({"id", "ids", "key", "uuid", "guid", "nr", "ssn", "iban", "email", "phone", "rowid", "index"})
_KEY_STARTS = frozenset({"id", "uuid", "guid"})
_WORD = re.compile(r"[A-Z]?[a-zäöüß]+|[A-Z]+|\d+")


def unknown_schema(names: Sequence[str]) -> Schema:
    """Return a schema that states nothing but the names of columns; those named like keys are keys, which are never
    read."""
    columns = {name: Id(source={"kind": "public"}) if names_key(name) else Unknown() for name in names}
    if not any(column.modelled for column in columns.values()):
        columns = dict.fromkeys(names, Unknown())
    return Schema(columns, null_values=NULL_WORDS)


def names_key(name: str) -> bool:
    """Return whether a name, which is public, ends or begins like that of a key."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _KEY_WORDS or words[0] in _KEY_STARTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindsOptions:
    """What is measured: the columns of this schema of which nothing is stated."""

    marked: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKinds:
    """A schema whose unknown columns have kinds, with bounds and labels marked "pay".

    Attributes:
        notes: What was found of columns that are left out, in words.
        signs: Noisy counts of negative values, zeros and positive values of columns of numbers, and the standard
            deviation of their noise; not where signs stand between thousands or units beside numbers.
    """

    schema: Schema
    notes: tuple[str, ...]
    signs: Mapping[str, tuple[int, int, int, float]]


def classes_schema(schema: Schema) -> Schema:
    """Return the public schema that rows are read by: the classes of the cells of unknown columns."""
    unknown = unknown_columns(schema)
    columns = {name: schema[name] if name in unknown else Ignore() for name in schema}
    return Schema(columns, person=measuring_person(schema))


def measure_kinds(setting: Setting[KindsOptions], door: Door) -> FoundKinds:
    """Measure the kinds of all unknown columns through a Door over the `classes_schema`."""
    return estimate_kinds(measure_all(ask_kinds, setting, door))


def ask_kinds(evidence: Evidence[KindsOptions]) -> Step | None:
    """Ask for one table of cell classes a column, spending the whole allowance."""
    return ask_in_order(evidence, _ask_classes)


@remembered
def _ask_classes(evidence: Evidence[KindsOptions]) -> Measure:
    names = unknown_columns(evidence.setting.options.marked)
    noise = evidence.setting.allowance.noise(evidence.setting.unit, len(names))
    lookup = np.arange(len(CELL_CLASSES), dtype=np.int32)
    requests = [Request(query=Counts(columns=(name,), partitions=(lookup,)), noise=noise) for name in names]
    return Measure(label=STEP_NAME, requests=tuple(requests))


def estimate_kinds(evidence: Evidence[KindsOptions]) -> FoundKinds:
    """Return the schema with the kinds that the measurements show; BudgetError if the noise hides the table."""
    measured = evidence.measured(STEP_NAME)
    noise = measured[0].noise
    counts = {one.query.columns[0]: dict(zip(CELL_CLASSES, one.values.tolist(), strict=True)) for one in measured}
    rows = estimate_rows(counts.values(), noise)
    columns: dict[str, Column] = {}
    notes: dict[str, str] = {}
    for name, noisy in counts.items():
        columns[name], note = decide_kind(noisy, noise)
        note = note or describe_unread(columns[name], _significant(noisy, noise))
        notes |= {name: note} if note else {}
    if rows < MIN_SIGNAL * noise.std or list(notes.values()) == [TOO_FEW_VALUES] * len(measured):
        raise BudgetError(
            f"about {_rough(rows)} rows are too few to find out, at this budget, what {len(measured)} columns hold: "
            f"the noise requires about {_rough(MIN_SIGNAL * noise.std)}. Only that measurement was charged, "
            f"{KINDS_SHARE:.0%} of the budget. State what the columns hold in a schema (sklar schema draft), or use a "
            "larger epsilon or fewer columns"
        )
    if not any(column.modelled for column in {**dict(evidence.setting.options.marked), **columns}.values()):
        raise BudgetError(
            "no column holds numbers, dates or words that can be modelled: all seem to be keys, free text or empty. "
            f"Only finding that was charged, {KINDS_SHARE:.0%} of the budget"
        )
    schema = _without_many_calendars(evidence.setting.options.marked.with_columns(columns), tuple(columns))
    signs = {name: _count_signs(noisy, noise) for name, noisy in counts.items() if _is_plain(columns[name])}
    return FoundKinds(schema=schema, notes=tuple(f"{name}: {note}" for name, note in notes.items()), signs=signs)


def _without_many_calendars(schema: Schema, found: Sequence[str]) -> Schema:
    """Return the schema without parts of the calendar for found dates, where these would make too many coordinates.

    The accounting of a fit follows from the number of its columns, which is public; parts of the calendar come on top.
    """
    if not chooses_pairs(len(coordinates(as_if_paid(with_calendars(schema))).schema.modelled)):
        return schema
    plain: dict[str, Column] = {
        name: replace(column, calendar=(), source={**dict(column.sources), "calendar": "public"})
        for name in found
        if isinstance(column := schema[name], Datetime)
    }
    return schema.with_columns(plain)


def estimate_rows(tables: Iterable[Mapping[str, int]], noise: Noise) -> float:
    """Return the number of rows by noisy counts of the cell classes of every column.

    Most columns have few classes: the sum of those that are there has a fraction of the noise of all.
    """
    return float(np.median([sum(_significant(noisy, noise).values()) for noisy in tables]))


def _is_plain(column: Column) -> bool:
    """Return whether the classes of a column of numbers determine their signs: nothing but a decimal sign is in
    them."""
    if not isinstance(column, Integer | Real):
        return False
    return column.format is None or column.format == NumberFormat(decimal=",", separator=".").example


def _count_signs(noisy: Mapping[str, int], noise: Noise) -> tuple[int, int, int, float]:
    counts = _significant(noisy, noise)
    signed = ("one", "whole", "-whole", *FRACTIONS)
    below, above = (sum(counts[name] for name in signed if name.startswith("-") == minus) for minus in (True, False))
    return below, counts["zero"], above, 2 * noise.std  # few classes of a column are there at all


def _significant(noisy: Mapping[str, int], noise: Noise) -> dict[str, int]:
    """Return the noisy counts, 0 where noise explains them; the largest class is there in any case."""
    least = find_noise_quantile(noise, FALSE_CLASS_RATE / len(noisy))
    largest = max((name for name in noisy if name != NULL), key=lambda name: noisy[name])
    return {name: max(count, 0) if count >= least or name == largest else 0 for name, count in noisy.items()}


def _rough(number: float) -> str:
    """Return two digits: more would pretend to be exact."""
    digits = 1 - math.floor(math.log10(max(number, 1.0)))
    return f"{round(number, digits):,.0f}"


TOO_FEW_VALUES = "too few values to find out what it holds, so it is left out"


def decide_kind(noisy: Mapping[str, int], noise: Noise) -> tuple[Column, str]:
    """Return (what a column is, why it is left out, if it is), from the noisy counts of its cell classes."""
    counts = _significant(noisy, noise)
    present = sum(count for name, count in counts.items() if name != NULL)
    if present < MIN_SIGNAL * noise.std:
        return Ignore(source={"kind": "measured"}), TOO_FEW_VALUES

    def total(names: Iterable[str]) -> int:
        return sum(counts[name] for name in names)

    if total((*NUMBERS, *AMOUNTS)) >= MIN_MAJORITY * present:
        return _number_column(counts, hides_larger=noisy["whole"] > noise.std), ""
    if total((DATE, DATETIME)) >= MIN_MAJORITY * present:
        return _date_column(None, timed=counts[DATETIME] > counts[DATE], seconds=True), ""
    for mark in "./-":
        if total(form for form in WRITTEN_DATES if mark in form) >= MIN_MAJORITY * present:
            return _written_date(counts, mark), ""
    if total(("identifier", "long text")) >= present / 2:
        return Ignore(source={"kind": "measured"}), "keys, addresses or long texts, so it is left out"
    return Category(nullable=True, source=found_source(Category, "values")), ""


def _number_column(counts: Mapping[str, int], *, hides_larger: bool) -> Column:
    """Return what a column of numbers is.

    Args:
        counts: Significant counts of its classes.
        hides_larger: Whether noise may hide numbers above 1: as truth values they would be lost, and as whole numbers 0
            and 1 are kept.
    """
    form = number_format(counts)
    numbers = sum(counts[name] for name in (*NUMBERS, *AMOUNTS))
    # Where points stand between thousands "1.234" is whole; where they do not, it has a fraction, and so on.
    mark = "comma" if form is not None and form.decimal == "," else "point"
    also = ("1.234,5", "1,234") if mark == "comma" else ("1,234.5", "1.234")
    fractions = sum(counts[name] for name in (*_fractions(mark), *also, "1 234,5", "1'234.5"))
    whole = counts["zero"] + counts["one"]
    both = counts["one"] >= MIN_ONE_SHARE * whole and counts["zero"] >= MIN_ZERO_SHARE * whole
    if both and whole == numbers and not hides_larger:
        return Boolean(spelling=(0, 1), nullable=True, source=found_source(Boolean))
    written = None if form is None else form.example
    if (form is not None and bool(form.suffix)) or fractions >= MIN_DECIMAL_SHARE * numbers:
        digits = _decimals(counts, mark)
        thousands = form is not None and not form.suffix and not any(counts[name] for name in _fractions(mark))
        if digits is None and (thousands or (form is not None and form.suffix in CURRENCIES)):
            digits = CURRENCY_DIGITS
        source = found_source(Real, "lower", "upper") | ({} if digits is None else {"decimals": "measured"})
        return Real(0, 1, format=written, decimals=digits, nullable=True, source=source)
    return Integer(0, 1, format=written, nullable=True, source=found_source(Integer, "lower", "upper"))


def describe_unread(column: Column, counts: Mapping[str, int]) -> str:
    """Describe which part of a column of numbers is written in another way than most and becomes missing, if any."""
    if not isinstance(column, Integer | Real | Boolean) or not any(counts.values()):
        return ""
    form = getattr(column, "format", None)
    comma = form is not None and (read := read_number_format(form)) is not None and read.decimal == ","
    others = {*WORDS, DATE, DATETIME, *WRITTEN_DATES, *_fractions("point" if comma else "comma")}
    share = sum(counts[name] for name in others) / sum(count for name, count in counts.items() if name != NULL)
    unread = f"about {share:.0%} of the values are written otherwise and become missing"
    return unread if share >= MIN_REPORTED_UNREAD else ""


def _fractions(mark: str) -> tuple[str, ...]:
    return tuple(name for name in FRACTIONS if mark in name)


def _decimals(counts: Mapping[str, int], mark: str) -> int | None:
    """Return digits after the decimal sign that are enough for nearly all numbers; None if many are needed or none
    seen."""
    by = {digits: counts[f"{mark}{digits}"] + counts[f"-{mark}{digits}"] for digits in (*DIGITS, "")}
    by[3] += counts["1.234" if mark == "point" else "1,234"]
    total = sum(by.values())
    for digits in DIGITS if total else ():
        if by[""] + sum(by[more] for more in DIGITS if more > digits) <= MAX_FINER_SHARE * total:
            return digits
    return None


def number_format(counts: Mapping[str, int]) -> NumberFormat | None:
    """Return how most numbers are written; None for plain digits with a decimal point."""
    numbers = sum(counts[name] for name in (*NUMBERS, *AMOUNTS))
    unit = max(UNITS, key=lambda one: counts[f"{one} ."] + counts[f"{one} ,"])
    with_unit = counts[f"{unit} ."] + counts[f"{unit} ,"]
    if with_unit >= MIN_UNIT_SHARE * numbers:
        commas = counts[f"{unit} ,"] > counts[f"{unit} ."] / 4
        decimal, separator = (",", ".") if commas else (".", ",")
        before = unit if unit in CURRENCIES else ""
        return NumberFormat(prefix=before, suffix=unit, decimal=decimal, separator=separator)
    points = sum(counts[name] for name in (*_fractions("point"), "1,234.5"))
    commas = sum(counts[name] for name in (*_fractions("comma"), "1.234,5"))
    spaces, quotes = counts["1 234,5"], counts["1'234.5"]
    if quotes > spaces and quotes > 0:
        return NumberFormat(decimal=".", separator="'")
    if spaces > 0 and points == 0:
        return NumberFormat(decimal=",", separator=" ")
    if commas > points:
        return NumberFormat(decimal=",", separator=".")
    if counts["1,234.5"] + counts["1,234"] > 0:
        return NumberFormat(decimal=".", separator=",")
    # Thousands with a point, in a column that also has whole numbers below 1,000 and no other fraction.
    if counts["1.234"] > 0 and points == 0 and counts["whole"] > 0:
        return NumberFormat(decimal=",", separator=".")
    return None


def _written_date(counts: Mapping[str, int], mark: str) -> Column:
    days, months = (counts[f"{order}{mark}"] + counts[f"{order}{mark} time"] for order in ORDERS[:2])
    plain, timed = (sum(counts[f"{order}{mark}{time}"] for order in ORDERS) for time in ("", " time"))
    # Points are written in countries that put the day first, slashes in both; without evidence the day comes first.
    first, second = ("%m", "%d") if months > days else ("%d", "%m")
    form = f"{first}{mark}{second}{mark}%Y"
    return _date_column(f"{form} %H:%M" if timed > plain else form, timed=timed > plain, seconds=False)


def _date_column(form: str | None, *, timed: bool, seconds: bool) -> Column:
    resolution = ("second" if seconds else "minute") if timed else "day"
    source = found_source(Datetime, "lower", "upper")
    return Datetime("2000-01-01", "2000-01-02", resolution=resolution, format=form, nullable=True, source=source)

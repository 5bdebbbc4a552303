"""Measures the facts of a schema that are marked "pay": bounds of numbers, lists of labels and rows of a person.

All bounds come from one call that counts every such column over public cells, and by sign; how many rows to use of a
person from one histogram. Labels come from one discovery a column, which also counts common words, and from the number
of values. A column of labels costs `label_weight` times as much as one of numbers; discoveries share
the allowance's delta.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.composition.discovery import LABEL_RESOLUTION, discovery_settings, find_noise_quantile
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError
from sklar.methods.evidence import (
    Discover,
    Evidence,
    Measure,
    Setting,
    Step,
    ask_in_order,
    measure_all,
    remembered,
)
from sklar.methods.facts.bounds import (
    FoundRange,
    NoisyCells,
    Numeric,
    Search,
    find_range,
    remove_bounds,
    search_cells,
    with_bounds,
)
from sklar.methods.facts.common_words import COMMON_WORDS
from sklar.methods.facts.marks import PAY, bounds_to_pay, labels_to_pay, needed_columns, rows_to_pay
from sklar.release.choices import Discovery
from sklar.release.counts import Counts
from sklar.release.door import Door
from sklar.release.measurements import FoundLabels, Request
from sklar.schema.columns import ANY_LABEL, INT64_MAX, INT64_MIN, Boolean, Category, Column, Ignore, Labels, parse_truth
from sklar.schema.coordinates import coordinates
from sklar.schema.persons.person import Person
from sklar.schema.table import Schema

BOUNDS, VALUES, LABELS, ROWS = "bounds", "number of values", "labels", "rows of a person"
"""Labels of the steps."""
LABEL_WEIGHT = 3.0
"""Price of the labels of a column against that of the bounds of one: labels need single counts, ranges by sums
of many, and three quarters for labels was best on four tables of 13 to 20 columns."""
SIGN_SHARE = 0.2
"""Share of the price of bounds that counts values below, at and above zero."""
VALUES_SHARE = 0.05
"""Share of the price of labels that counts values: needed to know which part of a column its labels cover."""
FALSE_WORD_RATE = 1e-3
"""Probability with which some common word that a column does not have is taken for one of its labels."""
STEP_NAME = "facts"
"""As which measuring facts stands in the ledger."""
PAID_ROWS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)
"""Bounds that can come out, wider apart the larger: fewer cells have less noise in their tail. None is 1, since with
one row a person there would be no votes to share, and the promise would be stated in other units."""
MAX_TAIL_SIGMAS = 2.0
"""Standard deviations of its noise that a tail may have: else noise alone would make the bound large."""
COVERED_PERSONS = 0.95
"""Share of persons with all of their rows used. More would make weights of single rows small to keep a few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFacts:
    """A schema without "pay" marks, and what was found, in words."""

    schema: Schema
    notes: tuple[str, ...]


def requested_schema(schema: Schema) -> Schema:
    """Return the schema with stand-ins for all facts marked "pay": the request, which may be published.

    What is stated there may come from the rows. Facts that are measured by this schema cannot depend on it, and whoever
    has this schema and what was released can derive them again.
    """
    paid = dict.fromkeys(name for name, _ in schema.facts_by_provenance(PAY))
    return schema.with_columns({name: _unstated(schema[name]) for name in paid}).without_notes()


def _unstated(column: Column) -> Column:
    marked = {fact for fact, word in column.sources if word == PAY}
    if "nullable" in marked:
        column = replace(column, nullable=True)  # type: ignore[call-arg]
    if isinstance(column, Labels) and "values" in marked:
        words = (0, 1) if column.integer_labels else (ANY_LABEL, NOTHING_FOUND[0])
        return replace(column, values=tuple(word for word in words if word != column.other)[:1])
    if isinstance(column, Numeric) and {"lower", "upper"} & marked:
        return remove_bounds(column, search_cells(column))
    return column


def measuring_schema(schema: Schema, *, keep_listed: bool = False) -> Schema:
    """Return the public schema that the rows are read by: search ranges for bounds, and the columns whose labels are
    sought.

    Nothing that is stated under a "pay" mark gets in here, unless the custodian vouches for it (`keep_listed`).
    """
    columns: dict[str, Column] = dict.fromkeys(schema, Ignore())
    for name in bounds_to_pay(schema):
        columns[name] = search_cells(_numeric(schema, name), keep_listed=keep_listed).column
    for name in labels_to_pay(schema):
        columns[name] = Category((ANY_LABEL,), nullable=True)
    if not any(column.modelled for column in columns.values()):
        columns |= {name: schema[name] for name in schema.modelled[:1]}  # a table has at least one column
    return Schema(columns, person=measuring_person(schema))


def measuring_person(schema: Schema) -> Person | None:
    """Return the person without an order, since the column it goes by may be one whose bounds are sought."""
    if schema.person is None:
        return None
    rows = PAID_ROWS[-1] if rows_to_pay(schema) else schema.person.rows
    return replace(schema.person, order=None, static=(), steps=(), linked=None, rows=rows)


def measured_columns(schema: Schema) -> int:
    """Return how many columns must be counted or searched for labels; the rows of a person count as one."""
    return len(bounds_to_pay(schema)) + len(labels_to_pay(schema)) + rows_to_pay(schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsOptions:
    """What is measured about a schema.

    Attributes:
        marked: The schema with the marks; that of the setting is its `measuring_schema`.
        keep_listed: The custodian vouches for the stated bounds and labels: search within the former, keep the latter.
            Facts that come of it are `assumed`.
        label_weight: Price of the labels of a column against that of the bounds of one.
        signs: Noisy counts of negative values, zeros and positive values of columns for which an earlier measurement
            has them, and the standard deviation of their noise.
    """

    marked: Schema
    keep_listed: bool = False
    label_weight: float = LABEL_WEIGHT
    signs: Mapping[str, tuple[int, int, int, float]] = field(default_factory=dict[str, tuple[int, int, int, float]])


def measure_facts(setting: Setting[FactsOptions], door: Door) -> MeasuredFacts:
    """Measure all marked facts through a Door over the `measuring_schema`."""
    return estimate_facts(measure_all(ask_facts, setting, door))


def ask_facts(evidence: Evidence[FactsOptions]) -> Step | None:
    """Ask for all marked facts, spending the whole allowance."""
    return ask_in_order(evidence, _ask_bounds, _ask_values, _ask_labels, _ask_rows)


def estimate_facts(evidence: Evidence[FactsOptions]) -> MeasuredFacts:
    """Return the schema with the facts that the measurements show."""
    schema = evidence.setting.options.marked
    bounds, labels = _bounds(evidence), _found(evidence)
    columns = {**dict(schema), **{name: column for name, (column, _) in {**bounds, **labels}.items()}}
    notes = [f"{name}: {note}" for name, (_, note) in {**bounds, **labels}.items()]
    return collect_facts(schema, columns, _rows_of_person(evidence), notes)


def _noise(evidence: Evidence[FactsOptions], weight: float, resolution: float | None = None) -> Noise:
    """Return the noise of a table that costs a multiple of the bounds of one column."""
    options, setting = evidence.setting.options, evidence.setting
    labels = len(labels_to_pay(options.marked))
    whole = measured_columns(options.marked) + (options.label_weight - 1) * labels
    return setting.allowance.part(min(weight / whole, 1.0)).noise(setting.unit, resolution=resolution)


@remembered
def _ask_rows(evidence: Evidence[FactsOptions]) -> Measure | None:
    """Ask for the histogram of the numbers of rows of persons, where it is marked.

    Each person has one vote in it.
    """
    schema = evidence.setting.options.marked
    name = coordinates(measuring_schema(schema)).rows_of_person
    if not rows_to_pay(schema) or name is None:
        return None
    lookup = np.searchsorted(PAID_ROWS, np.arange(1, PAID_ROWS[-1] + 1)).astype(np.int32)
    request = Request(query=Counts(columns=(name,), partitions=(lookup,)), noise=_noise(evidence, 1.0))
    return Measure(label=ROWS, requests=(request,))


def _rows_of_person(evidence: Evidence[FactsOptions]) -> int | None:
    """Return the most rows of a person to be used: those of most persons, up to the noise; None if stated."""
    if ROWS not in evidence:
        return None
    (counted,) = evidence.measured(ROWS)
    total, left = max(int(counted.values.sum()), 0), np.arange(len(PAID_ROWS))[::-1]
    beyond = counted.values.sum() - np.cumsum(counted.values)
    enough = beyond <= (1 - COVERED_PERSONS) * total + MAX_TAIL_SIGMAS * counted.noise.std * np.sqrt(left)
    return PAID_ROWS[int(np.argmax(enough))]


def collect_facts(
    schema: Schema, columns: Mapping[str, Column], rows: int | None = None, notes: Iterable[str] = ()
) -> MeasuredFacts:
    """Return the schema of measured columns, without the marks that remain; the rest of it as it was."""
    final = {name: _without_marks(column) for name, column in columns.items()}
    if not any(column.modelled for column in final.values()):
        raise BudgetError(
            "no part of the table is above the noise: no column has bounds or labels that can be found with "
            "this budget. State them in a schema (sklar schema draft), or use a larger epsilon or more rows"
        )
    notes = list(notes)
    found = schema.with_columns(final).without_notes()
    if rows is not None and found.person is not None:
        found = found.with_person(replace(found.person, rows=rows, source="measured"))
        notes.append(f"a person: up to {rows} rows are used")
    return MeasuredFacts(schema=found, notes=tuple(notes))


@remembered
def _searches(evidence: Evidence[FactsOptions]) -> dict[str, Search]:
    options = evidence.setting.options
    names = bounds_to_pay(options.marked)
    return {name: search_cells(_numeric(options.marked, name), keep_listed=options.keep_listed) for name in names}


@remembered
def _ask_bounds(evidence: Evidence[FactsOptions]) -> Measure | None:
    requests: list[Request] = []
    for name, search in _searches(evidence).items():
        tables = [(search.lookup, 1.0)]
        if _counts_signs(evidence, name):
            tables = [(search.lookup, 1 - SIGN_SHARE), (search.sign_lookup, SIGN_SHARE)]
        for lookup, share in tables:
            query = Counts(columns=(name,), partitions=(lookup,))
            requests.append(Request(query=query, noise=_noise(evidence, share)))
    return Measure(label=BOUNDS, requests=tuple(requests)) if requests else None


def _counts_signs(evidence: Evidence[FactsOptions], name: str) -> bool:
    """Return whether values of this column are counted by sign: points in time have none, and some were counted
    before."""
    return not _searches(evidence)[name].dated and name not in evidence.setting.options.signs


def _noisy_cells(evidence: Evidence[FactsOptions]) -> dict[str, NoisyCells]:
    measured = iter(evidence.measured(BOUNDS))
    cells: dict[str, NoisyCells] = {}
    for name, search in _searches(evidence).items():
        counted = next(measured)
        found = NoisyCells(counts=counted.values[: search.cells], noise=counted.noise)
        if _counts_signs(evidence, name):
            signs = next(measured)
            three = np.append(signs.values, [0] * 3)[:3].tolist()
            found = replace(found, signs=tuple(three), sign_std=signs.noise.std)
        elif not search.dated:
            *three, std = evidence.setting.options.signs[name]
            found = replace(found, signs=tuple(three), sign_std=std)
        cells[name] = found
    return cells


def _bounds(evidence: Evidence[FactsOptions]) -> dict[str, tuple[Column, str]]:
    """Return each column with its bounds, and what was found in words; one without any is left out, unless it is
    needed."""
    options, columns = evidence.setting.options, dict[str, tuple[Column, str]]()
    cells = _noisy_cells(evidence) if BOUNDS in evidence else {}
    for name, search in _searches(evidence).items():
        column = _numeric(options.marked, name)
        found = find_range(search, cells[name])
        if found is None and not options.keep_listed and name not in needed_columns(options.marked):
            columns[name] = (Ignore(source={"kind": column.provenance("kind")}), NO_BOUNDS)
            continue
        bounded = with_bounds(column, search, found, keep_listed=options.keep_listed)
        columns[name] = (bounded, _bounds_note(bounded, found, keep_listed=options.keep_listed))
    return columns


NO_BOUNDS = "no number was above the noise, so the column is left out; state its bounds to keep it"


def _bounds_note(column: Numeric, found: FoundRange | None, *, keep_listed: bool) -> str:
    range_ = f"{column.lower} to {column.upper}"
    if keep_listed:
        return f"{range_}, searched within the stated bounds"
    if found is None:
        return f"nothing was above the noise; the public range stays, {range_}"
    if found.lost:
        return f"{range_}; {' and '.join(found.lost)} values occur, too few to be located: they are cut"
    return range_ + ("" if found.cut < MIN_REPORTED_CUT else f"; about {found.cut:.1%} of the values are probably cut")


MIN_REPORTED_CUT = 2e-3
"""Smallest share of probably cut values that is reported."""


def label_threshold(
    schema: Schema, allowance: Allowance, unit: Unit, label_weight: float = LABEL_WEIGHT
) -> tuple[int, int]:
    """Return (the noisy count that a label needs to be shown, the rows it needs at least), from public facts alone.

    Common words need fewer.
    """
    options = FactsOptions(marked=schema, label_weight=label_weight)
    evidence = Evidence(
        setting=Setting(schema=schema, options=options, allowance=allowance, unit=unit, generator=np.random.default_rng)
    )
    return _discovery(evidence)[1:]


def _discovery(evidence: Evidence[FactsOptions]) -> tuple[Noise, int, int]:
    """Return noise, threshold and floor of the search for labels in one column."""
    setting = evidence.setting
    if not setting.allowance.delta:
        raise BudgetError("finding unlisted labels needs a delta above 0: list them, or allow a delta")
    noise = _noise(evidence, (1 - VALUES_SHARE) * setting.options.label_weight, LABEL_RESOLUTION)
    columns = len(labels_to_pay(setting.options.marked))
    return noise, *discovery_settings(noise, setting.unit, setting.allowance.delta / columns)


@remembered
def _ask_values(evidence: Evidence[FactsOptions]) -> Measure | None:
    """Ask for the number of values of each column whose labels are sought."""
    options, schema = evidence.setting.options, evidence.setting.schema
    requests: list[Request] = []
    for name in labels_to_pay(options.marked):
        present = (np.arange(schema.size(name)) == schema[name].null_code).astype(np.int32)
        query = Counts(columns=(name,), partitions=(present,))
        requests.append(Request(query=query, noise=_noise(evidence, VALUES_SHARE * options.label_weight)))
    return Measure(label=VALUES, requests=tuple(requests)) if requests else None


@remembered
def _ask_labels(evidence: Evidence[FactsOptions]) -> Discover | None:
    """Ask for the labels of all columns, common words among them."""
    names = labels_to_pay(evidence.setting.options.marked)
    if not names:
        return None
    noise, threshold, floor = _discovery(evidence)
    requests = (
        Discovery(column=name, noise=noise, threshold=threshold, floor=floor, listed=COMMON_WORDS) for name in names
    )
    return Discover(label=LABELS, requests=tuple(requests))


def _label_counts(found: FoundLabels) -> dict[str, int]:
    """Return the noisy counts of labels that a column has: of common words those that noise does not explain."""
    least = find_noise_quantile(found.discovery.noise, FALSE_WORD_RATE / len(COMMON_WORDS))
    counts = zip(found.labels, found.counts.tolist(), strict=True)
    return {label: count for label, count in counts if count >= least or label not in COMMON_WORDS}


def _found(evidence: Evidence[FactsOptions]) -> dict[str, tuple[Column, str]]:
    """Return each column with its labels, and what was found in words."""
    options, columns = evidence.setting.options, dict[str, tuple[Column, str]]()
    if LABELS not in evidence:
        return columns
    for present, found in zip(evidence.measured(VALUES), evidence.found(LABELS), strict=True):
        name, counts = found.discovery.column, _label_counts(found)
        column, total = _labels(options.marked, name), max(int(present.values[0]), 1)
        covered = min(sum(counts.values()) / total, 1.0)
        if column.provenance("kind") == "measured" and covered < MIN_COVERED:
            columns[name] = (Ignore(source={"kind": "measured"}), NO_LABELS)
            continue
        labelled = _as_boolean(with_labels(column, counts, keep_listed=options.keep_listed))
        reported = max(MIN_REPORTED_LOSS, 3 * present.noise.std / total)
        lost = "" if covered > 1 - reported else f"; about {1 - covered:.0%} of the values become '{column.other}'"
        needed = f" (a label needed about {found.discovery.threshold:,} rows)" if lost else ""
        columns[name] = (labelled, _labels_note(labelled) + lost + needed)
    return columns


MIN_REPORTED_LOSS = 0.02
"""Smallest share of values without a label that is reported, if noise does not explain it."""
MIN_COVERED = 0.2
"""An unknown column of words is left out if its labels cover less of its values: it holds keys, names or prose."""
NO_LABELS = "too few values share a label, as in names, keys or free text, so the column is left out"


def _as_boolean(column: Labels) -> Column:
    """Return a boolean column where the labels of a column of unknown kind are a pair of truth words."""
    words = sorted(map(str, column.values), key=lambda word: parse_truth(word) is not False)
    spelled = Boolean(spelling=tuple(words), nullable=True, source=found_source(Boolean))
    if column.provenance("kind") != "measured" or len(words) != 2 or spelled.faults():
        return column
    return spelled


FOUND_SOURCES = {"kind": "measured", "format": "measured", "resolution": "measured", "spelling": "measured",
         "nullable": "public", "other": "public", "integer_labels": "public"}  # fmt: skip
"""Where the facts of a column of unknown kind come from, bounds and labels apart. That it may be null, and what
unlisted labels become, is the same for every such column and says nothing about it."""


def found_source(kind: type[Column], *paid: str) -> dict[str, str]:
    """Return where the facts of a column that was found to be of this kind come from; some are yet to be paid for."""
    return {fact: word for fact, word in FOUND_SOURCES.items() if fact in kind.facts} | dict.fromkeys(paid, PAY)


def _without_marks(column: Column) -> Column:
    """Return the column without marks at facts that state nothing; where it may or may not be null, it is nullable."""
    marked = {fact for fact, word in column.sources if word == PAY}
    if not marked:
        return column
    source = {fact: word for fact, word in column.sources if fact not in marked}
    if "nullable" in marked:
        return replace(column, nullable=True, source={**source, "nullable": "public"})  # type: ignore[call-arg]
    return replace(column, source=source)  # type: ignore[call-arg]


def _labels_note(column: Column) -> str:
    if not isinstance(column, Labels):
        return f"truth values, written {' and '.join(map(str, getattr(column, 'spelling')))}"  # noqa: B009
    if column.provenance("values") == "public":
        return f"no label was above the noise; all rows become '{column.other}'"
    listed = ", ".join(str(value) for value in column.values[:5])
    stated = "" if column.provenance("values") == "measured" else ", those stated among them"
    labels = "1 label" if len(column.values) == 1 else f"{len(column.values)} labels"
    return f"{labels} ({listed}{', ...' if len(column.values) > 5 else ''}){stated}"


def _numeric(schema: Schema, name: str) -> Numeric:
    return cast(Numeric, schema[name])


def _labels(schema: Schema, name: str) -> Labels:
    return cast(Labels, schema[name])


NOTHING_FOUND: tuple[str, int] = ("(nothing found)", 0)
"""The one label of a column in which no label was significant: as text, as an integer."""
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,18}))(?:\.0)?")


def with_labels(column: Labels, found: Iterable[str], *, keep_listed: bool = False) -> Labels:
    """Return the column with the labels that were found, after those it lists if somebody vouches for these."""
    listed = column.values if keep_listed and column.values != (ANY_LABEL,) else ()
    new = _integers(found) if column.integer_labels else sorted(found)
    more = [label for label in new if label not in listed and label != column.other]
    values = sorted([*listed, *more]) if column.ordered else [*listed, *more]  # type: ignore[type-var]
    word = "assumed" if listed else "measured" if values else "public"
    placeholder = NOTHING_FOUND[column.integer_labels]
    source = {**dict(column.sources), "values": word}
    other = column.other if values or column.other != placeholder else None
    return replace(column, values=tuple(values) or (placeholder,), other=other, source=source)


def _integers(texts: Iterable[str]) -> list[int]:
    """Return texts that spell a 64-bit integer, as "7" or "7.0"; a column of integer labels knows no others."""
    matches = (_WHOLE.fullmatch(text) for text in texts)
    numbers = {int(match[1]) for match in matches if match}
    return sorted(number for number in numbers if INT64_MIN <= number <= INT64_MAX)

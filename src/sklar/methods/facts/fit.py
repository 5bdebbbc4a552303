"""Measures the facts of a schema that are marked "pay": bounds of numbers, lists of labels and rows of a person.

All bounds come from one call that counts every such column over public cells, all labels from one discovery, how many
rows to use of a person from one histogram. Each costs as much as any other: one table of counts with the same noise;
discoveries share the allowance's delta.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.composition.discovery import discovery_settings
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
from sklar.methods.facts.bounds import Numeric, Search, occupied_range, search_cells, unbounded, with_bounds
from sklar.methods.facts.marks import PAY, bounds_to_pay, labels_to_pay, rows_to_pay
from sklar.release.choices import Discovery
from sklar.release.counts import Counts
from sklar.release.door import Door
from sklar.release.measurements import Request
from sklar.schema.columns import ANY_LABEL, INT64_MAX, INT64_MIN, Category, Column, Ignore, Labels
from sklar.schema.coordinates import coordinates
from sklar.schema.persons.person import Person
from sklar.schema.table import Schema

BOUNDS, LABELS, ROWS = "bounds", "labels", "rows of a person"
"""Labels of the steps."""
NAME = "facts"
"""As which measuring facts stands in the ledger."""
PAID_ROWS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)
"""Bounds that can come out, wider apart the larger: fewer cells have less noise in their tail. None is 1, since with
one row a person there would be no votes to share, and the promise would be told in other units."""
MAX_TAIL_SIGMAS = 2.0
"""Standard deviations of its noise that a tail may have: else noise alone would make the bound large."""
COVERED_PERSONS = 0.95
"""Share of persons all of whose rows are used. More would make weights of single rows small for the sake of a few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFacts:
    """A schema without "pay" marks, and what was found, in words."""

    schema: Schema
    notes: tuple[str, ...]


def asked_schema(schema: Schema) -> Schema:
    """The schema with stand-ins for all that it states under a "pay" mark: what is asked, and may be published.

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
        return unbounded(column, search_cells(column))
    return column


def measuring_schema(schema: Schema, *, keep_listed: bool = False) -> Schema:
    """The public schema that the rows are read by: search ranges for bounds, and the columns whose labels are sought.

    Nothing that is stated under a "pay" mark gets in here, unless the custodian vouches for it (`keep_listed`).
    """
    columns: dict[str, Column] = dict.fromkeys(schema, Ignore())
    for name in bounds_to_pay(schema):
        columns[name] = search_cells(_numeric(schema, name), keep_listed=keep_listed).column
    for name in labels_to_pay(schema):
        columns[name] = Category((ANY_LABEL,))  # only the texts themselves are counted
    if not any(column.modelled for column in columns.values()):
        columns |= {name: schema[name] for name in schema.modelled[:1]}  # a table has at least one column
    return Schema(columns, person=_measured_person(schema))


def _measured_person(schema: Schema) -> Person | None:
    """The person without an order, since the column it goes by may be one whose bounds are sought."""
    if schema.person is None:
        return None
    rows = PAID_ROWS[-1] if rows_to_pay(schema) else schema.person.rows
    return replace(schema.person, order=None, static=(), steps=(), linked=None, rows=rows)


def measured_columns(schema: Schema) -> int:
    """How many columns must be counted or searched for labels; the rows of a person count as one."""
    return len(bounds_to_pay(schema)) + len(labels_to_pay(schema)) + rows_to_pay(schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsOptions:
    """What is measured about a schema.

    Attributes:
        marked: The schema with the marks; that of the setting is its `measuring_schema`.
        keep_listed: The custodian vouches for the stated bounds and labels: search within the former, keep the latter.
            Facts that come of it are `assumed`.
    """

    marked: Schema
    keep_listed: bool = False


def measure_facts(setting: Setting[FactsOptions], door: Door) -> MeasuredFacts:
    """Measure all marked facts through a Door over the `measuring_schema`."""
    return estimate_facts(measure_all(ask_facts, setting, door))


def ask_facts(evidence: Evidence[FactsOptions]) -> Step | None:
    """Ask for all marked facts, spending the whole allowance."""
    return ask_in_order(evidence, _ask_bounds, _ask_labels, _ask_rows)


def estimate_facts(evidence: Evidence[FactsOptions]) -> MeasuredFacts:
    """Return the schema with the facts that the measurements show."""
    schema = evidence.setting.options.marked
    columns = {**dict(schema), **_bounds(evidence), **_found(evidence)}
    return settled(schema, columns, _rows_of_person(evidence))


def _noise(evidence: Evidence[FactsOptions]) -> Noise:
    setting = evidence.setting
    return setting.allowance.noise(setting.unit, measured_columns(setting.options.marked))


@remembered
def _ask_rows(evidence: Evidence[FactsOptions]) -> Measure | None:
    """The histogram of the numbers of rows of persons, where it is marked.

    Each person has one vote in it, whatever the number.
    """
    schema = evidence.setting.options.marked
    name = coordinates(measuring_schema(schema)).rows_of_person
    if not rows_to_pay(schema) or name is None:
        return None
    lookup = np.searchsorted(PAID_ROWS, np.arange(1, PAID_ROWS[-1] + 1)).astype(np.int32)
    request = Request(query=Counts(columns=(name,), partitions=(lookup,)), noise=_noise(evidence))
    return Measure(label=ROWS, requests=(request,))


def _rows_of_person(evidence: Evidence[FactsOptions]) -> int | None:
    """The most rows of a person to be used: those of most persons, up to the noise; None if stated."""
    if ROWS not in evidence:
        return None
    (counted,) = evidence.measured(ROWS)
    total, left = max(int(counted.values.sum()), 0), np.arange(len(PAID_ROWS))[::-1]
    beyond = counted.values.sum() - np.cumsum(counted.values)
    enough = beyond <= (1 - COVERED_PERSONS) * total + MAX_TAIL_SIGMAS * counted.noise.std * np.sqrt(left)
    return PAID_ROWS[int(np.argmax(enough))]


def settled(schema: Schema, columns: Mapping[str, Column], rows: int | None = None) -> MeasuredFacts:
    """The schema of measured columns, without the marks that remain; the rest of it as it was."""
    final = {name: _without_marks(column) for name, column in columns.items()}
    notes = [_note(name, final[name]) for name in (*bounds_to_pay(schema), *labels_to_pay(schema))]
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
    noise, searches = _noise(evidence), _searches(evidence)
    queries = [Counts(columns=(name,), partitions=(search.lookup,)) for name, search in searches.items()]
    requests = tuple(Request(query=query, noise=noise) for query in queries)
    return Measure(label=BOUNDS, requests=requests) if requests else None


def _bounds(evidence: Evidence[FactsOptions]) -> dict[str, Column]:
    options = evidence.setting.options
    return {
        name: with_bounds(
            _numeric(options.marked, name),
            search,
            occupied_range(measured.values[: search.cells], measured.noise),
            keep_listed=options.keep_listed,
        )
        for (name, search), measured in zip(_searches(evidence).items(), evidence.measured(BOUNDS), strict=True)
    }


def label_threshold(schema: Schema, allowance: Allowance, unit: Unit) -> tuple[int, int]:
    """(the noisy count that a label needs to be shown, the rows it needs at least), from public facts alone."""
    if not allowance.delta:
        raise BudgetError("finding labels that nobody listed needs a delta above 0: list them, or allow a delta")
    noise = allowance.noise(unit, measured_columns(schema))
    return discovery_settings(noise, unit, allowance.delta / len(labels_to_pay(schema)))


@remembered
def _ask_labels(evidence: Evidence[FactsOptions]) -> Discover | None:
    setting = evidence.setting
    names = labels_to_pay(setting.options.marked)
    if not names:
        return None
    noise = _noise(evidence)
    threshold, floor = label_threshold(setting.options.marked, setting.allowance, setting.unit)
    requests = tuple(Discovery(column=name, noise=noise, threshold=threshold, floor=floor) for name in names)
    return Discover(label=LABELS, requests=requests)


def _found(evidence: Evidence[FactsOptions]) -> dict[str, Column]:
    options = evidence.setting.options
    return {
        one.discovery.column: with_labels(
            _labels(options.marked, one.discovery.column), one.labels, keep_listed=options.keep_listed
        )
        for one in evidence.found(LABELS)
    }


def _without_marks(column: Column) -> Column:
    """Facts that state nothing need no mark; a column that may or may not be null is nullable, which tells nothing."""
    marked = {fact for fact, word in column.sources if word == PAY}
    if not marked:
        return column
    source = {fact: word for fact, word in column.sources if fact not in marked}
    if "nullable" in marked:
        return replace(column, nullable=True, source={**source, "nullable": "public"})  # type: ignore[call-arg]
    return replace(column, source=source)  # type: ignore[call-arg]


def _note(name: str, column: Column) -> str:
    if isinstance(column, Labels):
        if column.provenance("values") == "public":
            return f"{name}: no label stood out above the noise; all rows become '{column.other}'"
        listed = ", ".join(str(value) for value in column.values[:5])
        stated = "" if column.provenance("values") == "measured" else ", those stated among them"
        return f"{name}: {len(column.values)} labels ({listed}{', ...' if len(column.values) > 5 else ''}){stated}"
    range_ = f"{getattr(column, 'lower')} to {getattr(column, 'upper')}"  # noqa: B009
    words = {column.provenance("lower"), column.provenance("upper")}
    if words == {"assumed"}:
        return f"{name}: {range_}, searched within the stated bounds"
    if "measured" not in words:
        return f"{name}: nothing stood out above the noise; the public range stays, {range_}"
    return f"{name}: {range_}"


def _numeric(schema: Schema, name: str) -> Numeric:
    return cast(Numeric, schema[name])


def _labels(schema: Schema, name: str) -> Labels:
    return cast(Labels, schema[name])


NOTHING_FOUND: tuple[str, int] = ("(nothing found)", 0)
"""The one label of a column in which no label stood out: as text, as an integer."""
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,18}))(?:\.0)?")


def with_labels(column: Labels, found: Iterable[str], *, keep_listed: bool = False) -> Labels:
    """The column with the labels that were found, after those it lists if somebody vouches for these."""
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
    """Texts that spell a 64-bit integer, as "7" or "7.0"; a column of integer labels knows no others."""
    matches = (_WHOLE.fullmatch(text) for text in texts)
    numbers = {int(match[1]) for match in matches if match}
    return sorted(number for number in numbers if INT64_MIN <= number <= INT64_MAX)

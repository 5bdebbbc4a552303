"""Guess keys of rows or persons, row names, and columns without values; none of them is ever modelled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sklar.arrays import Ints
from sklar.lab.drafting.guess import (
    CODE_WORDS,
    Guess,
    has_word,
    is_key_name,
    is_strong_key_name,
    known_range,
    leave_out,
    name_words,
    split_words,
)
from sklar.lab.drafting.labels import MAX_LABELS
from sklar.lab.drafting.moments import ISO
from sklar.lab.drafting.profile import Numbers, Profile, parse_numbers
from sklar.schema.columns import Column, Id
from sklar.schema.persons.linked import PREVIOUS, has_linked_rows
from sklar.schema.persons.person import MAX_ROWS_USED, Person

MIN_KEY_ROWS = 20
"""Minimum number of rows: with fewer, unique values are no evidence of a key."""
MIN_PANEL_PERSONS = 100
"""Minimum number of persons of a panel: fewer values may occur equally often by design, as years or groups do."""
EVEN_PARTS = 8
"""Parts of the sorted values whose mean numbers of rows are compared."""
MAX_UNEVENNESS = 2.0
"""Maximum ratio of the mean counts of parts of a key: the ends of a count or a measurement are far rarer than its
middle."""
MAX_CHANCE_SPREAD = 2.0
"""Ratio of variance and mean of the counts, either way, from which on they are not those of an even measurement."""
MAX_SCALE_END = 366
"""Whole numbers from 0 or 1 up to at most this, without a gap, are a scale: percentages, days of the year."""
MIN_PROSE_LENGTH = 40
"""Texts with more characters on average are prose rather than names or codes."""
ROW_NAMES = re.compile(r"|unnamed: 0(\.\d+)?|\.\.\.1|rownames|__index_level_0__", re.IGNORECASE)
"""Names of a first column of row names: empty (R, pandas), or the replacements by pandas and readr."""
POSSIBLE_ROW_NAMES = re.compile(r"(?P<stem>x|v|_c|column_?|level_|index)(0+|1)?", re.IGNORECASE)
"""Replacements of an empty name by R, data.table, Spark, polars and DuckDB. They also give such names to columns with
values: then other columns have the same name with another number, or values occur twice."""
WRITTEN_DAY = re.compile(r"\d{1,4}([./-])(\d{1,2}|[^\W\d_]{3,9})\1\d{1,4}")
WRITTEN_NUMBER = re.compile(r"[-+]?[\d.,']+%?")
"""Days, and numbers with any sign for decimals: however evenly they repeat, they are no codes."""
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def guess_key(profile: Profile) -> Guess | None:
    """Guess a key for values that identify a row or a person."""
    numbers = parse_numbers(profile)
    whole = numbers is not None and numbers.whole and len(numbers.values) == profile.distinct
    if profile.present < MIN_KEY_ROWS or not (whole or profile.form == "text"):
        return None
    texts = [v for v in profile.values if isinstance(v, str)]
    if texts and all(UUID.fullmatch(v.strip()) for v in texts[:1000]):
        return draft_key(profile)
    if profile.unique and (is_key_name(profile.name) or _is_numbering(numbers if whole else None, profile)):
        return draft_key(profile)
    if profile.unique and not whole and _has_compact_codes(profile):
        return draft_key(profile)
    if repeats_evenly(profile) and _is_no_measurement(profile, numbers if whole else None):
        return draft_key(profile).with_notes(ask_who(profile))
    many = profile.distinct > max(100, profile.present // 20)
    return draft_key(profile) if is_strong_key_name(profile.name) and many else None


def guess_empty(profile: Profile) -> Guess | None:
    """Leave out columns without any value, and values that are not single numbers or words."""
    if profile.form == "other" and profile.rows and not profile.values:
        return leave_out("it is empty, or its values are not single numbers, words or times.")
    if not profile.present:
        return leave_out("no value was seen. If it can have values, give its kind and domain.")
    return None


def contains_row_names(profile: Profile, written: str, others: Sequence[str]) -> bool:
    """Check whether the first column, with its name as written, contains row names or an index."""
    if not others:
        return False
    if ROW_NAMES.fullmatch(written.strip()):
        return True
    found = POSSIBLE_ROW_NAMES.fullmatch(written.strip())
    if found is None or not profile.unique or profile.form not in ("text", "integer"):
        return False
    return not any(re.fullmatch(rf"{found['stem']}\d+", other.strip(), re.IGNORECASE) for other in others)


def draft_key(profile: Profile) -> Guess:
    """Draft a key."""
    return Guess(column=Id(), notes=("a key: never read; the output gets fresh numbers.", *describe_sharing(profile)))


def describe_sharing(profile: Profile) -> tuple[str, ...]:
    """Return a note for the custodian about a key that several rows share."""
    if profile.unique:
        return ()
    return (
        "Several rows share a key: if it identifies a person, declare that (the table [person], or rows_per_person set "
        "to the maximum number of rows of a person), or the guarantee covers single rows only.",
    )


COVERED_PERSONS = 0.95
"""Share of persons whose rows are all within the drafted bound on rows per person."""
ORDER_WORDS = split_words("year date time visit wave period month week day round session sequence seq")
"""Words in names of columns that order the rows of a person."""
EXPECTED_CHANGES = 20
"""A column is proposed as static if it never changes within a person, although rows assigned to persons at random would
show this number of changes (a chance of about e^-20). This excludes columns that are constant nearly everywhere."""


def guess_person(profiles: Sequence[Profile], columns: Mapping[str, Column]) -> Person | None:
    """Propose the first key that rows share as the key of persons; the custodian has to confirm it."""
    shared = [one for one in profiles if isinstance(columns[one.name], Id) and one.present and not one.unique]
    if not shared:
        return None
    rows = int(np.clip(np.ceil(np.quantile(shared[0].counts, COVERED_PERSONS)), 2, MAX_ROWS_USED))
    # A table that already has columns of previous values is not linked: their names are taken.
    taken = any(name.startswith(PREVIOUS) and name.removeprefix(PREVIOUS) in columns for name in columns)
    order, linked = next(iter(_list_orders(columns)), None), False if taken else None
    return Person(key=shared[0].name, rows=rows, order=order, linked=linked, source="from-rows")


def _list_orders(columns: Mapping[str, Column]) -> list[str]:
    """Return the columns that may order the rows of a person: times, and whole numbers by their names."""
    ordered = [name for name, column in columns.items() if column.kind in ("integer", "datetime")]
    return [name for name in ordered if columns[name].kind == "datetime" or set(name_words(name)) & ORDER_WORDS]


def find_static_columns(person: Person | None, table: Any, columns: Mapping[str, Column]) -> Person | None:
    """Add the columns that never change within a person, although at random they would; none of them orders rows."""
    if person is None or not has_linked_rows(columns, person):
        return person
    keys = number_values(table.column(person.key))
    known = keys >= 0
    persons, seen = len(np.unique(keys[known])), int(known.sum())
    static: list[str] = []
    for name in (name for name, column in columns.items() if column.modelled):
        values = number_values(table.column(name))[known] + 1
        shares = np.bincount(values) / seen
        pairs = len(np.unique(keys[known] * len(shares) + values))
        if pairs == persons and (1 - (shares**2).sum()) * (seen - persons) >= EXPECTED_CHANGES:
            static.append(name)
    order = next((name for name in _list_orders(columns) if name not in static), None)
    return replace(person, order=order, static=static if order else ())


def number_values(column: Any) -> Ints:
    """Number the different values; null is -1."""
    import pyarrow as pa

    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    indices = plain.combine_chunks().dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _is_numbering(numbers: Numbers | None, profile: Profile) -> bool:
    """Check for whole numbers, each once, without a gap or in the order of the rows: no measurement is so."""
    if numbers is None or profile.distinct < MIN_PANEL_PERSONS:
        return False
    gapless = numbers.values[-1] - numbers.values[0] == profile.distinct - 1
    return gapless or _ascends(profile)


def _ascends(profile: Profile) -> bool:
    """Check whether new values only ever rise, row by row: then the rows are sorted by them."""
    first_seen = [float(v) for v in profile.values]
    return all(one < two for one, two in pairwise(first_seen))


def repeats_evenly(profile: Profile) -> bool:
    """Check for many values that repeat, and about equally often across their range: keys, which have no scale.

    Counts and measurements are rarer towards their ends. A short run of numbers from 0 or 1, as of days of the year,
    counts as a scale.
    """
    if profile.unique or profile.distinct < MIN_PANEL_PERSONS or profile.present < 2 * profile.distinct:
        return False
    numbers = parse_numbers(profile)
    if numbers is None or not numbers.whole or len(numbers.values) < profile.distinct:
        even = (profile.counts == profile.counts[0]).all() or profile.distinct > MAX_LABELS
        return bool(even) and profile.form == "text" and _has_compact_codes(profile) and _is_even(profile.counts)
    low, last = numbers.values[0], numbers.values[-1]
    scale = last <= MAX_SCALE_END and low in (0, 1) and last - low == profile.distinct - 1
    if known_range(profile.name) is not None or has_word(profile.name, CODE_WORDS):
        return False
    equal = bool((numbers.counts == numbers.counts[0]).all())
    return equal or ((not scale or is_key_name(profile.name)) and _is_even(numbers.counts))


def _is_no_measurement(profile: Profile, numbers: Numbers | None) -> bool:
    """Check that evenly repeated values are named as keys, sorted in the file, or repeat too regularly or irregularly.

    Measurements that are spread evenly, as seconds of an hour, have counts with a variance equal to their mean.
    """
    spread = profile.counts.var() / profile.counts.mean()
    named = is_key_name(profile.name) or profile.name.lower().endswith("id")
    return numbers is None or named or _ascends(profile) or not 1 / MAX_CHANCE_SPREAD <= spread <= MAX_CHANCE_SPREAD


def _is_even(counts: Ints) -> bool:
    """Check whether values repeat about equally often in all parts of their order."""
    means = [part.mean() for part in np.array_split(counts, EVEN_PARTS)]
    return max(means) <= MAX_UNEVENNESS * min(means)


def ask_who(profile: Profile) -> str:
    """Return the question whether values that repeat identify persons."""
    each, numbers = profile.present / profile.distinct, parse_numbers(profile)
    what = "codes" if numbers is None else "whole numbers"
    seen = f"{profile.distinct:,} {what}, about {each:.2g} rows each in the rows seen"
    question = f"{seen}: does each of them identify a person?"
    if numbers is None:
        return question
    low, high = numbers.values[0], numbers.values[-1]
    return f"{question} If so, it is an `id`; if it counts or measures something, an `integer` from {low} to {high}."


def _has_compact_codes(profile: Profile) -> bool:
    """Check for short texts without spaces, mostly with digits: codes rather than prose or times."""
    if profile.form != "text" or mean_length(profile) > MIN_PROSE_LENGTH:
        return False
    texts = [v.strip() for v in profile.values[:1000]]
    coded = (t for t in texts if " " not in t and not (ISO.fullmatch(t) or WRITTEN_DAY.fullmatch(t)))
    shaped = sum(1 for t in coded if re.search(r"\d", t) and not WRITTEN_NUMBER.fullmatch(t))
    digits = all(re.fullmatch(r"\d+", t) for t in texts) and len({len(t) for t in texts}) == 1 and len(texts[0]) > 5
    return shaped > 0.9 * len(texts) or (digits and any(t.startswith("0") for t in texts))


def mean_length(profile: Profile) -> float:
    """Return the mean length of the distinct texts."""
    return sum(len(v) for v in profile.values) / max(profile.distinct, 1)

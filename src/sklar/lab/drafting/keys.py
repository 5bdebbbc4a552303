"""Guess: keys of rows or persons, row names, and columns without values; none of them is ever modelled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sklar.arrays import Ints
from sklar.lab.drafting.guess import Guess, hints_key, hints_strong_key, leave_out, word_set, words_of
from sklar.lab.drafting.moments import ISO
from sklar.lab.drafting.profile import Profile, numbers_of
from sklar.schema.columns import Column, Id
from sklar.schema.persons.linked import PREVIOUS, links
from sklar.schema.persons.person import MOST_ROWS, Person

FEWEST_ROWS = 20
"""Fewer rows than this say little about whether a value can occur twice."""
FEWEST_PERSONS = 100
"""Fewer numbers than this may occur equally often by design, as years or groups do."""
LONG_TEXT = 40
"""Letters: texts that are longer on average are prose rather than names or codes."""
ROW_NAMES = re.compile(r"|unnamed: 0(\.\d+)?|\.\.\.1|rownames|__index_level_0__", re.IGNORECASE)
"""What a first column of row names is called: nothing (R, pandas), what pandas and readr make of that, or just so."""
PERHAPS_ROW_NAMES = re.compile(r"(?P<stem>x|v|_c|column_?|level_|index)(0+|1)?", re.IGNORECASE)
"""What R, data.table, Spark, polars and DuckDB make of it. They call columns with values so, too: then others beside it
have the same name with another number, or values occur twice."""
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def guess_key(profile: Profile) -> Guess | None:
    """Id, for values that name a row or a person."""
    if profile.form == "real" and _counts_persons(profile):  # whole numbers that a frame holds as floats
        return key(profile)
    if profile.form not in ("text", "integer") or profile.present < FEWEST_ROWS:
        return None
    texts = [v for v in profile.values if isinstance(v, str)]
    if texts and all(UUID.fullmatch(v.strip()) for v in texts[:1000]):
        return key(profile)
    if profile.unique and (hints_key(profile.name) or _counts_rows(profile) or _compact(profile)):
        return key(profile)
    if _counts_persons(profile):
        return key(profile)
    many = profile.distinct > max(100, profile.present // 20)
    return key(profile) if hints_strong_key(profile.name) and many else None


def guess_empty(profile: Profile) -> Guess | None:
    """Ignore, for columns without any value, and for values that are not single numbers or words."""
    if profile.form == "other" and profile.rows and not profile.values:
        return leave_out("it is empty, or its values are not single numbers, words or times.")
    if not profile.present:
        return leave_out("no value was seen. If it can have values, give its kind and domain.")
    return None


def names_rows(profile: Profile, written: str, others: Sequence[str]) -> bool:
    """Whether the first column, as its name was written, holds row names or an index."""
    if not others:
        return False
    if ROW_NAMES.fullmatch(written.strip()):
        return True
    found = PERHAPS_ROW_NAMES.fullmatch(written.strip())
    if found is None or not profile.unique or profile.form not in ("text", "integer"):
        return False
    return not any(re.fullmatch(rf"{found['stem']}\d+", other.strip(), re.IGNORECASE) for other in others)


def row_names_key(profile: Profile) -> Guess:
    """A first column without a name, or with one that a program gave it."""
    return key(profile).with_notes("It looks like row names or an index, as R and pandas write them. Is it no more?")


def key(profile: Profile) -> Guess:
    """The drafted key."""
    return Guess(column=Id(), notes=("a key: never read; the output gets fresh numbers.", *sharing_notes(profile)))


def sharing_notes(profile: Profile) -> tuple[str, ...]:
    """What the custodian should know about a key that several rows share."""
    if profile.unique:
        return ()
    return (
        "Several rows share a key: if it stands for a person, say so (the table [person], or rows_per_person set to "
        "the most rows a person can have), or the guarantee covers single rows only.",
    )


MOST_USED = 0.95
"""Share of persons all of whose rows a drafted bound lets in."""
ORDERS = word_set("year date time visit wave period month week day round session sequence seq")
"""What columns are called that put the rows of a person in order."""
EXPECTED_CHANGES = 20
"""A column is proposed as static if it shows no change within a person where rows given to persons at random would show
this many: by chance that happens about once in e^20 times. It keeps out columns with one value nearly everywhere."""


def guess_person(profiles: Sequence[Profile], columns: Mapping[str, Column]) -> Person | None:
    """The first key that rows share, as who a person is; the custodian is asked."""
    shared = [one for one in profiles if isinstance(columns[one.name], Id) and one.present and not one.unique]
    if not shared:
        return None
    rows = int(np.clip(np.ceil(np.quantile(shared[0].counts, MOST_USED)), 2, MOST_ROWS))
    ordered = [name for name, column in columns.items() if column.kind in ("integer", "datetime")]
    named = [name for name in ordered if columns[name].kind == "datetime" or set(words_of(name)) & ORDERS]
    # A table that has a column and the one before it keeps rows that stand alone: the names are taken.
    taken = any(name.startswith(PREVIOUS) and name.removeprefix(PREVIOUS) in columns for name in columns)
    order, linked = next(iter(named), None), False if taken else None
    return Person(key=shared[0].name, rows=rows, order=order, linked=linked, source="from-rows")


def with_static(person: Person | None, table: Any, columns: Mapping[str, Column]) -> Person | None:
    """The drafted person with the columns that change within none of those seen, though by chance they would."""
    if person is None or not links(columns, person):
        return person
    keys = value_numbers(table.column(person.key))
    known = keys >= 0
    persons, seen = len(np.unique(keys[known])), int(known.sum())
    static: list[str] = []
    for name in (name for name, column in columns.items() if column.modelled and name != person.order):
        values = value_numbers(table.column(name))[known] + 1
        shares = np.bincount(values) / seen
        pairs = len(np.unique(keys[known] * len(shares) + values))
        if pairs == persons and (1 - (shares**2).sum()) * (seen - persons) >= EXPECTED_CHANGES:
            static.append(name)
    return replace(person, static=static)


def value_numbers(column: Any) -> Ints:
    """A number for each value, -1 for none."""
    import pyarrow as pa

    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    indices = plain.combine_chunks().dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _counts_rows(profile: Profile) -> bool:
    """Whole numbers without a gap, each once: a running number."""
    numbers = numbers_of(profile) if profile.distinct >= 100 else None
    if numbers is None or not numbers.whole or len(numbers.values) < profile.distinct:
        return False
    return numbers.values[-1] - numbers.values[0] == profile.distinct - 1


def _counts_persons(profile: Profile) -> bool:
    """Many whole numbers, each in equally many rows, two or more: the persons of a panel."""
    if profile.distinct < FEWEST_PERSONS or profile.counts[0] < 2 or profile.form not in ("integer", "real"):
        return False
    numbers = numbers_of(profile) if (profile.counts == profile.counts[0]).all() else None
    return numbers is not None and numbers.whole


def _compact(profile: Profile) -> bool:
    """Short texts without spaces, most with digits: codes rather than prose or moments."""
    if profile.form != "text" or mean_length(profile) > LONG_TEXT:
        return False
    texts = [v.strip() for v in profile.values[:1000]]
    coded = (t for t in texts if " " not in t and not ISO.fullmatch(t))
    shaped = sum(1 for t in coded if re.search(r"\d", t) and not re.fullmatch(r"[-+.\d]+", t))
    padded = all(re.fullmatch(r"\d+", t) for t in texts) and len({len(t) for t in texts}) == 1 and len(texts[0]) > 5
    return shaped > 0.9 * len(texts) or padded


def mean_length(profile: Profile) -> float:
    """Letters of a text, on average over the distinct ones."""
    return sum(len(v) for v in profile.values) / max(profile.distinct, 1)

"""Correct a draft from sampled rows by all rows of the table: values beyond its bounds, missing values, shared keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Ints
from sklar.lab.drafting.profile import Profile, profile_column
from sklar.lab.drafting.sampling import complete_names
from sklar.lab.tables.checks import ABOVE, BELOW, MISSING, UNREADABLE, make_classifier
from sklar.rows.encode.arrays import one_type
from sklar.rows.encode.text import Text, strings_of
from sklar.rows.sources import open_source
from sklar.schema.columns import Column, Id
from sklar.schema.reading import ReadOptions

MAX_COUNTED_KEYS = 20_000_000
"""Maximum number of rows of a table whose keys are counted: they are kept in memory."""


@dataclass(slots=True, kw_only=True)
class WholeColumn:
    """What the rows of a whole table have beyond the draft of a column.

    Attributes:
        beyond: Values outside the drafted bounds, with their numbers of rows.
        missing: Number of rows whose value is missing or cannot be read.
        shares: Number of rows of each value of a key, in any order; None for other columns.
    """

    beyond: Counter[Any] = field(default_factory=Counter[Any])
    missing: int = 0
    shares: Ints | None = None


def read_whole(data: Any, columns: Mapping[str, Column], total: int, read: ReadOptions) -> dict[str, WholeColumn]:
    """Read all rows, and collect by column what the draft does not cover."""
    source = open_source(data, schema=None, read=read)
    written = dict(zip(complete_names(source.column_names), source.column_names, strict=True))
    nulls = tuple(read.null_values)
    classify = {name: make_classifier(column, nulls) for name, column in columns.items() if column.modelled}
    keys: dict[str, list[Any]] = {name: [] for name in _list_countable(columns, total)}
    names = [*classify, *keys]
    found = {name: WholeColumn() for name in names}
    for batch in source.column_batches([written[name] for name in names]):
        for name, cells in zip(names, batch.columns, strict=True):
            if name in keys:
                keys[name].append(pc.call_function("cast", [strings_of(cells)], pc.CastOptions.safe(pa.large_string())))
            else:
                _collect(found[name], name, cells, classify[name](_as_array(cells)))
    for name, parts in keys.items():
        counted = pc.call_function("value_counts", [pc.call_function("drop_null", [pa.chunked_array(parts)])])
        blank = pc.call_function("is_in", [counted.field("values")], pc.SetLookupOptions(pa.array(["", *nulls])))
        found[name].shares = counted.field("counts").to_numpy()[~blank.to_numpy(zero_copy_only=False)]
    return found


def count_keys(data: Any, key: str, read: ReadOptions) -> int:
    """Return the number of different values of a key in all rows."""
    found = read_whole(data, {key: Id()}, 0, read)[key].shares
    return 0 if found is None else len(found)


def _list_countable(columns: Mapping[str, Column], total: int) -> Sequence[str]:
    return [name for name, column in columns.items() if isinstance(column, Id)] if total <= MAX_COUNTED_KEYS else []


def _as_array(cells: Any) -> Any:
    return cells if isinstance(cells, Text) else one_type(cells)


def _collect(found: WholeColumn, name: str, cells: Any, outcomes: Ints) -> None:
    """Add the cells of one batch that the draft does not cover."""
    found.missing += int(np.isin(outcomes, (MISSING, UNREADABLE)).sum())
    places = np.flatnonzero((outcomes == BELOW) | (outcomes == ABOVE))
    if len(places):
        some = cells.some(places).to_arrow() if isinstance(cells, Text) else one_type(cells).take(pa.array(places))
        profile = profile_column(name, some)
        found.beyond.update(dict(zip(profile.values, profile.counts.tolist(), strict=True)))


def widen_profile(profile: Profile, found: WholeColumn, total: int) -> Profile:
    """Return the profile of a sample as one of the whole table: counts in proportion, and the values beyond exactly."""
    more = [value for value in found.beyond if value not in set(profile.values)]
    scaled = np.maximum(np.rint(profile.counts * (total / profile.rows)), 1).astype(np.int64)
    counts = np.concatenate([scaled, np.array([found.beyond[value] for value in more], dtype=np.int64)])
    return replace(profile, rows=max(total, int(counts.sum())), values=(*profile.values, *more), counts=counts)


def count_shares(profile: Profile, shares: Ints) -> Profile:
    """Return the profile of a key in all rows, with numbers in place of its values."""
    return replace(profile, rows=int(shares.sum()), values=tuple(range(len(shares))), counts=shares)

"""Drafting a schema from rows: sample the first ones, guess column by column, and say what to check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklar.disclosed.drafting.drafted import Draft
from sklar.disclosed.drafting.guess import Guess
from sklar.disclosed.drafting.kinds import guess_column, guess_stated
from sklar.disclosed.drafting.profile import profile_of
from sklar.disclosed.drafting.sample import first_rows
from sklar.errors import SourceError
from sklar.schema.reading import ReadOptions
from sklar.schema.sdv import StatedKind


def draft(
    data: Any,
    *,
    stated: Mapping[str, StatedKind] | None = None,
    rows: int,
    read: ReadOptions | None = None,
) -> Draft:
    """Guess a schema from the first rows of a table.

    Args:
        data: The table, as for a fit.
        stated: Kinds to keep to, as from SDV metadata. They are marked like the rest: SDV, too, detects them in rows.
        rows: Look at this many rows from the beginning.
        read: How to read the table, as for a fit.
    """
    table, more = first_rows(data, rows, read or ReadOptions())
    kinds = stated or {}
    guesses = {name: _guess(name, table.column(i), kinds) for i, name in enumerate(table.column_names)}
    if not any(guess.column.modelled for guess in guesses.values()):
        raise SourceError("no column of the table could be drafted: all are keys, empty or free text")
    return Draft(guesses, _remarks(rows, more, set(kinds) - set(guesses)))


def _guess(name: str, column: Any, stated: Mapping[str, StatedKind]) -> Guess:
    profile = profile_of(name, column)
    guess = guess_stated(profile, stated[name]) if name in stated else guess_column(profile)
    return guess.marked()


def _remarks(rows: int, more: bool, absent: set[str]) -> tuple[str, ...]:
    remarks: list[str] = []
    if more:
        remarks.append(
            f"Only the first {rows:,} rows were looked at: values, nulls and extremes that come later were not seen."
        )
    if absent:
        shown = ", ".join(f"'{name}'" for name in sorted(absent))
        remarks.append(f"The metadata also name {shown}, which the table does not have.")
    return tuple(remarks)

"""Selects rows of gathered persons in bounded memory: person by person, and equal rows of a person once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.rows.persons.choice import (
    Column,
    Persons,
    Words,
    exceeds_bound,
    find_distinct_rows,
    find_least_ties,
    pack_rows,
    select_rows,
    tie_words,
)
from sklar.rows.persons.gather import Block, Gathering, Inside, assign_slices


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """The rule that selects rows of a person (`sklar.rows.persons.choice`).

    Attributes:
        bound: The most rows of a person.
        ordered: Whether the third column, after the two that identify the person, is their order.
        mixing: The secret.
        always: Whether the first row of a person matters even where all rows are used.
    """

    bound: int
    ordered: bool
    mixing: int
    always: bool = False

    def select(self, columns: Sequence[Column], ties: Words | None) -> Persons:
        """Select rows, by these tie words where the order is equal."""
        return select_rows((columns[0], columns[1]), columns[2] if self.ordered else None, ties, self.bound)

    def select_in_memory(self, columns: list[Column]) -> Persons:
        """Select rows that fit into memory."""
        keys = (columns[0], columns[1])
        ranked = self.always or self.ordered or exceeds_bound(keys, self.bound)
        return self.select(columns, tie_words(keys, columns[2:], self.mixing) if ranked else None)


def read_selected_rows(
    gathering: Gathering, parts: Sequence[int], choice: RowChoice
) -> Iterator[tuple[Persons, list[Column]]]:
    """Yield the selected rows of the persons of some parts, and their columns.

    The persons of a part, or of a slice of it, are processed at a time, so that they fit into memory.
    """
    slices = gathering.slices(gathering.rows_of(parts))
    if slices == 1:
        columns = gathering.columns(parts)
        yield choice.select_in_memory(columns), columns
        return
    slices *= 2  # by chance some slices are larger than others
    for number, rows in enumerate(gathering.rows_of_slices(parts, slices).tolist()):
        inside = _make_slice_filter(slices, number)
        again = gathering.slices(rows)
        if rows and again == 1:
            columns = gathering.columns(parts, inside)
            yield choice.select_in_memory(columns), columns
        elif rows:
            columns = _read_candidates(
                lambda at=inside: gathering.blocks(parts, at), again, choice, gathering.most_rows
            )
            yield choice.select(columns[:-1], columns[-1]), columns[:-1]


def _read_candidates(
    blocks: Callable[[], Iterator[Block]], slices: int, choice: RowChoice, most_rows: int
) -> list[Column]:
    """Return rows that may be selected, with their tie words, of persons with more rows than fit into memory.

    Equal rows are stored once, with their number. If there are still too many distinct ones, they are processed in
    slices by their content.
    """
    found = find_distinct_rows(blocks(), choice.mixing, most_rows, most_rows)
    if found is not None:
        return _with_ties(found, choice)
    best = list[Column]()
    for number in range(2 * slices):  # as above
        inside = (_keep_slice(block, 2 * slices, number, choice.mixing) for block in blocks())
        found = find_distinct_rows(inside, choice.mixing, most_rows)
        if found:
            some = _with_ties(found, choice)
            best = [np.concatenate(both) for both in zip(best, some, strict=True)] if best else some
            rows = choice.select(best[:-1], best[-1]).rows
            best = [column[rows] for column in best]
    return best


def _with_ties(distinct: Sequence[Column], choice: RowChoice) -> list[Column]:
    """Return the rows among equal ones that may be selected, and their tie words."""
    *columns, copies = distinct
    places, ties = find_least_ties(columns, copies, choice.mixing, choice.bound)
    return [*(column[places] for column in columns), ties]


def _keep_slice(block: Block, slices: int, number: int, mixing: int) -> list[Column]:
    """Return the rows of one slice by content: equal rows are in the same slice."""
    inside = pack_rows(block[2:], len(block[0]), mixing) % np.uint64(slices) == number
    return [column[inside] for column in block]


def _make_slice_filter(slices: int, number: int) -> Inside:
    return lambda block: assign_slices(block, slices) == number

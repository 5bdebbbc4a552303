"""The used rows of gathered persons, in bounded memory: persons apart first, and of one alone equal rows once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Mask
from sklar.rows.persons.choice import (
    Column,
    Persons,
    Words,
    distinct_rows,
    has_more,
    least_ties,
    row_words,
    tie_words,
    used_rows,
)
from sklar.rows.persons.gather import Block, Gathering, Inside, slice_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """Which rows of a person are used (`sklar.rows.persons.choice`).

    Attributes:
        bound: The most rows of a person.
        ordered: Whether the third column, after the two that tell the person, is their order.
        mixing: The secret.
        always: Whether it matters which row of a person comes first, even where all are used.
    """

    bound: int
    ordered: bool
    mixing: int
    always: bool = False

    def made(self, columns: Sequence[Column], ties: Words | None) -> Persons:
        """By these words for rows that the order does not tell apart."""
        return used_rows((columns[0], columns[1]), columns[2] if self.ordered else None, ties, self.bound)

    def at_once(self, columns: list[Column]) -> Persons:
        """Of rows that fit into memory."""
        keys = (columns[0], columns[1])
        told = self.always or self.ordered or has_more(keys, self.bound)
        return self.made(columns, tie_words(keys, columns[2:], self.mixing) if told else None)


def chosen_rows(
    gathering: Gathering, parts: Sequence[int], choice: RowChoice
) -> Iterator[tuple[Persons, list[Column]]]:
    """The used rows of the persons of some parts, and all columns that are held of them.

    As many persons at a time as fit into memory: those of a part, or of a slice of it.
    """
    slices = gathering.slices(gathering.rows_of(parts))
    if slices == 1:
        columns = gathering.columns(parts)
        yield choice.at_once(columns), columns
        return
    slices *= 2  # by chance some have more than their share
    for number, rows in enumerate(gathering.rows_of_slices(parts, slices).tolist()):
        inside = _in_slice(slices, number)
        again = gathering.slices(rows)
        if rows and again == 1:
            columns = gathering.columns(parts, inside)
            yield choice.at_once(columns), columns
        elif rows:
            columns = _used_of_many(lambda at=inside: gathering.blocks(parts, at), again, choice, gathering.most_rows)
            yield choice.made(columns[:-1], columns[-1]), columns[:-1]


def _used_of_many(
    blocks: Callable[[], Iterator[Block]], slices: int, choice: RowChoice, most_rows: int
) -> list[Column]:
    """Of persons with more rows than fit into memory, those that may be used and their words as a last column.

    Equal rows are held once, with their number. If there are too many different ones even so, they are looked at slice
    by slice of what rows hold.
    """
    found = distinct_rows(blocks(), choice.mixing, most_rows, most_rows)
    if found is not None:
        return _with_ties(found, choice)
    best = list[Column]()
    for number in range(2 * slices):  # as above
        inside = (_only(block, _content_in(block, 2 * slices, number, choice.mixing)) for block in blocks())
        found = distinct_rows(inside, choice.mixing, most_rows)
        if found:
            some = _with_ties(found, choice)
            best = [np.concatenate(both) for both in zip(best, some, strict=True)] if best else some
            rows = choice.made(best[:-1], best[-1]).rows
            best = [column[rows] for column in best]
    return best


def _with_ties(distinct: Sequence[Column], choice: RowChoice) -> list[Column]:
    """The rows among equal ones that may be used, and their words."""
    *columns, copies = distinct
    places, ties = least_ties(columns, copies, choice.mixing, choice.bound)
    return [*(column[places] for column in columns), ties]


def _content_in(block: Block, slices: int, number: int, mixing: int) -> Mask:
    """Which rows fall into one of so many slices by what they hold: equal rows fall into the same one."""
    return row_words(block[2:], len(block[0]), mixing) % np.uint64(slices) == number


def _only(block: Block, rows: Mask) -> list[Column]:
    return [column[rows] for column in block]


def _in_slice(slices: int, number: int) -> Inside:
    return lambda block: slice_of(block, slices) == number

"""The selection of a person's rows: the first ones in their order; ties, and rows without order, by a keyed hash.

The hash is of the row's codes, its number among equal rows of the same person, the person, and a secret. So which rows
are used is a function of the secret, the person and the collection of that person's rows: never of their order in a
file, nor of other persons' rows. Without an order all choices of the same number of rows are equally likely, the
secret being random, and the choices of persons with the same rows are independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, Mask
from sklar.counting.blocks import Words, mix_bits

Column = npt.NDArray[Any]
NUMBER_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the numbers of equal rows (2^64 over the golden ratio), which separates them."""
COPIES_AT_ONCE = 1 << 22
"""Equal rows that are numbered at once, which bounds memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Persons:
    """Rows of whole persons.

    Attributes:
        rows: Places of the used rows, one person after the other; in their order, if there is one.
        sizes: Number of these rows of each person.
    """

    rows: Ints
    sizes: Ints

    @property
    def size_of_row(self) -> Ints:
        """For each of `rows`, the number of rows of its person."""
        return np.repeat(self.sizes, self.sizes)


def select_rows(keys: tuple[Words, Words], order: npt.NDArray[Any] | None, ties: Words | None, bound: int) -> Persons:
    """Select at most `bound` rows of each person.

    Args:
        keys: Two words a row, equal for rows of one person.
        order: A number a row; None for no order.
        ties: A word per row (`tie_words`) that orders rows of equal order. None keeps rows as they come: only where no
            person has more than `bound`, there is no order, and no result depends on one.
        bound: The most rows of a person.
    """
    place, first = _sort_by_person(keys)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(place)))
    if order is None and ties is None:
        return Persons(rows=place, sizes=sizes)
    person = np.cumsum(first) - 1
    columns = [column[place] for column in (ties, order) if column is not None]
    place = place[np.lexsort((*columns, person))]
    rank = np.arange(len(place)) - np.repeat(starts, sizes)
    return Persons(rows=place[rank < bound], sizes=np.minimum(sizes, bound))


def exceeds_bound(keys: tuple[Words, Words], bound: int) -> bool:
    """Return whether some person has more rows than the bound."""
    _, first = _sort_by_person(keys)
    return bool(np.diff(np.append(np.flatnonzero(first), len(first))).max(initial=0) > bound)


def tie_words(keys: tuple[Words, Words], codes: Sequence[npt.NDArray[Any]], mixing: int) -> Words:
    """Return a word a row from its codes, its number among equal rows of its person, the person, and a secret."""
    content = pack_rows(codes, len(keys[0]), mixing)
    place = np.lexsort((content, keys[1], keys[0]))
    first = _find_changes([keys[0][place], keys[1][place], content[place]])
    rows = np.arange(len(place))
    number = np.empty(len(place), dtype=np.uint64)
    number[place] = (rows - np.maximum.accumulate(np.where(first, rows, 0))).astype(np.uint64)
    return mix_bits(content ^ keys[0] ^ (number * NUMBER_FACTOR))


def find_distinct_rows(
    blocks: Iterable[Sequence[Column]], mixing: int, at_once: int, most: float = math.inf
) -> list[Column] | None:
    """Return the distinct rows of each person, and the number of each as a last column; no columns for no rows.

    The first two columns of a block identify the person. In addition to the distinct rows about `at_once` rows are in
    memory; None if there are more than `most` distinct ones.
    """
    found, held, rows = list[Column](), list[list[Column]](), 0
    for block in chain(blocks, [None]):
        if block is not None:
            held.append([*block, np.ones(len(block[0]), dtype=np.int64)])
            rows += len(block[0])
        if held and (block is None or rows > at_once):
            found = _merge_blocks([*([found] if found else []), *held], mixing)
            held, rows = [], 0
            if len(found[0]) > most:
                return None
    return found


def _merge_blocks(blocks: Sequence[Sequence[Column]], mixing: int) -> list[Column]:
    *columns, copies = [np.concatenate([block[at] for block in blocks]) for at in range(len(blocks[0]))]
    content = pack_rows(columns[2:], len(copies), mixing)
    place = np.lexsort((content, columns[1], columns[0]))
    starts = np.flatnonzero(_find_changes([columns[0][place], columns[1][place], content[place]]))
    return [*(column[place[starts]] for column in columns), np.add.reduceat(copies[place], starts)]


def find_least_ties(columns: Sequence[Column], copies: Ints, mixing: int, bound: int) -> tuple[Ints, Words]:
    """Return the `bound` least tie words of rows that stand for `copies` equal ones each: (places, words)."""
    content = pack_rows(columns[2:], len(copies), mixing) ^ columns[0]
    places, words = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)]
    few = np.flatnonzero(copies <= COPIES_AT_ONCE)
    cuts = np.flatnonzero(np.diff(np.cumsum(copies[few]) // COPIES_AT_ONCE)) + 1
    for some in np.split(few, cuts):
        place = np.repeat(some, copies[some])
        first = np.cumsum(copies[some]) - copies[some]
        number = np.arange(len(place)) - np.repeat(first, copies[some])
        found = mix_bits(content[place] ^ (number.astype(np.uint64) * NUMBER_FACTOR))
        order = np.lexsort((found, place))
        kept = order[number < bound]  # in this order the places are those of `number`
        places.append(place[kept])
        words.append(found[kept])
    for one in np.flatnonzero(copies > COPIES_AT_ONCE).tolist():
        least = np.zeros(0, dtype=np.uint64)
        for start in range(0, int(copies[one]), COPIES_AT_ONCE):
            number = np.arange(start, min(start + COPIES_AT_ONCE, int(copies[one])), dtype=np.uint64)
            least = np.sort(np.concatenate([least, mix_bits(content[one] ^ (number * NUMBER_FACTOR))]))[:bound]
        places.append(np.full(len(least), one))
        words.append(least)
    return np.concatenate(places), np.concatenate(words)


def pack_rows(codes: Sequence[npt.NDArray[Any]], rows: int, mixing: int) -> Words:
    """Return a word a row from its codes and a secret; equal rows have equal words."""
    words = np.full(rows, mixing, dtype=np.uint64)
    for column in codes:
        words = mix_bits(words ^ (_view_as_words(column) + NUMBER_FACTOR))
    return words


def _view_as_words(column: npt.NDArray[Any]) -> Words:
    return column.view(np.uint64) if column.dtype.itemsize == 8 else column.astype(np.uint64)


def _sort_by_person(keys: tuple[Words, Words]) -> tuple[Ints, Mask]:
    """Return the places of the rows, person by person, and where each person begins."""
    place = np.argsort(keys[0], kind="stable")
    first, second = keys[0][place], keys[1][place]
    same = _find_changes([first])
    if (_find_changes([first, second]) != same).any():  # two persons share the first word
        place = np.lexsort((keys[1], keys[0]))
        same = _find_changes([keys[0][place], keys[1][place]])
    return place, same


def _find_changes(columns: Sequence[Words]) -> Mask:
    """Return where some column differs from the row before."""
    begins = np.zeros(len(columns[0]), dtype=bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins

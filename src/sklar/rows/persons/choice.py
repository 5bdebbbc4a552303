"""Which rows of a person are used: the first ones in their order, ties and all others by a keyed hash of the row.

The hash is of the row's codes, its number among equal rows of the same person, the person, and a secret. So which rows
are used is a function of the secret, the person and the collection of that person's rows: never of their order in a
file, nor of anybody else's rows. Without an order every choice of so many rows is as likely as any other, the secret
being random, and persons with the same rows choose apart.
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
from sklar.counting.blocks import Words, mixed

Column = npt.NDArray[Any]
STEP = np.uint64(0x9E3779B97F4A7C15)
"""What sets the numbers of equal rows apart (2^64 over the golden ratio)."""
COPIES_AT_ONCE = 1 << 22
"""Of equal rows so many are told apart at once: what memory this takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Persons:
    """Rows of whole persons.

    Attributes:
        rows: Places of the used rows, one person after the other; in their order, if there is one.
        sizes: How many rows each person has among them.
    """

    rows: Ints
    sizes: Ints

    @property
    def size_of_row(self) -> Ints:
        """For each of `rows`, how many its person has."""
        return np.repeat(self.sizes, self.sizes)


def used_rows(keys: tuple[Words, Words], order: npt.NDArray[Any] | None, ties: Words | None, bound: int) -> Persons:
    """At most `bound` rows of each person.

    Args:
        keys: Two words a row, equal for rows of one person.
        order: A number a row; None for no order.
        ties: A word a row (`tie_words`), by which rows are told apart where the order does not. None keeps rows as they
            come: only where no person has more than `bound`, there is no order, and nothing depends on one.
        bound: The most rows of a person.
    """
    place, first = _by_person(keys)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(place)))
    if order is None and ties is None:
        return Persons(rows=place, sizes=sizes)
    person = np.cumsum(first) - 1
    columns = [column[place] for column in (ties, order) if column is not None]
    place = place[np.lexsort((*columns, person))]
    rank = np.arange(len(place)) - np.repeat(starts, sizes)
    return Persons(rows=place[rank < bound], sizes=np.minimum(sizes, bound))


def has_more(keys: tuple[Words, Words], bound: int) -> bool:
    """Whether some person has more rows than the bound."""
    _, first = _by_person(keys)
    return bool(np.diff(np.append(np.flatnonzero(first), len(first))).max(initial=0) > bound)


def tie_words(keys: tuple[Words, Words], codes: Sequence[npt.NDArray[Any]], mixing: int) -> Words:
    """A word a row from its codes, its number among equal rows of its person, the person, and a secret."""
    content = row_words(codes, len(keys[0]), mixing)
    place = np.lexsort((content, keys[1], keys[0]))
    first = _begins([keys[0][place], keys[1][place], content[place]])
    rows = np.arange(len(place))
    number = np.empty(len(place), dtype=np.uint64)
    number[place] = (rows - np.maximum.accumulate(np.where(first, rows, 0))).astype(np.uint64)
    return mixed(content ^ keys[0] ^ (number * STEP))


def distinct_rows(
    blocks: Iterable[Sequence[Column]], mixing: int, at_once: int, most: float = math.inf
) -> list[Column] | None:
    """The different rows of each person, and how many there are of each as a last column; no columns for no rows.

    The first two columns of a block tell the person. Besides the different ones about `at_once` rows are held; None
    where there are more than `most` different ones.
    """
    found, held, rows = list[Column](), list[list[Column]](), 0
    for block in chain(blocks, [None]):
        if block is not None:
            held.append([*block, np.ones(len(block[0]), dtype=np.int64)])
            rows += len(block[0])
        if held and (block is None or rows > at_once):
            found = _merged([*([found] if found else []), *held], mixing)
            held, rows = [], 0
            if len(found[0]) > most:
                return None
    return found


def _merged(blocks: Sequence[Sequence[Column]], mixing: int) -> list[Column]:
    *columns, copies = [np.concatenate([block[at] for block in blocks]) for at in range(len(blocks[0]))]
    content = row_words(columns[2:], len(copies), mixing)
    place = np.lexsort((content, columns[1], columns[0]))
    starts = np.flatnonzero(_begins([columns[0][place], columns[1][place], content[place]]))
    return [*(column[place[starts]] for column in columns), np.add.reduceat(copies[place], starts)]


def least_ties(columns: Sequence[Column], copies: Ints, mixing: int, bound: int) -> tuple[Ints, Words]:
    """For rows that stand for so many equal ones each, the `bound` least of their tie words: (places, words)."""
    content = row_words(columns[2:], len(copies), mixing) ^ columns[0]
    places, words = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)]
    few = np.flatnonzero(copies <= COPIES_AT_ONCE)
    cuts = np.flatnonzero(np.diff(np.cumsum(copies[few]) // COPIES_AT_ONCE)) + 1
    for some in np.split(few, cuts):
        place = np.repeat(some, copies[some])
        first = np.cumsum(copies[some]) - copies[some]
        number = np.arange(len(place)) - np.repeat(first, copies[some])
        found = mixed(content[place] ^ (number.astype(np.uint64) * STEP))
        order = np.lexsort((found, place))
        kept = order[number < bound]  # in this order the places are those of `number`
        places.append(place[kept])
        words.append(found[kept])
    for one in np.flatnonzero(copies > COPIES_AT_ONCE).tolist():
        least = np.zeros(0, dtype=np.uint64)
        for start in range(0, int(copies[one]), COPIES_AT_ONCE):
            number = np.arange(start, min(start + COPIES_AT_ONCE, int(copies[one])), dtype=np.uint64)
            least = np.sort(np.concatenate([least, mixed(content[one] ^ (number * STEP))]))[:bound]
        places.append(np.full(len(least), one))
        words.append(least)
    return np.concatenate(places), np.concatenate(words)


def row_words(codes: Sequence[npt.NDArray[Any]], rows: int, mixing: int) -> Words:
    """A word a row from its codes and a secret; equal rows have equal words."""
    words = np.full(rows, mixing, dtype=np.uint64)
    for column in codes:
        words = mixed(words ^ (_bits(column) + STEP))
    return words


def _bits(column: npt.NDArray[Any]) -> Words:
    return column.view(np.uint64) if column.dtype.itemsize == 8 else column.astype(np.uint64)


def _by_person(keys: tuple[Words, Words]) -> tuple[Ints, Mask]:
    """Places of the rows, person after person, and where in them each person begins."""
    place = np.argsort(keys[0], kind="stable")
    first, second = keys[0][place], keys[1][place]
    same = _begins([first])
    if (_begins([first, second]) != same).any():  # two persons share the first word
        place = np.lexsort((keys[1], keys[0]))
        same = _begins([keys[0][place], keys[1][place]])
    return place, same


def _begins(columns: Sequence[Words]) -> Mask:
    """Where some column differs from the row before."""
    begins = np.zeros(len(columns[0]), dtype=bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins

"""Persons chosen from more than are wanted, so that all their rows together are as the model tells.

Rows drawn one after the other drift: what each step is off adds up. So persons are replaced by others, one at a time,
as long as that brings counts of first rows and of steps, in which each person has a vote as when they were measured,
nearer to those that the models of these tables expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.protocol import Codes
from sklar.sample.complete import codes_of
from sklar.sample.decode import SampledTable
from sklar.schema.columns import Column
from sklar.schema.persons.linked import LinkedTable

Law = Callable[[str, int], tuple[SampledTable, float]]
"""Draws so many rows of one of the tables that tell persons, and tells how many independent ones they are worth."""

LAW_ROWS = 40_000
"""Rows drawn of each table to tell what is expected of it."""
SINGLE_GROUPS, PAIR_GROUPS = 40, 10
"""Most groups of a column by itself, and in a pair."""
MOST_PAIRS = 300
"""Pairs of columns that are counted of a table; of more a random choice."""
SOFT = 4.0
"""Added to what is expected where errors are divided by it: the smallest cells do not rule."""
NO_CELL = -np.ones(1)
"""What is expected in the first cell of each table, which fills up lines and does not matter."""
VISITS, TRIES = 4, 12
"""Times that each person may be replaced, and how many others compete each time: more bring single rows no nearer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowsOf:
    """Rows of one of the tables that tell persons.

    Attributes:
        table: Which one.
        values: Its columns.
        person: For each row whose it is.
    """

    table: LinkedTable
    values: SampledTable
    person: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TalliedRows:
    """Rows as cells of the columns and pairs that are counted.

    Attributes:
        cells: A line for each row, and in it a cell for each column or pair.
        votes: What each row counts: a person's rows of one table share a vote.
        person: For each row whose it is.
        expected: Votes that each cell should have; -1 in cells that do not matter.
    """

    cells: Codes
    votes: Floats
    person: Ints
    expected: Floats


def choose_persons(
    rows: Sequence[RowsOf], drawn: int, wanted: int, fewest: int, law: Law, rng: np.random.Generator
) -> Ints:
    """Which persons are kept of those that were drawn.

    Args:
        rows: Those of each table that tells persons, in order; the first one has a row for each person.
        drawn: How many persons were drawn, in an order that tells nothing.
        wanted: How many are kept.
        fewest: The smallest number of rows of a person.
        law: Draws what is expected of the tables.
        rng: Source of the choice.
    """
    from sklar.model.kernels import swap_persons

    told = [law(one.table.name, LAW_ROWS)[0] for one in rows]
    numbers = told[0][rows[0].table.more].data
    # Each table asks for one more row of a person than the one before it.
    votes = [wanted * float(np.mean(numbers >= fewest + place)) for place in range(len(rows))]
    whole = _together([_count(*known, rng) for known in zip(rows, told, votes, strict=True)])
    chosen = np.arange(wanted)
    visits = np.concatenate([rng.permutation(wanted) for _ in range(VISITS)])
    tried = rng.integers(0, drawn, (len(visits), TRIES))
    starts = np.searchsorted(whole.person, np.arange(drawn + 1))
    weight = np.where(whole.expected < 0, 0.0, 1.0 / (whole.expected + SOFT))
    swap_persons(whole.cells, whole.votes, starts, -whole.expected, weight, chosen, visits, tried)
    return chosen


def _count(rows: RowsOf, told: SampledTable, votes: float, rng: np.random.Generator) -> TalliedRows:
    """Cells of the rows of a table, and what is expected in them if persons have so many votes in it."""
    columns = rows.table.columns
    codes = {
        name: (codes_of(columns[name], rows.values[name]), codes_of(columns[name], told[name])) for name in columns
    }
    groups = {
        most: {name: _groups(column, codes[name][1], most) for name, column in columns.items()}
        for most in (SINGLE_GROUPS, PAIR_GROUPS)
    }
    cells: list[Ints] = []
    expected: list[Floats] = [NO_CELL]
    for names, lookups in _counted(rows.table, groups[SINGLE_GROUPS], groups[PAIR_GROUPS], rng):
        own, model, size = np.zeros(len(rows.person), dtype=np.int64), np.zeros(LAW_ROWS, dtype=np.int64), 1
        for name, lookup in zip(names, lookups, strict=True):
            kinds = int(lookup.max()) + 1
            own, model = (before * kinds + lookup[at] for before, at in zip((own, model), codes[name], strict=True))
            size *= kinds
        cells.append(own + sum(map(len, expected)))
        expected.append(np.bincount(model, minlength=size).astype(np.float64) * (votes / LAW_ROWS))
    person = rows.person
    shared = 1.0 / np.bincount(person)[person]
    return TalliedRows(
        cells=np.stack(cells, axis=1).astype(np.int32), votes=shared, person=person, expected=np.concatenate(expected)
    )


def _counted(
    table: LinkedTable, single: Mapping[str, Ints], paired: Mapping[str, Ints], rng: np.random.Generator
) -> Iterator[tuple[tuple[str, ...], tuple[Ints, ...]]]:
    """Columns, and pairs that are not known before a row is drawn, with the groups of their codes."""
    for name in table.columns:
        yield (name,), (single[name],)
    pairs = [pair for pair in combinations(table.columns, 2) if not table.known.issuperset(pair)]
    if len(pairs) > MOST_PAIRS:
        pairs = [pairs[at] for at in rng.choice(len(pairs), MOST_PAIRS, replace=False)]
    for one, other in pairs:
        yield (one, other), (paired[one], paired[other])


def _groups(column: Column, codes: Ints, most: int) -> Ints:
    """For each code of a column its group: of about the same number of rows where codes have an order, else codes of
    few rows share one. Values that are no number stay apart."""
    shares = np.bincount(codes, minlength=column.size) / len(codes)
    values = column.value_cells
    if column.size <= most:
        return np.arange(column.size)
    if not column.ordered:
        rank = np.empty(column.size, dtype=np.int64)
        rank[np.argsort(-shares, kind="stable")] = np.arange(column.size)
        return np.minimum(rank, most - 1)
    middle = np.cumsum(shares[:values]) - shares[:values] / 2
    found = np.append(np.minimum(middle * most, most - 1).astype(np.int64), most + np.arange(column.size - values))
    return np.unique(found, return_inverse=True)[1].ravel()


def _together(parts: Sequence[TalliedRows]) -> TalliedRows:
    """All tables as one, person by person; shorter lines are filled with a cell of which nothing is expected."""
    width, start = max(part.cells.shape[1] for part in parts), 0
    cells: list[Codes] = []
    for part in parts:
        filled = np.zeros((len(part.cells), width), dtype=np.int32)
        filled[:, : part.cells.shape[1]] = part.cells
        cells.append(filled + start)
        start += len(part.expected)
    person = np.concatenate([part.person for part in parts])
    order = np.argsort(person, kind="stable")
    return TalliedRows(
        cells=np.concatenate(cells)[order],
        votes=np.concatenate([part.votes for part in parts])[order],
        person=person[order],
        expected=np.concatenate([part.expected for part in parts]),
    )

"""Select persons from more candidates, so that the counts of all their rows match the model's expectation.

Rows drawn one after the other drift, since the errors of the steps accumulate. So persons are swapped for others, one
at a time, as long as that brings counts of first rows and of transitions, in which each person has one vote as in the
measurements, nearer to their expectation under the models of these views.
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

ViewSampler = Callable[[str, int], tuple[SampledTable, float]]
"""Draws a number of rows of the named view, and returns them with their effective sample size."""

EXPECTATION_ROWS = 40_000
"""Rows drawn of each view to estimate its expected counts."""
SINGLE_GROUPS, PAIR_GROUPS = 40, 10
"""Maximum number of groups of a column by itself, and in a pair."""
MAX_COUNTED_PAIRS = 300
"""Maximum number of pairs of columns that are counted per view; of more a random choice."""
EXPECTED_OFFSET = 4.0
"""Added to expected counts in the weights of squared errors, so that the smallest cells do not dominate."""
PADDING_CELL = -np.ones(1)
"""Expected count of the first cell of each view, which pads lines and has no weight."""
SWAP_ROUNDS, SWAP_CANDIDATES = 4, 12
"""Times that each person may be swapped, and candidates each time: more do not improve single rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowsOf:
    """Rows of one view of longitudinal data.

    Attributes:
        table: The view.
        values: Its columns.
        person: The person of each row.
    """

    table: LinkedTable
    values: SampledTable
    person: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TalliedRows:
    """Rows as cells of the columns and pairs that are counted.

    Attributes:
        cells: One line per row, with a cell for each column or pair.
        votes: Weight of each row: a person's rows of one view share one vote.
        person: The person of each row.
        expected: Expected votes of each cell; -1 in padding cells.
    """

    cells: Codes
    votes: Floats
    person: Ints
    expected: Floats


def choose_persons(
    rows: Sequence[RowsOf], drawn: int, wanted: int, fewest: int, draw_view: ViewSampler, rng: np.random.Generator
) -> Ints:
    """Return the persons that are kept of those that were drawn.

    Args:
        rows: The rows of each view, in order; the first view has a row for each person.
        drawn: Number of persons drawn, in random order.
        wanted: Number of persons to keep.
        fewest: The smallest number of rows of a person.
        draw_view: Draws rows of the views, for their expected counts.
        rng: Source of randomness.
    """
    from sklar.model.kernels import swap_persons

    samples = [draw_view(one.table.name, EXPECTATION_ROWS)[0] for one in rows]
    numbers = samples[0][rows[0].table.more].data
    # Each view needs one more row of a person than the one before it.
    votes = [wanted * float(np.mean(numbers >= fewest + place)) for place in range(len(rows))]
    whole = _together([_count(*known, rng) for known in zip(rows, samples, votes, strict=True)])
    chosen = np.arange(wanted)
    visits = np.concatenate([rng.permutation(wanted) for _ in range(SWAP_ROUNDS)])
    tried = rng.integers(0, drawn, (len(visits), SWAP_CANDIDATES))
    starts = np.searchsorted(whole.person, np.arange(drawn + 1))
    weight = np.where(whole.expected < 0, 0.0, 1.0 / (whole.expected + EXPECTED_OFFSET))
    swap_persons(whole.cells, whole.votes, starts, -whole.expected, weight, chosen, visits, tried)
    return chosen


def _count(rows: RowsOf, sample: SampledTable, votes: float, rng: np.random.Generator) -> TalliedRows:
    """Return the cells of the rows of a view, and their expected counts if persons have `votes` votes in it."""
    columns = rows.table.columns
    codes = {
        name: (codes_of(columns[name], rows.values[name]), codes_of(columns[name], sample[name])) for name in columns
    }
    groups = {
        most: {name: _groups(column, codes[name][1], most) for name, column in columns.items()}
        for most in (SINGLE_GROUPS, PAIR_GROUPS)
    }
    cells: list[Ints] = []
    expected: list[Floats] = [PADDING_CELL]
    for names, lookups in _counted(rows.table, groups[SINGLE_GROUPS], groups[PAIR_GROUPS], rng):
        own, model, size = np.zeros(len(rows.person), dtype=np.int64), np.zeros(EXPECTATION_ROWS, dtype=np.int64), 1
        for name, lookup in zip(names, lookups, strict=True):
            kinds = int(lookup.max()) + 1
            own, model = (before * kinds + lookup[at] for before, at in zip((own, model), codes[name], strict=True))
            size *= kinds
        cells.append(own + sum(map(len, expected)))
        expected.append(np.bincount(model, minlength=size).astype(np.float64) * (votes / EXPECTATION_ROWS))
    person = rows.person
    shared = 1.0 / np.bincount(person)[person]
    return TalliedRows(
        cells=np.stack(cells, axis=1).astype(np.int32), votes=shared, person=person, expected=np.concatenate(expected)
    )


def _counted(
    table: LinkedTable, single: Mapping[str, Ints], paired: Mapping[str, Ints], rng: np.random.Generator
) -> Iterator[tuple[tuple[str, ...], tuple[Ints, ...]]]:
    """Yield columns, and pairs that are not known before a row is drawn, with the groups of their codes."""
    for name in table.columns:
        yield (name,), (single[name],)
    pairs = [pair for pair in combinations(table.columns, 2) if not table.known.issuperset(pair)]
    if len(pairs) > MAX_COUNTED_PAIRS:
        pairs = [pairs[at] for at in rng.choice(len(pairs), MAX_COUNTED_PAIRS, replace=False)]
    for one, other in pairs:
        yield (one, other), (paired[one], paired[other])


def _groups(column: Column, codes: Ints, most: int) -> Ints:
    """Return the group of each code of a column: of about equal numbers of rows if ordered, else rare codes share one.

    Values that are not numbers stay apart.
    """
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
    """Combine all views, person by person; shorter lines are padded with a cell without weight."""
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

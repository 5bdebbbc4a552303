"""Released tables with the groups that they count, and the same tables of rows drawn from a model.

A release does not say which codes its cells hold: the method asked for that. So the method is run once more on the
recorded releases, at no cost, until it has asked for the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Floats, Ints
from sklar.inference.fitted import Fitted
from sklar.methods.registry import find_method
from sklar.model.margins.units import units_to_seek
from sklar.model.pairs.interactions import centred
from sklar.model.protocol import Codes
from sklar.release.door import Interaction, PairTables, RecodedTable, Table
from sklar.release.features import Feature
from sklar.release.replay import AskedTable, ReplayDoor
from sklar.release.scores import Lookup
from sklar.release.values import NoisyCounts, NoisyPairs, NoisySums, Recorded, Release, pair_cells
from sklar.schema.table import Schema

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedTable:
    """One released table of counts, or the interactions of one.

    Attributes:
        label: What its step is called.
        columns: Positions of its columns among the modelled ones.
        lookups: For each, base code -> group.
        observed: What was released.
        noise: That on every cell.
        sigma: Standard deviation of the noise on one cell.
        interaction: Whether it is the part of the table that its margins do not tell.
    """

    label: str
    columns: tuple[int, ...]
    lookups: tuple[Lookup, ...]
    observed: Floats
    noise: Noise
    sigma: float
    interaction: bool = False

    @property
    def dimensions(self) -> int:
        """Numbers that the table tells freely: its cells, or the product of its groups less one."""
        shape = self.observed.shape
        return int(np.prod([size - 1 for size in shape] if self.interaction else shape))

    def told(self, table: Floats) -> Floats:
        """The part of a whole table that this release speaks about."""
        return centred(table) if self.interaction else table


@dataclass(slots=True, kw_only=True)
class DesignDoor(ReplayDoor):
    """Replays a fit up to its last release, and takes down what it settled on the way."""

    settled_values: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]], init=False)

    def settled(self, what: str, value: T) -> T:
        """Take down a decision of the method."""
        self.settled_values.setdefault(what, []).append(value)
        return value

    def _take(self, *arguments: Any, **named: Any) -> Any:
        releases = ReplayDoor._take(self, *arguments, **named)
        if len(self.steps) == len(self.recorded):
            raise LastReleaseError
        return releases


class LastReleaseError(Exception):
    """Ends a replay that has seen all it was run for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a method asked for, and what it settled from its releases on the way.

    Attributes:
        asked: The tables of each step; nothing for other steps.
        settled: Its decisions by name, in order.
        features: What was summed in steps that ask for sums, by their place.
    """

    asked: tuple[tuple[AskedTable, ...], ...]
    settled: dict[str, list[Any]]
    features: Mapping[int, Feature] = field(default_factory=dict[int, Feature])


def design_of(fitted: Fitted) -> Design:
    """Run the method on its own releases and take down what it asks for.

    Raises:
        SklarError: The releases are not what this version of the method asks for.
    """
    method = find_method(fitted.method)
    door = DesignDoor(
        schema=fitted.schema, allowance=fitted.allowance, unit=fitted.unit, recorded=fitted.recorded,
        rows=fitted.public_rows, prior=fitted.prior, strict=True,
    )  # fmt: skip
    with suppress(LastReleaseError):
        method.fit(door, method.stored_options(fitted.options), fitted.streams()[0])
    asked = (tuple(one for one in step.asked or () if isinstance(one, AskedTable)) for step in door.steps)
    steps = enumerate(door.steps)
    features = {place: one for place, step in steps for one in step.asked or () if isinstance(one, Feature)}
    return Design(asked=tuple(asked), settled=door.settled_values, features=features)


def released_tables(schema: Schema, design: Design, recorded: Sequence[Recorded]) -> tuple[ReleasedTable, ...]:
    """All tables that were released, in order, as far as rows of a model have their cells."""
    found = (
        table
        for step, asked in zip(recorded, design.asked, strict=True)
        for table in tables_of_step(schema, step.label, asked, step.releases)
    )
    return tuple(table for table in found if of_cells(table, schema))


def of_cells(table: ReleasedTable, schema: Schema) -> bool:
    """Whether a table counts cells that rows of a model have: not the total alone, nor numbers by their units."""
    search = units_to_seek(schema[schema.modelled[table.columns[0]]]) if len(table.columns) == 1 else None
    units = search is not None and np.array_equal(search.lookup, table.lookups[0])
    return table.observed.size > 1 and not units


def tables_of_step(
    schema: Schema, label: str, asked: Sequence[AskedTable], releases: Sequence[Release]
) -> Iterator[ReleasedTable]:
    """The tables that one step released, by what was asked for."""
    for request, release in zip(asked, releases, strict=True) if asked else ():
        for columns, lookups, observed in _parts(schema, request, release):
            assert isinstance(release, NoisyCounts | NoisyPairs | NoisySums)
            yield ReleasedTable(
                label=label,
                columns=columns,
                lookups=lookups,
                observed=observed.astype(np.float64),
                noise=release.noise,
                sigma=release.noise.std_on(release.resolution if isinstance(release, NoisySums) else 1.0),
                interaction=isinstance(request, Interaction),
            )


def _parts(
    schema: Schema, request: AskedTable, release: Release
) -> Iterator[tuple[tuple[int, ...], tuple[Lookup, ...], np.ndarray]]:
    """Columns, lookups and values of each table that one request was answered with."""
    at = {name: place for place, name in enumerate(schema.modelled)}
    columns = tuple(at[name] for name in request.columns)
    if isinstance(request, Table) and isinstance(release, NoisyCounts):
        whole = tuple(np.arange(schema.size(name), dtype=np.int32) for name in request.columns)
        yield columns, whole, release.counts
    elif isinstance(request, RecodedTable) and isinstance(release, NoisyCounts):
        yield columns, request.lookups, release.counts
    elif isinstance(request, Interaction) and isinstance(release, NoisySums):
        yield columns, request.lookups, release.values
    elif isinstance(request, PairTables) and isinstance(release, NoisyPairs):
        parts = np.split(release.counts, np.cumsum(pair_cells(release.sizes))[:-1])
        for (a, b), counts in zip(combinations(range(len(columns)), 2), parts, strict=True):
            shape = (release.sizes[a], release.sizes[b])
            yield (columns[a], columns[b]), (request.lookups[a], request.lookups[b]), counts.reshape(shape)


def mass_of_groups(lookup: Lookup | Ints, mass: Floats, size: int) -> Floats:
    """Probability of each group, from that of each base code."""
    return np.asarray(np.bincount(lookup, mass, size), dtype=np.float64)


def tables_of_rows(tables: Sequence[ReleasedTable], codes: Codes) -> list[Floats]:
    """The same tables of some rows, as shares of them."""
    groups: dict[tuple[int, int], np.ndarray] = {}

    def grouped(column: int, lookup: Lookup) -> np.ndarray:
        if (column, id(lookup)) not in groups:
            groups[column, id(lookup)] = lookup[codes[:, column]].astype(np.int64)
        return groups[column, id(lookup)]

    found: list[Floats] = []
    for table in tables:
        cell = np.zeros(len(codes), dtype=np.int64)
        for column, lookup, size in zip(table.columns, table.lookups, table.observed.shape, strict=True):
            cell = cell * size + grouped(column, lookup)
        counts = np.bincount(cell, minlength=table.observed.size) / max(len(codes), 1)
        found.append(counts.reshape(table.observed.shape))
    return found

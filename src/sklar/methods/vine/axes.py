"""The columns as the vine method sees them once their margins are released: axes on the u scale, and tables on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.accounting.noise import Noise
from sklar.methods.evidence import Measure
from sklar.model.axis import NO_NULLS, Scale, Tops, lay_out
from sklar.model.margins.margin import Margin
from sklar.model.pairs.grouping import Groups, base_lookup, every_cell, group_cells, groups_from, value_tops
from sklar.model.pairs.interactions import centre, with_margins
from sklar.model.pairs.tables import MeasuredTable
from sklar.release.counts import Counts, Interaction
from sklar.release.lookups import freeze_partition
from sklar.release.measurements import Measurement, Request
from sklar.schema.columns import Category, Column
from sklar.schema.table import Schema

MIN_GROUP_SIGMAS = 3.0
"""A group should hold this many standard deviations of the noise, or its counts say little."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineAxis:
    """One modelled column.

    Attributes:
        name: its name.
        scale: its margin laid out on [0, 1].
        coarse: the cell of its first public histogram that each margin cell lies in, or the nodes of a hierarchy, a row
            for each level; or None.
        ordered: whether the order of its codes has a meaning.
        numeric: whether its codes are cells of numbers.
        null: margin cell of null, at the upper end of the axis, or None.
    """

    name: str
    scale: Scale
    coarse: np.ndarray | None
    ordered: bool
    numeric: bool
    null: int | None = None

    @property
    def top(self) -> float:
        """Where values end and null begins; 1 if it has none."""
        return 1.0 if self.null is None else float(self.scale.edges[-2])

    @property
    def nested(self) -> bool:
        """Whether its labels are the leaves of a hierarchy."""
        return self.coarse is not None and self.coarse.ndim > 1

    def groups(self, most: int, sigma: float, rows: float, *, fine: bool = False) -> Groups:
        """Return at most `most` groups that exceed noise of standard deviation `sigma`.

        With `fine` any value with rows enough has one of its own, also where its public cell is light beside others.
        """
        least = MIN_GROUP_SIGMAS * sigma / rows
        return group_cells(self.scale, most, least, self.coarse, last_alone=self.null is not None, fine=fine)

    def every_cell(self, sigma: float, rows: float) -> Groups:
        """Return a group for each of its cells that exceeds noise of standard deviation `sigma`."""
        return every_cell(self.scale, MIN_GROUP_SIGMAS * sigma / rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TablePlan:
    """A table to be measured: axes, their groups and the noise."""

    columns: tuple[int, ...]
    groups: tuple[Groups, ...]
    noise: Noise


def lay_out_axes(schema: Schema, margins: Sequence[Margin], coarse: dict[str, np.ndarray]) -> tuple[VineAxis, ...]:
    """Return axes of all modelled columns.

    Args:
        schema: the public facts.
        margins: fitted margins, one per modelled column.
        coarse: by column, the public cell of every base code in the histogram the margin was first measured on.
    """
    axes: list[VineAxis] = []
    for margin in margins:
        column = schema[margin.column]
        branches = _branches(column, margin)
        null = len(margin.starts) - 1 if column.null_code == margin.starts[-1] else None
        scale = lay_out(
            margin.starts, margin.mass, margin.size, nominal=not column.ordered, branches=branches, null=null
        )
        cells = coarse[margin.column][margin.starts] if column.ordered and margin.column in coarse else None
        if branches:  # groups are nodes of the tree: cut where a node has rows enough, else its codes stay together
            cells = _levels(branches)
        axes.append(
            VineAxis(
                name=margin.column,
                scale=scale,
                coarse=cells,
                ordered=column.ordered,
                numeric=column.numeric,
                null=null,
            )
        )
    return tuple(axes)


def _branches(column: Column, margin: Margin) -> list[tuple[str, ...]]:
    """Return the nodes above each margin cell of a hierarchy; `other` and null are branches of their own."""
    known = column.branches if isinstance(column, Category) else ()
    if not known:
        return []
    return [known[code] if code < len(known) else (f"\0{code}",) for code in margin.starts.tolist()]


def _levels(branches: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Return the number of the node above each cell, a row for each level, the coarsest first; nodes end where their
    path does."""
    rows: list[np.ndarray] = []
    for depth in range(1, max(map(len, branches)) + 1):
        nodes = {path: number for number, path in enumerate(dict.fromkeys(path[:depth] for path in branches))}
        rows.append(np.array([nodes[path[:depth]] for path in branches]))
    return np.array(rows)


def request_tables(
    axes: Sequence[VineAxis], plans: Sequence[TablePlan], label: str, *, interactions: bool = False
) -> Measure | None:
    """Return the step that measures all planned tables, as counts or as interactions; None if there are none."""
    requests = requests_of(axes, plans, interactions=interactions)
    return Measure(label=label, requests=requests) if requests else None


def table_partitions(axes: Sequence[VineAxis]) -> Callable[[int, Groups], np.ndarray]:
    """Return a function (column, groups) -> partition of base codes; tables that share groups share the array."""
    partitions: dict[int, np.ndarray] = {}

    def partition(column: int, groups: Groups) -> np.ndarray:
        if id(groups) not in partitions:
            partitions[id(groups)] = freeze_partition(base_lookup(groups, axes[column].scale))
        return partitions[id(groups)]

    return partition


def requests_of(
    axes: Sequence[VineAxis], plans: Sequence[TablePlan], *, interactions: bool = False
) -> tuple[Request, ...]:
    """Return the requests for planned tables, as counts or as interactions."""
    partition, kind = table_partitions(axes), Interaction if interactions else Counts
    requests: list[Request] = []
    for plan in plans:
        own = tuple(partition(c, g) for c, g in zip(plan.columns, plan.groups, strict=True))
        query = kind(columns=tuple(axes[c].name for c in plan.columns), partitions=own)
        requests.append(Request(query=query, noise=plan.noise))
    return tuple(requests)


def read_tables(
    axes: Sequence[VineAxis], measured: Sequence[Measurement], rows: float, known: Mapping[int, Groups] | None = None
) -> tuple[MeasuredTable, ...]:
    """Return measured tables on the axes; the margins of an interaction of two columns are put in from the axes.

    Args:
        axes: The columns.
        measured: Tables of counts or interactions.
        rows: The (noisy) number of rows.
        known: Groups of columns that need not be made from partitions.
    """
    place = {axis.name: column for column, axis in enumerate(axes)}
    found: dict[tuple[int, bytes], Groups] = {}

    def groups_of(column: int, partition: np.ndarray) -> Groups:
        key = column, partition.tobytes()
        if key not in found:
            found[key] = groups_from(axes[column].scale, partition) if known is None else known[column]
        return found[key]

    tables: list[MeasuredTable] = []
    for one in measured:
        query = one.query
        assert isinstance(query, Counts | Interaction)
        columns = tuple(place[name] for name in query.columns)
        groups = tuple(groups_of(c, partition) for c, partition in zip(columns, query.partitions, strict=True))
        interaction = isinstance(query, Interaction)
        tables.append(
            MeasuredTable(
                columns=columns,
                groups=groups,
                counts=_add_margins(one.values, groups, rows) if interaction else one.values,
                sigma=one.sigma,
                content="interaction" if interaction else "counts",
                tops=_get_tops(axes, columns, groups),
            )
        )
    return tuple(tables)


def _add_margins(interactions: np.ndarray, groups: Sequence[Groups], rows: float) -> np.ndarray:
    if len(groups) != 2:
        return centre(interactions)
    return with_margins(interactions, rows, (groups[0].mass, groups[1].mass))


def _get_tops(axes: Sequence[VineAxis], columns: Sequence[int], groups: Sequence[Groups]) -> Tops:
    if len(columns) != 2:
        return NO_NULLS
    first, second = columns
    return value_tops((groups[0], groups[1]), (axes[first].top, axes[second].top))

"""Coarsening a column into groups of margin cells that hold enough rows for a noisy count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.model.axis import UNIFORM_MARGIN, Scale, Tops

LIGHT_CELL_FACTOR = 3.0
"""Multiple of the smallest mass of a group from which on light public cells are cut, where groups are to be fine: with
1, tables of Adult with its target have 1% more error of pairs at epsilon 1, with 3 half of that."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """A partition of a column's axis, at `edges`, into intervals made of whole margin cells.

    `lookup` is the group of each margin cell, in code order; groups are numbered along the axis.
    """

    lookup: np.ndarray
    edges: np.ndarray

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.edges) - 1

    @property
    def mass(self) -> np.ndarray:
        """Probability of each group under the margin."""
        return np.diff(self.edges)


def value_tops(groups: tuple[Groups, Groups], tops: Tops) -> Tops:
    """Return where the values of two axes end, if null is a group of its own there; else 1, as if it were a value."""
    first, second = (
        top if len(group.edges) > 2 and abs(group.edges[-2] - top) < UNIFORM_MARGIN else 1.0
        for group, top in zip(groups, tops, strict=True)
    )
    return first, second


def base_lookup(groups: Groups, scale: Scale) -> np.ndarray:
    """Return the group of every base code: what is handed to the Door."""
    return np.repeat(groups.lookup, scale.widths).astype(np.int32)


def groups_from(scale: Scale, partition: np.ndarray) -> Groups:
    """Return the groups behind a partition of base codes: the inverse of `base_lookup`."""
    lookup = partition[scale.starts].astype(np.int64)
    return _groups_along(scale, lookup[scale.order])


def _groups_along(scale: Scale, along: np.ndarray) -> Groups:
    """Return the groups whose numbers along the axis are given, cell by cell."""
    lookup = np.empty(len(along), dtype=np.int64)
    lookup[scale.order] = along
    edges = np.concatenate([[0.0], np.cumsum(np.bincount(along, np.diff(scale.edges)))])
    edges[-1] = 1.0
    return Groups(lookup=lookup, edges=np.minimum(edges, 1.0))


def group_cells(
    scale: Scale,
    most: int,
    least_mass: float,
    coarse: np.ndarray | None = None,
    *,
    last_alone: bool = False,
    fine: bool = False,
) -> Groups:
    """At most `most` groups of mass about `least_mass` or more: heavy cells alone, the rest in near-equal parts.

    With `coarse` (the public cell each margin cell lies in) light cells are merged along public cell borders and
    only heavy public cells are cut inside, so that the groups line up with the grid the margins were measured on. With
    several rows, the levels of a hierarchy from the coarsest on, each is cut along the next.
    The smallest mass of a group is usually 3 sigma / n. With `last_alone` the last cell, that of nulls, shares no
    group with values unless it is too light for one. With `fine` light public cells are cut inside too, where a cell
    would get a group of its own without them.
    """
    mass = np.diff(scale.edges)
    least_mass = max(least_mass, 2 * UNIFORM_MARGIN)  # an empty group would have no width on the axis
    levels = () if coarse is None else tuple(_consecutive(level[scale.order]) for level in np.atleast_2d(coarse))
    if last_alone and most > 2 and mass[-1] >= least_mass / 2 and mass[:-1].sum() >= least_mass / 2:
        inside = _along(mass[:-1], tuple(level[:-1] for level in levels), most - 1, least_mass, fine=fine)
        along = np.append(inside, inside[-1] + 1)
    else:
        along = _along(mass, levels, most, least_mass, fine=fine)
    return _groups_along(scale, along)


def every_cell(scale: Scale, least_mass: float) -> Groups:
    """Return a group for each cell of mass about `least_mass` or more; lighter ones share the group of a neighbour."""
    mass = np.diff(scale.edges)
    return _groups_along(
        scale, _merge_light(np.arange(len(mass)), mass, len(mass), max(least_mass, 2 * UNIFORM_MARGIN))
    )


def _along(
    mass: np.ndarray, levels: Sequence[np.ndarray], most: int, least_mass: float, *, fine: bool = False
) -> np.ndarray:
    """Group number of each cell along the axis, nested in public cells where they are known and coarser."""
    coarser = [level for level in levels if 0 < level[-1] < len(mass) - 1]
    if not coarser:
        return _partition(mass, most, least_mass)
    nested = _partition_nested(mass, coarser, most, least_mass)
    if not fine:
        return nested
    free = _partition(mass, most, LIGHT_CELL_FACTOR * least_mass)
    return _merge_light(_consecutive(nested * len(mass) + free), mass, most, least_mass)


def _consecutive(labels: np.ndarray) -> np.ndarray:
    """Number the runs of equal labels 0, 1, 2, ..."""
    return np.concatenate([[0], np.cumsum(labels[1:] != labels[:-1])])


def _partition(mass: np.ndarray, most: int, least_mass: float) -> np.ndarray:
    """Group number of each cell of an axis, non-decreasing."""
    heavy, target = _heavy_cells(mass, most, least_mass)
    labels = np.zeros(len(mass), dtype=np.int64)
    current, filled = 0, 0.0
    for i, weight in enumerate(mass):
        full = filled > 0 and (heavy[i] or filled + weight / 2 > target)
        current, filled = (current + 1, 0.0) if full else (current, filled)
        labels[i] = current
        filled += weight
        if heavy[i]:
            current, filled = current + 1, 0.0
    return _merge_light(_consecutive(labels), mass, most, least_mass)


def _heavy_cells(mass: np.ndarray, most: int, least_mass: float) -> tuple[np.ndarray, float]:
    """Return cells that get a group of their own, heaviest first, and the mass aimed at for the other groups."""
    heavy = np.zeros(len(mass), dtype=bool)
    while True:
        light = np.where(heavy, 0.0, mass)
        target = max(light.sum() / max(most - heavy.sum(), 1), least_mass)
        heaviest = int(np.argmax(light))
        if light[heaviest] <= target or heavy.sum() >= most - 1:
            return heavy, target
        heavy[heaviest] = True


def _merge_light(labels: np.ndarray, mass: np.ndarray, most: int, least_mass: float) -> np.ndarray:
    """Join groups below half of `least_mass` (or beyond `most`) to their lighter neighbour."""
    weight = np.bincount(labels, mass)
    while len(weight) > 1 and (len(weight) > most or weight.min() < least_mass / 2):
        i = int(np.argmin(weight))
        left = i == len(weight) - 1 or (i > 0 and weight[i - 1] <= weight[i + 1])
        first = i - 1 if left else i
        labels = np.where(labels > first, labels - 1, labels)
        weight = np.bincount(labels, mass)
    return labels


def _partition_nested(mass: np.ndarray, levels: Sequence[np.ndarray], most: int, least_mass: float) -> np.ndarray:
    """Group the public cells first, then spend the groups left over on cutting the heaviest of them."""
    parents = levels[0]
    outer = _partition(np.bincount(parents, mass), most, least_mass)
    label = outer[parents]
    parts = _spare_parts(mass, parents, outer, most, least_mass)
    result = np.zeros(len(mass), dtype=np.int64)
    first = 0
    for group, pieces in enumerate(parts):
        inside = label == group
        below = [_consecutive(level[inside]) for level in levels[1:]]
        inner = _along(mass[inside], below, int(pieces), least_mass) if pieces > 1 else np.zeros(inside.sum(), np.int64)
        result[inside] = first + inner
        first += int(inner.max()) + 1
    return result


def _spare_parts(mass: np.ndarray, parents: np.ndarray, outer: np.ndarray, most: int, least_mass: float) -> np.ndarray:
    """In how many parts to cut each outer group; only groups that are (nearly) one public cell are cut."""
    label = outer[parents]
    weight = np.bincount(label, mass)
    heaviest = np.zeros(len(weight))
    np.maximum.at(heaviest, outer, np.bincount(parents, mass))
    cuttable = np.where(heaviest >= 0.9 * weight, np.bincount(label), 1)
    parts = np.ones(len(weight), dtype=np.int64)
    for _ in range(max(most - len(weight), 0)):
        share = np.where(parts < cuttable, weight / parts, 0.0)
        i = int(np.argmax(share))
        if share[i] < max(1.5 / most, 2 * least_mass):
            break
        parts[i] += 1
    return parts

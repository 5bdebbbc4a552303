"""Linkability: does the release tell which record of one table belongs to which record of another?

The attacker knows some columns of a person from one source and other columns from another source. For each source it
finds the closest synthetic row; if both are the same row, it says the two records belong to one person. The attack is
made with real rows cut in two, and with hold-out rows (control); without the release a link is a random guess among as
many rows (baseline). Reference: Giomi et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sklar.disclosed.attacks.distances import nearest_points, points
from sklar.disclosed.attacks.result import AttackResult, Number
from sklar.disclosed.intervals import Estimate, clopper_pearson, exactly
from sklar.disclosed.metrics.table import ExactTable
from sklar.errors import UsageError

RELEASE_ROWS = 200_000
NO_HOLDOUT = "Without a hold-out it cannot be told how often people who are not in the table would be linked too."
Done = Callable[[str, float], None]
Sides = tuple[tuple[str, ...], tuple[str, ...]]


def link(
    real: ExactTable,
    synthetic: ExactTable,
    rng: np.random.Generator,
    *,
    holdout: ExactTable | None,
    targets: int = 1_000,
    columns: Sequence[Sequence[str]] | None = None,
    done: Done = lambda what, fraction: None,
) -> AttackResult:
    """Link `targets` people; `columns` are the columns of the two sources, by default every other column."""
    sides = _sides(real, columns)
    release = synthetic.sample(RELEASE_ROWS, rng)
    done("linking", 0.1)
    attack = _linked(real, release, real.sample(targets, rng), sides, rng)
    control = None if holdout is None else _linked(real, release, holdout.sample(targets, rng), sides, rng)
    number = Number(
        name="linked",
        title="share of people whose two records point to the same synthetic row",
        says="The closest synthetic row is found from each half of the columns alone.",
        attack=attack,
        baseline=exactly(1.0 / release.rows),
        control=control,
        trials=min(targets, real.rows),
    )
    return AttackResult(
        kind="linkability",
        title="Linkability",
        numbers=(number,),
        missing=() if holdout is not None else (NO_HOLDOUT,),
        settings={"targets": min(targets, real.rows), "columns": [list(side) for side in sides]},
    )


def _sides(real: ExactTable, columns: Sequence[Sequence[str]] | None) -> Sides:
    names = real.names
    if columns is None:
        if len(names) < 2:
            raise UsageError("linkability needs at least two columns.")
        return names[::2], names[1::2]
    if len(columns) != 2 or not all(columns) or set(columns[0]) & set(columns[1]):
        raise UsageError("columns must be two lists of different columns, those of either source.")
    unknown = [name for side in columns for name in side if name not in names]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not a modelled column of the schema.")
    return tuple(columns[0]), tuple(columns[1])


def _linked(
    real: ExactTable, release: ExactTable, targets: ExactTable, sides: Sides, rng: np.random.Generator
) -> Estimate:
    found: list[np.ndarray] = []
    for side in sides:
        # Among equally close rows the first one counts, so the rows are put into a new random order for each side.
        order = rng.permutation(release.rows)
        among, people = points(real, [release.take(order), targets], side)
        found.append(order[nearest_points(people, among)[1]])
    return clopper_pearson(int((found[0] == found[1]).sum()), targets.rows)

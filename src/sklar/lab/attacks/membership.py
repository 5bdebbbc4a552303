"""Monte Carlo membership inference: are synthetic rows closer to training rows than to fresh real ones?

For a target x and synthetic rows g_1, ..., g_n, with U_r(x) the rows within distance r,

    count(x) = mean_i 1[g_i in U_r(x)]    and    log(x) = mean_i 1[g_i in U_r(x)] * -log(d(x, g_i) + 1e-12),

d scaled into [0, 1]. An attacker who is shown m training rows and m rows of a hold-out calls the m with the highest
score training rows; the privacy score is the share of training rows it finds so, 1/2 if nothing is given away. r is
the median over the targets of the distance to the nearest synthetic row. Ties are broken at random. This is repeated
with fresh targets. Reference: Hilprecht, Haerterich, Bernau (2019); Gambs et al. (2021), section 4.6, whose formula
for log lacks the minus sign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.attacks.distances import diameter, hamming_histograms, nearest_points, packed, points, within_radii
from sklar.lab.attacks.result import AttackResult, Number
from sklar.lab.intervals import exactly, privacy_score_interval
from sklar.lab.tables.table import ExactTable, coarse_grid

ETA = 1e-12
FEW = 20
Distance = Literal["hamming", "euclidean", "both"]
Done = Callable[[str, float], None]
STATISTICS = {"log": "weighted by closeness", "count": "plain count"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Games:
    """Who is shown in each game: places of training and of control rows, one row of the array a game."""

    members: Ints
    others: Ints


def monte_carlo(
    real: ExactTable,
    synthetic: ExactTable,
    rng: np.random.Generator,
    *,
    holdout: ExactTable | None,
    targets: int | None = None,
    iterations: int = 50,
    distance: Distance = "both",
    cells: int = 128,
    done: Done = lambda what, fraction: None,
) -> AttackResult:
    """Run the attack.

    Args:
        real: The table the synthesizer learned from.
        synthetic: The table under attack.
        rng: Picks targets and breaks ties.
        holdout: Real rows the synthesizer never saw.
        targets: Rows of each kind an attacker is shown; 500 by default, or fewer if a table has fewer.
        iterations: Number of games.
        distance: "hamming" (columns that differ on a grid of `cells` cells), "euclidean", or "both".
        cells: Cells of a column of numbers for the Hamming distance.
        done: Told what is being done, and the fraction that is done.
    """
    _check(real, holdout, targets, iterations, distance, cells)
    assert holdout is not None
    size = min(500, real.rows, holdout.rows) if targets is None else targets
    games = draw_games(real.rows, holdout.rows, size, iterations, rng)
    numbers: list[Number] = []
    kinds = ("hamming", "euclidean") if distance == "both" else (distance,)
    for at, kind in enumerate(kinds):
        done(f"{kind} distances", at / len(kinds))
        scored = _hamming(real, synthetic, holdout, games, cells) if kind == "hamming" else _euclidean(
            real, synthetic, holdout, games
        )  # fmt: skip
        numbers += [_number(kind, name, *scores, games, rng) for name, scores in scored.items()]
    return AttackResult(
        kind="membership",
        title="Monte Carlo membership inference",
        numbers=tuple(numbers),
        settings={"targets": size, "iterations": iterations, "distance": distance, "cells": cells,
                  "synthetic_rows": synthetic.rows, "radius": "median of nearest distances"},
    )  # fmt: skip


def draw_games(members: int, others: int, size: int, iterations: int, rng: np.random.Generator) -> Games:
    """Fresh targets for every game, without repeats within a game."""
    return Games(
        members=np.array([rng.choice(members, size, replace=False) for _ in range(iterations)]),
        others=np.array([rng.choice(others, size, replace=False) for _ in range(iterations)]),
    )


def privacy_score(members: Floats, others: Floats, rng: np.random.Generator) -> float:
    """Share of members among the m rows with the highest scores, m of each; ties are broken at random."""
    scores = np.concatenate([members, others])
    order = np.lexsort((rng.random(len(scores)), -scores))[: len(members)]
    return float((order < len(members)).mean())


def _check(
    real: ExactTable, holdout: ExactTable | None, targets: int | None, iterations: int, distance: str, cells: int
) -> None:
    if holdout is None:
        raise UsageError(
            "membership cannot be measured without a hold-out: the attack asks whether synthetic rows are closer to "
            "the rows that were learned from than to real rows that were not. Give holdout= (--holdout)."
        )
    if distance not in ("hamming", "euclidean", "both"):
        raise UsageError(f"distance must be hamming, euclidean or both; found {distance!r}.")
    if iterations < 1 or cells < 2:
        raise UsageError("iterations must be at least 1, and cells at least 2.")
    least = min(real.rows, holdout.rows)
    wanted = FEW if targets is None else targets
    if wanted < FEW:
        raise UsageError(f"the attack needs at least {FEW} targets; found {wanted:,}.")
    if wanted > least:
        raise UsageError(
            f"the attack needs at least {wanted:,} rows in both the real and the hold-out table; the smaller table has "
            f"{least:,}. Give fewer targets (at least {FEW}), or more rows."
        )


def _hamming(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable, games: Games, cells: int
) -> dict[str, tuple[Floats, Floats]]:
    grid = coarse_grid(real.schema, cells)
    release = packed(synthetic, grid)
    tables = [hamming_histograms(packed(t, grid).take(rows), release) for t, rows in _used(real, holdout, games)]
    steps = np.arange(release.columns + 1) / release.columns
    nearest = [steps[(table > 0).argmax(axis=1)] for table in tables]
    weights = -np.log(steps + ETA)
    out = {name: (np.empty(games.members.shape), np.empty(games.others.shape)) for name in STATISTICS}
    for g, (one, two) in enumerate(_positions(games)):
        inside = steps <= np.median(np.concatenate([nearest[0][one], nearest[1][two]]))
        for side, (table, rows) in enumerate(zip(tables, (one, two), strict=True)):
            within = table[rows] * inside
            out["count"][side][g] = within.sum(axis=1)
            out["log"][side][g] = within @ weights
    return out


def _euclidean(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable, games: Games
) -> dict[str, tuple[Floats, Floats]]:
    release, *rest = points(real, [synthetic, *(t.take(rows) for t, rows in _used(real, holdout, games))])
    nearest = [nearest_points(targets, release)[0] for targets in rest]
    positions = _positions(games)
    radii = np.array([np.median(np.concatenate([nearest[0][a], nearest[1][b]])) for a, b in positions])
    order = np.argsort(radii, kind="stable")
    scale = diameter([release, *rest])
    found = [within_radii(targets, release, radii[order], scale, ETA) for targets in rest]
    at = np.argsort(order)
    out = {name: (np.empty(games.members.shape), np.empty(games.others.shape)) for name in STATISTICS}
    for g, pair in enumerate(positions):
        for side, rows in enumerate(pair):
            out["count"][side][g] = found[side][0][rows, at[g]]
            out["log"][side][g] = found[side][1][rows, at[g]]
    return out


def _used(real: ExactTable, holdout: ExactTable, games: Games) -> list[tuple[ExactTable, Ints]]:
    """The rows that occur in any game, each once."""
    return [(real, np.unique(games.members)), (holdout, np.unique(games.others))]


def _positions(games: Games) -> list[tuple[Ints, Ints]]:
    """For each game, the places of its rows among those that occur in any game."""
    members, others = np.unique(games.members), np.unique(games.others)
    return [
        (np.searchsorted(members, a), np.searchsorted(others, b))
        for a, b in zip(games.members, games.others, strict=True)
    ]


def _number(
    kind: str, statistic: str, members: Floats, others: Floats, games: Games, rng: np.random.Generator
) -> Number:
    scores = np.array([privacy_score(a, b, rng) for a, b in zip(members, others, strict=True)])
    halves = np.array([_control(b, rng) for b in others])
    rows = (len(np.unique(games.members)), len(np.unique(games.others)))
    return Number(
        name=f"{kind}_{statistic}",
        title=f"privacy score ({kind}, {STATISTICS[statistic]})",
        says="Share of training rows found among as many training rows as rows that nobody learned from.",
        attack=privacy_score_interval(scores, rows),
        baseline=exactly(0.5),
        control=privacy_score_interval(halves, (rows[1] // 2, rows[1] - rows[1] // 2)),
        ideal=0.5,
        trials=int(members.size),
    )


def _control(others: Floats, rng: np.random.Generator) -> float:
    """The same score with one half of the hold-out rows in the place of training rows: nobody learned from either."""
    order = rng.permutation(others)
    middle = len(order) // 2
    return privacy_score(order[:middle], order[middle : 2 * middle], rng)

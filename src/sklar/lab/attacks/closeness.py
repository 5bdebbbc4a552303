"""Closeness: is the release closer to the rows it was learned from than to fresh real rows?

**Monte Carlo membership inference.** For a target x and synthetic rows g_1, ..., g_n, with U_r(x) the rows within
distance r,

    count(x) = mean_i 1[g_i in U_r(x)]    and    log(x) = mean_i 1[g_i in U_r(x)] * -log(d(x, g_i) + 1e-12),

d scaled into [0, 1]. An attacker is shown m training rows and m hold-out rows and calls the m rows with the highest
score training rows. The privacy score is the share of training rows among them, 1/2 if nothing is revealed. r is the
median over the targets of the distance to the nearest synthetic row. Ties are broken at random. This is repeated with
fresh targets. Reference: Hilprecht, Haerterich, Bernau (2019); Gambs et al. (2021), section 4.6, whose formula for log
lacks the minus sign.

**Copies.** Exact copies are searched on the full public grid: the share of real rows that are in the synthetic table,
compared with the share of hold-out rows (control) and with the share found in a synthetic table with shuffled columns
(baseline). Near copies: the probability that a real row is closer to its closest synthetic row than a hold-out row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.attacks.distances import (
    MAX_RELEASE_ROWS,
    bound_diameter,
    hamming_histograms,
    nearest_points,
    pack_table,
    row_points,
    within_radii,
)
from sklar.lab.attacks.result import Attacked, AttackResult, Number, shuffle_columns
from sklar.lab.intervals import Estimate, clopper_pearson, delong_auc, exact_estimate, privacy_score_interval
from sklar.lab.metrics.copies import row_keys
from sklar.lab.tables.table import ExactTable, coarse_grid

LOG_OFFSET = 1e-12
"""Keeps the logarithm of a distance of 0 finite; the value is that of the references."""
MIN_TARGETS = 20
"""Minimum number of targets of each kind: with fewer, a privacy score has almost no resolution."""
DEFAULT_TARGETS = 500
"""Targets of each kind that an attacker is shown by default: more narrow the interval; time grows in proportion."""
COPY_TARGETS = 2_000
"""Rows of each table whose closest record is looked up: more narrow the interval; time grows in proportion."""
DISTANCE_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 1.0)
STATISTICS = {"log": "weighted by closeness", "count": "plain count"}
NO_HOLDOUT = (
    "Without a hold-out table it is unknown how many of these copies fresh real rows would have too, and whether real "
    "rows are closer to the release than rows it was not learned from."
)
Keys = npt.NDArray[Any]
Scores = dict[str, tuple[Floats, Floats]]
"""By statistic: the scores of members and of others, one row per game."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Games:
    """Rows shown in each game: positions of training rows and of control rows, one array row per game."""

    members: Ints
    others: Ints

    @property
    def used(self) -> tuple[Ints, Ints]:
        """Return the rows of either table that occur in any game, each once."""
        return np.unique(self.members), np.unique(self.others)

    @property
    def positions(self) -> list[tuple[Ints, Ints]]:
        """Return for each game the positions of its rows among those of `used`."""
        members, others = self.used
        both = zip(self.members, self.others, strict=True)
        return [(np.searchsorted(members, a), np.searchsorted(others, b)) for a, b in both]


def monte_carlo(
    tables: Attacked,
    *,
    targets: int | None = None,
    iterations: int = 50,
    distance: Literal["hamming", "euclidean", "both"] = "both",
    cells: int = 128,
) -> AttackResult:
    """Run Monte Carlo membership inference.

    Args:
        tables: The tables; a hold-out is needed.
        targets: Rows of each kind an attacker is shown; 500 by default, or fewer if a table has fewer.
        iterations: Number of games.
        distance: "hamming" (columns that differ on a grid of `cells` cells), "euclidean", or "both".
        cells: Cells of a column of numbers for the Hamming distance.
    """
    holdout = _require_holdout(tables, targets, distance)
    size = min(DEFAULT_TARGETS, tables.real.rows, holdout.rows) if targets is None else targets
    games = draw_games(tables.real.rows, holdout.rows, size, iterations, tables.rng)
    numbers: list[Number] = []
    kinds = ("hamming", "euclidean") if distance == "both" else (distance,)
    for at, kind in enumerate(kinds):
        tables.done(f"{kind} distances", at / len(kinds))
        shown = [table.take(rows) for table, rows in zip((tables.real, holdout), games.used, strict=True)]
        if kind == "hamming":
            scored = _score_by_hamming(tables, shown, games, cells)
        else:
            scored = _score_by_euclidean(tables, shown, games)
        numbers += [_report_score(kind, name, *scores, games, tables.rng) for name, scores in scored.items()]
    return AttackResult(
        kind="membership",
        title="Monte Carlo membership inference",
        numbers=tuple(numbers),
        settings={"targets": size, "iterations": iterations, "distance": distance, "cells": cells,
                  "synthetic_rows": tables.synthetic.rows, "radius": "median of nearest distances"},
    )  # fmt: skip


def _require_holdout(tables: Attacked, targets: int | None, distance: str) -> ExactTable:
    if tables.holdout is None:
        raise UsageError(
            "membership inference needs a hold-out table: the attack tests whether synthetic rows are closer to "
            "the training rows than to other real rows. Give holdout= (--holdout)."
        )
    if distance not in ("hamming", "euclidean", "both"):
        raise UsageError(f"distance must be hamming, euclidean or both; found {distance!r}.")
    rows, wanted = min(tables.real.rows, tables.holdout.rows), MIN_TARGETS if targets is None else targets
    if wanted < MIN_TARGETS:
        raise UsageError(f"the attack needs at least {MIN_TARGETS} targets; found {wanted:,}.")
    if wanted > rows:
        raise UsageError(
            f"the attack needs at least {wanted:,} rows in both the real and the hold-out table; the smaller table has "
            f"{rows:,}. Give fewer targets (at least {MIN_TARGETS}), or more rows."
        )
    return tables.holdout


def draw_games(members: int, others: int, size: int, iterations: int, rng: np.random.Generator) -> Games:
    """Draw fresh targets for every game, without repeats within a game."""
    drawn = [np.array([rng.choice(n, size, replace=False) for _ in range(iterations)]) for n in (members, others)]
    return Games(members=drawn[0], others=drawn[1])


def privacy_score(members: Floats, others: Floats, rng: np.random.Generator) -> float:
    """Return the share of members among the m rows with the highest scores; ties are broken at random."""
    scores = np.concatenate([members, others])
    order = np.lexsort((rng.random(len(scores)), -scores))[: len(members)]
    return float((order < len(members)).mean())


def _score_by_hamming(tables: Attacked, shown: list[ExactTable], games: Games, cells: int) -> Scores:
    grid = coarse_grid(tables.real.schema, cells)
    release = pack_table(tables.synthetic, grid)
    histograms = [hamming_histograms(pack_table(table, grid), release) for table in shown]
    steps = np.arange(release.columns + 1) / release.columns
    nearest = [steps[(histogram > 0).argmax(axis=1)] for histogram in histograms]
    weights = -np.log(steps + LOG_OFFSET)
    out = _make_empty_scores(games)
    for g, pair in enumerate(games.positions):
        inside = steps <= _compute_median_distance(nearest, pair)
        for side, rows in enumerate(pair):
            within = histograms[side][rows] * inside
            out["count"][side][g] = within.sum(axis=1)
            out["log"][side][g] = within @ weights
    return out


def _score_by_euclidean(tables: Attacked, shown: list[ExactTable], games: Games) -> Scores:
    release, *rest = row_points(tables.real, [tables.synthetic, *shown])
    nearest = [nearest_points(targets, release)[0] for targets in rest]
    positions = games.positions
    radii = np.array([_compute_median_distance(nearest, pair) for pair in positions])
    order = np.argsort(radii, kind="stable")
    scale = bound_diameter([release, *rest])
    found = [within_radii(targets, release, radii[order], scale, LOG_OFFSET) for targets in rest]
    at = np.argsort(order)
    out = _make_empty_scores(games)
    for g, pair in enumerate(positions):
        for side, rows in enumerate(pair):
            counts, logs = found[side]
            out["count"][side][g], out["log"][side][g] = counts[rows, at[g]], logs[rows, at[g]]
    return out


def _compute_median_distance(nearest: list[Floats], pair: tuple[Ints, Ints]) -> float:
    return float(np.median(np.concatenate([near[rows] for near, rows in zip(nearest, pair, strict=True)])))


def _make_empty_scores(games: Games) -> Scores:
    return {name: (np.empty(games.members.shape), np.empty(games.others.shape)) for name in STATISTICS}


def _report_score(
    kind: str, statistic: str, members: Floats, others: Floats, games: Games, rng: np.random.Generator
) -> Number:
    scores = np.array([privacy_score(a, b, rng) for a, b in zip(members, others, strict=True)])
    halves = np.array([_control_score(b, rng) for b in others])
    own, held = (len(rows) for rows in games.used)
    return Number(
        name=f"{kind}_{statistic}",
        title=f"privacy score ({kind}, {STATISTICS[statistic]})",
        says="Share of training rows recognized in a mix of training rows and hold-out rows of equal number.",
        attack=privacy_score_interval(scores, (own, held)),
        baseline=exact_estimate(0.5),
        control=privacy_score_interval(halves, (held // 2, held - held // 2)),
        ideal=0.5,
        trials=int(members.size),
    )


def _control_score(others: Floats, rng: np.random.Generator) -> float:
    """Return the privacy score with one half of the hold-out rows in place of the training rows."""
    order = rng.permutation(others)
    middle = len(order) // 2
    return privacy_score(order[:middle], order[middle : 2 * middle], rng)


def find_copies(tables: Attacked, *, targets: int = COPY_TARGETS) -> AttackResult:
    """Search for copies and near copies; `targets` rows of each table are looked up by distance."""
    numbers = _count_copies(tables)
    tables.done("distances to the closest record", 0.3)
    closest = tables.control(lambda holdout: _measure_closest_records(tables, holdout, targets))
    return AttackResult(
        kind="copies",
        title="Copies of real rows",
        numbers=(*numbers, *(() if closest is None else closest[:1])),
        missing=tables.missing(NO_HOLDOUT),
        settings={"targets": targets, "synthetic_rows": tables.synthetic.rows},
        details={} if closest is None else closest[1],
    )


def _count_copies(tables: Attacked) -> tuple[Number, Number]:
    release = np.unique(row_keys(tables.synthetic))
    blind = np.unique(row_keys(shuffle_columns(tables.synthetic, tables.synthetic.names, tables.rng)))
    mine, others = row_keys(tables.real), tables.control(row_keys)
    # Rows that occur once among real and hold-out rows together: by chance, both kinds are copied equally often.
    lone = _find_single_keys(mine) if others is None else np.setdiff1d(_find_single_keys(mine), others)
    lone_others = None if others is None else np.setdiff1d(_find_single_keys(others), mine)
    return (
        Number(
            name="exact_copies", title="share of real rows that are in the synthetic table",
            says="Two rows are equal if all columns are equal on the public grid.",
            attack=_estimate_share_in(release, mine), baseline=_estimate_share_in(blind, mine),
            control=None if others is None else _estimate_share_in(release, others), trials=len(mine),
        ),
        Number(
            name="lone_copies", title="share of unique real rows that are in the synthetic table",
            says="Only rows that occur once among real and hold-out rows; the control is such rows of the hold-out.",
            attack=_estimate_share_in(release, lone), baseline=_estimate_share_in(blind, lone),
            control=None if lone_others is None else _estimate_share_in(release, lone_others), trials=len(lone),
        ),
    )  # fmt: skip


def _find_single_keys(keys: Keys) -> Keys:
    values, counts = np.unique(keys, return_counts=True)
    return values[counts == 1]


def _estimate_share_in(release: Keys, keys: Keys) -> Estimate:
    return clopper_pearson(int(np.isin(keys, release).sum()), len(keys))


def _measure_closest_records(tables: Attacked, holdout: ExactTable, targets: int) -> tuple[Number, dict[str, Any]]:
    rng = tables.rng
    chosen = [tables.real.sample(targets, rng), holdout.sample(targets, rng)]
    release, *groups = row_points(tables.real, [tables.synthetic.sample(MAX_RELEASE_ROWS, rng), *chosen])
    mine, others = (nearest_points(group, release)[0] for group in groups)
    order = rng.permutation(others)
    middle = len(order) // 2
    number = Number(
        name="closest_record",
        title="chance that a real row lies closer to its closest synthetic row than a hold-out row",
        says="Distance to the closest record: numbers in units of their spread, labels equal or not.",
        attack=delong_auc(-mine, -others),
        baseline=exact_estimate(0.5),
        control=delong_auc(-order[:middle], -order[middle:]) if middle else None,
        ideal=0.5,
        trials=len(mine) + len(others),
    )
    found = {role: np.quantile(x, DISTANCE_QUANTILES).tolist() for role, x in (("real", mine), ("holdout", others))}
    return number, {"closest_distance_quantiles": {"levels": list(DISTANCE_QUANTILES), **found}}

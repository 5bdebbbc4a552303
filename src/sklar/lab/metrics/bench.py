"""The tables that metrics are measured on, and the random streams behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sklar.lab.learning.learners import QUICK
from sklar.lab.metrics.g_epsilon import chosen_targets
from sklar.lab.metrics.phik import phik_names
from sklar.lab.metrics.score import Score
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_grid

ENOUGH = 100
"""A hold-out of so many rows serves as a fresh sample; else the real table is cut in two."""
Pair = tuple[ExactTable, ExactTable]
Scores = Mapping[str, Score]
Stream = Callable[[str], np.random.Generator]
"""The generator of random numbers of a purpose; the same for all tables that are compared with each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to compute.

    Attributes:
        target: Column to predict; None for no downstream learning.
        learners: Names of learners.
        folds: Folds of the real table when there is no hold-out.
        weights: alpha, beta, gamma of G_eps+.
        targets: Columns that G_eps+ predicts; None for the target, or all columns without one.
    """

    target: str | None = None
    learners: tuple[str, ...] = QUICK
    folds: int = 3
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    targets: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """The tables of one measurement.

    Attributes:
        real: Rows the synthesizer learned from.
        holdout: Rows it did not see, if there are any.
        fresh: Two disjoint samples of real rows, on which the floors are measured.
        phik_columns: Columns whose phi_k is taken.
        targets: Columns that G_eps+ predicts.
        floors: Whether to measure what a fresh real sample would score, too.
        stream: The generator of a metric, by its name.
    """

    real: ExactTable
    synthetic: ExactTable
    holdout: ExactTable | None
    fresh: Pair
    grid: CoarseGrid
    settings: Settings
    phik_columns: tuple[str, ...]
    targets: tuple[str, ...]
    floors: bool
    stream: Stream

    def sample(self, pair: Pair, rows: int | None, rng: np.random.Generator) -> Pair:
        """Two tables, each of at most so many rows."""
        return pair if rows is None else (pair[0].sample(rows, rng), pair[1].sample(rows, rng))


def make_bench(
    real: ExactTable,
    synthetic: ExactTable,
    holdout: ExactTable | None,
    settings: Settings,
    stream: Stream,
    *,
    floors: bool = True,
) -> Bench:
    """The bench of a synthetic table."""
    enough = holdout is not None and holdout.rows >= ENOUGH
    fresh = (real, holdout) if enough and holdout is not None else real.halves(stream("fresh"))
    return Bench(
        real=real, synthetic=synthetic, holdout=holdout, fresh=fresh if min(f.rows for f in fresh) else (real, real),
        grid=coarse_grid(real.schema), settings=settings, floors=floors, stream=stream,
        phik_columns=phik_names(real.names, stream("phik_columns"), settings.target),
        targets=settings.targets or chosen_targets(real.names, settings.target, stream("targets")),
    )  # fmt: skip

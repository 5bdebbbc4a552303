"""The tables that metrics are measured on, and the random streams behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.lab.learning.learners import LEARNERS
from sklar.lab.metrics.correlations.phik import phik_names
from sklar.lab.metrics.g_epsilon import checked_measures, checked_weights, chosen_targets
from sklar.lab.metrics.ranges import RangeWorkload
from sklar.lab.metrics.score import Score
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_grid
from sklar.schema.table import Schema

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
        learners: Names of learners; None for those that each metric has by default.
        folds: Folds of the real table when there is no hold-out.
        weights: alpha, beta, gamma of G_eps+.
        targets: Columns that G_eps+ predicts; None for the target, or all columns without one.
        measures: Accuracies that G_eps+ compares; None for its own.
        ranges: The range queries over all columns.
        keys: What an intruder knows, for disclosure; None for the first columns, or all of them.
    """

    target: str | None = None
    learners: tuple[str, ...] | None = None
    folds: int = 3
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    targets: tuple[str, ...] | None = None
    measures: tuple[str, ...] | None = None
    ranges: RangeWorkload = field(default_factory=RangeWorkload)
    keys: tuple[str, ...] | None = None


def read_settings(
    schema: Schema,
    target: str | None,
    *,
    learners: Sequence[str] | str | None = None,
    folds: int = 3,
    weights: Sequence[float] = (1.0, 1.0, 1.0),
    targets: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    ranges: RangeWorkload | None = None,
) -> Settings:
    """What to compute, with unknown columns, learners and measures refused."""
    require_columns(schema, "target", [*([] if target is None else [target]), *(targets or ())])
    wanted = LEARNERS if learners == "all" else (learners,) if isinstance(learners, str) else learners
    unknown = [name for name in wanted or () if name not in LEARNERS]
    if unknown or (wanted is not None and not wanted):
        raise UsageError(f"there is no learner {unknown}; known are {', '.join(LEARNERS)}, or all.")
    return Settings(
        target=target, learners=None if wanted is None else tuple(wanted), folds=whole_number(folds, "folds", 2, 50),
        weights=checked_weights(weights), targets=tuple(targets) if targets else None,
        measures=None if measures is None else checked_measures(measures), ranges=ranges or RangeWorkload(),
    )  # fmt: skip


def with_keys(settings: Settings, schema: Schema, keys: Sequence[str] | None) -> Settings:
    """The settings with what an intruder knows; unknown columns are refused."""
    require_columns(schema, "key", keys or ())
    if settings.target is not None and settings.target in (keys or ()):
        raise UsageError(f"the target '{settings.target}' is what an intruder wants to learn: it cannot be a key, too.")
    return replace(settings, keys=tuple(keys) if keys else None)


def require_columns(schema: Schema, role: str, names: Sequence[str]) -> None:
    """Refuse names that are no modelled columns."""
    for name in names:
        if name not in schema.modelled:
            raise UsageError(f"the {role} '{name}' is not a modelled column of the schema.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """The tables of one measurement.

    Attributes:
        real: Rows the synthesizer learned from.
        holdout: Rows it did not see, if there are any.
        fresh: Two disjoint samples of real rows, on which the floors are measured.
        independent: Rows of the real table, each column drawn on its own: what is left where all dependence is lost.
        phik_columns: Columns whose phi_k is taken.
        targets: Columns that G_eps+ predicts.
        floors: Whether to measure what a fresh real sample would score, too.
        stream: The generator of a metric, by its name.
    """

    real: ExactTable
    synthetic: ExactTable
    holdout: ExactTable | None
    fresh: Pair
    independent: ExactTable | None
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
        independent=drawn_independently(real, synthetic.rows, stream("independent")) if floors else None,
        grid=coarse_grid(real.schema), settings=settings, floors=floors, stream=stream,
        phik_columns=phik_names(real.names, stream("phik_columns"), settings.target),
        targets=settings.targets or chosen_targets(real.names, settings.target, stream("targets")),
    )  # fmt: skip


def drawn_independently(table: ExactTable, rows: int, rng: np.random.Generator) -> ExactTable:
    """So many rows whose columns have the margins of the table, and nothing to do with each other."""
    codes, numbers = dict(table.codes), dict(table.numbers)
    for name in codes:
        drawn = rng.integers(0, table.rows, rows)
        codes[name] = codes[name][drawn]
        if name in numbers:
            numbers[name] = numbers[name][drawn]
    return replace(table, codes=codes, numbers=numbers)

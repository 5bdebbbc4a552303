"""The input of metrics: tables, settings and random streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.lab.learning.learners import LEARNERS
from sklar.lab.metrics.correlations.phik import choose_phik_columns
from sklar.lab.metrics.g_epsilon import check_measures, check_weights, choose_targets_to_predict
from sklar.lab.metrics.ranges import RangeWorkload
from sklar.lab.metrics.score import Score
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_grid
from sklar.schema.table import Schema

MIN_HOLDOUT_ROWS = 100
"""A hold-out with at least this number of rows is the fresh sample; else the real table is cut in two."""
Pair = tuple[ExactTable, ExactTable]
Scores = Mapping[str, Score]
Stream = Callable[[str], np.random.Generator]
"""Returns the random generator of a purpose; equal for all tables that are compared with each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the metrics.

    Attributes:
        target: Column to predict; None for no downstream learning.
        learners: Names of learners; None for the defaults of each metric.
        folds: Folds of the real table when there is no hold-out.
        weights: alpha, beta, gamma of G_eps+.
        targets: Columns that G_eps+ predicts; None for the target, or all columns without one.
        measures: Accuracies that G_eps+ compares; None for its defaults.
        ranges: The range queries over all columns.
        keys: Columns known to an intruder, for disclosure; None for the first columns, or all of them.
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
    """Read the settings; reject unknown columns, learners and measures."""
    require_columns(schema, "target", [*([] if target is None else [target]), *(targets or ())])
    wanted = LEARNERS if learners == "all" else (learners,) if isinstance(learners, str) else learners
    unknown = [name for name in wanted or () if name not in LEARNERS]
    if unknown or (wanted is not None and not wanted):
        raise UsageError(f"there is no learner {unknown}; choose from {', '.join(LEARNERS)}, or all.")
    return Settings(
        target=target, learners=None if wanted is None else tuple(wanted), folds=whole_number(folds, "folds", 2, 50),
        weights=check_weights(weights), targets=tuple(targets) if targets else None,
        measures=None if measures is None else check_measures(measures), ranges=ranges or RangeWorkload(),
    )  # fmt: skip


def set_keys(settings: Settings, schema: Schema, keys: Sequence[str] | None) -> Settings:
    """Set the columns known to an intruder; reject unknown columns."""
    require_columns(schema, "key", keys or ())
    if settings.target is not None and settings.target in (keys or ()):
        raise UsageError(f"the target '{settings.target}' cannot be a key: it is what an intruder wants to learn.")
    return replace(settings, keys=tuple(keys) if keys else None)


def require_columns(schema: Schema, role: str, names: Sequence[str]) -> None:
    """Reject names that are not modelled columns."""
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
        independent: Rows of the real table with each column drawn independently: the worst case of dependence.
        phik_columns: Columns whose phi_k is computed.
        targets: Columns that G_eps+ predicts.
        floors: Whether to also measure the score of a fresh real sample.
        stream: The random generator of a metric, by its name.
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
        """Subsample two tables to at most `rows` rows each."""
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
    """Prepare the input of metrics for a synthetic table."""
    if holdout is not None and holdout.rows >= MIN_HOLDOUT_ROWS:
        fresh = (real, holdout)
    else:
        fresh = real.halves(stream("fresh"))
    return Bench(
        real=real, synthetic=synthetic, holdout=holdout, fresh=fresh if min(f.rows for f in fresh) else (real, real),
        independent=draw_independently(real, synthetic.rows, stream("independent")) if floors else None,
        grid=coarse_grid(real.schema), settings=settings, floors=floors, stream=stream,
        phik_columns=choose_phik_columns(real.names, stream("phik_columns"), settings.target),
        targets=settings.targets or choose_targets_to_predict(real.names, settings.target, stream("targets")),
    )  # fmt: skip


def draw_independently(table: ExactTable, rows: int, rng: np.random.Generator) -> ExactTable:
    """Draw rows with the margins of the table and independent columns."""
    codes, numbers = dict(table.codes), dict(table.numbers)
    for name in codes:
        drawn = rng.integers(0, table.rows, rows)
        codes[name] = codes[name][drawn]
        if name in numbers:
            numbers[name] = numbers[name][drawn]
    return replace(table, codes=codes, numbers=numbers)

"""All metrics by name: description, requirements, computation and floor of each; and how they are measured.

A new metric is one file with its formula and its `About`, and one line here; `evaluate` and `compare` both use this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sklar.errors import MissingExtraError
from sklar.lab.learning import transfer as learning
from sklar.lab.learning.learners import DEFAULT_LEARNERS, one_thread
from sklar.lab.metrics import copies, detection, g_epsilon, k_marginal, ks, moments, queries, ranges, support, tvd
from sklar.lab.metrics.bench import Bench, Pair, Scores
from sklar.lab.metrics.correlations import kendall, phik, spearman
from sklar.lab.metrics.offices import coefficients, disclosure, propensity
from sklar.lab.metrics.score import About, Score, add_floor, not_applicable
from sklar.lab.tables.table import ExactTable, ordered_names

Need = Literal["target", "numbers", "values", "order", "eval"]
"""A target; a numeric column; a column with numbers, booleans or nulls; two ordered columns; the extra `eval`."""
Floor = Literal["root", "same", "own"]
"""How the score of two fresh real samples becomes a floor: scaled by the square root of the rows; unchanged; or the
metric computes its own floor."""
Find = Callable[[Bench, Pair, np.random.Generator, Scores], Score]
"""(bench, tables, random generator, scores of `after`) -> score; the tables are real and synthetic, or both fresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric.

    Attributes:
        about: Its description, better direction and grades.
        find: Computes it.
        floor: How its floor is determined.
        needs: Requirements without which it does not apply.
        rows: Maximum number of rows of each table.
        after: Metrics whose results it uses.
        dependence: Whether it measures dependence between columns, with independent columns as its worst case.
    """

    about: About
    find: Find
    floor: Floor
    needs: tuple[Need, ...] = ()
    rows: int | Callable[[Bench], int] | None = None
    after: tuple[str, ...] = ()
    dependence: bool = False


def measure(
    bench: Bench, names: Iterable[str] | None = None, *, done: Callable[[str, float], None] | None = None
) -> dict[str, Score]:
    """Compute the named metrics (all by default), each with its floor if wanted, or a reason why it does not apply.

    A value depends only on the tables, settings and streams of the bench, not on the other metrics or on whether floors
    are measured. Metrics that a named one uses are measured, too. `done` is called with the current metric and the
    fraction completed.
    """
    wanted = tuple(METRICS if names is None else names)
    needed = {name for one in wanted for name in (one, *METRICS[one].after)}
    order = [name for name in METRICS if name in needed]
    found: dict[str, Score] = {}
    fresh: dict[str, Score] = {}
    with one_thread():
        for at, name in enumerate(order):
            if done is not None:
                done(METRICS[name].about.title, at / len(order))
            found[name], fresh[name] = _measure_one(bench, METRICS[name], found, fresh)
    return {name: found[name] for name in wanted}


def _measure_one(bench: Bench, metric: Metric, found: Scores, fresh: Scores) -> tuple[Score, Score]:
    """Return the score, and that of two fresh real samples."""
    try:
        score, _ = _find_score(bench, metric, (bench.real, bench.synthetic), metric.about.name, found)
        if bench.independent is not None and metric.dependence and score.value is not None:
            alone = replace(bench, floors=False)
            apart, _ = _find_score(alone, metric, (bench.real, bench.independent), metric.about.name, found)
            score = replace(score, independent=apart.value)
        if not bench.floors or metric.floor == "own":
            return score, score if score.floor is None else replace(score, value=score.floor)
        floor, rows = _find_score(bench, metric, bench.fresh, f"{metric.about.name} floor", fresh)
    except MissingExtraError as error:
        missing = not_applicable(metric.about, str(error))
        return missing, missing
    return add_floor(score, floor, math.sqrt(rows / (score.rows or 1)) if metric.floor == "root" else 1.0), floor


def _find_score(bench: Bench, metric: Metric, tables: Pair, stream: str, before: Scores) -> tuple[Score, float]:
    """Compute a metric on two tables, and the common size of two equal tables with the same noise."""
    rng = bench.stream(stream)
    pair = bench.sample(tables, metric.rows(bench) if callable(metric.rows) else metric.rows, rng)
    return metric.find(bench, pair, rng, before), tvd.harmonic_mean(*(table.rows for table in pair))


def _from_tables(compute: Callable[[ExactTable, ExactTable], Score]) -> Find:
    return lambda bench, pair, rng, before: compute(*pair)


def _from_draws(compute: Callable[[ExactTable, ExactTable, np.random.Generator], Score]) -> Find:
    return lambda bench, pair, rng, before: compute(*pair, rng)


def _find_margins(ways: int) -> Find:
    def find(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
        fresh = bench.fresh if bench.floors and min(f.rows for f in bench.fresh) > 1 else None
        return tvd.margin_distance(*pair, bench.grid, ways, rng, fresh)

    return find


def _find_k_marginal(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    fresh = bench.fresh if bench.floors and min(table.rows for table in bench.fresh) > 1 else None
    return k_marginal.k_marginal(*pair, fresh)


def _score_rare_ranges(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    return ranges.rare_score(*pair, bench.grid, rng, min(bench.real.rows, ranges.MAX_RARE_RANGE_ROWS))


def _support_rows(bench: Bench) -> int:
    """Return a common number of rows for all tables, because the scores depend on it."""
    tables = (bench.real, bench.synthetic, *(table for table in bench.fresh if table.rows))
    return min(support.MAX_SUPPORT_ROWS, *(table.rows for table in tables))


def _find_precision(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    found = support.measure_support(*pair)
    return replace(found.precision, behind=found)


def _score_copies(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    found = copies.measure_copies(*pair, bench.fresh)
    return replace(found.score, behind=found)


def _find_learning(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    wanted = bench.settings
    if wanted.target is None:
        return not_applicable(learning.ABOUT, "no target was given.")
    held = None if bench.holdout is None else bench.holdout.sample(learning.MAX_LEARNING_ROWS, rng)
    found = learning.measure_transfer(
        *pair, wanted.target, wanted.learners or DEFAULT_LEARNERS, rng, holdout=held, folds=wanted.folds
    )
    return replace(found.score, behind=found)


def _find_disclosure(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    target = bench.settings.target
    if target is None or len(pair[0].names) < 2:
        return not_applicable(disclosure.DISCO, "no target was given, or it is the only column.")
    return disclosure.measure_disco(*pair, bench.grid, target, bench.settings.keys)


def _find_overlap(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    target = bench.settings.target
    if target is None:
        return not_applicable(coefficients.ABOUT, "no target was given.")
    return coefficients.interval_overlap(*pair, target)


def _find_g_epsilon(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    correlations, single = before["phik"].behind, before["tvd1"].value
    if correlations is None or single is None:
        return not_applicable(g_epsilon.PLUS, "it needs phi_k: pip install '.[eval]' in the folder of Sklar.")
    if min(table.rows for table in pair) < g_epsilon.MIN_G_EPSILON_ROWS or len(pair[0].names) < 2:
        why = f"it needs two columns and at least {g_epsilon.MIN_G_EPSILON_ROWS} rows of each table."
        return not_applicable(g_epsilon.PLUS, why)
    matrices, wanted = (correlations.real, correlations.synthetic), bench.settings
    found = g_epsilon.g_epsilon(
        matrices, single, pair, bench.targets, rng, weights=wanted.weights,
        learners=wanted.learners or g_epsilon.PAPER_LEARNERS, measures=wanted.measures or g_epsilon.DEFAULT_MEASURES,
    )  # fmt: skip
    return replace(found.score, behind=found)


METRICS: dict[str, Metric] = {
    "tvd1": Metric(about=tvd.describe_tvd(1), find=_find_margins(1), floor="own"),
    "tvd2": Metric(about=tvd.describe_tvd(2), find=_find_margins(2), floor="own", dependence=True),
    "tvd3": Metric(about=tvd.describe_tvd(3), find=_find_margins(3), floor="own", dependence=True),
    "k_marginal": Metric(about=k_marginal.ABOUT, find=_find_k_marginal, floor="own"),
    "real_rows_share": Metric(
        about=k_marginal.SHARE_ABOUT, find=_from_draws(k_marginal.real_rows_share), floor="own",
        rows=k_marginal.MAX_SHARE_ROWS,
    ),
    "ks": Metric(about=ks.ABOUT, find=_from_tables(ks.ks), floor="root", needs=("numbers",)),
    "moments": Metric(about=moments.ABOUT, find=_from_tables(moments.compare_moments), floor="root", needs=("values",)),
    "ks_all": Metric(about=ks.ALL, find=_from_tables(ks.ks_all), floor="root"),
    "spearman": Metric(
        about=spearman.ABOUT, find=_from_tables(spearman.spearman), floor="root", needs=("order",),
        rows=spearman.MAX_SPEARMAN_ROWS, dependence=True,
    ),
    "correlation_delta": Metric(
        about=spearman.DELTA, find=_from_tables(spearman.correlation_delta), floor="root",
        rows=spearman.MAX_SPEARMAN_ROWS,
    ),
    "kendall": Metric(
        about=kendall.ABOUT, find=_from_tables(kendall.kendall), floor="root", needs=("order",),
        rows=lambda bench: kendall.kendall_rows(len(ordered_names(bench.real.schema))), dependence=True,
    ),
    "phik": Metric(
        about=phik.ABOUT, find=lambda bench, pair, rng, before: phik.phik(*pair, bench.phik_columns), floor="root",
        needs=("eval",), rows=phik.MAX_PHIK_ROWS, dependence=True,
    ),
    "range_queries": Metric(
        about=queries.ABOUT, find=lambda bench, pair, rng, before: queries.range_score(*pair, bench.grid, rng),
        floor="root", needs=("order",), rows=queries.MAX_QUERY_ROWS,
    ),
    "rare_ranges": Metric(
        about=ranges.RARE_ABOUT, find=_score_rare_ranges, floor="root", needs=("order",),
        rows=ranges.MAX_RARE_RANGE_ROWS,
    ),
    "range_relative_error": Metric(
        about=ranges.RELATIVE, floor="root", rows=ranges.MAX_RANGE_ROWS,
        find=lambda bench, pair, rng, before: ranges.relative_score(*pair, bench.settings.ranges, rng),
    ),
    "range_absolute_error": Metric(
        about=ranges.ABSOLUTE, floor="root", rows=ranges.MAX_RANGE_ROWS, after=("range_relative_error",),
        find=lambda bench, pair, rng, before: ranges.absolute_score(before["range_relative_error"]),
    ),
    "alpha_precision": Metric(about=support.PRECISION, find=_find_precision, floor="same", rows=_support_rows),
    "beta_recall": Metric(
        about=support.RECALL, find=lambda bench, pair, rng, before: before["alpha_precision"].behind.recall,
        floor="same", rows=_support_rows, after=("alpha_precision",),
    ),
    "authenticity": Metric(about=support.AUTHENTICITY, find=_from_draws(support.measure_authenticity), floor="same"),
    "detection_linear": Metric(
        about=detection.LINEAR, find=_from_draws(detection.detect_linear), floor="same",
        rows=detection.MAX_DETECTION_ROWS,
    ),
    "detection_boosting": Metric(
        about=detection.BOOSTING, find=_from_draws(detection.detect_boosting), floor="same", needs=("eval",),
        rows=detection.MAX_DETECTION_ROWS,
    ),
    "copies": Metric(about=copies.ABOUT, find=_score_copies, floor="own"),
    "replicated_uniques": Metric(
        about=disclosure.UNIQUES, floor="same",
        find=lambda bench, pair, rng, before: disclosure.replicated_uniques(*pair, bench.settings.keys),
    ),
    "disco": Metric(about=disclosure.DISCO, find=_find_disclosure, floor="same", needs=("target",)),
    "pmse_ratio": Metric(
        about=propensity.ABOUT, find=_from_tables(propensity.measure_propensity), floor="same",
        rows=propensity.MAX_PROPENSITY_ROWS,
    ),
    "interval_overlap": Metric(
        about=coefficients.ABOUT, find=_find_overlap, floor="same", needs=("target",),
        rows=lambda bench: min(coefficients.MAX_REGRESSION_ROWS, bench.real.rows, bench.synthetic.rows),
    ),
    "learning": Metric(
        about=learning.ABOUT, find=_find_learning, floor="own", needs=("target", "eval"),
        rows=learning.MAX_LEARNING_ROWS,
    ),
    "g_epsilon_plus": Metric(
        about=g_epsilon.PLUS, find=_find_g_epsilon, floor="same", needs=("eval",), rows=g_epsilon.MAX_G_EPSILON_ROWS,
        after=("tvd1", "phik"),
    ),
    "g_epsilon": Metric(
        about=g_epsilon.PLAIN,
        find=lambda bench, pair, rng, before: g_epsilon.drop_margins(before["g_epsilon_plus"]),
        floor="same", needs=("eval",), rows=g_epsilon.MAX_G_EPSILON_ROWS, after=("tvd1", "phik", "g_epsilon_plus"),
    ),
}  # fmt: skip
QUICK = ("tvd1", "tvd2", "tvd3", "ks", "spearman", "range_queries", "copies")
"""Default metrics of a comparison; with a target, learning is added."""

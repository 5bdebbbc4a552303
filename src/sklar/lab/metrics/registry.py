"""All metrics by name: what each says and needs, how it is computed, where its floor comes from; and measuring them.

A new metric is one file with its formula and its `About`, and one line here; `evaluate` and `compare` both read this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sklar.errors import MissingExtraError
from sklar.lab.learning import transfer as learning
from sklar.lab.learning.learners import QUICK as QUICK_LEARNERS
from sklar.lab.learning.learners import one_thread
from sklar.lab.metrics import copies, detection, g_epsilon, ks, moments, queries, ranges, support, tvd
from sklar.lab.metrics.bench import Bench, Pair, Scores
from sklar.lab.metrics.correlations import kendall, phik, spearman
from sklar.lab.metrics.offices import coefficients, disclosure, propensity
from sklar.lab.metrics.score import About, Score, not_applicable, with_floor
from sklar.lab.tables.table import ExactTable, ordered_names

Need = Literal["target", "numbers", "values", "order", "eval"]
"""A named target; a column of numbers; one of numbers, booleans or nulls; two ordered columns; the extra `eval`."""
Floor = Literal["root", "same", "own"]
"""How the score of two fresh real samples becomes a floor: it falls as the square root of their rows; it is taken as it
is; or the metric knows its floor itself."""
Find = Callable[[Bench, Pair, np.random.Generator, Scores], Score]
"""From (bench, two tables, random numbers, scores of `after`); the tables are real and synthetic, or both fresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric.

    Attributes:
        about: What it says, which way is better, and what is good.
        find: Computes it.
        floor: Where its floor comes from.
        needs: Without these it does not apply.
        rows: Rows of each table that are used, at most.
        after: Metrics whose findings it uses.
        dependence: Whether it measures how columns go together, so that columns drawn independently are its worst case.
    """

    about: About
    find: Find
    floor: Floor
    needs: tuple[Need, ...] = ()
    rows: int | Callable[[Bench], int] | None = None
    after: tuple[str, ...] = ()
    dependence: bool = False


def measure(
    bench: Bench,
    names: Iterable[str] | None = None,
    *,
    done: Callable[[str, float], None] | None = None,
) -> dict[str, Score]:
    """The named metrics (all by default), each with its floor if wanted, or the reason why it does not apply.

    A number depends on the tables, the settings and the streams of the bench alone: not on the metrics measured
    besides, nor on whether floors are. Metrics that a named one builds on are measured, too. `done` is told what is
    being computed, and the fraction that is done.
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
    """The score, and that of two fresh real samples."""
    try:
        score, _ = _find(bench, metric, (bench.real, bench.synthetic), metric.about.name, found)
        if bench.independent is not None and metric.dependence and score.value is not None:
            alone = replace(bench, floors=False)
            apart, _ = _find(alone, metric, (bench.real, bench.independent), metric.about.name, found)
            score = replace(score, independent=apart.value)
        if not bench.floors or metric.floor == "own":
            return score, score if score.floor is None else replace(score, value=score.floor)
        floor, rows = _find(bench, metric, bench.fresh, f"{metric.about.name} floor", fresh)
    except MissingExtraError as error:
        missing = not_applicable(metric.about, str(error))
        return missing, missing
    return with_floor(score, floor, math.sqrt(rows / (score.rows or 1)) if metric.floor == "root" else 1.0), floor


def _find(bench: Bench, metric: Metric, tables: Pair, stream: str, before: Scores) -> tuple[Score, float]:
    """What a metric finds on two tables, and the common size of equal tables that would be as noisy."""
    rng = bench.stream(stream)
    pair = bench.sample(tables, metric.rows(bench) if callable(metric.rows) else metric.rows, rng)
    return metric.find(bench, pair, rng, before), tvd.harmonic(*(table.rows for table in pair))


def _of_tables(compute: Callable[[ExactTable, ExactTable], Score]) -> Find:
    return lambda bench, pair, rng, before: compute(*pair)


def _of_draws(compute: Callable[[ExactTable, ExactTable, np.random.Generator], Score]) -> Find:
    return lambda bench, pair, rng, before: compute(*pair, rng)


def _margins(ways: int) -> Find:
    def find(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
        fresh = bench.fresh if bench.floors and min(f.rows for f in bench.fresh) > 1 else None
        return tvd.margin_distance(*pair, bench.grid, ways, rng, fresh)

    return find


def _rare(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    return ranges.rare_score(*pair, bench.grid, rng, min(bench.real.rows, ranges.RARE_ROWS))


def _support_rows(bench: Bench) -> int:
    """The scores depend on the number of rows, so real, synthetic and fresh tables all give the same."""
    return min(support.ROWS, bench.real.rows, bench.synthetic.rows, *(f.rows for f in bench.fresh if f.rows))


def _precision(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    found = support.support(*pair)
    return replace(found.precision, behind=found)


def _copies(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    found = copies.copies(*pair, bench.fresh)
    return replace(found.score, behind=found)


def _learning(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    wanted = bench.settings
    if wanted.target is None:
        return not_applicable(learning.ABOUT, "no target was named.")
    held = None if bench.holdout is None else bench.holdout.sample(learning.ROWS, rng)
    found = learning.transfer(
        *pair, wanted.target, wanted.learners or QUICK_LEARNERS, rng, holdout=held, folds=wanted.folds
    )
    return replace(found.score, behind=found)


def _disco(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    target = bench.settings.target
    if target is None or len(pair[0].names) < 2:
        return not_applicable(disclosure.DISCO, "no target was named, or it is the only column.")
    return disclosure.disco(*pair, bench.grid, target, bench.settings.keys)


def _overlap(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    target = bench.settings.target
    if target is None:
        return not_applicable(coefficients.ABOUT, "no target was named.")
    return coefficients.interval_overlap(*pair, target)


def _g_epsilon(bench: Bench, pair: Pair, rng: np.random.Generator, before: Scores) -> Score:
    correlations, single = before["phik"].behind, before["tvd1"].value
    if correlations is None or single is None:
        return not_applicable(g_epsilon.PLUS, "it needs phi_k: pip install '.[eval]' in the folder of Sklar.")
    if min(table.rows for table in pair) < g_epsilon.FEW or len(pair[0].names) < 2:
        return not_applicable(g_epsilon.PLUS, f"it needs two columns and at least {g_epsilon.FEW} rows of each table.")
    matrices, wanted = (correlations.real, correlations.synthetic), bench.settings
    found = g_epsilon.g_epsilon(
        matrices, single, pair, bench.targets, rng, weights=wanted.weights,
        learners=wanted.learners or g_epsilon.LEARNERS, measures=wanted.measures or g_epsilon.MEASURES,
    )  # fmt: skip
    return replace(found.score, behind=found)


METRICS: dict[str, Metric] = {
    "tvd1": Metric(about=tvd.about(1), find=_margins(1), floor="own"),
    "tvd2": Metric(about=tvd.about(2), find=_margins(2), floor="own", dependence=True),
    "tvd3": Metric(about=tvd.about(3), find=_margins(3), floor="own", dependence=True),
    "ks": Metric(about=ks.ABOUT, find=_of_tables(ks.ks), floor="root", needs=("numbers",)),
    "moments": Metric(about=moments.ABOUT, find=_of_tables(moments.moments), floor="root", needs=("values",)),
    "ks_all": Metric(about=ks.ALL, find=_of_tables(ks.ks_all), floor="root"),
    "spearman": Metric(
        about=spearman.ABOUT, find=_of_tables(spearman.spearman), floor="root", needs=("order",), rows=spearman.ROWS,
        dependence=True,
    ),
    "correlation_delta": Metric(
        about=spearman.DELTA, find=_of_tables(spearman.correlation_delta), floor="root", rows=spearman.ROWS,
    ),
    "kendall": Metric(
        about=kendall.ABOUT, find=_of_tables(kendall.kendall), floor="root", needs=("order",),
        rows=lambda bench: kendall.kendall_rows(len(ordered_names(bench.real.schema))), dependence=True,
    ),
    "phik": Metric(
        about=phik.ABOUT, find=lambda bench, pair, rng, before: phik.phik(*pair, bench.phik_columns), floor="root",
        needs=("eval",), rows=phik.ROWS, dependence=True,
    ),
    "range_queries": Metric(
        about=queries.ABOUT, find=lambda bench, pair, rng, before: queries.range_score(*pair, bench.grid, rng),
        floor="root", needs=("order",), rows=queries.ROWS,
    ),
    "rare_ranges": Metric(about=ranges.RARE_ABOUT, find=_rare, floor="root", needs=("order",), rows=ranges.RARE_ROWS),
    "range_relative_error": Metric(
        about=ranges.RELATIVE, floor="root", rows=ranges.ROWS,
        find=lambda bench, pair, rng, before: ranges.relative_score(*pair, bench.settings.ranges, rng),
    ),
    "range_absolute_error": Metric(
        about=ranges.ABSOLUTE, floor="root", rows=ranges.ROWS, after=("range_relative_error",),
        find=lambda bench, pair, rng, before: ranges.absolute_score(before["range_relative_error"]),
    ),
    "alpha_precision": Metric(about=support.PRECISION, find=_precision, floor="same", rows=_support_rows),
    "beta_recall": Metric(
        about=support.RECALL, find=lambda bench, pair, rng, before: before["alpha_precision"].behind.recall,
        floor="same", rows=_support_rows, after=("alpha_precision",),
    ),
    "authenticity": Metric(about=support.AUTHENTICITY, find=_of_draws(support.authenticity), floor="same"),
    "detection_linear": Metric(
        about=detection.LINEAR, find=_of_draws(detection.detect_linear), floor="same", rows=detection.ROWS
    ),
    "detection_boosting": Metric(
        about=detection.BOOSTING, find=_of_draws(detection.detect_boosting), floor="same", needs=("eval",),
        rows=detection.ROWS,
    ),
    "copies": Metric(about=copies.ABOUT, find=_copies, floor="own"),
    "replicated_uniques": Metric(
        about=disclosure.UNIQUES, floor="same",
        find=lambda bench, pair, rng, before: disclosure.replicated_uniques(*pair, bench.settings.keys),
    ),
    "disco": Metric(about=disclosure.DISCO, find=_disco, floor="same", needs=("target",)),
    "pmse_ratio": Metric(
        about=propensity.ABOUT, find=_of_tables(propensity.propensity), floor="same", rows=propensity.ROWS
    ),
    "interval_overlap": Metric(
        about=coefficients.ABOUT, find=_overlap, floor="same", needs=("target",),
        rows=lambda bench: min(coefficients.ROWS, bench.real.rows, bench.synthetic.rows),
    ),
    "learning": Metric(
        about=learning.ABOUT, find=_learning, floor="own", needs=("target", "eval"), rows=learning.ROWS
    ),
    "g_epsilon_plus": Metric(
        about=g_epsilon.PLUS, find=_g_epsilon, floor="same", needs=("eval",), rows=g_epsilon.ROWS,
        after=("tvd1", "phik"),
    ),
    "g_epsilon": Metric(
        about=g_epsilon.PLAIN,
        find=lambda bench, pair, rng, before: g_epsilon.without_margins(before["g_epsilon_plus"]),
        floor="same", needs=("eval",), rows=g_epsilon.ROWS, after=("tvd1", "phik", "g_epsilon_plus"),
    ),
}  # fmt: skip
QUICK = ("tvd1", "tvd2", "tvd3", "ks", "spearman", "range_queries", "copies")
"""What a comparison of many tables computes by default; learning joins them when a target is named."""

"""Measure some metrics of one synthetic table, each with its floor if wanted, or the reason why it does not apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from sklar.errors import MissingExtraError
from sklar.lab.learning.learners import one_thread
from sklar.lab.metrics.bench import Bench, Pair, Scores
from sklar.lab.metrics.registry import METRICS, Metric
from sklar.lab.metrics.score import Score, not_applicable, with_floor
from sklar.lab.metrics.tvd import harmonic

Steps = Callable[[str, float], None]


def measure(
    bench: Bench, names: Iterable[str] = METRICS, *, done: Steps = lambda what, fraction: None
) -> dict[str, Score]:
    """The named metrics.

    A number depends on the tables, the settings and the streams of the bench alone: not on the metrics measured
    besides, nor on whether floors are.

    Args:
        bench: The tables.
        names: Of metrics; those they build on are measured, too.
        done: Told what is being computed and how much is done.
    """
    wanted = tuple(names)
    needed = {name for one in wanted for name in (one, *METRICS[one].after)}
    order = [name for name in METRICS if name in needed]
    found: dict[str, Score] = {}
    fresh: dict[str, Score] = {}
    with one_thread():
        for at, name in enumerate(order):
            done(METRICS[name].about.title, at / len(order))
            found[name], fresh[name] = _measured(bench, METRICS[name], found, fresh)
    return {name: found[name] for name in wanted}


def _measured(bench: Bench, metric: Metric, found: Scores, fresh: Scores) -> tuple[Score, Score]:
    """The score, and that of two fresh real samples."""
    try:
        score, _ = _find(bench, metric, (bench.real, bench.synthetic), metric.about.name, found)
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
    pair = bench.sample(tables, metric.limit(bench), rng)
    return metric.find(bench, pair, rng, before), harmonic(*(table.rows for table in pair))

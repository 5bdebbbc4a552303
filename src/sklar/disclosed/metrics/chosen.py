"""Some metrics by name, without floors: what a comparison of many tables can afford to compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sklar.disclosed.learning.learners import QUICK
from sklar.disclosed.learning.threads import one_thread
from sklar.disclosed.learning.transfer import ABOUT as LEARNING
from sklar.disclosed.learning.transfer import MAIN, Transfer, transfer
from sklar.disclosed.metrics import authenticity, copies, detection, kendall, ks, phik, spearman, support, tvd, workload
from sklar.disclosed.metrics.grid import CoarseGrid, coarse_grid
from sklar.disclosed.metrics.score import About, Score, not_applicable
from sklar.disclosed.metrics.table import ExactTable, ordered_names
from sklar.errors import MissingExtraError

LEARN_ROWS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """The tables of one comparison.

    Attributes:
        real: Rows the synthesizer learned from.
        synthetic: The table under test.
        holdout: Rows it did not see.
        grid: The coarse public grid.
        target: Column to predict, if any.
        learners: Names of learners.
        stream: The generator of a metric of this name; the same for all tables that are compared.
        found: What learning found besides its score, filled in when it is computed.
    """

    real: ExactTable
    synthetic: ExactTable
    holdout: ExactTable
    grid: CoarseGrid
    target: str | None = None
    learners: tuple[str, ...] = QUICK
    stream: Callable[[str], np.random.Generator]
    found: dict[str, float] = field(default_factory=dict)

    def sampled(self, rows: int, rng: np.random.Generator) -> tuple[ExactTable, ExactTable]:
        """Real and synthetic table, each of at most so many rows."""
        return self.real.sample(rows, rng), self.synthetic.sample(rows, rng)


def bench(
    real: ExactTable,
    synthetic: ExactTable,
    holdout: ExactTable,
    *,
    target: str | None = None,
    learners: Sequence[str] = QUICK,
    stream: Callable[[str], np.random.Generator],
) -> Bench:
    """The bench of a synthetic table."""
    return Bench(
        real=real, synthetic=synthetic, holdout=holdout, grid=coarse_grid(real.schema), target=target,
        learners=tuple(learners), stream=stream,
    )  # fmt: skip


def measure(tables: Bench, names: Sequence[str]) -> dict[str, Score]:
    """The named metrics; one whose library is missing, or that does not apply, says why."""
    out: dict[str, Score] = {}
    with one_thread():
        for name in names:
            about, compute = CHOICES[name]
            try:
                out[name] = compute(tables, tables.stream(name))
            except MissingExtraError as error:
                out[name] = not_applicable(about, str(error))
    return out


def _margins(ways: int) -> Callable[[Bench, np.random.Generator], Score]:
    return lambda b, rng: tvd.margin_distance(b.real, b.synthetic, b.grid, ways, rng)


def _ks(b: Bench, rng: np.random.Generator) -> Score:
    return ks.ks(b.real, b.synthetic)


def _spearman(b: Bench, rng: np.random.Generator) -> Score:
    return spearman.spearman(*b.sampled(spearman.ROWS, rng))


def _kendall(b: Bench, rng: np.random.Generator) -> Score:
    return kendall.kendall(*b.sampled(kendall.kendall_rows(len(ordered_names(b.real.schema))), rng))


def _phik(b: Bench, rng: np.random.Generator) -> Score:
    real, synthetic = b.sampled(phik.ROWS, rng)
    names = phik.phik_names(real.names, rng, b.target)
    return phik.phik(real, synthetic, (phik.phik_matrix(real, names), phik.phik_matrix(synthetic, names)), names)


def _ranges(b: Bench, rng: np.random.Generator) -> Score:
    return workload.range_score(*b.sampled(workload.ROWS, rng), b.grid, rng)


def _precision(b: Bench, rng: np.random.Generator) -> Score:
    return support.support(*_same_size(b, rng)).precision


def _recall(b: Bench, rng: np.random.Generator) -> Score:
    return support.support(*_same_size(b, rng)).recall


def _same_size(b: Bench, rng: np.random.Generator) -> tuple[ExactTable, ExactTable]:
    """The scores depend on the number of rows, so both tables give the same."""
    return b.sampled(min(support.ROWS, b.real.rows, b.synthetic.rows), rng)


def _authenticity(b: Bench, rng: np.random.Generator) -> Score:
    return authenticity.authenticity(b.real, b.synthetic, rng)


def _detect_linear(b: Bench, rng: np.random.Generator) -> Score:
    return detection.detect_linear(*b.sampled(detection.ROWS, rng), rng)


def _detect_boosting(b: Bench, rng: np.random.Generator) -> Score:
    return detection.detect_boosting(*b.sampled(detection.ROWS, rng), rng)


def _copies(b: Bench, rng: np.random.Generator) -> Score:
    return copies.copies(b.real, b.synthetic, (b.real, b.holdout)).score


def _learning(b: Bench, rng: np.random.Generator) -> Score:
    if b.target is None:
        return not_applicable(LEARNING, "no target was named.")
    real, synthetic = b.sampled(LEARN_ROWS, rng)
    found = transfer(real, synthetic, b.target, b.learners, rng, holdout=b.holdout.sample(LEARN_ROWS, rng))
    b.found.update(_main_measure(found))
    return found.score


def _main_measure(found: Transfer) -> dict[str, float]:
    """AUC (or R2) of the learners, averaged: trained on synthetic and on real rows."""
    main = [result for result in found.results if result.measure == MAIN[found.task]]
    if not main:
        return {}
    name = MAIN[found.task]
    return {
        name: float(np.mean([result.synthetic for result in main])),
        f"{name}_real": float(np.mean([result.real for result in main])),
    }


CHOICES: dict[str, tuple[About, Callable[[Bench, np.random.Generator], Score]]] = {
    "tvd1": (tvd.about(1), _margins(1)),
    "tvd2": (tvd.about(2), _margins(2)),
    "tvd3": (tvd.about(3), _margins(3)),
    "ks": (ks.ABOUT, _ks),
    "spearman": (spearman.ABOUT, _spearman),
    "kendall": (kendall.ABOUT, _kendall),
    "phik": (phik.ABOUT, _phik),
    "range_queries": (workload.ABOUT, _ranges),
    "alpha_precision": (support.PRECISION, _precision),
    "beta_recall": (support.RECALL, _recall),
    "authenticity": (authenticity.ABOUT, _authenticity),
    "detection_linear": (detection.LINEAR, _detect_linear),
    "detection_boosting": (detection.BOOSTING, _detect_boosting),
    "copies": (copies.ABOUT, _copies),
    "learning": (LEARNING, _learning),
}
"""Metrics by name: what each is about, and how to compute it."""
DEFAULT = ("tvd1", "tvd2", "tvd3", "ks", "spearman", "range_queries", "copies")
"""Quick ones; learning joins them when a target is named."""

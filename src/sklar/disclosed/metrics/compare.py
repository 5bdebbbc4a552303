"""All metrics of one synthetic table, each with its floor, or the reason why it does not apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sklar.disclosed.learning.learners import QUICK
from sklar.disclosed.learning.threads import one_thread
from sklar.disclosed.learning.transfer import ABOUT as LEARNING
from sklar.disclosed.learning.transfer import Transfer, transfer
from sklar.disclosed.metrics import detection, kendall, ks, phik, spearman, support, tvd
from sklar.disclosed.metrics.authenticity import authenticity
from sklar.disclosed.metrics.copies import Copies, copies
from sklar.disclosed.metrics.correlation import Matrix
from sklar.disclosed.metrics.g_epsilon import ROWS as G_ROWS
from sklar.disclosed.metrics.g_epsilon import GEpsilon, chosen_targets, g_epsilon, no_g_epsilon
from sklar.disclosed.metrics.grid import CoarseGrid, coarse_grid
from sklar.disclosed.metrics.overview import MarginPicture, PairPicture, margin_pictures, pair_pictures
from sklar.disclosed.metrics.score import Score, not_applicable, with_floor
from sklar.disclosed.metrics.support import Support
from sklar.disclosed.metrics.table import ExactTable, ordered_names
from sklar.disclosed.metrics.workload import ROWS, Workload, range_score, workload
from sklar.errors import MissingExtraError

STRONGEST = 6
"""Pairs that are pictured."""
LEARN_ROWS = 60_000
"""Rows of each table that learning uses at most, for training (of which learners take part) and testing."""
STEPS = 12
Steps = Callable[[str, float], None]


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
class Comparison:
    """Everything found about one synthetic table."""

    scores: tuple[Score, ...]
    copies: Copies
    support: Support
    workload: Workload
    transfer: Transfer | None
    g_epsilon: GEpsilon | None
    margins: tuple[MarginPicture, ...]
    pairs: tuple[PairPicture, ...]
    correlation_name: str
    correlation_columns: tuple[str, ...]
    correlations: tuple[Matrix, Matrix] | None


@dataclass(slots=True)
class _Bench:
    """The tables of a comparison, and samples of them by size, drawn once."""

    real: ExactTable
    synthetic: ExactTable
    fresh: tuple[ExactTable, ExactTable]
    holdout: ExactTable | None
    rng: np.random.Generator
    done: Steps
    grid: CoarseGrid
    step: int = 0
    drawn: dict[int, tuple[ExactTable, ExactTable, ExactTable, ExactTable]] = field(default_factory=dict)

    def sampled(self, rows: int) -> tuple[ExactTable, ExactTable, ExactTable, ExactTable]:
        """(real, synthetic, two fresh real samples), each of at most so many rows."""
        if rows not in self.drawn:
            one, two, three, four = (t.sample(rows, self.rng) for t in (self.real, self.synthetic, *self.fresh))
            self.drawn[rows] = (one, two, three, four)
        return self.drawn[rows]

    def told(self, what: str) -> None:
        """Say what comes next."""
        self.done(what, self.step / STEPS)
        self.step += 1


def compare_tables(
    real: ExactTable,
    synthetic: ExactTable,
    settings: Settings,
    rng: np.random.Generator,
    *,
    holdout: ExactTable | None = None,
    done: Steps = lambda what, fraction: None,
) -> Comparison:
    """Compute everything.

    Args:
        real: The real table.
        synthetic: The table under test.
        settings: What to compute.
        rng: Draws samples, splits and folds.
        holdout: Real rows that the synthesizer did not see: test rows, and a fresh sample for the floors.
        done: Told what is being computed and how much is done.
    """
    fresh = (real, holdout) if holdout is not None and holdout.rows >= 100 else real.halves(rng)
    bench = _Bench(
        real=real, synthetic=synthetic, fresh=fresh if min(f.rows for f in fresh) else (real, real), holdout=holdout,
        rng=rng, done=done, grid=coarse_grid(real.schema),
    )  # fmt: skip
    with one_thread():
        return _compared(bench, settings)


def _compared(bench: _Bench, settings: Settings) -> Comparison:
    real, synthetic = bench.real, bench.synthetic
    margins = [_margins(bench, ways) for ways in (1, 2, 3)]
    bench.told("Kolmogorov-Smirnov")
    distance = _rooted(ks.ks(real, synthetic), ks.ks(*bench.fresh), bench, bench.fresh)
    ranks, rank_matrices = _spearman(bench)
    taus = _kendall(bench)
    phis, phi_matrices, phi_fresh, phi_names = _phik(bench, settings.target)
    asked = _workload(bench)
    points = _support(bench)
    found = [*margins, distance, ranks, taus, phis, asked.score, points.precision, points.recall, _authenticity(bench)]
    found += _detection(bench)
    bench.told("copies")
    copied = copies(real, synthetic, bench.fresh)
    learned = _transfer(bench, settings)
    g, g_score = _g_epsilon(bench, settings, phi_matrices, phi_fresh, margins[0])
    found += [copied.score, learned.score if learned else not_applicable(LEARNING, "no target was named."), g_score]
    shown = _shown(phi_matrices, phi_names, rank_matrices, ordered_names(real.schema))
    return Comparison(
        scores=tuple(found), copies=copied, support=points, workload=asked, transfer=learned, g_epsilon=g,
        margins=margin_pictures(real, synthetic, bench.grid),
        pairs=pair_pictures(real, synthetic, bench.grid, _strongest(shown)),
        correlation_name=shown[0], correlation_columns=shown[1], correlations=shown[2],
    )  # fmt: skip


def _margins(bench: _Bench, ways: int) -> Score:
    bench.told(f"{ways}-way margins")
    fresh = bench.fresh if min(f.rows for f in bench.fresh) > 1 else None
    return tvd.margin_distance(bench.real, bench.synthetic, bench.grid, ways, bench.rng, fresh)


def _rooted(score: Score, fresh: Score, bench: _Bench, pair: Sequence[ExactTable]) -> Score:
    """A floor that falls as the square root of the rows, carried over to the sizes at hand."""
    used = tvd.harmonic(min(bench.real.rows, score.rows or 1), min(bench.synthetic.rows, score.rows or 1))
    return with_floor(score, fresh, math.sqrt(tvd.harmonic(pair[0].rows, pair[1].rows) / used))


def _spearman(bench: _Bench) -> tuple[Score, tuple[Matrix, Matrix]]:
    bench.told("rank correlations")
    real, synthetic, half, other = bench.sampled(spearman.ROWS)
    matrices = (spearman.spearman_matrix(real), spearman.spearman_matrix(synthetic))
    score = spearman.spearman(real, synthetic, matrices)
    return _rooted(score, spearman.spearman(half, other), bench, (half, other)), matrices


def _kendall(bench: _Bench) -> Score:
    bench.told("Kendall's tau")
    real, synthetic, *fresh = bench.sampled(kendall.kendall_rows(len(ordered_names(bench.real.schema))))
    return _rooted(kendall.kendall(real, synthetic), kendall.kendall(*fresh), bench, fresh)


def _phik(
    bench: _Bench, target: str | None
) -> tuple[Score, tuple[Matrix, Matrix] | None, tuple[Matrix, Matrix] | None, tuple[str, ...]]:
    bench.told("phi_k")
    real, synthetic, *fresh = bench.sampled(phik.ROWS)
    names = phik.phik_names(bench.real.names, bench.rng, target)
    try:
        one, two, three, four = (phik.phik_matrix(table, names) for table in (real, synthetic, *fresh))
    except MissingExtraError as error:
        return not_applicable(phik.ABOUT, str(error)), None, None, names
    score = phik.phik(real, synthetic, (one, two), names)
    floor = phik.phik(fresh[0], fresh[1], (three, four), names)
    return _rooted(score, floor, bench, fresh), (one, two), (three, four), names


def _workload(bench: _Bench) -> Workload:
    bench.told("queries")
    real, synthetic, *fresh = bench.sampled(ROWS)
    found = workload(real, synthetic, bench.grid, bench.rng)
    floor = range_score(fresh[0], fresh[1], bench.grid, bench.rng)
    return replace(found, score=_rooted(found.score, floor, bench, fresh))


def _support(bench: _Bench) -> Support:
    bench.told("plausible, covered and new rows")
    real, synthetic, *fresh = bench.sampled(support.ROWS)
    if holdout_or_half := min(f.rows for f in fresh):
        # The scores depend on the number of rows, so all four samples get the same.
        rows = min(real.rows, synthetic.rows, holdout_or_half)
        real, synthetic, *fresh = (table.sample(rows, bench.rng) for table in (real, synthetic, *fresh))
    found, floor = support.support(real, synthetic), support.support(fresh[0], fresh[1])
    return Support(
        precision=with_floor(found.precision, floor.precision),
        recall=with_floor(found.recall, floor.recall),
        levels=found.levels, precision_curve=found.precision_curve, recall_curve=found.recall_curve,
    )  # fmt: skip


def _authenticity(bench: _Bench) -> Score:
    score = authenticity(bench.real, bench.synthetic, bench.rng)
    return with_floor(score, authenticity(*bench.fresh, bench.rng))


def _detection(bench: _Bench) -> list[Score]:
    bench.told("real or synthetic")
    real, synthetic, *fresh = bench.sampled(detection.ROWS)
    out: list[Score] = []
    for detect, about in (
        (detection.detect_linear, detection.LINEAR), (detection.detect_boosting, detection.BOOSTING)
    ):  # fmt: skip
        try:
            score = detect(real, synthetic, bench.rng)
            out.append(with_floor(score, detect(fresh[0], fresh[1], bench.rng)))
        except MissingExtraError as error:
            out.append(not_applicable(about, str(error)))
    return out


def _transfer(bench: _Bench, settings: Settings) -> Transfer | None:
    bench.told("learning")
    if settings.target is None:
        return None
    try:
        return transfer(
            bench.real.sample(LEARN_ROWS, bench.rng), bench.synthetic.sample(LEARN_ROWS, bench.rng),
            settings.target, settings.learners, bench.rng,
            holdout=None if bench.holdout is None else bench.holdout.sample(LEARN_ROWS, bench.rng),
            folds=settings.folds,
        )  # fmt: skip
    except MissingExtraError as error:
        score = not_applicable(LEARNING, str(error))
        return Transfer(target=settings.target, task="", folds=0, results=(), score=score)


def _g_epsilon(
    bench: _Bench,
    settings: Settings,
    matrices: tuple[Matrix, Matrix] | None,
    fresh_matrices: tuple[Matrix, Matrix] | None,
    single: Score,
) -> tuple[GEpsilon | None, Score]:
    bench.told("G_eps+")
    if matrices is None or fresh_matrices is None or single.value is None:
        return None, no_g_epsilon("it needs phi_k: pip install 'sklar[eval]'.")
    if min(bench.real.rows, bench.synthetic.rows) < 20 or len(bench.real.names) < 2:
        return None, no_g_epsilon("it needs two columns and at least 20 rows of each table.")
    real, synthetic, *fresh = bench.sampled(G_ROWS)
    targets = settings.targets or chosen_targets(bench.real.names, settings.target, bench.rng)
    try:
        found = g_epsilon(matrices, single.value, real, synthetic, targets, bench.rng, weights=settings.weights)
        nu = single.value if single.floor is None else single.floor
        floor = g_epsilon(fresh_matrices, nu, fresh[0], fresh[1], targets, bench.rng, weights=settings.weights)
    except MissingExtraError as error:
        return None, no_g_epsilon(str(error))
    found = replace(found, score=with_floor(found.score, floor.score))
    return found, found.score


def _shown(
    phis: tuple[Matrix, Matrix] | None, phi_names: tuple[str, ...], ranks: tuple[Matrix, Matrix], names: tuple[str, ...]
) -> tuple[str, tuple[str, ...], tuple[Matrix, Matrix] | None]:
    """The matrices to picture: phi_k, which knows all columns, else Spearman's."""
    if phis is not None:
        return "phi_k", phi_names, phis
    return "Spearman", names, ranks if len(names) > 1 else None


def _strongest(shown: tuple[str, tuple[str, ...], tuple[Matrix, Matrix] | None]) -> list[tuple[str, str]]:
    _, names, matrices = shown
    if matrices is None:
        return []
    strength = np.triu(np.abs(np.nan_to_num(matrices[0])), 1)
    order = np.argsort(-strength, axis=None, kind="stable")[:STRONGEST]
    places = [np.unravel_index(i, strength.shape) for i in order]
    return [(names[i], names[j]) for i, j in places if strength[i, j] > 0]

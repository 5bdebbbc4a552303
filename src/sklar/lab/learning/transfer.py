"""Train on synthetic, test on real: scores of learners trained on each table, on real rows they have not seen.

Test rows are the hold-out if there is one; else each of k folds of the real table in turn, with the real-trained
learner trained on the other folds. The noise of a score is its standard deviation over bootstraps of the test rows.
Reference: Esteban et al. (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.lab.intervals import mid_shares
from sklar.lab.learning.features import MAX_CLASSES, Examples, has_too_many_classes, select_examples, task_of
from sklar.lab.learning.learners import Predictions, train_and_predict
from sklar.lab.metrics.score import About, Part, Score, mean_score, not_applicable
from sklar.lab.tables.table import ExactTable

BOOTSTRAPS = 20
"""Bootstraps of the test rows: more make the noise of a score, and so its floor, more stable, and cost time."""
MIN_TARGET_ROWS = 20
"""Minimum number of real rows with a target: fewer are not enough to train and test on."""
MAX_LEARNING_ROWS = 60_000
"""Maximum number of rows of each table for training (of which learners use a part) and testing."""
MAIN_MEASURE = {"classification": "auc", "regression": "r2"}
ABOUT = About(
    name="learning",
    title="Learning: loss by training on synthetic rows",
    says="How much better a learner trained on real rows predicts unseen real rows (AUC, or R2 clipped to [0, 1]).",
    reference="Esteban et al. 2017", good=0.03, fair=0.10,
)  # fmt: skip
Labels = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """One measure of one learner: trained on real and on synthetic rows, tested on the same real rows."""

    learner: str
    measure: str
    real: float
    synthetic: float
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """All learners on one target."""

    target: str
    task: str
    folds: int
    results: tuple[Learned, ...]
    score: Score

    @property
    def means(self) -> dict[str, float]:
        """Average every measure over the learners, trained on synthetic rows, and as NAME_real on real rows."""
        sides: dict[str, list[float]] = {}
        for found in self.results:
            sides.setdefault(found.measure, []).append(found.synthetic)
            sides.setdefault(f"{found.measure}_real", []).append(found.real)
        return {side: float(np.mean(values)) for side, values in sides.items()}


def measure_transfer(
    real: ExactTable,
    synthetic: ExactTable,
    target: str,
    learners: Sequence[str],
    rng: np.random.Generator,
    *,
    holdout: ExactTable | None = None,
    folds: int = 3,
) -> Transfer:
    """Train every learner on both tables and test it on real rows."""
    task = task_of(real.schema, target)
    one, two = select_examples(real, target), select_examples(synthetic, target)
    reason = _find_obstacle(one, two)
    if reason is not None:
        return Transfer(target=target, task=task, folds=0, results=(), score=not_applicable(ABOUT, reason))
    if holdout is not None:
        splits = [(one, select_examples(holdout, target))]
    else:
        fold = rng.permutation(np.arange(len(one.truth)) % folds)
        splits = [(one.take(np.flatnonzero(fold != k)), one.take(np.flatnonzero(fold == k))) for k in range(folds)]
    found = {name: [_test_learner(name, train, test, two, rng) for train, test in splits] for name in learners}
    results = tuple(_average_folds(name, what, tests) for name, tests in found.items() for what in tests[0])
    score = _score_loss(results, task, one)
    return Transfer(target=target, task=task, folds=len(splits), results=results, score=score)


def _find_obstacle(real: Examples, synthetic: Examples) -> str | None:
    target = real.target
    if not real.inputs:
        return "there is no other column to predict the target from."
    if len(real.truth) < MIN_TARGET_ROWS or len(np.unique(real.truth)) < 2:
        return f"the target '{target}' has fewer than {MIN_TARGET_ROWS} real rows with a value, or only one value."
    if len(synthetic.truth) < 2:
        return f"the target '{target}' is null in (nearly) all synthetic rows."
    if has_too_many_classes(real.table.schema, target):
        return f"the target '{target}' has more than {MAX_CLASSES} classes."
    return None


def _test_learner(
    name: str, train: Examples, test: Examples, synthetic: Examples, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """Return by measure the score after training on real rows, on synthetic rows, and the noise of the first."""
    by_real, by_synthetic = (train_and_predict(name, rows, test, rng) for rows in (train, synthetic))
    truth = test.truth
    real, made = score_predictions(truth, by_real), score_predictions(truth, by_synthetic)
    draws = [rng.integers(0, len(truth), len(truth)) for _ in range(BOOTSTRAPS)]
    again = [score_predictions(truth[rows], by_real.take(rows)) for rows in draws]
    return {what: (real[what], made[what], float(np.std([scores[what] for scores in again]))) for what in real}


def _average_folds(learner: str, measure: str, tests: list[dict[str, tuple[float, float, float]]]) -> Learned:
    """Average over folds; they are disjoint, so the noise of the mean is smaller."""
    real, synthetic, noise = np.mean([test[measure] for test in tests], axis=0).tolist()
    return Learned(learner=learner, measure=measure, real=real, synthetic=synthetic, noise=noise / len(tests) ** 0.5)


def _score_loss(results: tuple[Learned, ...], task: str, real: Examples) -> Score:
    """Return the mean loss over learners; the floor is the noise of a difference of two scores."""
    parts: list[Part] = []
    for result in (result for result in results if result.measure == MAIN_MEASURE[task]):
        one, two = np.clip([result.real, result.synthetic], 0.0, 1.0).tolist()
        parts.append(Part(columns=(result.learner,), value=max(0.0, one - two), floor=result.noise * 2**0.5))
    return mean_score(ABOUT, parts, rows=len(real.truth), why_none="no learner was given.")


def score_predictions(truth: Labels, predicted: Predictions) -> dict[str, float]:
    """Compute all measures of predictions."""
    guess, chances = predicted.guess, predicted.chances
    if chances is None:
        return {"rmse": rmse(truth, guess), "r2": r2(truth, guess)}
    accuracy = float((truth == guess).mean())
    return {"mcc": mcc(truth, guess), "auc": multiclass_auc(truth, chances), "f1": f1(truth, guess),
            "accuracy": accuracy}  # fmt: skip


def mcc(truth: Labels, guess: Labels) -> float:
    """Return the Matthews correlation of labels 0, 1, 2, ..., in [-1, 1]; 0 if truth or guess is constant."""
    table = _count_confusion(truth, guess)
    rows, true_counts, guess_counts = table.sum(), table.sum(axis=1), table.sum(axis=0)
    cover = np.trace(table) * rows - true_counts @ guess_counts
    spread = (rows**2 - guess_counts @ guess_counts) * (rows**2 - true_counts @ true_counts)
    return float(cover / math.sqrt(spread)) if spread > 0 else 0.0


def f1(truth: Labels, guess: Labels) -> float:
    """Return F1 averaged over the classes in truth or guess, in [0, 1]."""
    table = _count_confusion(truth, guess)
    counts = table.sum(axis=1) + table.sum(axis=0)
    return float(np.mean(2 * table.diagonal()[counts > 0] / counts[counts > 0]))


def _count_confusion(truth: Labels, guess: Labels) -> Floats:
    size = int(max(truth.max(), guess.max())) + 1
    return np.bincount(truth * size + guess, minlength=size * size).reshape(size, size).astype(float)


def auc(truth: Labels, score: Floats) -> float:
    """Return the probability that class 1 scores higher than class 0, ties counting half; 0.5 if one is absent."""
    ones, zeros = score[truth == 1], score[truth != 1]
    return float(mid_shares(ones, zeros).mean()) if len(ones) and len(zeros) else 0.5


def multiclass_auc(truth: Labels, chances: Floats) -> float:
    """Return the AUC of each class against the rest, averaged over the classes that occur, if several do."""
    if chances.shape[1] == 2:
        return auc(truth, chances[:, 1])
    present = [c for c in range(chances.shape[1]) if 0 < (truth == c).sum() < len(truth)]
    return float(np.mean([auc((truth == c).astype(int), chances[:, c]) for c in present])) if present else 0.5


def rmse(truth: Floats, guess: Floats) -> float:
    """Return the root mean squared error, in units of the target."""
    return float(math.sqrt(np.mean((truth - guess) ** 2)))


def r2(truth: Floats, guess: Floats) -> float:
    """Return 1 - squared error / squared spread, at most 1; 0 if the truth is constant."""
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - guess) ** 2).sum()) / spread if spread > 0 else 0.0

"""Train on synthetic, test on real: what a learner trained on each table scores on real rows it has not seen.

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
from sklar.lab.learning.features import CLASSES, Examples, examples, has_too_many_classes, task_of
from sklar.lab.learning.learners import Predictions, learn
from sklar.lab.metrics.score import About, Part, Score, mean_score, not_applicable
from sklar.lab.tables.table import ExactTable

BOOTSTRAPS = 20
"""Bootstraps of the test rows: more make the noise of a score, and so its floor, steadier, and cost time."""
FEW = 20
"""Real rows with a target that are needed: fewer leave nothing to train and test on."""
ROWS = 60_000
"""Rows of each table that learning uses at most, for training (of which learners take part) and testing."""
MAIN = {"classification": "auc", "regression": "r2"}
ABOUT = About(
    name="learning",
    title="Learning: what is lost by training on synthetic rows",
    says="How much better a learner trained on real rows predicts unseen real rows (AUC, or R2 clipped to [0, 1]).",
    reference="Esteban et al. 2017",
    lower=0.0, upper=1.0, better="lower", good=0.03, fair=0.10,
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
        """Every measure averaged over the learners, trained on synthetic rows, and as NAME_real on real ones."""
        sides: dict[str, list[float]] = {}
        for found in self.results:
            sides.setdefault(found.measure, []).append(found.synthetic)
            sides.setdefault(f"{found.measure}_real", []).append(found.real)
        return {side: float(np.mean(values)) for side, values in sides.items()}


def transfer(
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
    one, two = examples(real, target), examples(synthetic, target)
    reason = _obstacle(one, two)
    if reason is not None:
        return Transfer(target=target, task=task, folds=0, results=(), score=not_applicable(ABOUT, reason))
    if holdout is not None:
        splits = [(one, examples(holdout, target))]
    else:
        fold = rng.permutation(np.arange(len(one.truth)) % folds)
        splits = [(one.take(np.flatnonzero(fold != k)), one.take(np.flatnonzero(fold == k))) for k in range(folds)]
    found = {name: [_test(name, train, test, two, rng) for train, test in splits] for name in learners}
    results = tuple(_mean(name, what, tests) for name, tests in found.items() for what in tests[0])
    return Transfer(target=target, task=task, folds=len(splits), results=results, score=_loss(results, task, one))


def _obstacle(real: Examples, synthetic: Examples) -> str | None:
    target = real.target
    if not real.inputs:
        return "there is no other column to predict the target from."
    if len(real.truth) < FEW or len(np.unique(real.truth)) < 2:
        return f"the target '{target}' has fewer than {FEW} real rows with a value, or only one value."
    if len(synthetic.truth) < 2:
        return f"the target '{target}' is null in (nearly) all synthetic rows."
    if has_too_many_classes(real.table.schema, target):
        return f"the target '{target}' has more than {CLASSES} classes."
    return None


def _test(
    name: str, train: Examples, test: Examples, synthetic: Examples, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """By measure: the score if trained on real rows, the score if trained on synthetic ones, the noise of the first."""
    said, synthetic_said, truth = learn(name, train, test, rng), learn(name, synthetic, test, rng), test.truth
    real, made = score_predictions(truth, said), score_predictions(truth, synthetic_said)
    draws = [rng.integers(0, len(truth), len(truth)) for _ in range(BOOTSTRAPS)]
    again = [score_predictions(truth[rows], said.take(rows)) for rows in draws]
    return {what: (real[what], made[what], float(np.std([scores[what] for scores in again]))) for what in real}


def _mean(learner: str, measure: str, tests: list[dict[str, tuple[float, float, float]]]) -> Learned:
    """The mean over folds; they are disjoint, so its noise is smaller."""
    real, synthetic, noise = np.mean([test[measure] for test in tests], axis=0).tolist()
    return Learned(learner=learner, measure=measure, real=real, synthetic=synthetic, noise=noise / len(tests) ** 0.5)


def _loss(results: tuple[Learned, ...], task: str, real: Examples) -> Score:
    """The mean loss over learners; the floor is the noise of a difference of two scores."""
    parts = [
        Part(
            columns=(r.learner,),
            value=max(0.0, _clip_to_unit(r.real) - _clip_to_unit(r.synthetic)),
            floor=r.noise * 2**0.5,
        )
        for r in results
        if r.measure == MAIN[task]
    ]
    return mean_score(ABOUT, parts, rows=len(real.truth), why_none="no learner was named.")


def _clip_to_unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def score_predictions(truth: Labels, said: Predictions) -> dict[str, float]:
    """Every measure of some predictions."""
    if said.chances is None:
        return {"rmse": rmse(truth, said.guess), "r2": r2(truth, said.guess)}
    return {
        "mcc": mcc(truth, said.guess),
        "auc": multiclass_auc(truth, said.chances),
        "f1": f1(truth, said.guess),
        "accuracy": float((truth == said.guess).mean()),
    }


def mcc(truth: Labels, guess: Labels) -> float:
    """Matthews correlation of labels 0, 1, 2, ..., in [-1, 1]; 0 if truth or guess is constant."""
    table = _confusion(truth, guess)
    rows, true_counts, guess_counts = table.sum(), table.sum(axis=1), table.sum(axis=0)
    cover = np.trace(table) * rows - true_counts @ guess_counts
    spread = (rows**2 - guess_counts @ guess_counts) * (rows**2 - true_counts @ true_counts)
    return float(cover / math.sqrt(spread)) if spread > 0 else 0.0


def f1(truth: Labels, guess: Labels) -> float:
    """F1 of each class that is in truth or guess, averaged; in [0, 1]."""
    table = _confusion(truth, guess)
    counts = table.sum(axis=1) + table.sum(axis=0)
    return float(np.mean(2 * table.diagonal()[counts > 0] / counts[counts > 0]))


def _confusion(truth: Labels, guess: Labels) -> Floats:
    size = int(max(truth.max(), guess.max())) + 1
    return np.bincount(truth * size + guess, minlength=size * size).reshape(size, size).astype(float)


def auc(truth: Labels, score: Floats) -> float:
    """Chance that a row of class 1 scores higher than one of class 0, ties counting half; 0.5 if a class is absent."""
    ones, zeros = score[truth == 1], score[truth != 1]
    return float(mid_shares(ones, zeros).mean()) if len(ones) and len(zeros) else 0.5


def multiclass_auc(truth: Labels, chances: Floats) -> float:
    """AUC of each class against the rest, averaged over the classes that occur and are not alone."""
    if chances.shape[1] == 2:
        return auc(truth, chances[:, 1])
    present = [c for c in range(chances.shape[1]) if 0 < (truth == c).sum() < len(truth)]
    return float(np.mean([auc((truth == c).astype(int), chances[:, c]) for c in present])) if present else 0.5


def rmse(truth: Floats, guess: Floats) -> float:
    """Root of the mean squared error, in units of the target."""
    return float(math.sqrt(np.mean((truth - guess) ** 2)))


def r2(truth: Floats, guess: Floats) -> float:
    """1 - squared error / squared spread, at most 1; 0 if the truth is constant."""
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - guess) ** 2).sum()) / spread if spread > 0 else 0.0

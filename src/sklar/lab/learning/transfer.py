"""Train on synthetic, test on real: what a learner trained on each table scores on real rows it has not seen.

Test rows are the hold-out if there is one; else each of k folds of the real table in turn, with the real-trained
learner trained on the other folds. The noise of a score is its standard deviation over bootstraps of the test rows.
Reference: Esteban et al. (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.lab.learning.features import CLASSES, Examples, class_count, examples, task_of
from sklar.lab.learning.learners import Predictions, learn
from sklar.lab.metrics.score import About, Part, Score, not_applicable
from sklar.lab.tables.table import ExactTable

Labels = npt.NDArray[Any]


def accuracy(truth: Labels, guess: Labels) -> float:
    """Share of right answers, in [0, 1]."""
    return float((truth == guess).mean())


def mcc(truth: Labels, guess: Labels) -> float:
    """Matthews correlation of labels 0, 1, 2, ..., in [-1, 1]; 0 if truth or guess is constant."""
    size = int(max(truth.max(), guess.max())) + 1
    table = np.bincount(truth * size + guess, minlength=size * size).reshape(size, size).astype(float)
    rows, true_counts, guess_counts = table.sum(), table.sum(axis=1), table.sum(axis=0)
    cover = np.trace(table) * rows - true_counts @ guess_counts
    spread = (rows**2 - guess_counts @ guess_counts) * (rows**2 - true_counts @ true_counts)
    return float(cover / math.sqrt(spread)) if spread > 0 else 0.0


def f1(truth: Labels, guess: Labels) -> float:
    """F1 of each class that is in truth or guess, averaged; in [0, 1]."""
    classes = np.union1d(truth, guess)
    scores = []
    for label in classes:
        hit = float(((truth == label) & (guess == label)).sum())
        scores.append(2 * hit / ((truth == label).sum() + (guess == label).sum()))
    return float(np.mean(scores))


def auc(truth: Labels, score: Floats) -> float:
    """Chance that a row of class 1 scores higher than one of class 0, ties counting half; 0.5 if a class is absent."""
    positive = truth == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return 0.5
    _, where, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[where]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2.0) / (ones * zeros))


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


CLASSIFICATION: dict[str, Callable[[Labels, Labels, Floats], float]] = {
    "mcc": lambda truth, guess, chances: mcc(truth, guess),
    "auc": lambda truth, guess, chances: multiclass_auc(truth, chances),
    "f1": lambda truth, guess, chances: f1(truth, guess),
    "accuracy": lambda truth, guess, chances: accuracy(truth, guess),
}
"""Measures of a classifier from true labels, guessed labels and chances of the classes."""
REGRESSION: dict[str, Callable[[Floats, Floats], float]] = {"rmse": rmse, "r2": r2}


BOOTSTRAPS = 20
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """One measure of one learner: trained on real and on synthetic rows, tested on the same real rows."""

    learner: str
    measure: str
    real: float
    synthetic: float
    noise: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """All learners on one target."""

    target: str
    task: str
    folds: int
    results: tuple[Learned, ...]
    score: Score

    @property
    def main(self) -> dict[str, float]:
        """AUC (or R2) of the learners, averaged: trained on synthetic and on real rows."""
        name = MAIN[self.task]
        main = [result for result in self.results if result.measure == name]
        sides = {name: [r.synthetic for r in main], f"{name}_real": [r.real for r in main]}
        return {side: float(np.mean(values)) for side, values in sides.items() if values}


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
    reason = _obstacle(one, two, real, target)
    if reason is not None:
        return Transfer(target=target, task=task, folds=0, results=(), score=not_applicable(ABOUT, reason))
    splits = _splits(one, holdout, target, folds, rng)
    found = [_test(name, train, test, two, task, rng) for name in learners for train, test in splits]
    results = tuple(_averaged(found, learners, MEASURES[task]))
    return Transfer(target=target, task=task, folds=len(splits), results=results, score=_summary(results, task, one))


MEASURES = {"classification": tuple(CLASSIFICATION), "regression": tuple(REGRESSION)}


def measured(truth: Any, said: Predictions, task: str) -> dict[str, float]:
    """Every measure of some predictions."""
    if task == "regression":
        return {name: measure(truth, said.guess) for name, measure in REGRESSION.items()}
    return {name: measure(truth, said.guess, said.chances) for name, measure in CLASSIFICATION.items()}  # type: ignore[arg-type]


def _obstacle(real: Examples, synthetic: Examples, table: ExactTable, target: str) -> str | None:
    if len(table.names) < 2:
        return "there is no other column to predict the target from."
    if len(real.truth) < 20 or len(np.unique(real.truth)) < 2:
        return f"the target '{target}' has fewer than 20 real rows with a value, or only one value."
    if len(synthetic.truth) < 2:
        return f"the target '{target}' is null in (nearly) all synthetic rows."
    if task_of(table.schema, target) == "classification" and class_count(table.schema, target) > CLASSES:
        return f"the target '{target}' has more than {CLASSES} classes."
    return None


def _splits(
    data: Examples, holdout: ExactTable | None, target: str, folds: int, rng: np.random.Generator
) -> list[tuple[Examples, Examples]]:
    if holdout is not None:
        return [(data, examples(holdout, target))]
    fold = rng.permutation(np.arange(len(data.truth)) % folds)
    return [(_rows(data, fold != k), _rows(data, fold == k)) for k in range(folds)]


def _rows(data: Examples, mask: np.ndarray) -> Examples:
    chosen = np.flatnonzero(mask)
    return Examples(table=data.table.take(chosen), target=data.target, truth=data.truth[chosen])


def _test(
    name: str, train: Examples, test: Examples, synthetic: Examples, task: str, rng: np.random.Generator
) -> tuple[str, dict[str, tuple[float, float, float]]]:
    real_said, synthetic_said = learn(name, train, test, rng), learn(name, synthetic, test, rng)
    real, fake = measured(test.truth, real_said, task), measured(test.truth, synthetic_said, task)
    noise = _noise(test.truth, real_said, task, rng)
    return name, {measure: (real[measure], fake[measure], noise[measure]) for measure in real}


def _noise(truth: Any, said: Predictions, task: str, rng: np.random.Generator) -> dict[str, float]:
    found: list[dict[str, float]] = []
    for _ in range(BOOTSTRAPS):
        rows = rng.integers(0, len(truth), len(truth))
        chances = None if said.chances is None else said.chances[rows]
        found.append(measured(truth[rows], Predictions(guess=said.guess[rows], chances=chances), task))
    return {measure: float(np.std([f[measure] for f in found])) for measure in found[0]}


def _averaged(
    found: list[tuple[str, dict[str, tuple[float, float, float]]]], learners: Sequence[str], measures: Sequence[str]
) -> list[Learned]:
    out: list[Learned] = []
    for learner in learners:
        for measure in measures:
            values = np.array([scores[measure] for name, scores in found if name == learner])
            real, synthetic, noise = values.mean(axis=0).tolist()
            # Folds are disjoint, so the noise of their mean is smaller.
            noise = noise / len(values) ** 0.5
            out.append(Learned(learner=learner, measure=measure, real=real, synthetic=synthetic, noise=noise))
    return out


def _summary(results: tuple[Learned, ...], task: str, real: Examples) -> Score:
    """The mean loss over learners; the floor is the noise of a difference of two scores."""
    main = [r for r in results if r.measure == MAIN[task]]
    losses = [max(0.0, _bounded(r.real) - _bounded(r.synthetic)) for r in main]
    floors = [r.noise * 2**0.5 for r in main]
    parts = tuple(
        Part(columns=(r.learner,), value=loss, floor=floor) for r, loss, floor in zip(main, losses, floors, strict=True)
    )
    return Score(
        about=ABOUT, value=float(np.mean(losses)), floor=float(np.mean(floors)), parts=parts, rows=len(real.truth)
    )


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))

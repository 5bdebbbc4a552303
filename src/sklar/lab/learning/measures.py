"""How well predictions fit: measures of classification and regression, each a formula of its own.

Classification: MCC (Matthews 1975; several classes as in Gorodkin 2004), AUC (Mann-Whitney; several classes one
against the rest, averaged), F1 (averaged over classes), accuracy. Regression: RMSE and R2. All agree with
scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[Any]
Numbers = npt.NDArray[np.float64]


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


def auc(truth: Labels, score: Numbers) -> float:
    """Chance that a row of class 1 scores higher than one of class 0, ties counting half; 0.5 if a class is absent."""
    positive = truth == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return 0.5
    _, where, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[where]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2.0) / (ones * zeros))


def multiclass_auc(truth: Labels, chances: Numbers) -> float:
    """AUC of each class against the rest, averaged over the classes that occur and are not alone."""
    if chances.shape[1] == 2:
        return auc(truth, chances[:, 1])
    present = [c for c in range(chances.shape[1]) if 0 < (truth == c).sum() < len(truth)]
    return float(np.mean([auc((truth == c).astype(int), chances[:, c]) for c in present])) if present else 0.5


def rmse(truth: Numbers, guess: Numbers) -> float:
    """Root of the mean squared error, in units of the target."""
    return float(math.sqrt(np.mean((truth - guess) ** 2)))


def r2(truth: Numbers, guess: Numbers) -> float:
    """1 - squared error / squared spread, at most 1; 0 if the truth is constant."""
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - guess) ** 2).sum()) / spread if spread > 0 else 0.0


CLASSIFICATION: dict[str, Callable[[Labels, Labels, Numbers], float]] = {
    "mcc": lambda truth, guess, chances: mcc(truth, guess),
    "auc": lambda truth, guess, chances: multiclass_auc(truth, chances),
    "f1": lambda truth, guess, chances: f1(truth, guess),
    "accuracy": lambda truth, guess, chances: accuracy(truth, guess),
}
"""Measures of a classifier from true labels, guessed labels and chances of the classes."""
REGRESSION: dict[str, Callable[[Numbers, Numbers], float]] = {"rmse": rmse, "r2": r2}

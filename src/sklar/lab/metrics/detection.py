"""Real or synthetic: how well a classifier tells the two tables apart.

The score is the area under the ROC curve over held-out folds: 0.5 if nothing tells them apart, 1 if every row gives
itself away; values below 0.5 count as 0.5. Two classifiers: a logistic regression with a ridge, which sees single
columns and needs no extra, and gradient boosting, which sees how columns go together. Reference: Lopez-Paz and Oquab
(2017); Snoke et al. (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import MissingExtraError
from sklar.lab.learning.features import without_empty
from sklar.lab.learning.learners import one_thread
from sklar.lab.learning.transfer import auc
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.metrics.support import embed
from sklar.lab.tables.table import ExactTable, ordered_values

ROWS = 10_000
"""Rows of each table that are used."""
FOLDS = 3
FEW = 20
RIDGE = 1.0
REFERENCE = "Lopez-Paz and Oquab 2017; Snoke et al. 2018"
LINEAR = About(
    name="detection_linear",
    title="Real or synthetic: logistic regression",
    says="How often a linear classifier ranks a synthetic row as more synthetic than a real one.",
    reference=REFERENCE, lower=0.5, upper=1.0, better="lower", good=0.60, fair=0.75,
)  # fmt: skip
BOOSTING = About(
    name="detection_boosting",
    title="Real or synthetic: gradient boosting",
    says="How often gradient boosting ranks a synthetic row as more synthetic than a real one.",
    reference=REFERENCE, lower=0.5, upper=1.0, better="lower", good=0.65, fair=0.85,
)  # fmt: skip


def detect_linear(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Held-out AUC of a logistic regression on the rows as points."""
    if min(real.rows, synthetic.rows) < FEW:
        return not_applicable(LINEAR, f"it needs at least {FEW} rows of each table.")
    points = np.concatenate(embed(real, real, synthetic))
    points = np.clip(points, -10.0, 10.0)
    points = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    labels, folds = _labels_and_folds(real, synthetic, rng)
    scores = np.empty(len(labels))
    for fold in range(FOLDS):
        train = folds != fold
        scores[~train] = points[~train] @ _logistic(points[train], labels[train])
    return _score(LINEAR, labels, scores, folds, min(real.rows, synthetic.rows))


def detect_boosting(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Held-out AUC of gradient boosting on the columns."""
    if min(real.rows, synthetic.rows) < FEW:
        return not_applicable(BOOSTING, f"it needs at least {FEW} rows of each table.")
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingExtraError("gradient boosting needs scikit-learn: pip install 'sklar[eval]'.") from None
    boosting: Any = HistGradientBoostingClassifier
    matrix = np.concatenate([_raw(real), _raw(synthetic)])
    labels, folds = _labels_and_folds(real, synthetic, rng)
    nominal = [not real.schema[n].ordered and real.schema[n].size <= 255 for n in real.names]
    scores = np.empty(len(labels))
    for fold in range(FOLDS):
        train = folds != fold
        model = boosting(max_iter=60, early_stopping=False, random_state=0, categorical_features=nominal)
        with one_thread():
            known, tested = without_empty(matrix[train], matrix[~train])
            model.fit(known, labels[train])
            scores[~train] = model.predict_proba(tested)[:, 1]
    return _score(BOOSTING, labels, scores, folds, min(real.rows, synthetic.rows))


def _score(about: About, labels: np.ndarray, scores: np.ndarray, folds: np.ndarray, rows: int) -> Score:
    found = [auc(labels[folds == f], scores[folds == f]) for f in range(FOLDS)]
    return Score(about=about, value=max(0.5, float(np.mean(found))), rows=rows)


def _labels_and_folds(
    real: ExactTable, synthetic: ExactTable, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """0 for real and 1 for synthetic; folds of equal size within each table."""
    labels = np.repeat([0, 1], [real.rows, synthetic.rows])
    folds = np.concatenate([rng.permutation(np.arange(table.rows) % FOLDS) for table in (real, synthetic)])
    return labels, folds


def _raw(table: ExactTable) -> Floats:
    """Ordered columns as numbers, the others as codes."""
    names = table.names
    ordered = [table.schema[name].ordered for name in names]
    columns = [
        ordered_values(table, name) if flag else table.codes[name].astype(float)
        for name, flag in zip(names, ordered, strict=True)
    ]
    return np.stack(columns, axis=1)


def _logistic(points: Floats, labels: np.ndarray, rounds: int = 25) -> Floats:
    """Coefficients of a ridge logistic regression by Newton's method; tables of unequal size weigh the same."""
    weight = np.where(labels == 1, 0.5 / max(labels.mean(), 1e-9), 0.5 / max(1 - labels.mean(), 1e-9))
    beta = np.zeros(points.shape[1])
    for _ in range(rounds):
        odds = np.clip(points @ beta, -30, 30)
        chance = 1 / (1 + np.exp(-odds))
        slope = points.T @ (weight * (labels - chance)) - RIDGE * beta
        curve = (points * (weight * chance * (1 - chance))[:, None]).T @ points + RIDGE * np.eye(len(beta))
        step = np.linalg.solve(curve, slope)
        beta = beta + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-6:
            break
    return beta

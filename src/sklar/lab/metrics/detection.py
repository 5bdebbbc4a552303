"""Real or synthetic: how well a classifier distinguishes the two tables.

The score is the area under the ROC curve over held-out folds: 0.5 if the tables are indistinguishable, 1 if every row
is recognized; values below 0.5 count as 0.5. Two classifiers: a logistic regression with a ridge, which sees single
columns and needs no extra, and gradient boosting, which sees dependence between columns. Reference: Lopez-Paz and Oquab
(2017); Snoke et al. (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import MissingExtraError
from sklar.lab.learning.features import tree_features, zero_empty_features
from sklar.lab.learning.learners import one_thread
from sklar.lab.learning.logistic import fit_logistic
from sklar.lab.learning.transfer import auc
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.metrics.support import embed
from sklar.lab.tables.table import ExactTable

MAX_DETECTION_ROWS = 10_000
"""Maximum number of rows of each table."""
DETECTION_FOLDS = 3
"""Number of folds: more train on more rows, and cost one training each."""
MIN_DETECTION_ROWS = 20
"""Minimum number of rows of each table: with fewer, a fold is too small."""
DETECTION_RIDGE = 1.0
"""Ridge penalty; it keeps coefficients finite if a column separates the tables perfectly."""
DETECTION_ROUNDS = 60
"""Rounds of boosting."""
REFERENCE = "Lopez-Paz and Oquab 2017; Snoke et al. 2018"
LINEAR = About(
    name="detection_linear",
    title="Real or synthetic: logistic regression",
    says="How often a linear classifier ranks a synthetic row as more synthetic than a real one.",
    reference=REFERENCE, lower=0.5, good=0.60, fair=0.75,
)  # fmt: skip
BOOSTING = About(
    name="detection_boosting",
    title="Real or synthetic: gradient boosting",
    says="How often gradient boosting ranks a synthetic row as more synthetic than a real one.",
    reference=REFERENCE, lower=0.5, good=0.65, fair=0.85,
)  # fmt: skip
Predict = Callable[[Floats, np.ndarray, Floats], Floats]
"""Maps training rows, their labels and test rows to a score of each test row: higher is more likely synthetic."""


def detect_linear(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Return the held-out AUC of a logistic regression on the rows as points."""

    def predict(train: Floats, labels: np.ndarray, test: Floats) -> Floats:
        return test @ fit_logistic(train, labels, _balancing_weights(labels), DETECTION_RIDGE)[0]

    if min(real.rows, synthetic.rows) < MIN_DETECTION_ROWS:
        return not_applicable(LINEAR, f"it needs at least {MIN_DETECTION_ROWS} rows of each table.")
    one, two = (np.insert(np.clip(p, -10.0, 10.0), p.shape[1], 1.0, axis=1) for p in embed(real, real, synthetic))
    return _held_out_score(LINEAR, one, two, predict, rng)


def detect_boosting(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Return the held-out AUC of gradient boosting on the columns."""
    if min(real.rows, synthetic.rows) < MIN_DETECTION_ROWS:
        return not_applicable(BOOSTING, f"it needs at least {MIN_DETECTION_ROWS} rows of each table.")
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingExtraError(
            "gradient boosting needs scikit-learn: pip install '.[eval]' in the folder of Sklar."
        ) from None
    boosting: Any = HistGradientBoostingClassifier
    (one, nominal), (two, _) = (tree_features(table, real.names) for table in (real, synthetic))

    def predict(train: Floats, labels: np.ndarray, test: Floats) -> Floats:
        model = boosting(max_iter=DETECTION_ROUNDS, early_stopping=False, random_state=0, categorical_features=nominal)
        train, test = zero_empty_features(train, test)
        with one_thread():
            return model.fit(train, labels).predict_proba(test)[:, 1]

    return _held_out_score(BOOSTING, one, two, predict, rng)


def _held_out_score(about: About, real: Floats, synthetic: Floats, predict: Predict, rng: np.random.Generator) -> Score:
    """Return the mean AUC over folds of equal size within each table; real rows have label 0, synthetic ones 1."""
    rows, labels = np.concatenate([real, synthetic]), np.repeat([0, 1], [len(real), len(synthetic)])
    folds = np.concatenate([rng.permutation(np.arange(len(table)) % DETECTION_FOLDS) for table in (real, synthetic)])
    tests = (folds == fold for fold in range(DETECTION_FOLDS))
    found = [auc(labels[test], predict(rows[~test], labels[~test], rows[test])) for test in tests]
    return Score(about=about, value=max(0.5, float(np.mean(found))), rows=min(len(real), len(synthetic)))


def _balancing_weights(labels: np.ndarray) -> Floats:
    """Return weights that balance tables of unequal size."""
    return np.where(labels == 1, 0.5 / max(labels.mean(), 1e-9), 0.5 / max(1 - labels.mean(), 1e-9))

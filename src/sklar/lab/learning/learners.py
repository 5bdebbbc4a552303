"""The learners: gradient boosting by scikit-learn or XGBoost, random forest, linear, support vectors, tree."""

from __future__ import annotations

import importlib
import sys
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.errors import MissingExtraError, UsageError
from sklar.lab.learning.features import (
    Examples,
    class_count,
    linear_features,
    task_of,
    tree_features,
    zero_empty_features,
)

LEARNERS = ("boosting", "forest", "linear", "svc", "tree", "xgboost")
DEFAULT_LEARNERS = ("boosting", "linear", "tree")
MAX_TRAINING_ROWS = 20_000
"""Maximum number of training rows of a learner."""
MAX_TRAINING_ROWS_OF = {"svc": 2_000}
"""Fewer training rows for learners whose time grows with the square of the rows."""
MAX_BOOSTING_ROUNDS = 80
"""Rounds of boosting for numbers and two classes; fewer with more classes."""
MIN_BOOSTING_ROUNDS = 20
"""Minimum number of rounds with many classes: each round grows a tree for each class."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """Predictions of a learner for test rows; `chances` (class probabilities or scores) only for classification."""

    guess: npt.NDArray[Any]
    chances: Floats | None = None

    def take(self, rows: Ints) -> Predictions:
        """Select rows."""
        return Predictions(guess=self.guess[rows], chances=None if self.chances is None else self.chances[rows])


def train_and_predict(name: str, train: Examples, test: Examples, rng: np.random.Generator) -> Predictions:
    """Train a learner and predict the test rows; a constant training target is predicted for all rows."""
    if name not in LEARNERS:
        raise UsageError(f"there is no learner '{name}'; choose one of {', '.join(LEARNERS)}.")
    try:
        importlib.import_module("xgboost" if name == "xgboost" else "sklearn")
    except ImportError:
        raise MissingExtraError(
            "downstream learning needs scikit-learn, and the learner xgboost XGBoost: pip install '.[eval]' in the "
            "folder of Sklar."
        ) from None
    rows = MAX_TRAINING_ROWS_OF.get(name, MAX_TRAINING_ROWS)
    if len(train.truth) > rows:
        train = train.take(np.sort(rng.choice(len(train.truth), rows, replace=False)))
    regression = task_of(train.table.schema, train.target) == "regression"
    labels, places = np.unique(train.truth, return_inverse=True)
    if len(labels) < 2:
        return _predict_constant(train, test, regression)
    one, two, nominal = _make_features(name, train, test)
    model = _make_model(name, regression, nominal, len(labels))
    with warnings.catch_warnings(), one_thread():
        # A linear learner that did not converge still predicts.
        warnings.simplefilter("ignore")
        model.fit(one, train.truth if regression else places)
        if regression:
            return Predictions(guess=model.predict(two))
        return _classify(model, two, labels.astype(int), class_count(train.table.schema, train.target))


def _predict_constant(train: Examples, test: Examples, regression: bool) -> Predictions:
    value = train.truth[0] if len(train.truth) else 0
    guess = np.full(len(test.truth), value)
    if regression:
        return Predictions(guess=guess.astype(float))
    chances = np.zeros((len(guess), class_count(train.table.schema, train.target)))
    chances[:, int(value)] = 1.0
    return Predictions(guess=guess, chances=chances)


def _make_features(name: str, train: Examples, test: Examples) -> tuple[Floats, Floats, list[bool]]:
    """Make indicators and standardized numbers for linear learners and support vectors, codes for the others."""
    if name in ("linear", "svc"):
        return *linear_features(train, test), []
    (one, nominal), (two, _) = (tree_features(data.table, train.inputs) for data in (train, test))
    one, two = zero_empty_features(one, two)
    if name in ("forest", "tree"):  # they do not accept NaN
        one, two = np.nan_to_num(one, nan=-1e9), np.nan_to_num(two, nan=-1e9)
    return one, two, nominal


def _make_model(name: str, regression: bool, nominal: list[bool], classes: int) -> Any:
    """Create an untrained model."""
    from sklearn import compose, ensemble, linear_model, preprocessing, svm, tree

    boosting: Any = ensemble.HistGradientBoostingRegressor if regression else ensemble.HistGradientBoostingClassifier
    rounds = MAX_BOOSTING_ROUNDS if regression else max(MIN_BOOSTING_ROUNDS, 2 * MAX_BOOSTING_ROUNDS // classes)
    forest = ensemble.RandomForestRegressor if regression else ensemble.RandomForestClassifier
    decision_tree = tree.DecisionTreeRegressor if regression else tree.DecisionTreeClassifier
    match name:
        case "boosting":
            return boosting(max_iter=rounds, early_stopping=False, random_state=0, categorical_features=nominal)
        case "forest":
            return forest(n_estimators=100, min_samples_leaf=2, random_state=0)
        case "linear":
            return linear_model.Ridge(alpha=1e-6) if regression else linear_model.LogisticRegression(max_iter=200)
        case "tree":
            return decision_tree(max_depth=8, min_samples_leaf=5, random_state=0)
        case "xgboost":
            xgboost: Any = importlib.import_module("xgboost")
            return (xgboost.XGBRegressor if regression else xgboost.XGBClassifier)(n_jobs=1, random_state=0)
        case _ if regression:
            # The margin of support vector regression is in units of the target, so the target is standardized.
            return compose.TransformedTargetRegressor(svm.SVR(), transformer=preprocessing.StandardScaler())
        case _:
            return svm.SVC(random_state=0)


def _classify(model: Any, matrix: Floats, seen: Ints, classes: int) -> Predictions:
    """Predict scores of all classes of the schema; classes not seen in training get the lowest."""
    if hasattr(model, "predict_proba"):
        scores = model.predict_proba(matrix)
    else:
        scores = model.decision_function(matrix)
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
    chances = np.full((len(scores), classes), min(0.0, float(scores.min())) - 1e-9)
    chances[:, seen] = scores
    return Predictions(guess=seen[scores.argmax(axis=1)], chances=chances)


def one_thread() -> AbstractContextManager[object]:
    """Limit OpenMP and BLAS to one thread within the block."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1) if sys.modules.get("sklearn.ensemble") is None else _thread_pools().limit(limits=1)


@cache
def _thread_pools() -> Any:
    """Find the thread pools of loaded libraries; cached, because the search is slower than learning a small table."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

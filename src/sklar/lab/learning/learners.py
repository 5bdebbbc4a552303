"""The learners: gradient boosting, random forest, linear, support vectors, tree. Each trains once and predicts once."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.errors import MissingExtraError, UsageError
from sklar.lab.learning.features import (
    Examples,
    class_count,
    flat_features,
    task_of,
    tree_features,
    without_empty,
)

ROWS = 20_000
"""Rows a learner trains on at most."""
FEWER_ROWS = {"svc": 2_000}
"""Learners whose time grows with the square of the rows train on fewer."""
ROUNDS = 80
"""Rounds of boosting for numbers and two classes; fewer with more classes."""
QUICK = ("boosting", "linear", "tree")
SLOW = ("forest", "svc")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """What a learner says about test rows; `chances` only for classification."""

    guess: npt.NDArray[Any]
    chances: Floats | None = None


def learn(name: str, train: Examples, test: Examples, rng: np.random.Generator) -> Predictions:
    """Train a learner and let it predict. A training target with one value only gives that value."""
    require_learner(name)
    train = _fewer(train, FEWER_ROWS.get(name, ROWS), rng)
    schema, target = train.table.schema, train.target
    regression = task_of(schema, target) == "regression"
    if len(np.unique(train.truth)) < 2:
        return _constant(train, test, regression)
    one, two, nominal = _matrices(name, train, test)
    model = LEARNERS[name][regression](nominal)
    if name == "boosting" and not regression:
        # Each round grows a tree for each class.
        model.set_params(max_iter=max(20, 2 * ROUNDS // max(2, len(np.unique(train.truth)))))
    with warnings.catch_warnings(), one_thread():
        # A linear learner stopped early still predicts; whether it converged is not the question here.
        warnings.simplefilter("ignore")
        model.fit(one, train.truth)
        if regression:
            return Predictions(guess=model.predict(two))
        return _classified(model, two, class_count(schema, target))


def require_learner(name: str) -> None:
    """Refuse unknown names, and tell the extra to install when scikit-learn is absent."""
    if name not in LEARNERS:
        raise UsageError(f"there is no learner '{name}'; known are {', '.join(LEARNERS)}.")
    try:
        importlib.import_module("sklearn")
    except ImportError:
        raise MissingExtraError("downstream learning needs scikit-learn: pip install 'sklar[eval]'.") from None


def _fewer(data: Examples, rows: int, rng: np.random.Generator) -> Examples:
    if len(data.truth) <= rows:
        return data
    chosen = np.sort(rng.choice(len(data.truth), rows, replace=False))
    return Examples(table=data.table.take(chosen), target=data.target, truth=data.truth[chosen])


def _matrices(name: str, train: Examples, test: Examples) -> tuple[Any, Any, list[bool]]:
    if name in FLAT:
        one, two = flat_features(train, test)
        return one, two, []
    (one, nominal), (two, _) = tree_features(train), tree_features(test)
    one, two = without_empty(one, two)
    if name in NO_NAN:
        one, two = np.nan_to_num(one, nan=-1e9), np.nan_to_num(two, nan=-1e9)
    return one, two, nominal


def _constant(train: Examples, test: Examples, regression: bool) -> Predictions:
    value = train.truth[0] if len(train.truth) else 0
    guess = np.full(len(test.truth), value)
    if regression:
        return Predictions(guess=guess.astype(float))
    chances = np.zeros((len(guess), class_count(train.table.schema, train.target)))
    chances[:, int(value)] = 1.0
    return Predictions(guess=guess, chances=chances)


def _classified(model: Any, matrix: Any, classes: int) -> Predictions:
    """Chances of all classes of the schema; those that training never saw have none."""
    seen = model.classes_.astype(int)
    if hasattr(model, "predict_proba"):
        scores = model.predict_proba(matrix)
    else:
        scores = model.decision_function(matrix)
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
    chances = np.full((len(scores), classes), min(0.0, float(scores.min())) - 1e-9)
    chances[:, seen] = scores
    return Predictions(guess=seen[scores.argmax(axis=1)], chances=chances)


def _boosting(regression: bool) -> Callable[[list[bool]], Any]:
    def make(nominal: list[bool]) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind: Any = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return kind(max_iter=ROUNDS, early_stopping=False, random_state=0, categorical_features=nominal)

    return make


def _forest(regression: bool) -> Callable[[list[bool]], Any]:
    def make(nominal: list[bool]) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestRegressor if regression else RandomForestClassifier
        return kind(n_estimators=100, min_samples_leaf=2, random_state=0)

    return make


def _linear(regression: bool) -> Callable[[list[bool]], Any]:
    def make(nominal: list[bool]) -> Any:
        from sklearn.linear_model import LogisticRegression, Ridge

        return Ridge(alpha=1e-6) if regression else LogisticRegression(max_iter=200)

    return make


def _support_vectors(regression: bool) -> Callable[[list[bool]], Any]:
    def make(nominal: list[bool]) -> Any:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC, SVR

        # Support vector regression has a margin in units of the target, so the target is standardized.
        return TransformedTargetRegressor(SVR(), transformer=StandardScaler()) if regression else SVC(random_state=0)

    return make


def _tree(regression: bool) -> Callable[[list[bool]], Any]:
    def make(nominal: list[bool]) -> Any:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
        return kind(max_depth=8, min_samples_leaf=5, random_state=0)

    return make


LEARNERS: dict[str, tuple[Callable[[list[bool]], Any], Callable[[list[bool]], Any]]] = {
    "boosting": (_boosting(False), _boosting(True)),
    "forest": (_forest(False), _forest(True)),
    "linear": (_linear(False), _linear(True)),
    "svc": (_support_vectors(False), _support_vectors(True)),
    "tree": (_tree(False), _tree(True)),
}
"""Name to (classifier, regressor)."""
FLAT = frozenset({"linear", "svc"})
"""Learners that take indicators and standardized numbers; the others take codes."""
NO_NAN = frozenset({"forest", "tree"})


def one_thread() -> AbstractContextManager[object]:
    """Within it, OpenMP and BLAS use one thread (threadpoolctl comes with scikit-learn)."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)

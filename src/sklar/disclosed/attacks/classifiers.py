"""Classifiers of whole tables: does a synthetic table come from a model that saw the target?"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.disclosed.learning.threads import one_thread
from sklar.errors import MissingExtraError, UsageError

Matrix = npt.NDArray[Any]
TREES = 60
ROUNDING = 1e-6
"""Features are kept in single precision: a smaller spread, in units of their mean, is none."""


def judge(name: str, train: Matrix, labels: Matrix, tests: list[Matrix], seed: int, trees: int = TREES) -> list[float]:
    """Train on labelled tables, and tell for each group of tests the share that is said to have seen the target."""
    values = train.astype(np.float64)
    center, spread = values.mean(axis=0), values.std(axis=0)
    varying = spread > ROUNDING * np.abs(center)
    if not varying.any():
        return [0.5 for _ in tests]
    center, spread = center[varying], spread[varying]
    model = CLASSIFIERS[name](seed)
    if name == "forest":
        model.set_params(n_estimators=trees)
    with one_thread():
        model.fit((values[:, varying] - center) / spread, labels)
        # Far beyond what training saw, distances only drown the rest. One call for all: a call costs more than rows do.
        scaled = np.clip((np.concatenate(tests)[:, varying] - center) / spread, -50.0, 50.0)
        said = model.predict(scaled)
    ends = np.cumsum([len(test) for test in tests])[:-1]
    return [float(group.mean()) for group in np.split(said, ends)]


def require_classifier(name: str) -> None:
    """Refuse unknown names, and tell the extra to install when scikit-learn is absent."""
    if name not in CLASSIFIERS:
        raise UsageError(f"there is no classifier '{name}'; known are {', '.join(CLASSIFIERS)}.")
    try:
        importlib.import_module("sklearn")
    except ImportError:
        raise MissingExtraError("shadow models need scikit-learn: pip install 'sklar[eval]'.") from None


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=TREES, min_samples_leaf=4, random_state=seed, n_jobs=1)


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500, C=0.1, random_state=seed)


def _neighbors(seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors=5)


def _support_vectors(seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(random_state=seed)


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "forest": _forest,
    "logistic": _logistic,
    "neighbors": _neighbors,
    "svc": _support_vectors,
}

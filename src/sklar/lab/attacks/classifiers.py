"""Classifiers that decide from a whole synthetic table whether its model was fitted on a target row.

A table becomes a vector of features: moments, histograms, correlations or all of them, as in Stadler et al. (2022). In
addition there is the distance from a target to its closest synthetic row.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.errors import MissingExtraError, UsageError
from sklar.lab.attacks.distances import row_points
from sklar.lab.attacks.regression import DesignLayout
from sklar.lab.learning.learners import one_thread
from sklar.lab.tables.table import CoarseGrid, ExactTable, ordered_values

Matrix = npt.NDArray[Any]
ATTACK_TREES, SELECTION_TREES = 60, 12
"""Trees of the forest that attacks, and of the one that only selects a feature set: more are steadier and slower."""
MIN_RELATIVE_SPREAD = 1e-6
"""Features whose standard deviation over their mean is smaller are constant: they are kept in single precision."""
MAX_STANDARD_SCORE = 50.0
"""Test features are clipped at this number of standard deviations: further out they would dominate all others."""
HISTOGRAM_CELLS = 25
"""Cells of a numeric column in histograms: more show finer changes, and more of them by chance."""
MAX_CORRELATED_LABELS = 8
"""Maximum labels of a column whose indicators are correlated: the number of features grows with its square."""
CLASSIFIERS = ("forest", "plain-forest", "logistic", "neighbors", "svc")
CLOSEST = "closest"
TABLE_FEATURES = ("naive", "histogram", "correlation")
PUBLISHED_FEATURES = (*TABLE_FEATURES, "ensemble")
ALL_FEATURES = (*PUBLISHED_FEATURES, CLOSEST)
"""Moments; cell shares; correlations; these three together; the row closest to a target."""


def classify_tables(
    name: str, train: Matrix, labels: Matrix, tests: list[Matrix], seed: int, trees: int = ATTACK_TREES
) -> list[float]:
    """Train on labelled tables; return for each group of tests the share classified as fitted with the target."""
    values = train.astype(np.float64)
    centre, spread = values.mean(axis=0), values.std(axis=0)
    varying = spread > MIN_RELATIVE_SPREAD * np.abs(centre)
    if not varying.any():
        return [0.5 for _ in tests]
    centre, spread = centre[varying], spread[varying]
    model = make_classifier(name, seed, trees)
    with one_thread():
        model.fit((values[:, varying] - centre) / spread, labels)
        # One call for all groups: the overhead of a call exceeds the cost of its rows.
        scaled = (np.concatenate(tests)[:, varying] - centre) / spread
        predicted = model.predict(np.clip(scaled, -MAX_STANDARD_SCORE, MAX_STANDARD_SCORE))
    ends = np.cumsum([len(test) for test in tests])[:-1]
    return [float(group.mean()) for group in np.split(predicted, ends)]


def require_classifier(name: str) -> None:
    """Reject unknown names, and name the extra to install when scikit-learn is missing."""
    if name not in CLASSIFIERS:
        raise UsageError(f"there is no classifier '{name}'; choose one of {', '.join(CLASSIFIERS)}.")
    try:
        importlib.import_module("sklearn")
    except ImportError:
        raise MissingExtraError(
            "shadow models need scikit-learn: pip install '.[eval]' in the folder of Sklar."
        ) from None


def make_classifier(name: str, seed: int, trees: int) -> Any:
    """Create a classifier; `trees` is used by forests only."""
    from sklearn import ensemble, linear_model, neighbors, svm

    match name:
        case "forest":
            return ensemble.RandomForestClassifier(trees, min_samples_leaf=4, random_state=seed, n_jobs=1)
        case "plain-forest":
            # The library's default for the attack itself; the selection of a feature set may be quicker.
            count = 100 if trees == ATTACK_TREES else trees
            return ensemble.RandomForestClassifier(count, random_state=seed, n_jobs=1)
        case "logistic":
            return linear_model.LogisticRegression(max_iter=500, C=0.1, random_state=seed)
        case "neighbors":
            return neighbors.KNeighborsClassifier(n_neighbors=5)
        case _:
            return svm.SVC(random_state=seed)


def table_features(table: ExactTable, tables: int, grid: CoarseGrid, layout: DesignLayout) -> dict[str, Floats]:
    """Compute the features of `tables` tables of equal size that are stacked in one table."""
    size = table.rows // tables
    ordered = [name for name in table.names if name not in layout.shown]
    values = [_impute_means(ordered_values(table, name)[: size * tables].reshape(tables, size)) for name in ordered]
    codes = {name: table.codes[name][: size * tables].reshape(tables, size) for name in table.names}
    shares = {name: _compute_cell_shares(grid.lookups[name][codes[name]], grid.sizes[name]) for name in table.names}
    naive = [f for x in values for f in (x.mean(axis=1), np.median(x, axis=1), x.var(axis=1))]
    for name in layout.shown:
        naive += [(shares[name] > 0).sum(axis=1), shares[name].argmax(axis=1), shares[name].max(axis=1)]
    return {
        "naive": np.stack([np.asarray(x, dtype=np.float64) for x in naive], axis=1),
        "histogram": np.concatenate([shares[name] for name in table.names], axis=1),
        "correlation": _compute_correlations(values, codes, layout),
    }


def closest_features(table: ExactTable, tables: int, real: ExactTable, targets: Ints) -> Floats:
    """Compute the log distance to the closest row for each table and target: shape (tables, targets)."""
    size = table.rows // tables
    people = real.take(targets)
    rows, places = row_points(real, [table, people])
    labels = [name for name in real.names if not real.schema[name].ordered]
    out = np.empty((tables, len(targets)))
    for at in range(len(targets)):
        squared = ((rows.numbers - places.numbers[at]) ** 2).sum(axis=1)
        for name in labels:
            squared = squared + (table.codes[name] != people.codes[name][at])
        out[:, at] = np.log(np.sqrt(squared[: size * tables].reshape(tables, size).min(axis=1)) + 1e-6)
    return out


def _impute_means(values: Floats) -> Floats:
    """Replace each null by the mean of its table."""
    null = np.isnan(values)
    if not null.any():
        return values
    known = np.maximum((~null).sum(axis=1, keepdims=True), 1)
    return np.where(null, np.where(null, 0.0, values).sum(axis=1, keepdims=True) / known, values)


def _compute_cell_shares(cells: Ints, size: int) -> Floats:
    tables, rows = cells.shape
    flat = (cells + np.arange(tables)[:, None] * size).ravel()
    return np.bincount(flat, minlength=tables * size).reshape(tables, size) / rows


def _compute_correlations(values: list[Floats], codes: dict[str, Ints], layout: DesignLayout) -> Floats:
    labels = [(name, code) for name, shown in layout.shown.items() for code in shown[:MAX_CORRELATED_LABELS]]
    columns = [*values, *((codes[name] == code).astype(float) for name, code in labels)]
    if len(columns) < 2:
        return np.zeros((len(next(iter(codes.values()))), 0))
    cube = np.stack(columns, axis=2)
    cube = cube - cube.mean(axis=1, keepdims=True)
    spread = np.sqrt((cube**2).sum(axis=1, keepdims=True))
    cube = np.divide(cube, spread, out=np.zeros_like(cube), where=spread > 1e-12)
    products = np.matmul(cube.transpose(0, 2, 1), cube)
    first, second = np.triu_indices(len(columns), 1)
    return products[:, first, second]


def classify_by_threshold(without: Matrix, with_it: Matrix, tests: Sequence[Matrix]) -> list[float]:
    """Return the share of each group of tests below a threshold learned from tables without and with the target."""
    limit = find_threshold(np.ravel(without), np.ravel(with_it))
    return [float((np.ravel(test) <= limit).mean()) for test in tests]


def find_threshold(without: Matrix, with_it: Matrix) -> float:
    """Find the value below which tables with the target lie more often than tables without it.

    The advantage of a threshold is the difference of the two shares below it. Among the thresholds whose advantage is
    within one standard error of the greatest, the one in the widest gap between values is chosen: with few shadow
    models the greatest advantage is partly chance. Returns -inf if no threshold has an advantage.
    """
    values = np.unique(np.concatenate([without, with_it]))
    hits = np.searchsorted(np.sort(with_it), values, "right") / len(with_it)
    alarms = np.searchsorted(np.sort(without), values, "right") / len(without)
    gains = (hits - alarms)[:-1]  # both shares are 1 at the last value
    if not len(gains) or gains.max() <= 0:
        return -math.inf
    best = int(np.argmax(gains))
    error = math.sqrt(_variance(hits[best], len(with_it)) + _variance(alarms[best], len(without)))
    close = gains >= max(float(gains[best]) - error, float(gains[best]) / 2)
    chosen = int(np.argmax(np.where(close, np.diff(values), -1.0)))
    return float(values[chosen] + values[chosen + 1]) / 2


def _variance(share: float, trials: int) -> float:
    """Return the variance of a share, shrunk towards 1/2 so that 0 and 1 in few trials are not certain."""
    shrunk = (share * trials + 1) / (trials + 2)
    return shrunk * (1 - shrunk) / trials

"""G_eps and G_eps+: one number from correlations, learning and single columns; 0 for a table like the real one.

    G_eps  = alpha mu + beta delta
    G_eps+ = alpha mu + beta delta + gamma nu
mu = || phi_k(synthetic) - phi_k(real) ||_2 / (m (m - 1) / 2), the Frobenius norm over the m columns; delta = mean
over targets, K learners and L accuracy measures of |acc(synthetic) - acc(real)|, each learner trained and tested on a
split of its own table (K and L are free; the default is K = 3 as in section 4.2, and L = 3 for labels, which the paper
does not specify); nu = mean total variation distance of single columns on the public grid. Every accuracy is clipped to
[0, 1], and mu to 1 (it could exceed 1 for two columns only), so G_eps+ lies between 0 and alpha + beta + gamma. mu
decreases with m even if no correlation improves, so the mean absolute difference is also reported.
Reference: Galloni, Lendak and Horvath (2020, 2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.learning.features import has_too_many_classes, select_examples, task_of
from sklar.lab.learning.learners import train_and_predict
from sklar.lab.learning.transfer import score_predictions
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable

PAPER_LEARNERS = ("svc", "linear", "tree")
"""The default K learners, those of the paper."""
BOUNDED_MEASURES = {"classification": ("accuracy", "f1", "auc", "mcc"), "regression": ("r2",)}
"""Measures in [0, 1] (mcc and r2 after clipping), so that their differences can be averaged."""
DEFAULT_MEASURES = ("accuracy", "f1", "auc", "r2")
"""The default L measures: three for labels, and R squared for numbers, as in section 4.1."""
TRAIN_SHARE = 0.7
"""Share of the training rows of each table; the other rows test."""
MAX_G_EPSILON_ROWS = 5_000
"""Maximum number of rows of each table for the learners."""
MIN_G_EPSILON_ROWS = 20
"""Minimum number of rows of each table: fewer are not enough to train and test on."""
MIN_TARGET_VALUES = 11
"""Minimum number of real rows with a known target."""
MAX_PREDICTED_COLUMNS = 12
"""With more columns and no given target, this number is drawn at random."""
EQUAL_WEIGHTS = (1.0, 1.0, 1.0)
"""The default alpha, beta and gamma."""
PLAIN = About(
    name="g_epsilon",
    title="One number: G_eps",
    says="Weighted sum of the differences in correlations and learning.",
    reference="Galloni et al. 2020", upper=2.0, good=0.05, fair=0.15,
)  # fmt: skip
PLUS = About(
    name="g_epsilon_plus",
    title="One number: G_eps+",
    says="Weighted sum of the differences in correlations, learning and single columns.",
    reference="Galloni et al. 2023", upper=3.0, good=0.08, fair=0.25,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GEpsilon:
    """The scores and their parts.

    Attributes:
        mu: Difference of the phi_k matrices, by the paper's norm.
        mu_mean: Mean absolute difference of phi_k, which does not shrink with the number of columns.
        g_epsilon: alpha mu + beta delta.
        score: G_eps+ = g_epsilon + gamma nu.
    """

    mu: float
    mu_mean: float
    delta: float
    nu: float
    weights: tuple[float, float, float]
    targets: tuple[str, ...]
    learners: tuple[str, ...]
    measures: tuple[str, ...]
    g_epsilon: float
    score: Score

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**asdict(self), "g_epsilon_plus": self.score.value, "score": self.score.to_dict()}


def g_epsilon(
    matrices: tuple[Floats, Floats],
    nu: float,
    tables: tuple[ExactTable, ExactTable],
    targets: Sequence[str],
    rng: np.random.Generator,
    *,
    learners: Sequence[str] = PAPER_LEARNERS,
    measures: Sequence[str] = DEFAULT_MEASURES,
    weights: Sequence[float] = EQUAL_WEIGHTS,
) -> GEpsilon:
    """Compute G_eps+; `matrices` are phi_k of the real and the synthetic table, `targets` are predicted."""
    real, synthetic = tables
    alpha, beta, gamma = check_weights(weights)
    mu, mu_mean = correlation_part(*matrices)
    usable = usable_targets(real, targets)
    chosen = check_measures(measures)
    delta = learning_part(tables, usable, learners, chosen, rng)
    basic = alpha * mu + beta * delta
    score = Score(about=PLUS, value=basic + gamma * nu, rows=min(real.rows, synthetic.rows))
    return GEpsilon(
        mu=mu, mu_mean=mu_mean, delta=delta, nu=nu, weights=(alpha, beta, gamma), targets=tuple(usable),
        learners=tuple(learners), measures=chosen, g_epsilon=basic, score=score,
    )  # fmt: skip


def drop_margins(plus: Score) -> Score:
    """Return G_eps from the parts of G_eps+."""
    value = None if plus.value is None else plus.behind.g_epsilon
    return replace(plus, about=PLAIN, value=value, floor=None, behind=None)


def check_measures(measures: Sequence[str]) -> tuple[str, ...]:
    """Check the measures; a kind of target (labels, numbers) without any gets those of the paper."""
    known = [name for names in BOUNDED_MEASURES.values() for name in names]
    unknown = [name for name in measures if name not in known]
    if unknown or not measures:
        raise UsageError(f"G_eps+ has no measure {unknown}; the bounded ones are {', '.join(known)}.")
    named = [[name for name in names if name in measures] for names in BOUNDED_MEASURES.values()]
    usual = [[name for name in names if name in DEFAULT_MEASURES] for names in BOUNDED_MEASURES.values()]
    return tuple(name for own, paper in zip(named, usual, strict=True) for name in own or paper)


def check_weights(weights: Sequence[float]) -> tuple[float, float, float]:
    """Require three finite numbers of at least 0."""
    listed = tuple(float(w) for w in weights)
    if len(listed) != 3 or not all(math.isfinite(w) and w >= 0 for w in listed):
        raise UsageError(f"weights must be three numbers of at least 0: alpha, beta, gamma; found {list(weights)}.")
    return listed[0], listed[1], listed[2]


def correlation_part(real: Floats, synthetic: Floats) -> tuple[float, float]:
    """Return mu and the mean absolute difference of correlations; undefined ones count as 0."""
    pairs = len(real) * (len(real) - 1) / 2
    if not pairs:
        return 0.0, 0.0
    difference = np.nan_to_num(real) - np.nan_to_num(synthetic)
    return min(1.0, float(np.linalg.norm(difference)) / pairs), float(np.abs(difference).sum() / 2 / pairs)


def usable_targets(real: ExactTable, targets: Sequence[str]) -> list[str]:
    """Return the targets that vary in the real table and do not have too many classes."""
    truths = {target: select_examples(real, target).truth for target in targets}
    varying = [t for t, truth in truths.items() if len(truth) >= MIN_TARGET_VALUES and len(np.unique(truth)) > 1]
    return [target for target in varying if not has_too_many_classes(real.schema, target)]


def choose_targets_to_predict(names: Sequence[str], target: str | None, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the given target, or all columns (MAX_PREDICTED_COLUMNS random ones if there are more)."""
    if target is not None:
        return (target,)
    if len(names) <= MAX_PREDICTED_COLUMNS:
        return tuple(names)
    chosen: list[int] = np.sort(rng.choice(len(names), MAX_PREDICTED_COLUMNS, replace=False)).tolist()
    return tuple(names[i] for i in chosen)


def learning_part(
    tables: tuple[ExactTable, ExactTable],
    targets: Sequence[str],
    learners: Sequence[str],
    measures: Sequence[str],
    rng: np.random.Generator,
) -> float:
    """Return delta, the difference of learners' scores within each table; both tables are split by row position."""
    keys = rng.random(max(table.rows for table in tables))
    differences: list[float] = []
    for target, learner in product(targets, learners):
        one, two = (_score_within(table, target, learner, keys, rng) for table in tables)
        differences += [abs(one[measure] - two[measure]) for measure in one if measure in measures]
    return float(np.mean(differences)) if differences else 0.0


def _score_within(
    table: ExactTable, target: str, learner: str, keys: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    """Return bounded accuracies of a learner trained and tested on one table; 0 if there is nothing to learn from."""
    measures = BOUNDED_MEASURES[task_of(table.schema, target)]
    data, order = select_examples(table, target), keys[: table.rows]
    if len(data.truth) != table.rows:
        order = order[table.codes[target] != table.schema[target].null_code]
    train = order < np.quantile(order, TRAIN_SHARE) if len(order) else order > 0
    if train.all() or not train.any():
        return dict.fromkeys(measures, 0.0)
    one, two = data.take(np.flatnonzero(train)), data.take(np.flatnonzero(~train))
    found = score_predictions(two.truth, train_and_predict(learner, one, two, rng))
    return {measure: min(1.0, max(0.0, found[measure])) for measure in measures}

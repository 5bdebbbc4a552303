"""G_eps and G_eps+: one number out of correlations, learning and single columns; 0 for a table like the real one.

    G_eps  = alpha mu + beta delta
    G_eps+ = alpha mu + beta delta + gamma nu
mu = || phi_k(synthetic) - phi_k(real) ||_2 / (m (m - 1) / 2), the Frobenius norm over the m columns; delta = mean
over targets, K learners and L accuracy measures of |acc(synthetic) - acc(real)|, each learner trained and tested on a
split of its own table (K and L are free; the default is K = 3 as in section 4.2, and L = 3 for labels, which are not
named there); nu = mean total variation distance of single columns on the public grid. Every accuracy is clipped to
[0, 1], and mu to 1 (it could exceed 1 for two columns only), so G_eps+ lies between 0 and alpha + beta + gamma. mu
falls with m even if no correlation gets better, so the mean absolute difference stands beside it.
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
from sklar.lab.learning.features import examples, has_too_many_classes, task_of
from sklar.lab.learning.learners import learn
from sklar.lab.learning.transfer import score_predictions
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable

LEARNERS = ("svc", "linear", "tree")
"""K of the paper, unless others are named."""
BOUNDED = {"classification": ("accuracy", "f1", "auc", "mcc"), "regression": ("r2",)}
"""Measures that lie in [0, 1] (mcc and r2 once clipped), so that their differences can be averaged."""
MEASURES = ("accuracy", "f1", "auc", "r2")
"""L, unless others are named: three for labels, and R squared for numbers, as in section 4.1."""
TRAIN_SHARE = 0.7
"""Of each table; the other rows test."""
ROWS = 5_000
"""Rows of each table that the learners use at most."""
FEW = 20
"""Rows of each table that are needed: fewer leave nothing to train and test on."""
LEAST = 11
"""Real rows in which a target must be known to be predicted."""
TARGETS = 12
"""With more columns and no target named, this many are drawn at random."""
WEIGHTS = (1.0, 1.0, 1.0)
"""alpha, beta and gamma: all parts weigh the same."""
PLAIN = About(
    name="g_epsilon",
    title="One number: G_eps",
    says="Weighted sum of the differences in correlations and learning.",
    reference="Galloni et al. 2020",
    lower=0.0, upper=2.0, better="lower", good=0.05, fair=0.15,
)  # fmt: skip
PLUS = About(
    name="g_epsilon_plus",
    title="One number: G_eps+",
    says="Weighted sum of the differences in correlations, learning and single columns.",
    reference="Galloni et al. 2023",
    lower=0.0, upper=3.0, better="lower", good=0.08, fair=0.25,
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
        """As plain data."""
        return {**asdict(self), "g_epsilon_plus": self.score.value, "score": self.score.to_dict()}


def g_epsilon(
    matrices: tuple[Floats, Floats],
    nu: float,
    tables: tuple[ExactTable, ExactTable],
    targets: Sequence[str],
    rng: np.random.Generator,
    *,
    learners: Sequence[str] = LEARNERS,
    measures: Sequence[str] = MEASURES,
    weights: Sequence[float] = WEIGHTS,
) -> GEpsilon:
    """Put the parts together; `matrices` are phi_k of the real and of the synthetic table, `targets` are predicted."""
    real, synthetic = tables
    alpha, beta, gamma = checked_weights(weights)
    mu, mu_mean = correlation_part(*matrices)
    usable = usable_targets(real, targets)
    chosen = checked_measures(measures)
    delta = learning_part(tables, usable, learners, chosen, rng)
    basic = alpha * mu + beta * delta
    score = Score(about=PLUS, value=basic + gamma * nu, rows=min(real.rows, synthetic.rows))
    return GEpsilon(
        mu=mu, mu_mean=mu_mean, delta=delta, nu=nu, weights=(alpha, beta, gamma), targets=tuple(usable),
        learners=tuple(learners), measures=chosen, g_epsilon=basic, score=score,
    )  # fmt: skip


def without_margins(plus: Score) -> Score:
    """G_eps, from the parts of G_eps+."""
    value = None if plus.value is None else plus.behind.g_epsilon
    return replace(plus, about=PLAIN, value=value, floor=None, behind=None)


def checked_measures(measures: Sequence[str]) -> tuple[str, ...]:
    """Known measures; a kind of target (labels, numbers) for which none is named keeps those of the paper."""
    known = [name for names in BOUNDED.values() for name in names]
    unknown = [name for name in measures if name not in known]
    if unknown or not measures:
        raise UsageError(f"G_eps+ has no measure {unknown}; the bounded ones are {', '.join(known)}.")
    named = [[name for name in names if name in measures] for names in BOUNDED.values()]
    usual = [[name for name in names if name in MEASURES] for names in BOUNDED.values()]
    return tuple(name for own, paper in zip(named, usual, strict=True) for name in own or paper)


def checked_weights(weights: Sequence[float]) -> tuple[float, float, float]:
    """Three finite numbers of at least 0."""
    listed = tuple(float(w) for w in weights)
    if len(listed) != 3 or not all(math.isfinite(w) and w >= 0 for w in listed):
        raise UsageError(f"weights must be three numbers of at least 0: alpha, beta, gamma; found {list(weights)}.")
    return listed[0], listed[1], listed[2]


def correlation_part(real: Floats, synthetic: Floats) -> tuple[float, float]:
    """(mu, mean absolute difference); undefined correlations count as 0."""
    pairs = len(real) * (len(real) - 1) / 2
    if not pairs:
        return 0.0, 0.0
    gap = np.nan_to_num(real) - np.nan_to_num(synthetic)
    return min(1.0, float(np.linalg.norm(gap)) / pairs), float(np.abs(gap).sum() / 2 / pairs)


def usable_targets(real: ExactTable, targets: Sequence[str]) -> list[str]:
    """Targets that vary in the real table and have not too many classes."""
    truths = {target: examples(real, target).truth for target in targets}
    return [
        target
        for target, truth in truths.items()
        if len(truth) >= LEAST and len(np.unique(truth)) > 1 and not has_too_many_classes(real.schema, target)
    ]


def chosen_targets(names: Sequence[str], target: str | None, rng: np.random.Generator) -> tuple[str, ...]:
    """The named target, or all columns (TARGETS of them at random if there are more)."""
    if target is not None:
        return (target,)
    if len(names) <= TARGETS:
        return tuple(names)
    chosen: list[int] = np.sort(rng.choice(len(names), TARGETS, replace=False)).tolist()
    return tuple(names[i] for i in chosen)


def learning_part(
    tables: tuple[ExactTable, ExactTable],
    targets: Sequence[str],
    learners: Sequence[str],
    measures: Sequence[str],
    rng: np.random.Generator,
) -> float:
    """delta: how differently learners score within each table. The split is the same by place in both tables."""
    keys = rng.random(max(table.rows for table in tables))
    gaps: list[float] = []
    for target, learner in product(targets, learners):
        one, two = (_own_accuracy(table, target, learner, keys, rng) for table in tables)
        gaps += [abs(one[measure] - two[measure]) for measure in one if measure in measures]
    return float(np.mean(gaps)) if gaps else 0.0


def _own_accuracy(
    table: ExactTable, target: str, learner: str, keys: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    """Bounded accuracies of a learner trained and tested on one table; 0 where there is nothing to learn from."""
    measures = BOUNDED[task_of(table.schema, target)]
    data, order = examples(table, target), keys[: table.rows]
    if len(data.truth) != table.rows:
        order = order[table.codes[target] != table.schema[target].null_code]
    train = order < np.quantile(order, TRAIN_SHARE) if len(order) else order > 0
    if train.all() or not train.any():
        return dict.fromkeys(measures, 0.0)
    one, two = data.take(np.flatnonzero(train)), data.take(np.flatnonzero(~train))
    found = score_predictions(two.truth, learn(learner, one, two, rng))
    return {measure: min(1.0, max(0.0, found[measure])) for measure in measures}

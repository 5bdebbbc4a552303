"""Checks on tables that the model was not fitted to: errors, contradictions, and a scorecard's AUC."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sklar.arrays import Floats
from sklar.inference.checks.residuals import compute_residuals, rows_behind
from sklar.inference.errors_of_tables import (
    CONFIDENCE,
    ErrorScore,
    SquaredError,
    score_table,
    score_together,
    squared_error,
)
from sklar.inference.fitted import Fitted
from sklar.inference.tables import all_tables, shares_of_rows
from sklar.release.measurements import Measurement, collect_measurements

AUC_REDRAWS = 400
"""Number of redrawn noises from which the standard deviation of an AUC is estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorecardAuc:
    """How well a scorecard of the model ranks the target, among rows of the model and among the real rows.

    Attributes:
        columns: The columns that it scores by, and the target last.
        model: AUC among rows of the model.
        value: AUC among the real rows, from their noisy table.
        spread: Standard deviation of `value` due to the noise.
    """

    columns: tuple[str, ...]
    model: float
    value: float
    spread: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the interval of the AUC among the real rows."""
        half = NormalDist().inv_cdf((1 + confidence) / 2) * self.spread
        return max(self.value - half, 0.0), min(self.value + half, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Comparison of the model with tables that were held back.

    Attributes:
        tables: The error of each table.
        together: The error of all tables.
        contradicted: Columns of the tables that contradict the model.
        auc: The scorecard's AUC, if a target was declared.
        squared: The squared errors, for intervals at other confidences.
    """

    tables: tuple[ErrorScore, ...]
    together: ErrorScore
    contradicted: tuple[tuple[str, ...], ...]
    auc: ScorecardAuc | None
    squared: tuple[SquaredError, ...]


def score_held_out(fitted: Fitted, drawn: int, rng: np.random.Generator) -> HeldOut:
    """Compare the model with the tables that were held back, on `drawn` rows of the model."""
    assert fitted.held is not None
    tables, schema = all_tables(collect_measurements([fitted.held])), fitted.schema
    shares = shares_of_rows(tables, schema, fitted.model.simulate_rounded(drawn, rng))
    squared = [squared_error(table, share, fitted.rows) for table, share in zip(tables, shares, strict=True)]
    together = score_together(squared)
    assert together is not None
    checks = compute_residuals(tables, shares, rows_behind(fitted, tables), drawn)
    bad = [check.at for check in checks if check.contradicts]
    target = getattr(fitted.setting.options, "target", None)
    has_target = target is not None and len(schema.modelled) > 1
    return HeldOut(
        tables=tuple(score_table(error) for error in squared),
        together=together,
        contradicted=tuple(tuple(tables[at].query.columns) for at in bad),
        auc=_auc_of(tables[-1], shares[-1], rng) if has_target else None,
        squared=tuple(squared),
    )


def _auc_of(table: Measurement, share: Floats, rng: np.random.Generator) -> ScorecardAuc | None:
    """Return the AUC of a scorecard: the model's share of the upper half of the target in each cell."""
    if table.values.shape[-1] != 2:
        return None
    mine, noisy = share.reshape(-1, 2), table.values.reshape(-1, 2)
    points = mine[:, 1] / np.maximum(mine.sum(axis=1), 1e-300)
    fresh = rng.normal(0.0, table.sigma, (AUC_REDRAWS, *noisy.shape))
    spread = float(np.std([auc(points, noisy + more) for more in fresh]))
    return ScorecardAuc(
        columns=tuple(table.query.columns), model=auc(points, mine), value=auc(points, noisy),
        spread=spread,
    )  # fmt: skip


def auc(points: Floats, counts: Floats) -> float:
    """Return the probability that a row of the second class scores above one of the first, ties counting half."""
    order = np.argsort(points, kind="stable")
    values, starts = np.unique(points[order], return_index=True)
    first, second = (np.add.reduceat(counts[order, side], starts) for side in (0, 1))
    below = np.cumsum(first) - first
    total = float(first.sum() * second.sum())
    if not len(values) or total <= 0:
        return 0.5
    return float(np.clip(second @ (below + first / 2) / total, 0.0, 1.0))

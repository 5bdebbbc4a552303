"""Alpha-precision and beta-recall: are synthetic rows plausible, and are real rows covered.

With points centered on the real table, let R(a) be the radius that holds the share a of the real points, and S(b) the
same for synthetic points around their own center.
  P(a) = share of synthetic points within R(a);  alpha-precision = 1 - 2 * integral of |P(a) - a|.
  C(b) = share of real points with a synthetic point nearer than their nearest real one, which itself lies within S(b);
         beta-recall = 1 - 2 * integral of |C(b) - b|.
Both between 0 and 1, higher is better. Reference: Alaa et al. (2022), here without their learned embedding: rows are
points as in `embedding`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.disclosed.metrics.embedding import Points, embed, nearest
from sklar.disclosed.metrics.score import About, Score, not_applicable
from sklar.disclosed.metrics.table import ExactTable

ROWS = 4_000
"""Rows of each table that are used: the distances of all pairs are needed."""
LEVELS = np.linspace(0.0, 1.0, 31)
FEW = 10
REFERENCE = "Alaa et al. 2022"

PRECISION = About(
    name="alpha_precision",
    title="Plausible rows: integrated alpha-precision",
    says="Whether synthetic rows lie where real rows lie, at every level from typical to extreme.",
    reference=REFERENCE, lower=0.0, upper=1.0, better="higher", good=0.93, fair=0.80,
)  # fmt: skip
RECALL = About(
    name="beta_recall",
    title="Covered rows: integrated beta-recall",
    says="Whether real rows, at every level from typical to extreme, have synthetic rows near them.",
    reference=REFERENCE, lower=0.0, upper=1.0, better="higher", good=0.45, fair=0.30,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The two scores and the curves they summarize."""

    precision: Score
    recall: Score
    levels: tuple[float, ...] = ()
    precision_curve: tuple[float, ...] = ()
    recall_curve: tuple[float, ...] = ()


def support(real: ExactTable, synthetic: ExactTable) -> Support:
    """Compare two tables of moderate size; sample larger ones first."""
    if min(real.rows, synthetic.rows) < FEW:
        why = f"it needs at least {FEW} rows of each table."
        return Support(
            precision=not_applicable(PRECISION, why),
            recall=not_applicable(RECALL, why),
        )
    real_points, points = embed(real, real, synthetic)
    precision, recall = _precision(real_points, points), _recall(real_points, points)
    rows = min(real.rows, synthetic.rows)
    return Support(
        precision=Score(about=PRECISION, value=_integrated(precision), rows=rows),
        recall=Score(about=RECALL, value=_integrated(recall), rows=rows),
        levels=tuple(LEVELS.tolist()),
        precision_curve=tuple(precision.tolist()),
        recall_curve=tuple(recall.tolist()),
    )


def _precision(real: Points, points: Points) -> Points:
    center = real.mean(axis=0)
    radii = np.quantile(np.linalg.norm(real - center, axis=1), LEVELS)
    return _shares_within(np.linalg.norm(points - center, axis=1), radii)


def _recall(real: Points, points: Points) -> Points:
    from_center = np.linalg.norm(points - points.mean(axis=0), axis=1)
    radii = np.quantile(from_center, LEVELS)
    to_real, _ = nearest(real, real, own=np.arange(len(real)))
    to_synthetic, place = nearest(real, points)
    covered = to_synthetic <= to_real
    return _shares_within(np.where(covered, from_center[place], np.inf), radii)


def _shares_within(distances: Points, radii: Points) -> Points:
    """Share of points within each radius; the tolerance keeps points on the sphere inside it."""
    return np.searchsorted(np.sort(distances), radii * (1 + 1e-12), side="right") / len(distances)


def _integrated(curve: Points) -> float:
    gaps = np.abs(curve - LEVELS)
    area = float(((gaps[1:] + gaps[:-1]) / 2 * np.diff(LEVELS)).sum())
    return min(1.0, max(0.0, 1.0 - 2.0 * area))

"""Rows as points: are synthetic rows plausible, are real rows covered, and are synthetic rows new.

With points centred on the real table, let R(a) be the radius that holds the share a of the real points, and S(b) the
same for synthetic points around their own centre.
  P(a) = share of synthetic points within R(a);  alpha-precision = 1 - 2 * integral of |P(a) - a|.
  C(b) = share of real points with a synthetic point nearer than their nearest real one, which itself lies within S(b);
         beta-recall = 1 - 2 * integral of |C(b) - b|.
A synthetic point whose nearest real point is r is authentic if it is farther from r than r is from its own nearest real
point; a tie, as among rows that repeat, counts half. Authenticity is the share of authentic points: near 1/2 for a
fresh real sample, 0 for a copy. All three lie between 0 and 1, higher is better. Reference: Alaa et al. (2022), here
without their learned embedding: rows are points as `embed` makes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.learning.features import standardize
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.tables.table import ExactTable, ordered_values

ROWS = 4_000
"""Rows of each table that are used: the distances of all pairs are needed."""
AUTHENTIC_ROWS = 1_000
"""Synthetic rows whose authenticity is looked at."""
REAL_ROWS = 40_000
"""Real rows they are looked for among: as many as possible, since a copy of a row left out would not be seen."""
FEW = 10
"""Rows of each table that are needed: fewer tell nothing about levels."""
LEVELS = np.linspace(0.0, 1.0, 31)
"""Shares a and b at which the curves are taken: more make the integrals finer, at hardly any cost."""
LABELS = 64
"""Labels beyond the most frequent ones of the real table share a corner: each takes a dimension of its own."""
FARTHEST = 1e6
"""Standard deviations at which a number is clipped, so that squares stay finite."""
BLOCK = 1 << 22
"""Distances that are held at once: 32 MB."""
WHY_FEW = f"it needs at least {FEW} rows of each table."
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
AUTHENTICITY = About(
    name="authenticity",
    title="New rows: authenticity",
    says="Share of synthetic rows that are not closer to a real row than real rows are to each other.",
    reference=REFERENCE, lower=0.0, upper=1.0, better="higher", good=0.45, fair=0.25,
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
    """Alpha-precision and beta-recall of tables of moderate size; sample larger ones first."""
    rows = min(real.rows, synthetic.rows)
    if rows < FEW:
        return Support(precision=not_applicable(PRECISION, WHY_FEW), recall=not_applicable(RECALL, WHY_FEW))
    points = embed(real, real, synthetic)
    precision, recall = _precision(*points), _recall(*points)
    return Support(
        precision=Score(about=PRECISION, value=_integral_score(precision), rows=rows),
        recall=Score(about=RECALL, value=_integral_score(recall), rows=rows),
        levels=tuple(LEVELS.tolist()),
        precision_curve=tuple(precision.tolist()),
        recall_curve=tuple(recall.tolist()),
    )


def _precision(real: Floats, points: Floats) -> Floats:
    centre = real.mean(axis=0)
    radii = np.quantile(np.linalg.norm(real - centre, axis=1), LEVELS)
    return _shares_within(np.linalg.norm(points - centre, axis=1), radii)


def _recall(real: Floats, points: Floats) -> Floats:
    from_centre = np.linalg.norm(points - points.mean(axis=0), axis=1)
    to_real, _ = nearest(real, real, own=np.arange(len(real)))
    to_synthetic, place = nearest(real, points)
    covered = np.where(to_synthetic <= to_real, from_centre[place], np.inf)
    return _shares_within(covered, np.quantile(from_centre, LEVELS))


def _shares_within(distances: Floats, radii: Floats) -> Floats:
    """Share of points within each radius; the tolerance keeps points on the sphere inside it."""
    return np.searchsorted(np.sort(distances), radii * (1 + 1e-12), side="right") / len(distances)


def _integral_score(curve: Floats) -> float:
    gaps = np.abs(curve - LEVELS)
    area = float(((gaps[1:] + gaps[:-1]) / 2 * np.diff(LEVELS)).sum())
    return min(1.0, max(0.0, 1.0 - 2.0 * area))


def authenticity(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Compare a sample of the synthetic rows with the real ones."""
    if min(real.rows, synthetic.rows) < FEW:
        return not_applicable(AUTHENTICITY, WHY_FEW)
    real, some = real.sample(REAL_ROWS, rng), synthetic.sample(AUTHENTIC_ROWS, rng)
    among, points = embed(real, real, some)
    distance, place = nearest(points, among)
    own, where = np.unique(place, return_inverse=True)
    apart = nearest(among[own], among, own=own)[0][where]
    value = float((distance > apart).mean() + 0.5 * (distance == apart).mean())
    return Score(about=AUTHENTICITY, value=value, rows=some.rows)


def embed(real: ExactTable, *tables: ExactTable) -> list[Floats]:
    """Points of each of the tables, in the units of the real one.

    A number or ordered value is centred by the real mean and divided by the real standard deviation, null being the
    mean and a mark of its own; a label is a corner, so that two different labels are at distance 1.
    """
    columns = [_column(real, tables, name) for name in real.names]
    return [np.concatenate(parts, axis=1) for parts in zip(*columns, strict=True)]


def _column(real: ExactTable, tables: tuple[ExactTable, ...], name: str) -> list[Floats]:
    if real.schema[name].ordered:
        return [standardize(ordered_values(real, name), ordered_values(table, name), FARTHEST) for table in tables]
    counts = np.bincount(real.codes[name], minlength=real.schema[name].size)
    place = np.full(len(counts), min(LABELS, len(counts)) - 1)
    place[np.argsort(-counts, kind="stable")[:LABELS]] = np.arange(min(LABELS, len(counts)))
    corners = np.eye(int(place.max()) + 1) * math.sqrt(0.5)
    return [corners[place[table.codes[name]]] for table in tables]


def nearest(points: Floats, others: Floats, *, own: Ints | None = None) -> tuple[Floats, Ints]:
    """Distance to, and place of, the nearest of the other points; `own` are the places of the points themselves."""
    distance, place = np.empty(len(points)), np.empty(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", others, others)
    step = max(1, BLOCK // max(1, len(others)))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        gaps = squares - 2.0 * (block @ others.T)
        if own is not None:
            gaps[np.arange(len(block)), own[start : start + len(block)]] = np.inf
        found = gaps.argmin(axis=1)
        # The expansion above cancels badly for near copies, so the distance itself is taken anew.
        place[start : start + step] = found
        distance[start : start + step] = np.linalg.norm(block - others[found], axis=1)
    return distance, place

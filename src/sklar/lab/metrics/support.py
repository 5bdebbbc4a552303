"""Rows as points: are synthetic rows plausible, are real rows covered, and are synthetic rows new?

With points centred on the real table, let R(a) be the radius that contains the share a of the real points, and S(b)
that of the synthetic points around their own centre.
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

MAX_SUPPORT_ROWS = 4_000
"""Maximum number of rows of each table: the distances of all pairs are needed."""
AUTHENTICITY_ROWS = 1_000
"""Number of synthetic rows whose authenticity is tested."""
MAX_SEARCHED_ROWS = 40_000
"""Maximum number of real rows in which copies are searched: a copy of a row left out would be missed."""
MIN_SUPPORT_ROWS = 10
"""Minimum number of rows of each table: fewer do not determine levels."""
CURVE_LEVELS = np.linspace(0.0, 1.0, 31)
"""Shares a and b at which the curves are computed: more make the integrals finer, at hardly any cost."""
MAX_CORNERS = 64
"""Number of labels with their own dimension; rarer labels of the real table share one."""
MAX_POINT_DEVIATIONS = 1e6
"""Numbers are clipped at this number of standard deviations, so that squares stay finite."""
BLOCK_DISTANCES = 1 << 22
"""Number of distances in memory at once: 32 MB."""
WHY_FEW = f"it needs at least {MIN_SUPPORT_ROWS} rows of each table."
REFERENCE = "Alaa et al. 2022"
PRECISION = About(
    name="alpha_precision",
    title="Plausible rows: integrated alpha-precision",
    says="Whether synthetic rows lie where real rows lie, at every level from typical to extreme.",
    reference=REFERENCE, better="higher", good=0.93, fair=0.80,
)  # fmt: skip
RECALL = About(
    name="beta_recall",
    title="Covered rows: integrated beta-recall",
    says="Whether real rows, at every level from typical to extreme, have synthetic rows near them.",
    reference=REFERENCE, better="higher", good=0.45, fair=0.30,
)  # fmt: skip
AUTHENTICITY = About(
    name="authenticity",
    title="New rows: authenticity",
    says="Share of synthetic rows that are not closer to a real row than real rows are to each other.",
    reference=REFERENCE, better="higher", good=0.45, fair=0.25,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Alpha-precision and beta-recall with their curves."""

    precision: Score
    recall: Score
    levels: tuple[float, ...] = ()
    precision_curve: tuple[float, ...] = ()
    recall_curve: tuple[float, ...] = ()


def measure_support(real: ExactTable, synthetic: ExactTable) -> Support:
    """Compute alpha-precision and beta-recall of tables of moderate size; subsample larger ones first."""
    rows = min(real.rows, synthetic.rows)
    if rows < MIN_SUPPORT_ROWS:
        return Support(precision=not_applicable(PRECISION, WHY_FEW), recall=not_applicable(RECALL, WHY_FEW))
    points = embed(real, real, synthetic)
    precision, recall = _compute_precision_curve(*points), _compute_recall_curve(*points)
    return Support(
        precision=Score(about=PRECISION, value=_integrate_curve(precision), rows=rows),
        recall=Score(about=RECALL, value=_integrate_curve(recall), rows=rows),
        levels=tuple(CURVE_LEVELS.tolist()), precision_curve=tuple(precision.tolist()),
        recall_curve=tuple(recall.tolist()),
    )  # fmt: skip


def _compute_precision_curve(real: Floats, points: Floats) -> Floats:
    centre = real.mean(axis=0)
    radii = np.quantile(np.linalg.norm(real - centre, axis=1), CURVE_LEVELS)
    return _shares_within(np.linalg.norm(points - centre, axis=1), radii)


def _compute_recall_curve(real: Floats, points: Floats) -> Floats:
    from_centre = np.linalg.norm(points - points.mean(axis=0), axis=1)
    to_real, _ = find_nearest(real, real, own=np.arange(len(real)))
    to_synthetic, place = find_nearest(real, points)
    covered = np.where(to_synthetic <= to_real, from_centre[place], np.inf)
    return _shares_within(covered, np.quantile(from_centre, CURVE_LEVELS))


def _shares_within(distances: Floats, radii: Floats) -> Floats:
    """Return the share of points within each radius; the tolerance includes points on the sphere."""
    return np.searchsorted(np.sort(distances), radii * (1 + 1e-12), side="right") / len(distances)


def _integrate_curve(curve: Floats) -> float:
    area = float(np.trapezoid(np.abs(curve - CURVE_LEVELS), CURVE_LEVELS))
    return min(1.0, max(0.0, 1.0 - 2.0 * area))


def measure_authenticity(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Return the share of authentic rows in a sample of the synthetic table."""
    if min(real.rows, synthetic.rows) < MIN_SUPPORT_ROWS:
        return not_applicable(AUTHENTICITY, WHY_FEW)
    real, some = real.sample(MAX_SEARCHED_ROWS, rng), synthetic.sample(AUTHENTICITY_ROWS, rng)
    among, points = embed(real, real, some)
    distance, place = find_nearest(points, among)
    own, where = np.unique(place, return_inverse=True)
    apart = find_nearest(among[own], among, own=own)[0][where]
    value = float((distance > apart).mean() + 0.5 * (distance == apart).mean())
    return Score(about=AUTHENTICITY, value=value, rows=some.rows)


def embed(real: ExactTable, *tables: ExactTable) -> list[Floats]:
    """Convert the rows of each table to points in units of the real one.

    A number or ordered value is standardized by the real mean and standard deviation; null is the mean, with an
    indicator. A label is a corner, so that two different labels are at distance 1.
    """
    columns = [_embed_column(real, tables, name) for name in real.names]
    return [np.concatenate(parts, axis=1) for parts in zip(*columns, strict=True)]


def _embed_column(real: ExactTable, tables: tuple[ExactTable, ...], name: str) -> list[Floats]:
    if real.schema[name].ordered:
        reference = ordered_values(real, name)
        return [standardize(reference, ordered_values(table, name), MAX_POINT_DEVIATIONS) for table in tables]
    counts = np.bincount(real.codes[name], minlength=real.schema[name].size)
    place = np.full(len(counts), min(MAX_CORNERS, len(counts)) - 1)
    place[np.argsort(-counts, kind="stable")[:MAX_CORNERS]] = np.arange(min(MAX_CORNERS, len(counts)))
    corners = np.eye(int(place.max()) + 1) * math.sqrt(0.5)
    return [corners[place[table.codes[name]]] for table in tables]


def find_nearest(points: Floats, others: Floats, *, own: Ints | None = None) -> tuple[Floats, Ints]:
    """Find distance and position of the nearest other point; `own` are the points' own positions, to skip."""
    distance, place = np.empty(len(points)), np.empty(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", others, others)
    step = max(1, BLOCK_DISTANCES // max(1, len(others)))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        relative = squares - 2.0 * (block @ others.T)
        if own is not None:
            relative[np.arange(len(block)), own[start : start + len(block)]] = np.inf
        found = relative.argmin(axis=1)
        # The expansion above cancels badly for near copies, so the distance is computed again.
        place[start : start + step] = found
        distance[start : start + step] = np.linalg.norm(block - others[found], axis=1)
    return distance, place

"""Authenticity: is a synthetic row closer to a real row than real rows are to each other?

For a synthetic point, let r be its nearest real point. It is authentic if it is farther from r than r is from its own
nearest real point; a tie, as among rows that repeat, counts half. The score is the share of authentic points: near
1/2 for a fresh real sample, 0 for a copy; higher is better, and up to 1. Reference: Alaa et al. (2022), without their
learned embedding.
"""

from __future__ import annotations

import numpy as np

from sklar.disclosed.metrics.embedding import embed, nearest
from sklar.disclosed.metrics.score import About, Score, not_applicable
from sklar.disclosed.metrics.table import ExactTable

ROWS = 1_000
"""Synthetic rows that are looked at."""
REAL_ROWS = 40_000
"""Real rows they are looked for among: as many as possible, since a copy of a row left out would not be seen."""
FEW = 10
ABOUT = About(
    name="authenticity",
    title="New rows: authenticity",
    says="Share of synthetic rows that are not closer to a real row than real rows are to each other.",
    reference="Alaa et al. 2022", lower=0.0, upper=1.0, better="higher", good=0.45, fair=0.25,
)  # fmt: skip


def authenticity(real: ExactTable, synthetic: ExactTable, rng: np.random.Generator) -> Score:
    """Compare a sample of the synthetic rows with the real ones."""
    if min(real.rows, synthetic.rows) < FEW:
        return not_applicable(ABOUT, f"it needs at least {FEW} rows of each table.")
    real, some = real.sample(REAL_ROWS, rng), synthetic.sample(ROWS, rng)
    among, points = embed(real, real, some)
    distance, place = nearest(points, among)
    own, where = np.unique(place, return_inverse=True)
    apart = nearest(among[own], among, own=own)[0][where]
    value = float((distance > apart).mean() + 0.5 * (distance == apart).mean())
    return Score(about=ABOUT, value=value, rows=some.rows)

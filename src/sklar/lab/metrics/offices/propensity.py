"""Propensity scores: pMSE and its ratio to the value expected of a correct method (Snoke et al. 2018).

A logistic regression classifies N = n + m stacked rows; p are its fitted probabilities of being synthetic, c = m / N:
  pMSE = mean of (p - c)^2;  expected = (k - 1) (1 - c)^2 c / N with k coefficients;  ratio = pMSE / expected.
The expected value is that of rows drawn from the model with the real table's estimates, so a fresh real sample, which
itself varies, has a ratio of about 1 / (1 - c): 2 for tables of equal size. That is the floor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.lab.learning.logistic import fit_logistic
from sklar.lab.metrics.offices.terms import add_products, independent_terms, make_terms
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.tables.table import ExactTable, ordered_names

ABOUT = About(
    name="pmse_ratio",
    title="Propensity scores: ratio of pMSE to its expected value",
    says="Variation of the fitted probabilities of being synthetic, relative to a correct method.",
    reference="Snoke et al. 2018 (synthpop's S_pMSE, by logistic regression)", upper=float("inf"), good=3.0, fair=10.0,
)  # fmt: skip
MAX_PROPENSITY_ROWS = 5_000
"""Maximum number of rows of each table: the ratio of a wrong method grows with it."""
MAX_TERMS = 150
"""Maximum number of terms with squares and products; with more, these are left out."""
MIN_PROPENSITY_ROWS = 50
"""Minimum number of rows of each table: with fewer, probabilities are fitted to single rows."""
PROPENSITY_RIDGE = 1e-4
"""Ridge penalty; it keeps coefficients finite if a term separates the tables perfectly, and is negligible otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity:
    """pMSE, its expected value for a correct method, their ratio, and the number of coefficients."""

    pmse: float
    expected: float
    ratio: float
    coefficients: int


def measure_propensity(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the ratio, with pMSE as a detail."""
    if min(real.rows, synthetic.rows) < MIN_PROPENSITY_ROWS:
        return not_applicable(ABOUT, f"it needs at least {MIN_PROPENSITY_ROWS} rows of each table.")
    terms, parts = make_terms(real, (real, synthetic), real.names)
    values = add_products(np.concatenate(parts), terms, ordered_names(real.schema), MAX_TERMS)
    chosen = values[:, independent_terms(values)]
    if chosen.shape[1] < 2:
        return not_applicable(ABOUT, "no column varies.")
    found = pmse(chosen, np.repeat([0, 1], [real.rows, synthetic.rows]))
    return Score(about=ABOUT, value=found.ratio, rows=min(real.rows, synthetic.rows), behind=found)


def pmse(values: np.ndarray, labels: np.ndarray) -> Propensity:
    """Compute pMSE of rows given by their terms, with an intercept, and labels: 1 for synthetic."""
    beta, _ = fit_logistic(values, labels, ridge=PROPENSITY_RIDGE)
    chances = 1 / (1 + np.exp(-np.clip(values @ beta, -30, 30)))
    share, count = float(labels.mean()), values.shape[1]
    found = float(((chances - share) ** 2).mean())
    expected = (count - 1) * (1 - share) ** 2 * share / len(labels)
    return Propensity(pmse=found, expected=expected, ratio=found / expected, coefficients=count)

"""Propensity scores: pMSE and its ratio to what is expected of a correct method (Snoke et al. 2018).

A logistic regression tells N = n + m stacked rows apart; p are its fitted chances of being synthetic, c = m / N:
  pMSE = mean of (p - c)^2;  expected = (k - 1) (1 - c)^2 c / N with k coefficients;  ratio = pMSE / expected.
The expected value is that of rows drawn from the model with the real table's own estimates, so a fresh real sample,
which differs by chance itself, has a ratio of about 1 / (1 - c): 2 for tables of one size. That is the floor.
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
    says="How far fitted chances of being synthetic lie from chance, in units of what a correct method would give.",
    reference="Snoke et al. 2018 (synthpop's S_pMSE, by logistic regression)",
    lower=0.0, upper=float("inf"), better="lower", good=3.0, fair=10.0,
)  # fmt: skip
ROWS = 5_000
"""Rows of each table that are used: the ratio of a wrong method grows with them."""
MOST = 150
"""Terms of the regression, at most, with squares and products; without these if they are more."""
FEW = 50
"""Rows of each table that are needed: with fewer, chances are fitted to single rows."""
RIDGE = 1e-4
"""Keeps coefficients finite where a term tells the tables apart without fail; it does not show elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity:
    """pMSE, what is expected of a correct method, their ratio, and the number of coefficients."""

    pmse: float
    expected: float
    ratio: float
    coefficients: int


def propensity(real: ExactTable, synthetic: ExactTable) -> Score:
    """The ratio, with pMSE behind it."""
    if min(real.rows, synthetic.rows) < FEW:
        return not_applicable(ABOUT, f"it needs at least {FEW} rows of each table.")
    terms, parts = make_terms(real, (real, synthetic), real.names)
    values = add_products(np.concatenate(parts), terms, ordered_names(real.schema), MOST)
    chosen = values[:, independent_terms(values)]
    if chosen.shape[1] < 2:
        return not_applicable(ABOUT, "no column varies.")
    found = pmse(chosen, np.repeat([0, 1], [real.rows, synthetic.rows]))
    return Score(about=ABOUT, value=found.ratio, rows=min(real.rows, synthetic.rows), behind=found)


def pmse(values: np.ndarray, labels: np.ndarray) -> Propensity:
    """Of rows by their terms, with an intercept, and labels: 1 for synthetic."""
    beta, _ = fit_logistic(values, labels, ridge=RIDGE)
    chances = 1 / (1 + np.exp(-np.clip(values @ beta, -30, 30)))
    share, count = float(labels.mean()), values.shape[1]
    found = float(((chances - share) ** 2).mean())
    expected = (count - 1) * (1 - share) ** 2 * share / len(labels)
    return Propensity(pmse=found, expected=expected, ratio=found / expected, coefficients=count)

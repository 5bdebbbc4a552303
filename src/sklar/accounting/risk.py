"""Epsilon in words: how sure somebody can become about one person, who was so sure before."""

from __future__ import annotations

import math

from sklar.errors import BudgetError, UsageError


def risk(epsilon: float, prior: float = 0.01) -> float:
    """The most that anyone can believe about one person after a release of this epsilon.

    Whatever the release, and whatever else is known, Bayes' rule gives at most e^eps p / (1 - p + e^eps p) for a
    statement about one person (that their row is in the table; what it holds) that was believed with probability p
    before. (Under a delta as well, add delta to the chance of any one outcome: at 1e-9 that is next to nothing.)

    Args:
        epsilon: The budget, of one fit or of all in a ledger.
        prior: How likely the statement seemed without the release, above 0 and below 1.
    """
    if not (isinstance(epsilon, int | float) and not isinstance(epsilon, bool) and epsilon >= 0):
        raise BudgetError("epsilon is a number of at least 0")
    if not 0 < prior < 1:
        raise UsageError("prior is a probability above 0 and below 1, as 0.01")
    return 1 / (1 + math.exp(-epsilon) * (1 - prior) / prior)

"""Warns of budgets that promise little: a large epsilon, and a delta of more than one over the number of rows."""

from __future__ import annotations

import warnings

from sklar.accounting.budget import Budget
from sklar.accounting.zcdp import rho_to_epsilon
from sklar.errors import WeakPromiseWarning

LARGEST_EPSILON = 10.0
"""Above this a single person may be e^10, about 22,000, times as likely to have caused an output as not."""


def warn_of_large_epsilon(budget: Budget) -> None:
    """Before anything is spent."""
    epsilon = rho_to_epsilon(budget.rho or 0.0, budget.delta) if budget.epsilon is None else budget.epsilon
    if epsilon > LARGEST_EPSILON:
        warnings.warn(
            f"epsilon = {epsilon:.4g} protects nobody much: what anyone concludes may be exp({epsilon:.4g}) times as "
            f"likely with a person as without. Epsilons of about 1 are usual, and {LARGEST_EPSILON:g} is a lot.",
            WeakPromiseWarning,
            stacklevel=5,
        )


def warn_of_large_delta(budget: Budget, noisy_rows: int) -> None:
    """After the fit, once there is a noisy number of rows (the number itself where it is public)."""
    if noisy_rows >= 1 and budget.delta > 1 / noisy_rows:
        warnings.warn(
            f"delta = {budget.delta:g} is more than one over the number of rows (about {noisy_rows:,}): to publish the "
            "row of a person picked at random would keep such a promise. Use a delta far below, as 1e-9.",
            WeakPromiseWarning,
            stacklevel=5,
        )

"""Privacy budgets: (epsilon, delta), pure epsilon, or rho; validation of their numbers; and epsilon as a risk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from sklar.errors import BudgetError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A privacy budget: epsilon, or rho of zCDP, not both.

    Attributes:
        delta: Added to exp(epsilon) times a probability; 0 means pure epsilon and therefore Laplace noise.
            With rho it must be above 0 and is used only to report an epsilon.
    """

    epsilon: float | None = None
    rho: float | None = None
    delta: float

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise BudgetError("state a budget as epsilon or as rho, exactly one of them.")
        object.__setattr__(self, "delta", validate_delta(self.delta))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", validate_epsilon(self.epsilon))
            return
        object.__setattr__(self, "rho", validate_rho(self.rho))
        if self.delta == 0:
            raise BudgetError("a budget in rho needs a delta above 0 to report its epsilon at, e.g. 1e-9.")

    @property
    def pure(self) -> bool:
        """Whether the budget is pure epsilon, without a delta."""
        return self.delta == 0


MIN_EPSILON = 1e-6
"""Smallest epsilon: below it the noise exceeds 10^6 times the number of tables, more than any count of people."""
MAX_EPSILON = 1e6
"""Largest epsilon: above it the guarantee is empty and exp(epsilon) overflows."""
MIN_RHO = 1e-14
"""Smallest rho, about that of the smallest epsilon."""
MAX_RHO = 1e6
"""Largest rho, the same limit as for epsilon."""
ROUNDING = 1e-9
"""Relative tolerance for rounding of amounts; noise may differ from a plan by this much (see `exact`).

Amounts are floats, so sums of them, and the amount that a noise scale costs, are off by some 2^-53 for every term: far
below 10^-12 for thousands of terms. Three rules keep every total, in real numbers, within the guarantee. Noise is made
for 1 - ROUNDING / 2 of the amount it may cost (`Allowance.spendable`). A charge is refused if the sum exceeds
1 - ROUNDING / 4 of it (`overspends_reservation`), so a fit loses less than 1 - ROUNDING / 5 of its reservation. All
reservations together may reach 1 + ROUNDING / 10 of a cap (`exceeds_limit`; in floats ten tenths are not one), and
(1 - ROUNDING / 5) (1 + ROUNDING / 10) < 1. A lost step that is measured again is added with 1 + ROUNDING.
"""


def validate_number(value: Any, name: str) -> float:
    """Return `value` as a finite float, or refuse it (text, True, NaN, infinity) by name."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BudgetError(f"{name} must be a number, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BudgetError(f"{name} must be a finite number; {number} was given.")
    return number


def validate_epsilon(value: Any, name: str = "epsilon") -> float:
    """Return an epsilon that noise can be calibrated to, or refuse it."""
    return _validate_range(validate_number(value, name), name, MIN_EPSILON, MAX_EPSILON)


def validate_rho(value: Any, name: str = "rho") -> float:
    """Return a rho that noise can be calibrated to, or refuse it."""
    return _validate_range(validate_number(value, name), name, MIN_RHO, MAX_RHO)


def validate_delta(value: Any, name: str = "delta") -> float:
    """Return a delta in [0, 1), or refuse it."""
    number = validate_number(value, name)
    if not 0.0 <= number < 1.0:
        raise BudgetError(f"{name} must be at least 0 and below 1; {number:g} was given.")
    return number


def validate_positive(value: Any, name: str) -> float:
    """Return a finite number above 0, or refuse it."""
    number = validate_number(value, name)
    if number <= 0:
        raise BudgetError(f"{name} must be above 0; {number:g} was given.")
    return number


def validate_count(value: Any, name: str) -> int:
    """Return a whole number of at least 1, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise BudgetError(f"{name} must be a whole number, not {type(value).__name__}.")
    if int(value) < 1:
        raise BudgetError(f"{name} must be at least 1; {int(value)} was given.")
    return int(value)


def risk(epsilon: float, prior: float = 0.01) -> float:
    """Return the highest posterior probability of a statement about one person after a release of this epsilon.

    For any release and any other knowledge, Bayes' rule gives at most e^eps p / (1 - p + e^eps p) for a statement about
    one person (that their row is in the table; what it contains) whose prior probability was p. (With a delta, add
    delta to the probability of each outcome: at 1e-9 that is negligible.)

    Args:
        epsilon: The budget of one fit, or of all fits in a ledger.
        prior: Probability of the statement without the release, above 0 and below 1.
    """
    if not (isinstance(epsilon, int | float) and not isinstance(epsilon, bool) and epsilon >= 0):
        raise BudgetError("epsilon must be a number of at least 0")
    if not 0 < prior < 1:
        raise UsageError("prior must be a probability above 0 and below 1, such as 0.01")
    return 1 / (1 + math.exp(-epsilon) * (1 - prior) / prior)


def exceeds_limit(reserved: float, allowed: float) -> bool:
    """Return whether a reserved amount exceeds `allowed` by more than rounding explains."""
    return not reserved <= allowed * (1 + ROUNDING / 10)


def overspends_reservation(spent: float, reserved: float) -> bool:
    """Return whether a spent amount exceeds the reservation, or comes closer to it than `ROUNDING` allows."""
    return not spent <= reserved * (1 - ROUNDING / 4)


def _validate_range(number: float, name: str, smallest: float, largest: float) -> float:
    if number <= 0:
        raise BudgetError(f"{name} must be above 0; {number:g} was given.")
    if number < smallest:
        raise BudgetError(
            f"{name} = {number:g} is too small: the noise would exceed the counts of any table of people. "
            f"Use at least {smallest:g}."
        )
    if number > largest:
        raise BudgetError(f"{name} = {number:g} guarantees no privacy. Use at most {largest:g}.")
    return number

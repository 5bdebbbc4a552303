"""What the custodian is willing to lose: (epsilon, delta), pure epsilon, or rho; and epsilon in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from sklar.errors import BudgetError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A promise to calibrate to: epsilon, or rho of zCDP, not both.

    Attributes:
        delta: What may be added to exp(epsilon) times a probability; 0 asks for pure epsilon and so for Laplace noise.
            With rho it must be above 0 and is used only to report an epsilon.
    """

    epsilon: float | None = None
    rho: float | None = None
    delta: float

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise BudgetError("give a budget as epsilon or as rho: exactly one of them.")
        object.__setattr__(self, "delta", checked_delta(self.delta))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
            return
        object.__setattr__(self, "rho", checked_rho(self.rho))
        if self.delta == 0:
            raise BudgetError("a budget in rho needs a delta above 0 to report its epsilon at, e.g. 1e-9.")

    @property
    def pure(self) -> bool:
        """Whether the promise is pure epsilon: nothing is added."""
        return self.delta == 0


SMALLEST_EPSILON = 1e-6
"""Below this the noise would pass 10^6 times the number of tables: no count of people survives it."""
LARGEST_EPSILON = 1e6
"""Above this the promise is empty and exp(epsilon) no number."""
SMALLEST_RHO = 1e-14
"""About the rho of the smallest epsilon."""
LARGEST_RHO = 1e6
"""Same limit as for epsilon."""
ROUNDING = 1e-9
"""Room for rounding, as a share of an amount; noise may differ from a plan by this much (see `exact`).

Amounts are floats, so sums of them, and the amount that a noise scale costs, are off by some 2^-53 for every term: far
below 10^-12 for thousands of terms. That no total is above what is promised, in real numbers, follows from three rules.
Noise is made for 1 - ROUNDING / 2 of the amount it may cost (`Allowance.spendable`). A charge is refused if the
sum comes above 1 - ROUNDING / 4 of it (`overspends`), so what a fit loses is below 1 - ROUNDING / 5 of its reservation.
Reservations together may come up to 1 + ROUNDING / 10 of a cap (`exceeds`; ten tenths make one, though not in floats),
and (1 - ROUNDING / 5) (1 + ROUNDING / 10) < 1. What was lost and is measured again is added with 1 + ROUNDING.
"""


def checked_number(value: Any, name: str) -> float:
    """`value` as a finite float; anything else (text, True, NaN, infinity) is refused by name."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BudgetError(f"{name} must be a number, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BudgetError(f"{name} must be a finite number; {number} was given.")
    return number


def checked_epsilon(value: Any, name: str = "epsilon") -> float:
    """An epsilon that noise can be calibrated to."""
    return _within(checked_number(value, name), name, SMALLEST_EPSILON, LARGEST_EPSILON)


def checked_rho(value: Any, name: str = "rho") -> float:
    """A rho that noise can be calibrated to."""
    return _within(checked_number(value, name), name, SMALLEST_RHO, LARGEST_RHO)


def checked_delta(value: Any, name: str = "delta") -> float:
    """A delta in [0, 1)."""
    number = checked_number(value, name)
    if not 0.0 <= number < 1.0:
        raise BudgetError(f"{name} must be at least 0 and below 1; {number:g} was given.")
    return number


def checked_positive(value: Any, name: str) -> float:
    """A finite number above 0."""
    number = checked_number(value, name)
    if number <= 0:
        raise BudgetError(f"{name} must be above 0; {number:g} was given.")
    return number


def checked_count(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise BudgetError(f"{name} must be a whole number, not {type(value).__name__}.")
    if int(value) < 1:
        raise BudgetError(f"{name} must be at least 1; {int(value)} was given.")
    return int(value)


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


def exceeds(reserved: float, allowed: float) -> bool:
    """Whether what is set aside is more than `allowed`, beyond what rounding explains."""
    return not reserved <= allowed * (1 + ROUNDING / 10)


def overspends(spent: float, reserved: float) -> bool:
    """Whether what is spent may be more than was reserved, or so near that the rules above would not hold."""
    return not spent <= reserved * (1 - ROUNDING / 4)


def _within(number: float, name: str, smallest: float, largest: float) -> float:
    if number <= 0:
        raise BudgetError(f"{name} must be above 0; {number:g} was given.")
    if number < smallest:
        raise BudgetError(
            f"{name} = {number:g} is too small to calibrate: the noise would drown any table of people. "
            f"Use at least {smallest:g}."
        )
    if number > largest:
        raise BudgetError(f"{name} = {number:g} promises nothing. Use at most {largest:g}.")
    return number

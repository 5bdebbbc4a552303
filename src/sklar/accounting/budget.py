"""What the custodian is willing to lose: (epsilon, delta), pure epsilon, or rho."""

from __future__ import annotations

from dataclasses import dataclass

from sklar.accounting.amounts import checked_delta, checked_epsilon, checked_rho
from sklar.errors import BudgetError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A promise to calibrate to. Give epsilon or rho, not both.

    Attributes:
        epsilon: Bound on the privacy loss, or None when the budget is a rho.
        rho: Zero-concentrated budget, or None.
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

"""Events: one frozen record per kind of measurement, with its privacy cost.

Cost in zCDP (`rho`) and in pure DP (`epsilon`), per event; both add up over adaptively chosen events.

* Discrete Gaussian: an integer vector moved by at most l2 costs rho = l2^2 / (2 sigma^2) and no finite pure epsilon
  (Canonne, Kamath, Steinke 2020).
* Discrete Laplace: epsilon = l1 / scale, and rho = (l1 / scale) tanh(m / (2 scale)) where no cell moves by more than m.
  For a cell moved by x is (x / scale)-DP and costs (x / scale) tanh(x / (2 scale)) by `zcdp.pure_to_rho`, which is at
  most (x / scale) tanh(m / (2 scale)); and the x sum to at most l1.
* Exponential mechanism: rho = epsilon^2 / 8 (Rogers, Steinke 2021; Cesar, Rogers 2021).
* Discovery of labels: as one table of counts, except with probability `delta`, which adds up too (`discovery`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklar.accounting.budget import validate_count, validate_positive
from sklar.accounting.composition.discovery import discovery_delta
from sklar.accounting.composition.zcdp import choice_to_rho
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedEvent:
    """An event of a step, for a unit of privacy, with its cost.

    `rho` is the cost in zCDP, `epsilon` in pure DP (infinite for Gaussian noise), and `delta` the probability that
    neither holds.
    """

    label: str
    unit: Unit

    @property
    def delta(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CountEvent(ChargedEvent):
    """Noisy tables of counts, all with the same noise; a row sits in exactly one cell of each."""

    noise: Noise
    tables: int

    def __post_init__(self) -> None:
        _check_label(self.label)
        object.__setattr__(self, "tables", validate_count(self.tables, "the number of tables"))

    @property
    def rho(self) -> float:
        return self.tables * _compute_vector_rho(self.noise, self.unit.l1, self.unit.l2, self.unit.largest)

    @property
    def epsilon(self) -> float:
        return self.tables * _compute_vector_epsilon(self.noise, self.unit.l1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumEvent(ChargedEvent):
    """A noisy vector of sums that one person moves by at most `l1` and `l2`; noise and norms in the same units.

    Sums and their noise are whole multiples of `resolution`; None in records that do not state it.
    """

    noise: Noise
    l1: float
    l2: float
    resolution: float | None = None

    def __post_init__(self) -> None:
        _check_label(self.label)
        object.__setattr__(self, "l1", validate_positive(self.l1, "an L1 bound"))
        object.__setattr__(self, "l2", validate_positive(self.l2, "an L2 bound"))
        if self.resolution is not None:
            object.__setattr__(self, "resolution", validate_positive(self.resolution, "the resolution of sums"))

    @property
    def rho(self) -> float:
        return _compute_vector_rho(self.noise, self.l1, self.l2, min(self.l1, self.l2))

    @property
    def epsilon(self) -> float:
        return _compute_vector_epsilon(self.noise, self.l1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceEvent(ChargedEvent):
    """Picks by exponential mechanisms, each with `choice` as its epsilon for a whole person (see `unit`)."""

    choice: float
    picks: int = 1

    def __post_init__(self) -> None:
        _check_label(self.label)
        object.__setattr__(self, "choice", validate_positive(self.choice, "the epsilon of a choice"))
        object.__setattr__(self, "picks", validate_count(self.picks, "the number of picks"))

    @property
    def rho(self) -> float:
        return self.picks * choice_to_rho(self.choice)

    @property
    def epsilon(self) -> float:
        return self.picks * self.choice


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryEvent(ChargedEvent):
    """Labels of one column that the schema does not list and whose noisy counts exceed a threshold.

    Attributes:
        noise: The noise on each label's count.
        threshold: Labels with a noisy count below this are not released.
        floor: Labels with an exact count below this are not considered.
    """

    noise: Noise
    threshold: int
    floor: int

    def __post_init__(self) -> None:
        _check_label(self.label)
        object.__setattr__(self, "threshold", validate_count(self.threshold, "the threshold of a discovery"))
        object.__setattr__(self, "floor", validate_count(self.floor, "the floor of a discovery"))
        discovery_delta(self.noise, self.unit, self.threshold, self.floor)  # refuses a threshold that protects no one

    @property
    def delta(self) -> float:
        """Probability that a label of one person alone is released."""
        return discovery_delta(self.noise, self.unit, self.threshold, self.floor)

    @property
    def rho(self) -> float:
        """Cost of one table of counts with the same noise."""
        return _compute_vector_rho(self.noise, self.unit.l1, self.unit.l2, self.unit.largest)

    @property
    def epsilon(self) -> float:
        return _compute_vector_epsilon(self.noise, self.unit.l1)


Event = CountEvent | SumEvent | ChoiceEvent | DiscoveryEvent
PlannedEvent = CountEvent | SumEvent
"""Events that a plan made in advance may contain."""


def _compute_vector_rho(noise: Noise, l1: float, l2: float, largest: float) -> float:
    if noise.kind == "gaussian":
        return (l2 / noise.scale) ** 2 / 2
    return l1 / noise.scale * math.tanh(largest / (2 * noise.scale))


def _compute_vector_epsilon(noise: Noise, l1: float) -> float:
    return l1 / noise.scale if noise.kind == "laplace" else math.inf


def _check_label(label: object) -> None:
    if not isinstance(label, str) or not 0 < len(label) <= 500:
        raise BudgetError("an event needs a label: text of 1 to 500 characters.")

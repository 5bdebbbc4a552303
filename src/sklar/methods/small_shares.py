"""How the small regime divides its budget, from public facts only: columns, noise and the released number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Fractions of the allowance; they sum to one."""

    margins: float
    star: float = 0.0
    pairs: float = 0.0
    class_pairs: float = 0.0

    def __post_init__(self) -> None:
        total = self.margins + self.star + self.pairs + self.class_pairs
        for name in ("margins", "star", "pairs", "class_pairs"):
            object.__setattr__(self, name, getattr(self, name) / total)


def correlation_noise(allowance: Allowance, unit: Unit, rows: float, scores: int) -> float:
    """Noise of one correlation if the whole allowance went to the pairs of `scores` scores."""
    pairs = max(scores * (scores - 1) / 2, 1.0)
    return allowance.sum_noise(l1=unit.l1 * pairs, l2=unit.l1 * sqrt(pairs)).std / max(rows, 1.0)


def choose_shares(noise: float, target: bool) -> Shares:
    """Shares that move from margins to dependence as the noise of a correlation falls."""
    ease = float(np.clip(np.log(0.09 / noise) / np.log(0.09 / 0.03), 0.0, 1.0))
    if not target:
        return Shares(margins=0.7, pairs=0.3)
    return Shares(margins=0.8 - 0.15 * ease, star=0.2 - 0.1 * ease, pairs=0.1 * ease, class_pairs=0.15 * ease)

r"""Gaussian releases chosen one after another, in any way, lose no more than one Gaussian: the filter and its proof.

A fit that measures tables of counts and vectors of sums with Gaussian noise only, each chosen (what, how noisily, or
whether at all) by what the earlier ones gave, keeps a running sum of squared shifts: (D / t)^2 of `lattice`, the
largest move by one person over the standard deviation of the continuous noise behind the release. A release that would
bring the sum above m^2 is refused before rows are read.

**Theorem.** For any choices, what such a fit shows about two neighbouring tables is dominated by N(m, 1) against
N(0, 1). It is (epsilon, delta)-DP for every delta >= Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m).

**Proof.** Fix neighbours, called b = 0 and b = 1. By the lemma in `lattice` every release may be taken as ideal, N(x_b,
t^2 I) then rounded, at a cost that is far below the slack for rounding. Given what was shown so far, x_0, x_1 and t of
the next release are fixed; let r = |x_1 - x_0| / t, so r^2 is at most what is charged. Rotate, move and scale: the
release can be made, by steps that know both tables but not b, from one number distributed as N(b r^2, r^2) and fresh
normals in all other directions. Let B be a Brownian motion with drift b on [0, m^2], and hand that release the
increment of B over the next stretch of length r^2. Where stretches begin and end depends only on what was shown before,
and increments after such a time are independent of the past and have the right distribution, N(b r^2, r^2). The charges
keep the stretches within [0, m^2]. So all that is shown is a randomized function of B, the same for both b. For B the
likelihood ratio of the two drifts is exp(B(m^2) - m^2 / 2): a function of its end point alone, which is distributed as
N(b m^2, m^2). Hence all that is shown is a randomized function of that one normal number. QED.

The same holds with b swapped, so for adding and for removing a person. The result is known as the filter of Gaussian
differential privacy (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023). Against the filter of zCDP it allows the
same releases at a rho about 10% larger, which is 5% less noise.

Amounts are stated as half the squared shift, m^2 / 2, which is never less than the rho that zCDP would charge: they add
up with those of other fits in the same measure.

Labels may be found along with such releases, with Gaussian noise: their squared shifts are added in the same way, their
deltas in a second sum, and delta is at least that of one Gaussian plus this sum. The proof is in `discovery`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.composition.exact import MIN_DELTA, RELATIVE_SLACK, SLACK, DominatingPair, exact_delta
from sklar.accounting.composition.gaussian import analytic_gaussian_sigma
from sklar.accounting.composition.lattice import DITHER_SCALE, squared_shift, why_no_shift
from sklar.accounting.events import Event


def adaptive_allowance(budget: Budget, discovery: float = 0.0) -> Allowance | None:
    """Return the allowance of a fit of Gaussian releases alone; None where the filter does not apply.

    `discovery` is the part of the budget's delta that is set aside for finding labels.
    """
    delta = budget.delta - discovery
    if budget.epsilon is None or delta < MIN_DELTA:
        return None
    sigma = analytic_gaussian_sigma(budget.epsilon, (delta - SLACK) / (1 + RELATIVE_SLACK))
    amount = 0.5 / sigma**2 * (1 - 1e-9)
    return Allowance(measure="rho", amount=amount, delta=discovery, dither=DITHER_SCALE)


def is_amount_within(amount: float, epsilon: float, delta: float) -> bool:
    """Return whether Gaussian releases whose squared shifts sum to twice this amount are (epsilon, delta)-DP."""
    return delta >= MIN_DELTA and exact_delta(DominatingPair(shift=math.sqrt(2 * amount)), epsilon) <= delta


def why_not_gaussian(events: Iterable[Event]) -> str | None:
    """Explain in a clause why the filter does not apply to events; None if it does."""
    reasons = (why_no_shift(event, min_fineness=DITHER_SCALE) for event in events)
    return next((reason for reason in reasons if reason is not None), None)


def shift_cost(events: Iterable[Event]) -> float:
    """Return half the sum of the squared shifts of these events."""
    return 0.5 * math.fsum(squared_shift(event, min_fineness=DITHER_SCALE) for event in events)

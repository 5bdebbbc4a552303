"""Discovery of unlisted labels: the threshold that hides the label of a single person, its delta, and the proof.

A row has one label or none. Let c(x) be the number of rows with label x, k the most rows of one person, Z fresh noise.
Where rows of a person share a vote, the person names the label of one of them: c(x) counts persons, and k is 1.

    For every label x with c(x) >= floor: if c(x) + Z >= threshold, show x and c(x) + Z. All other labels stay hidden.
    For every label x of a public list: show c(x) + Z, also if c(x) = 0.

**Claim.** With delta = k P(Z >= threshold - (floor - 1 + k)) this is delta-approximate rho-zCDP and, with Laplace
noise, (epsilon, delta)-DP, rho and epsilon being the cost of one table of counts with the same noise (see `events`).

**Proof.** Let c, c' be the counts in neighbouring tables D, D'. The vector c - c' is at most (l1, l2) long, as for any
table, and no entry exceeds k, under both relations. Of the labels that are not listed call X those with c >= floor >
c', and Y those with c' >= floor > c. Call B the listed labels, and those for which both are at least floor.

1. A label of X loses at least one of the at most k rows that leave D, so X has at most k labels; and c <= floor - 1 + k
   for each. So with probability at least 1 - delta over the noise no label of X is shown on D: the event E. In the same
   way no label of Y is shown on D' except with probability delta: the event E'. Labels of Y are never shown on D, nor
   those of X on D'. All other labels outside B are below the floor in both tables.
2. Noise is independent over labels, so given E, respectively E', the outputs are the same function (cut at the
   threshold where labels are not listed) of the noisy counts of B, which move by at most (l1, l2). Their Renyi
   divergences of order a are at most a rho, and with Laplace noise the divergence of order infinity is at most epsilon,
   in both directions.

This is delta-approximate zCDP as Bun, Steinke (2016) define it. For Laplace noise and any set S of outputs

    P(M(D) in S) <= (1 - delta) P(M(D) in S | E) + delta <= (1 - delta) e^epsilon P(M(D') in S | E') + delta,

which is at most e^epsilon P(M(D') in S) + delta since P(E') >= 1 - delta. QED.

The floor lets rare labels be forgotten while counting, which bounds memory. It adds `floor - 1` to the threshold and is
about a fiftieth of it. Approximate zCDP composes by adding rhos and deltas, adaptively (Bun, Steinke 2016, section 8),
and (delta, rho) gives (epsilon(rho, delta'), delta + delta')-DP for every delta': the end of the proof does it again,
with P(M(D) in S | E) <= e^epsilon P(M(D') in S | E') + delta' in place of the bound for Laplace noise.

**Under the Gaussian filter** (`adaptive`). Let a fit make Gaussian releases and discoveries with Gaussian noise,
adaptively, such that squared shifts sum to at most m^2 and the deltas above to at most D. Then it is (epsilon, delta_m
+ D)-DP, delta_m being that of one Gaussian of shift m. Proof. Fix neighbours b = 0, 1. Let M' be the fit in which each
discovery leaves out the unlisted labels that are below the floor in the other table. The labels B that remain are the
same for both b, so its discoveries are cuts of Gaussian vectors that move by at most l2, made by steps that know both
tables but not b: the theorem in `adaptive` covers M'. M is M' but for *hits*, labels that M' leaves out and M shows.
Their noise is fresh, so that given what was shown so far the next discovery hits with probability at most its delta,
for any outcome on B; and until the first hit both show the same. Let t be all that M' shows, and q(t) >= 1 - D the
probability of no hit along t, for either b. For any set S, P(M_0 in S) <= 1 - E[q(t); M'_0 not in S] <= (1 - D)
P(M'_0 in S) + D, and P(M_1 in S) >= E[q(t); M'_1 in S] >= (1 - D) P(M'_1 in S). With P(M'_0 in S) <= e^epsilon P(M'_1
in S) + delta_m the claim follows. QED. Of a person with a vote one label is counted, so these counts are whole numbers,
on the lattice of the integers (`lattice`), where other tables are in parts of a vote.

Thresholds of this kind: Korolova, Kenthapadi, Mishra, Ntoulas (2009), "Releasing search queries and clicks privately".
"""

from __future__ import annotations

import math

from sklar.accounting.budget import ROUNDING, validate_delta
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError

LABEL_RESOLUTION = 1.0
"""What counts of labels are whole multiples of, also where rows of a person share a vote: persons are counted."""
FLOOR_SHARE = 0.02
"""The floor as a share of the threshold without a floor: a higher share saves memory and hides more labels."""
MAX_THRESHOLD = 2**62
"""Largest threshold: counts and noise are 64-bit integers."""


def noise_tail(noise: Noise, at_least: int) -> float:
    """Return an upper bound on P(Z >= t) for a whole number t of at least 1.

    Laplace: q^t / (1 + q) with q = exp(-1/scale), exact. Gaussian: P(N(0, scale^2) >= t - 1), which bounds the discrete
    one (Canonne, Kamath, Steinke 2020, Proposition 25).
    """
    if at_least < 1:
        return 1.0
    if noise.kind == "laplace":
        return math.exp(-at_least / noise.scale) / (1 + math.exp(-1 / noise.scale))
    return 0.5 * math.erfc((at_least - 1) / (noise.scale * math.sqrt(2)))


def discovery_delta(noise: Noise, unit: Unit, threshold: int, floor: int) -> float:
    """Return the probability that a label of one person alone, or above the floor by one person alone, is released."""
    above = threshold - (floor - 1 + unit.rows_per_person)
    if above < 1:
        raise BudgetError(
            f"a threshold of {threshold} hides no one: it must exceed {floor - 1 + unit.rows_per_person}, the most "
            "rows of a label that one person alone can raise above the floor."
        )
    return min(1.0, unit.rows_per_person * noise_tail(noise, above))


def discovery_settings(noise: Noise, unit: Unit, delta: float) -> tuple[int, int]:
    """Return (threshold, floor) that spend at most `delta`, with the smallest threshold for this floor."""
    if validate_delta(delta) == 0:
        raise BudgetError(
            "finding unlisted labels needs a delta above 0: a label of one person could pass any threshold. List the "
            "labels in the schema, or allow a delta."
        )
    base = unit.rows_per_person + find_noise_quantile(noise, delta * (1 - ROUNDING / 2) / unit.rows_per_person)
    floor = 1 + int(FLOOR_SHARE * base)
    return base + floor - 1, floor


def find_noise_quantile(noise: Noise, probability: float) -> int:
    """Return the smallest t >= 1 that noise alone reaches with at most this probability, by `noise_tail`."""
    low, high = 0, 1
    while noise_tail(noise, high) > probability:
        low, high = high, 2 * high
        if high > MAX_THRESHOLD:
            raise BudgetError("the threshold for this noise is beyond 64-bit integers; use a larger budget.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if noise_tail(noise, middle) > probability else (low, middle)
    return high

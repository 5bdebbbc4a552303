"""How the regime of few rows divides its budget: from public facts and earlier releases, never from rows.

What decides is the noise that one correlation would carry if the whole budget went to correlations. Where it is large,
only margins (and the star of a target) are measured; as it falls, a part moves to pairs. With a target, how
that part is spent is decided after the star is known: a strong star is measured again, a weak one leaves the classes to
be distinguished by their correlations.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.release.scores import SCORE_BITS

PAIRS_RESOLUTION = 2.0 ** -(2 * SCORE_BITS)
"""Sums of products of two scores are whole multiples of this."""
SUFFICIENT_STAR_STRENGTH = 0.5
"""A star that explains this much of the class variable (in sum over columns) distinguishes the classes by itself."""

NOISE_WITHOUT_GAIN, NOISE_WITH_FULL_GAIN = 0.3, 0.03
"""Noise of a correlation from which on pairs get nothing, and below which they get their whole part. With a target that
did not count, 28 columns of 2,400 rows (Schooling of R's Ecdat) had 12% more error of pairs, as much as independent
margins, at the same AUC. Where sums measure half of the pairs or fewer, AUC would fall, by .04 on 1,000 rows of
Adult."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRowsShares:
    """Fractions of the allowance for margins, star, pairs and class pairs; they sum to at most one."""

    margins: float
    star: float = 0.0
    pairs: float = 0.0
    class_pairs: float = 0.0

    @property
    def rest(self) -> float:
        """What is not assigned yet."""
        return max(0.0, 1.0 - self.margins - self.star - self.pairs - self.class_pairs)


def correlation_noise(allowance: Allowance, unit: Unit, rows: float, scores: int) -> float:
    """Return noise of one correlation if the whole allowance went to the pairs of `scores` scores."""
    return pairs_noise(allowance, unit, scores).std_on(PAIRS_RESOLUTION) / max(rows, 1.0)


def pairs_noise(allowance: Allowance, unit: Unit, scores: int) -> Noise:
    """Return noise of one sum if the whole allowance goes to the pairs of `scores` scores."""
    pairs = max(scores * (scores - 1) / 2, 1.0)
    return allowance.sum_noise(l1=unit.l1 * pairs, l2=unit.l1 * sqrt(pairs))


def opening_shares(noise: float, target: bool, scored_share: float = 1.0) -> FewRowsShares:
    """Return shares of margins and star; the rest waits until the star is known, or goes to pairs without a target.

    Without one, sums measure only the part `scored_share` of all pairs, at the same part of the price of all; and the
    less they measure, the more precise they must be. On 500 rows of compas (half of the pairs, epsilon 1) sums
    of all that noise alone would let them have cost 5% of the error of pairs.
    """
    if not target:
        pairs = 0.3 * gain_of_pairs(noise, scored_share)
        return FewRowsShares(margins=1 - pairs, pairs=pairs)
    moved = ease_in(noise, 0.07, 0.03)
    return FewRowsShares(margins=0.7 - 0.05 * moved, star=0.15)


def closing_shares(opened: FewRowsShares, strength: float, noise: float, scored_share: float = 1.0) -> FewRowsShares:
    """Assign the rest after the star: to the star again, to pairs, and to class pairs.

    Args:
        opened: What was spent on margins and star.
        strength: How much of the class variable the star explains, in sum over columns.
        noise: As in `opening_shares`.
        scored_share: As in `opening_shares`; it counts twice, since what pairs get here the target loses. Beside a weak
            star it counts nothing: on sim20, whose classes differ in correlations alone, it cost .02 of AUC.
    """
    rest = opened.rest
    if strength < SUFFICIENT_STAR_STRENGTH:
        pairs = 0.4 * ease_in(noise, 0.07, 0.03) * rest
        return FewRowsShares(margins=opened.margins, star=opened.star, pairs=pairs, class_pairs=rest - pairs)
    pairs = max(0.6 * gain_of_pairs(noise, scored_share**2), ease_in(noise, 0.02, 0.008)) * rest
    return FewRowsShares(margins=opened.margins, star=opened.star + rest - pairs, pairs=pairs)


def gain_of_pairs(noise: float, scored_share: float) -> float:
    """Return the fraction of their maximum share that pairs get: less with more noise and with fewer scored pairs.

    `noise` and `scored_share` are those of `opening_shares`.
    """
    return scored_share * ease_in(noise / max(scored_share, 1e-3), NOISE_WITHOUT_GAIN, NOISE_WITH_FULL_GAIN)


def ease_in(noise: float, hard: float, easy: float) -> float:
    """Return 0 where noise is above `hard`, 1 below `easy`, linear in its logarithm between."""
    return min(1.0, max(0.0, log(hard / max(noise, 1e-300)) / log(hard / easy)))

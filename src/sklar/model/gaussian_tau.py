"""Correlations of normal scores from Kendall's tau, with regard to ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklar.model.margin import Margin

Floats = NDArray[np.float64]
FEWEST_UNTIED = 1e-3
"""A column whose values are nearly all tied has no tau to speak of; its share without ties counts as at least this."""


def corr_from_tau(tau: ArrayLike, ties: ArrayLike = 0.0, other_ties: ArrayLike = 0.0) -> Floats:
    """corr = sin(pi/2 t), t = tau / sqrt((1 - ties) (1 - other ties)), kept within [-1, 1].

    Without ties this is Greiner's relation tau = (2/pi) arcsin(corr), exact for Gaussian copulas. For two columns cut
    at their medians (ties 1/2 each) it is exact again: P(both high) = 1/4 + arcsin(corr) / (2 pi) gives
    tau-a = arcsin(corr) / pi. In between it is an approximation; tau-a alone would fade to half for such columns.

    Args:
        tau: Kendall's tau-a (ties count 0), possibly noisy.
        ties: Probability that two rows tie in the first column.
        other_ties: The same for the second.
    """
    left, right = (np.maximum(1 - np.asarray(x, dtype=np.float64), FEWEST_UNTIED) for x in (ties, other_ties))
    untied = np.sqrt(left * right)
    return np.sin(np.pi / 2 * np.clip(np.asarray(tau) / untied, -1.0, 1.0))


def corr_of_table(table: Floats) -> float:
    """The correlation behind a two-way table of probabilities over ranks, by its tau-a and its ties.

    tau-a = 2 sum p_ij (mass below in both - mass below in the first and above in the second), by prefix sums.
    """
    upto = np.zeros((table.shape[0], table.shape[1] + 1))
    np.cumsum(np.cumsum(table[:-1], axis=0), axis=1, out=upto[1:, 1:])
    tau = 2 * float((table * (upto[:, :-1] + upto[:, 1:] - upto[:, -1:])).sum())
    first, second = table.sum(axis=1), table.sum(axis=0)
    return float(corr_from_tau(tau, first @ first, second @ second))


def tie_share(margin: Margin, lookup: NDArray[np.integer]) -> float:
    """Probability that two independent rows fall into the same group: the sum of squared group masses."""
    mass = np.bincount(lookup, margin.dense())
    return float(mass @ mass)


def rank_groups(margin: Margin, most: int) -> NDArray[np.int64]:
    """Group of every base code, in order: every code its own, or at most `most` runs of about equal mass.

    Groups are numbered without gaps. A code that holds more than a group's mass has a group nearly for itself.
    """
    if margin.size <= most:
        return np.arange(margin.size)
    reach = np.cumsum(margin.dense())
    middle = reach - margin.dense() / 2
    group = np.minimum((middle * most).astype(np.int64), most - 1)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)

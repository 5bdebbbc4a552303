"""The one significance level of every decision whether a noisy number shows anything but noise."""

from __future__ import annotations

from functools import lru_cache

FALSE_ALARM_RATE = 0.005
"""Probability that noise alone passes any test of one family: all cells of a histogram, all pairs of a model, all
tables of a report. A family is what one decision looks at together. A larger rate finds more of what is small, and more
of what is noise: with 0.01 cells in the tails of heavy-tailed columns are found that are empty (tail6: +2.2% error of
pairs, +6% of margins); on eight other tables both rates are within their error of each other."""


@lru_cache(maxsize=1024)
def critical_deviations(tests: int = 1) -> float:
    """Return the standard deviations that Gaussian noise exceeds in any of some tests with FALSE_ALARM_RATE at most.

    Each test is one-sided and gets an equal part of the rate (Bonferroni), so that tests may depend on each other.
    """
    from scipy.special import ndtri

    return -float(ndtri(FALSE_ALARM_RATE / max(tests, 1)))

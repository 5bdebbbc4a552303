"""Tells when the noise is so large that what was released says next to nothing about the rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from sklar.errors import NoSignalWarning
from sklar.release.record import Recorded
from sklar.release.values import NoisyCounts

CLEAR = 3.0
"""A histogram whose total is not this many standard deviations above zero carries no signal."""


def weak_margins(recorded: Iterable[Recorded]) -> tuple[tuple[str, ...], int]:
    """Columns none of whose released histograms stands out of its noise, and the number of columns with a histogram.

    The total of a histogram of k cells with noise of standard deviation s has standard deviation s sqrt(k). Only
    released values are looked at.
    """
    clear: dict[str, bool] = {}
    for step in recorded:
        for release in step.releases:
            if isinstance(release, NoisyCounts) and len(release.columns) == 1 and release.counts.size > 1:
                stands_out = release.counts.sum() > CLEAR * release.noise.std * np.sqrt(release.counts.size)
                clear[release.columns[0]] = clear.get(release.columns[0], False) or bool(stands_out)
    return tuple(name for name, stands_out in clear.items() if not stands_out), len(clear)


def warn_of_weak_margins(recorded: Iterable[Recorded]) -> None:
    """Warn if half of the margins, or more, carry no signal."""
    weak, columns = weak_margins(recorded)
    if not weak or 2 * len(weak) < columns:
        return
    named = ", ".join(weak[:5]) + (", ..." if len(weak) > 5 else "")
    warnings.warn(
        f"the margins of {len(weak)} of {columns} columns carry no signal ({named}): at this budget the noise is "
        "larger than the table, so the synthetic rows say next to nothing. Use a larger epsilon, fewer columns or "
        "more rows.",
        NoSignalWarning,
        stacklevel=4,
    )

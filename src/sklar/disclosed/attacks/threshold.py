"""The rule of an attacker who looks for the target itself: a table with a row this close has seen it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]


def judge_by_threshold(without: Values, with_it: Values, tests: Sequence[Values]) -> list[float]:
    """The share of each group of tests that lies below a threshold learned from tables without and with the target."""
    limit = find_threshold(np.ravel(without), np.ravel(with_it))
    return [float((np.ravel(test) <= limit).mean()) for test in tests]


def find_threshold(without: Values, with_it: Values) -> float:
    """A value below which tables with the target lie more often than tables without it.

    The advantage of a threshold is the difference of the two shares below it. Of all thresholds whose advantage is
    within one standard error of the greatest, the one in the widest gap between values is taken: with few shadow
    models the greatest advantage owes much to chance. Below all values if nothing is gained.
    """
    values = np.unique(np.concatenate([without, with_it]))
    hits = np.searchsorted(np.sort(with_it), values, "right") / len(with_it)
    alarms = np.searchsorted(np.sort(without), values, "right") / len(without)
    gains = (hits - alarms)[:-1]  # above the last value, all tables look alike
    if not len(gains) or gains.max() <= 0:
        return -math.inf
    best = int(np.argmax(gains))
    error = math.sqrt(_variance(hits[best], len(with_it)) + _variance(alarms[best], len(without)))
    close = gains >= max(float(gains[best]) - error, float(gains[best]) / 2)
    chosen = int(np.argmax(np.where(close, np.diff(values), -1.0)))
    return float(values[chosen] + values[chosen + 1]) / 2


def _variance(share: float, trials: int) -> float:
    """Of a share, drawn towards one half by two trials: a share of 0 or 1 in few trials is not certain."""
    drawn = (share * trials + 1) / (trials + 2)
    return drawn * (1 - drawn) / trials

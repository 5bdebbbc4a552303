r"""Quantiles with error bars, by inverting shares of rows below thresholds (Woodruff 1952).

The share F(t) of rows up to a threshold t is a mean, which measurements correct (`one_step`) with a known variance
s(t)^2 from noise. The quantile of level a is at most t where F(t) >= a. So with F^(t) the estimate and z a normal
quantile,

    low  = the first t with F^(t) + z e(t) >= a,     high = the first t from which on F^(t) - z e(t) >= a,

e(t)^2 = s(t)^2 + a (1 - a) / m for a population, of which m rows were drawn into the group. No density is needed, so
intervals are also valid where many rows share one value. The estimate is the first t with F^(t) >= a, with linear
interpolation between thresholds unless numbers are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.inference.one_step import OneStep

THRESHOLDS_PER_GROUP = 33
"""Thresholds per group: the ends of a 95% interval are then accurate to a fifth of a standard error."""
THRESHOLD_SPAN = 4.0
"""Thresholds are quantiles of the model within this number of standard errors of the level."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thresholds:
    """Thresholds around a quantile of one group, and the model's shares of rows below them.

    Attributes:
        at: The thresholds, increasing.
        shares: The model's share of the group's rows up to each.
        psi: The influence of rows on these shares, one line each.
        part: The group's share of all rows.
    """

    at: Floats
    shares: Floats
    psi: Floats
    part: float


def place_thresholds(x: Floats, group: Mask, own: int, level: float, level_error: float) -> Thresholds | None:
    """Place thresholds near a quantile of a group; None if the model has no rows in it.

    Args:
        x: The column in rows of the model (the first `own`) and in further rows whose influence is needed.
        group: Which rows belong to the group.
        own: Number of rows that are the model's.
        level: The level of the quantile.
        level_error: Standard error of the share of rows up to the quantile, among all rows.
    """
    whole = group & ~np.isnan(x)
    values, part = np.sort(x[:own][whole[:own]]), float(np.mean(whole[:own]))
    if not len(values):
        return None
    # Both the noise on a share and the sampling error grow by at most 1 / part in a group.
    near = THRESHOLD_SPAN * max(level_error / part, 1.0 / np.sqrt(len(values)))
    levels = np.clip(level + near * np.linspace(-1.0, 1.0, THRESHOLDS_PER_GROUP), 0.0, 1.0)
    at = np.quantile(values, levels, method="inverted_cdf")
    shares = np.searchsorted(values, at, side="right") / len(values)
    psi = np.where(whole, (np.where(whole, x, np.inf) <= at[:, None]) - shares[:, None], 0.0) / part
    return Thresholds(at=at, shares=shares, psi=psi, part=part)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharesBelow:
    """Estimated shares of the rows of a group up to thresholds.

    Attributes:
        at: The thresholds, increasing.
        shares: The estimates, which do not decrease.
        noise: Their variance from noise.
        chance: The sampling variance of a share near the level.
        explained: Part of the joint influence of the columns that measurements explain.
    """

    at: Floats
    shares: Floats
    noise: Floats
    chance: float
    explained: float

    def invert_shares(self, level: float, normal: float, *, chance: bool, whole: bool) -> tuple[float, float, float]:
        """Return the quantile and the ends of its interval.

        Args:
            level: The level of the quantile.
            normal: Half width of the interval in standard errors.
            chance: Whether the error includes the sampling variance.
            whole: Whether there are no values between thresholds.
        """
        error = normal * np.sqrt(self.noise + (self.chance if chance else 0.0))
        upper = np.maximum.accumulate(self.shares + error)
        lower = np.minimum.accumulate((self.shares - error)[::-1])[::-1]
        value, low, high = (_first_reaching(self.at, curve, level, whole) for curve in (self.shares, upper, lower))
        return value, low, high


def _first_reaching(at: Floats, curve: Floats, level: float, whole: bool) -> float:
    """Return where an increasing curve reaches a level; its last point if it never does."""
    place = int(np.searchsorted(curve, level))
    if place == 0 or place == len(at):
        return float(at[min(place, len(at) - 1)])
    part = 1.0 if whole else (level - curve[place - 1]) / (curve[place] - curve[place - 1])
    return float(at[place - 1] + part * (at[place] - at[place - 1]))


def correct_shares(thresholds: Thresholds, step: OneStep, rows: float, level: float) -> SharesBelow:
    """Return the shares below thresholds, corrected by measurements and made monotone."""
    shares = thresholds.shares + step.shift
    # The mean of the nearest increasing curves from above and from below is increasing, and near both.
    rising = (np.maximum.accumulate(shares) + np.minimum.accumulate(shares[::-1])[::-1]) / 2
    return SharesBelow(
        at=thresholds.at,
        shares=rising,
        noise=step.noise,
        chance=level * (1 - level) / (rows * thresholds.part),
        explained=float(step.explained[len(step.explained) // 2]),
    )

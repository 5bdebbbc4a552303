r"""Quantiles with error bars: shares of rows up to thresholds, inverted (Woodruff 1952).

The share F(t) of rows up to a threshold t is a mean, which releases set right (`one_step`) with a known variance s(t)^2
from noise. The quantile of level a is at most t where F(t) >= a. So with F^(t) the estimate and z a normal quantile,

    low  = the first t with F^(t) + z e(t) >= a,     high = the first t from which on F^(t) - z e(t) >= a,

e(t)^2 = s(t)^2 + a (1 - a) / m for a population, of which m rows were drawn into the group. No density is needed, so
intervals hold also where many rows have one value. The estimate is the first t with F^(t) >= a. Thresholds that follow
each other are joined by lines, unless numbers are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.inference.one_step import OneStep

THRESHOLDS = 33
"""For each group: an interval of 95% then ends within a fifth of a standard error of where it should."""
SPAN = 4.0
"""Thresholds are quantiles of the model within this many standard errors of the level."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thresholds:
    """Thresholds around a quantile of one group, and how many rows lie below them.

    Attributes:
        at: The thresholds, rising.
        shares: The model's share of the group's rows up to each.
        psi: The influence of rows on these shares, a line each.
        part: The part of all rows that the group is.
    """

    at: Floats
    shares: Floats
    psi: Floats
    part: float


def lay_thresholds(x: Floats, group: Mask, own: int, level: float, level_error: float) -> Thresholds | None:
    """Return thresholds near a quantile of a group; None if the model has no rows in it.

    Args:
        x: The numbers of rows of the model, the first `own`, and of others whose influence is wanted too.
        group: Which rows are of the group.
        own: How many of the rows are the model's.
        level: The level of the quantile.
        level_error: Standard error of the share of rows up to the quantile, among all rows.
    """
    whole = group & ~np.isnan(x)
    values, part = np.sort(x[:own][whole[:own]]), float(np.mean(whole[:own]))
    if not len(values):
        return None
    # Both the noise on a share and the chance of the rows grow by no more than 1 / part in a group.
    near = SPAN * max(level_error / part, 1.0 / np.sqrt(len(values)))
    levels = np.clip(level + near * np.linspace(-1.0, 1.0, THRESHOLDS), 0.0, 1.0)
    at = np.quantile(values, levels, method="inverted_cdf")
    shares = np.searchsorted(values, at, side="right") / len(values)
    psi = np.where(whole, (np.where(whole, x, np.inf) <= at[:, None]) - shares[:, None], 0.0) / part
    return Thresholds(at=at, shares=shares, psi=psi, part=part)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharesBelow:
    """Estimated shares of the rows of a group up to thresholds.

    Attributes:
        at: The thresholds, rising.
        shares: The estimates; they never fall from one threshold to the next.
        noise: Their variance from noise.
        chance: The variance of a share near the level from having drawn these rows.
        told: Part of what columns say together that releases tell.
    """

    at: Floats
    shares: Floats
    noise: Floats
    chance: float
    told: float

    def invert_shares(self, level: float, normal: float, *, chance: bool, whole: bool) -> tuple[float, float, float]:
        """Return the quantile and the ends of its interval.

        Args:
            level: The level of the quantile.
            normal: How many standard errors the ends are away.
            chance: Whether the chance of the rows is part of the error.
            whole: Whether there is nothing between thresholds.
        """
        error = normal * np.sqrt(self.noise + (self.chance if chance else 0.0))
        upper = np.maximum.accumulate(self.shares + error)
        lower = np.minimum.accumulate((self.shares - error)[::-1])[::-1]
        value, low, high = (_first_reaching(self.at, curve, level, whole) for curve in (self.shares, upper, lower))
        return value, low, high


def _first_reaching(at: Floats, curve: Floats, level: float, whole: bool) -> float:
    """Return where a rising curve reaches a level; its last place if it never does."""
    place = int(np.searchsorted(curve, level))
    if place == 0 or place == len(at):
        return float(at[min(place, len(at) - 1)])
    part = 1.0 if whole else (level - curve[place - 1]) / (curve[place] - curve[place - 1])
    return float(at[place - 1] + part * (at[place] - at[place - 1]))


def shares_below(thresholds: Thresholds, step: OneStep, rows: float, level: float) -> SharesBelow:
    """Return the shares up to thresholds as releases set them right."""
    shares = thresholds.shares + step.shift
    # The mean of the nearest rising lines from above and from below is rising, and near both.
    rising = (np.maximum.accumulate(shares) + np.minimum.accumulate(shares[::-1])[::-1]) / 2
    return SharesBelow(
        at=thresholds.at,
        shares=rising,
        noise=step.noise,
        chance=level * (1 - level) / (rows * thresholds.part),
        told=float(step.told[len(step.told) // 2]),
    )

r"""Quantiles with error bars: shares up to thresholds, turned around (Woodruff 1952).

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

from sklar.arrays import Floats
from sklar.inference.answers.questions import Enquiry
from sklar.inference.answers.statistics import column_numbers, group_rows
from sklar.inference.one_step import OneStep
from sklar.sample.decode import SampledTable, row_count
from sklar.schema.table import Schema

THRESHOLDS = 33
"""For each group: an interval of 95% then ends within a fifth of a standard error of where it should."""
SPAN = 4.0
"""Thresholds are quantiles of the model within this many standard errors of the level."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thresholds:
    """Thresholds around a quantile in each group, and how many rows lie below them.

    Attributes:
        at: The thresholds, a line for each group.
        shares: The model's share of rows up to each, in one line.
        psi: The influence of rows on these shares, a line each.
        part: The part of all rows that each group is.
    """

    at: Floats
    shares: Floats
    psi: Floats
    part: Floats


def lay_thresholds(
    question: Enquiry, schema: Schema, table: SampledTable, own: int, level_error: float
) -> Thresholds | None:
    """Return thresholds near the asked quantile; None where a group has no rows of the model.

    Args:
        question: What is asked for.
        schema: The public facts.
        table: Rows of the model, the first `own`, and others whose influence is wanted too.
        own: How many of the rows are the model's.
        level_error: Standard error of the share of rows up to the quantile, among all rows.
    """
    x, mine = column_numbers(table, question.columns[0]), np.arange(row_count(table)) < own
    at, shares, psi, parts = [], [], [], []
    for group in group_rows(question, schema, table):
        whole = group & ~np.isnan(x)
        values, part = np.sort(x[whole & mine]), float(np.mean(whole[:own]))
        if not len(values):
            return None
        # Both the noise on a share and the chance of the rows grow by no more than 1 / part in a group.
        near = SPAN * max(level_error / part, 1.0 / np.sqrt(len(values)))
        levels = np.clip(question.at + near * np.linspace(-1.0, 1.0, THRESHOLDS), 0.0, 1.0)
        points = np.quantile(values, levels, method="inverted_cdf")
        below = np.searchsorted(values, points, side="right") / len(values)
        at.append(points)
        shares.append(below)
        psi.append(np.where(whole, (np.where(whole, x, np.inf) <= points[:, None]) - below[:, None], 0.0) / part)
        parts.append(part)
    return Thresholds(at=np.array(at), shares=np.concatenate(shares), psi=np.concatenate(psi), part=np.array(parts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharesBelow:
    """Estimated shares of rows up to thresholds: one line for each answer.

    Attributes:
        at: The thresholds, rising.
        shares: The estimates; they never fall from one threshold to the next.
        noise: Their variance from noise.
        chance: The variance of a share near the level from having drawn these rows, one number for each answer.
        told: Part of what columns say together that releases tell, for each answer.
    """

    at: Floats
    shares: Floats
    noise: Floats
    chance: Floats
    told: Floats

    def turn_around(self, j: int, level: float, normal: float, chance: bool, whole: bool) -> tuple[float, float, float]:
        """Return the quantile of one answer and the ends of its interval.

        Args:
            j: Which answer.
            level: The level of the quantile.
            normal: How many standard errors the ends are away.
            chance: Whether the chance of the rows is part of the error.
            whole: Whether there is nothing between thresholds.
        """
        at, shares = self.at[j], self.shares[j]
        error = normal * np.sqrt(self.noise[j] + (self.chance[j] if chance else 0.0))
        upper, lower = np.maximum.accumulate(shares + error), np.minimum.accumulate((shares - error)[::-1])[::-1]
        value, low, high = (_first_reaching(at, curve, level, whole) for curve in (shares, upper, lower))
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
    shape = thresholds.at.shape
    shares = (thresholds.shares + step.shift).reshape(shape)
    # The mean of the nearest rising lines from above and from below is rising, and near both.
    rising = (np.maximum.accumulate(shares, axis=1) + np.minimum.accumulate(shares[:, ::-1], axis=1)[:, ::-1]) / 2
    return SharesBelow(
        at=thresholds.at, shares=rising, noise=step.noise.reshape(shape),
        chance=level * (1 - level) / (rows * thresholds.part), told=step.told.reshape(shape)[:, shape[1] // 2],
    )  # fmt: skip

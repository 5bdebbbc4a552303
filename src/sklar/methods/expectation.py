"""What a synthetic table will be like, from the noise and public sizes alone, before anything is spent.

Errors are against the real rows. In all regimes of the vine they follow the noise of the whole budget, over the rows:
margins that of a count (z), correlations that of a sum of scores. Both fall with epsilon and with rows, so that what is
expected does too, where the method for few rows takes over.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.methods.few_rows.shares import correlation_noise
from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

LABEL_SHARES = 0.95
"""Error of the share of a label over the noise z. Like all numbers here it was chosen on the means of 2 to 5 fits of
the six tables of `benchmarks.yardstick`, and of two made ones, at epsilon 0.5, 1 and 3: see `benchmarks.plans`."""
WHOLE_SHARES, WHOLE_FLOOR = 1.25, 0.03
"""Errors of shares of tenths of whole numbers; the floor is divided by the root of the rows."""
REAL_SHARES = 0.072
"""Error of the share of a tenth of a real column over the root of z: densities are smoothed, so noise counts less."""
SKEWED_RANGE_FACTOR = 1.3
"""Real ranges that begin at 0 are mostly those of skewed amounts, whose values crowd in a few cells."""
CORRELATIONS, LABELS_BESIDE, CORRELATION_FLOOR = 0.31, 1.2, 0.9
"""Error of a rank correlation over the root of the noise of one; more by this much times the share of columns that are
labels, whose tables take budget; and the sampling error of that number of synthetic rows, over the root of the rows."""
INDEPENDENCE_ERROR = 0.14
"""Error of a correlation when the model makes the columns independent: the mean strength of correlations in real
tables."""
MIN_ERROR_WITH_TARGET = 0.105
"""The least error of a correlation where rows are few and a target is declared, since the budget goes to the target."""
MEANS, MEANS_POWER = 1.5, 0.75
"""Error of a mean, in standard deviations of its column, over this power of z;"""
AMOUNT, COUNT, MOST_COUNTS = 1.4, 2.0, 50
"""more for reals from 0, and for counts (whole numbers from 0 with few values), which are mostly skewed."""
BINARY_STD = 0.35
"""Standard deviation of whole numbers with two values, whose mean is a share: one row in seven has the rarer one. Set
after fits of statsmodels' randhie, which has four such columns: means there were expected twice too large."""
NULL_SHARE_ERROR = 1.35
"""Error of the share of nulls over z."""
AUC_LOSS, AUC_LOSS_MOST = 3.2, 0.4
"""The most AUC that is lost with a declared target, over the root of the noise of a correlation, and at all. No schema
states more: at one noise compas loses .01 and HMEQ .29, whose signal lies in missing values and in many columns. Chosen
so that all of 56 fits of seven tables at epsilon .5 to 10 lost less."""
SAMPLING_ERRORS = {"shares": 0.24, "correlations": 0.8, "means": 0.8}
"""Sampling error over the root of the rows: of a share of a tenth, of a rank correlation, of a mean in its sd."""
MARGINS_OF_VINE = 2.0 / 7.0
"""Part of the vine's budget that margins get: a method that spends all on margins has less noise by its root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What to expect of a synthetic table; typical absolute errors against the real rows.

    Attributes:
        shares: Of the share of a label, or of a tenth of the values of a number: mean over the values of a column,
            median over columns.
        correlations: Of a rank correlation of two columns of numbers, mean over pairs; None where columns are drawn
            independently.
        means: Of the mean of a column of numbers, in its standard deviations, mean over columns; None without numbers.
        nulls: A share of nulls below this comes out wrong by more than half as often as not; None if no column has any.
        auc_loss: A classifier of the target that learns from synthetic rows has an AUC less by nothing up to this; None
            without a target.
        few_rows: Whether the method for few rows takes over.
        kept: Of the share of rows of a person in which a column keeps the value of the row before; None where rows
            stand alone.
        transitions_hidden: Whether tables of a value and the one before it are below the noise level.
    """

    shares: float
    correlations: float | None
    means: float | None
    nulls: float | None
    auc_loss: float | None = None
    few_rows: bool = False
    kept: float | None = None
    transitions_hidden: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def sampling_error(what: str, rows: int) -> float:
    """Return how far the rows themselves are off the people they were drawn from: no epsilon removes it."""
    return SAMPLING_ERRORS.get(what, 0.0) / math.sqrt(rows)


def expect_margins(schema: Schema, allowance: Allowance, unit: Unit, rows: int) -> Expectation:
    """Return what margins alone are expected to be like, where all of the budget goes to them."""
    return _expect_margins(schema, _noise(schema, allowance, unit, rows) * math.sqrt(MARGINS_OF_VINE), rows)


def expect_dependence(
    schema: Schema, allowance: Allowance, unit: Unit, rows: int, *, few_rows: bool, target: bool
) -> Expectation:
    """Return what to expect of margins and correlations under a budget for both."""
    margins = _expect_margins(schema, _noise(schema, allowance, unit, rows), rows)
    noise = correlation_noise(allowance, unit, rows, len(schema.modelled))
    columns = [schema[name] for name in schema.modelled]
    labels = sum(not column.numeric for column in columns) / len(columns)
    measured = CORRELATIONS * math.sqrt(noise) * (1.0 + LABELS_BESIDE * labels)
    correlations = min(math.hypot(measured, CORRELATION_FLOOR / math.sqrt(rows)), INDEPENDENCE_ERROR)
    if few_rows and target:
        correlations = max(correlations, MIN_ERROR_WITH_TARGET)
    return Expectation(
        shares=margins.shares,
        correlations=correlations if sum(column.numeric for column in columns) > 1 else None,
        means=margins.means,
        nulls=margins.nulls,
        auc_loss=min(AUC_LOSS * math.sqrt(noise), AUC_LOSS_MOST) if target else None,
        few_rows=few_rows,
    )


def _noise(schema: Schema, allowance: Allowance, unit: Unit, rows: int) -> float:
    """Return z: noise of one count, over the rows, if the whole budget were spent on one table of each column."""
    return allowance.noise(unit, tables=len(schema.modelled)).std / rows


def _expect_margins(schema: Schema, z: float, rows: int) -> Expectation:
    columns = [schema[name] for name in schema.modelled]
    numbers = [_expect_mean_error(column, z) for column in columns if isinstance(column, Integer | Real)]
    nullable = any(column.null_code is not None for column in columns)
    return Expectation(
        shares=min(float(np.mean([_expect_share_error(column, z, rows) for column in columns])), 0.5),
        correlations=None,
        means=float(np.mean(numbers)) if numbers else None,
        nulls=min(2.0 * NULL_SHARE_ERROR * z, 1.0) if nullable else None,
    )


def _expect_share_error(column: Column, z: float, rows: int) -> float:
    if isinstance(column, Real):
        return REAL_SHARES * math.sqrt(z) * (SKEWED_RANGE_FACTOR if column.lower == 0 else 1.0)
    return WHOLE_SHARES * z + WHOLE_FLOOR / math.sqrt(rows) if column.numeric else LABEL_SHARES * z


def _expect_mean_error(column: Integer | Real, z: float) -> float:
    plain = MEANS * z**MEANS_POWER
    if isinstance(column, Integer) and column.upper - column.lower == 1:
        return min(LABEL_SHARES * z / BINARY_STD, plain)
    if column.lower != 0:
        return plain
    if isinstance(column, Real):
        return AMOUNT * plain
    return (COUNT if column.upper < MOST_COUNTS else 1.0) * plain

r"""Influence functions of statistics: how much each of many rows of a model changes them.

A statistic theta(P) of a distribution P changes by the mean of psi under Q - P, to first order, when P becomes Q; psi
has mean 0 under P. Mean: x - theta. Correlation r on Fisher's scale: (z_x z_y - r (z_x^2 + z_y^2) / 2) / (1 - r^2).
Quantile: (a - [x <= theta]) / density. Regressions: H^-1 x (y - fitted), H the mean of x x' (times p (1 - p) if
logistic). In a group: the same on its rows, over its share. Reference: Hampel (1974); van der Vaart (1998), chapter 20.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.inference.answers.questions import REGRESSIONS, Enquiry
from sklar.inference.answers.statistics import column_numbers, compute_answers, group_rows, is_value, regression_design
from sklar.sample.decode import SampledTable, row_count, take
from sklar.schema.table import Schema

MAX_CORRELATION = 1 - 1e-9
"""Correlations are clipped to this before Fisher's transformation, which is infinite at 1."""
QUANTILE_HALF_SPAN = 0.02
"""Half the span of levels around a quantile over which its density is estimated."""


def compute_influences(
    question: Enquiry, schema: Schema, table: SampledTable, rows: float, own: int | None = None
) -> tuple[Floats, Floats]:
    """Return the answers and the influence of each row on them, one line per answer; correlations on Fisher's scale.

    With `own`, the answers are those of the first `own` rows, and the influence of other rows refers to these answers.
    """
    mine = np.arange(row_count(table)) < (row_count(table) if own is None else own)
    found = to_fisher_scale(question, compute_answers(question, schema, take(table, np.flatnonzero(mine)), rows))
    groups = group_rows(question, schema, table)
    if question.statistic == "difference":
        parts = [_influence(question, schema, table, (group, mine), rows) for group in groups]
        return found, parts[0] - parts[1]
    return found, np.concatenate([_influence(question, schema, table, (group, mine), rows) for group in groups])


def to_fisher_scale(question: Enquiry, found: Floats) -> Floats:
    """Transform correlations to Fisher's scale, where their variance is constant; return other answers unchanged."""
    if question.statistic != "correlation":
        return found
    return np.arctanh(np.clip(found, -MAX_CORRELATION, MAX_CORRELATION))


def _influence(question: Enquiry, schema: Schema, table: SampledTable, masks: tuple[Mask, Mask], rows: float) -> Floats:
    """Return one line for each answer of one group; the masks select its rows, and the rows that answers are from."""
    kept, mine = masks
    if question.statistic in REGRESSIONS:
        return _compute_regression_influence(question, schema, table, kept, mine)
    if question.is_share:
        x = is_value(schema, question.columns[0], question.value, table).astype(np.float64)
        return _restrict_to_group(x - _compute_mean(x[kept & mine]), kept, mine)[None]
    numbers = [column_numbers(table, name) for name in question.columns]
    whole = kept & ~np.isnan(sum(numbers))
    x, known = np.where(whole, numbers[0], 0.0), whole & mine
    if question.statistic == "total":
        return rows * x[None]
    if question.statistic == "quantile":
        return _restrict_to_group(_compute_quantile_influence(x, known, question.at), whole, mine)[None]
    if question.statistic == "correlation":
        return _restrict_to_group(
            _compute_correlation_influence(x, np.where(whole, numbers[1], 0.0), known), whole, mine
        )[None]
    return _restrict_to_group(x - _compute_mean(x[known]), whole, mine)[None]


def _compute_mean(x: Floats) -> float:
    return float(x.mean()) if len(x) else np.nan


def _restrict_to_group(psi: Floats, kept: Mask, mine: Mask) -> Floats:
    return np.where(kept, psi, 0.0) / max(float(kept[mine].mean()), 1e-12)


def _compute_quantile_influence(x: Floats, known: Mask, at: float) -> Floats:
    if not known.any():
        return np.full(len(x), np.nan)
    first, last = max(at - QUANTILE_HALF_SPAN, 0.0), min(at + QUANTILE_HALF_SPAN, 1.0)
    low, here, high = np.quantile(x[known], [first, at, last])
    below = float(np.mean(x[known] <= here))  # differs from the level where values are tied
    return (below - (x <= here)) * (high - low) / (last - first)  # 0 where many rows have one value


def _compute_correlation_influence(x: Floats, y: Floats, known: Mask) -> Floats:
    spread = [float(np.std(v[known])) if known.any() else 0.0 for v in (x, y)]
    if min(spread) <= 0:
        return np.full(len(x), np.nan)
    first, second = ((v - v[known].mean()) / s for v, s in zip((x, y), spread, strict=True))
    corr = float(np.clip(np.mean((first * second)[known]), -MAX_CORRELATION, MAX_CORRELATION))
    return (first * second - corr * (first**2 + second**2) / 2) / (1 - corr**2)


def _compute_regression_influence(
    question: Enquiry, schema: Schema, table: SampledTable, kept: Mask, mine: Mask
) -> Floats:
    design, outcome, beta = regression_design(question, schema, table, kept & mine)
    psi: Any = np.full((len(beta), row_count(table)), np.nan)
    seen = np.isfinite(beta)
    if not seen.any():
        return psi
    whole = kept & ~np.isnan(outcome) & ~np.isnan(design).any(axis=1)
    x = np.where(whole[:, None], design, 0.0)[:, seen]
    fitted, weight = x @ beta[seen], np.ones(len(x))
    if question.statistic == "logistic":
        fitted = 1.0 / (1.0 + np.exp(-np.clip(fitted, -30, 30)))
        weight = fitted * (1 - fitted)
    known = whole & mine
    curvature = (x[known] * weight[known, None]).T @ x[known] / mine.sum()
    psi[seen] = np.linalg.solve(curvature, (x * np.where(whole, outcome - fitted, 0.0)[:, None]).T)
    return psi

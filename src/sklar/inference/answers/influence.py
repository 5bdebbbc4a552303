r"""How much each row moves a statistic: influence functions, on many rows of a model.

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
from sklar.inference.answers.statistics import answers, column_numbers, group_rows, is_value, regression_design
from sklar.sample.decode import SampledTable, row_count, take
from sklar.schema.table import Schema

EDGE = 1 - 1e-9
"""Correlations beyond this are as good as 1."""
NEAR = 0.02
"""Half the span of levels around a quantile over which its density is taken."""


def influences(
    question: Enquiry, schema: Schema, table: SampledTable, rows: float, own: int | None = None
) -> tuple[Floats, Floats]:
    """(answers, influence of each row of the table on each: one line an answer); on Fisher's scale for correlations.

    With `own`, the answers are those of so many first rows; the influence of others is what they would have there.
    """
    mine = np.arange(row_count(table)) < (row_count(table) if own is None else own)
    found = fisher(question, answers(question, schema, take(table, np.flatnonzero(mine)), rows))
    groups = group_rows(question, schema, table)
    if question.statistic == "difference":
        parts = [_influence(question, schema, table, (group, mine), rows) for group in groups]
        return found, parts[0] - parts[1]
    return found, np.concatenate([_influence(question, schema, table, (group, mine), rows) for group in groups])


def fisher(question: Enquiry, found: Floats) -> Floats:
    """Correlations on Fisher's scale, where their spread does not depend on their size; other answers as they are."""
    return np.arctanh(np.clip(found, -EDGE, EDGE)) if question.statistic == "correlation" else found


def _influence(question: Enquiry, schema: Schema, table: SampledTable, masks: tuple[Mask, Mask], rows: float) -> Floats:
    """One line for each answer of one group; the masks are of its rows, and of those whose answers are meant."""
    kept, mine = masks
    if question.statistic in REGRESSIONS:
        return _of_regression(question, schema, table, kept, mine)
    if question.is_share:
        x = is_value(schema, question.columns[0], question.value, table).astype(np.float64)
        return _in_group(x - _mean(x[kept & mine]), kept, mine)[None]
    numbers = [column_numbers(table, name) for name in question.columns]
    whole = kept & ~np.isnan(sum(numbers))
    x, known = np.where(whole, numbers[0], 0.0), whole & mine
    if question.statistic == "total":
        return rows * x[None]
    if question.statistic == "quantile":
        return _in_group(_of_quantile(x, known, question.at), whole, mine)[None]
    if question.statistic == "correlation":
        return _in_group(_of_correlation(x, np.where(whole, numbers[1], 0.0), known), whole, mine)[None]
    return _in_group(x - _mean(x[known]), whole, mine)[None]


def _mean(x: Floats) -> float:
    return float(x.mean()) if len(x) else np.nan


def _in_group(psi: Floats, kept: Mask, mine: Mask) -> Floats:
    return np.where(kept, psi, 0.0) / max(float(kept[mine].mean()), 1e-12)


def _of_quantile(x: Floats, known: Mask, at: float) -> Floats:
    if not known.any():
        return np.full(len(x), np.nan)
    first, last = max(at - NEAR, 0.0), min(at + NEAR, 1.0)
    low, here, high = np.quantile(x[known], [first, at, last])
    below = float(np.mean(x[known] <= here))  # of whole numbers: not the level itself
    return (below - (x <= here)) * (high - low) / (last - first)  # nothing where many rows have one value


def _of_correlation(x: Floats, y: Floats, known: Mask) -> Floats:
    spread = [float(np.std(v[known])) if known.any() else 0.0 for v in (x, y)]
    if min(spread) <= 0:
        return np.full(len(x), np.nan)
    first, second = ((v - v[known].mean()) / s for v, s in zip((x, y), spread, strict=True))
    corr = float(np.clip(np.mean((first * second)[known]), -1 + 1e-9, 1 - 1e-9))
    return (first * second - corr * (first**2 + second**2) / 2) / (1 - corr**2)


def _of_regression(question: Enquiry, schema: Schema, table: SampledTable, kept: Mask, mine: Mask) -> Floats:
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

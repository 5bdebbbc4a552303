"""Statistics of one table: the numbers that answer a question, NaN where one is not defined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.inference.answers.questions import REGRESSIONS, Enquiry, is_number, list_groups
from sklar.sample.conditions import conditions_hold, read_conditions
from sklar.sample.decode import SampledTable
from sklar.schema.columns import Labels
from sklar.schema.table import Schema

NEWTON_STEPS = 50
"""Maximum number of steps of a logistic regression; its coefficients are undefined if it has not converged by then."""
NEWTON_TOLERANCE = 1e-8
"""Convergence: the largest change of a coefficient in the last step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLabel:
    """Label of one number among the answers to a question: its group, and its term of a regression."""

    group: Any = None
    term: str | None = None


def describe_numbers(question: Enquiry, schema: Schema) -> tuple[NumberLabel, ...]:
    """Return the labels of the numbers of `compute_answers`, in their order."""
    terms = _terms(question, schema) if question.statistic in REGRESSIONS else (None,)
    groups = list_groups(question, schema) if question.by is not None else (None,)
    if question.statistic == "difference":
        groups = (" - ".join(map(str, groups)),)
    return tuple(NumberLabel(group=group, term=term) for group in groups for term in terms)


def used_columns(question: Enquiry) -> tuple[str, ...]:
    """Return the columns that the answer depends on."""
    return tuple(dict.fromkeys([*question.columns, *question.given, *([question.by] if question.by else [])]))


def compute_answers(question: Enquiry, schema: Schema, table: SampledTable, rows: float) -> Floats:
    """Return the numbers of the question; NaN where one is not defined.

    Missing values are left out, except in shares, where they count as rows. `rows` is the number of rows that the table
    represents.
    """
    found = [_numbers(question, schema, table, group, rows) for group in group_rows(question, schema, table)]
    return found[0] - found[1] if question.statistic == "difference" else np.concatenate(found)


def group_rows(question: Enquiry, schema: Schema, table: SampledTable) -> list[Mask]:
    """Return the rows of each group, or all rows that meet the conditions."""
    kept = conditions_hold(schema, read_conditions(schema, question.given), table)
    if question.by is None:
        return [kept]
    return [kept & is_value(schema, question.by, value, table) for value in list_groups(question, schema)]


def group_shares(question: Enquiry, schema: Schema, table: SampledTable) -> Floats:
    """Return the fraction of rows behind each number of `compute_answers`; for a difference, that of both groups."""
    shares = np.array([float(kept.mean()) for kept in group_rows(question, schema, table)])
    if question.statistic == "difference":
        return shares.sum(keepdims=True)
    return np.repeat(shares, len(describe_numbers(question, schema)) // len(shares))


def is_value(schema: Schema, name: str, value: Any, table: SampledTable) -> Mask:
    """Return the rows in which a column meets a condition."""
    return conditions_hold(schema, read_conditions(schema, {name: value}), table)


def _numbers(question: Enquiry, schema: Schema, table: SampledTable, kept: Mask, rows: float) -> Floats:
    """Return the numbers of one group."""
    if question.statistic in REGRESSIONS:
        return regression_design(question, schema, table, kept)[2]
    if question.is_share:
        inside = is_value(schema, question.columns[0], question.value, table)
        return np.array([inside[kept].mean() if kept.any() else np.nan])
    numbers = [column_numbers(table, name) for name in question.columns]
    whole = kept & ~np.isnan(sum(numbers))
    if question.statistic == "total":
        return np.array([rows * numbers[0][whole].sum() / len(kept)])
    return np.array([_compute_statistic(question, [x[whole] for x in numbers])])


def _compute_statistic(question: Enquiry, numbers: Sequence[Floats]) -> float:
    x = numbers[0]
    if len(x) < (3 if question.statistic == "correlation" else 1):
        return np.nan
    if question.statistic == "quantile":
        return float(np.quantile(x, question.at))
    if question.statistic == "correlation":
        spread = float(np.std(x) * np.std(numbers[1]))
        return float(np.mean((x - x.mean()) * (numbers[1] - numbers[1].mean())) / spread) if spread > 0 else np.nan
    return float(x.mean())


def column_numbers(table: SampledTable, name: str) -> Floats:
    """Return the numbers of a column; NaN where one is missing."""
    values = table[name]
    return np.where(values.null, np.nan, values.data.astype(np.float64))


def _terms(question: Enquiry, schema: Schema) -> tuple[str, ...]:
    """Return the terms: intercept, each number, and each label of a category except the first."""
    terms = ["(intercept)"]
    for name in question.columns[1:]:
        column = schema[name]
        labels = [] if is_number(column) or not isinstance(column, Labels) else column.values[1:]
        terms += [name] if is_number(column) else [f"{name}={label}" for label in labels]
    return tuple(terms)


def _design(question: Enquiry, schema: Schema, table: SampledTable) -> Floats:
    """Return the design matrix; NaN where a value is missing or not listed in the schema."""
    parts: list[Floats] = [np.ones(len(table[question.columns[0]].data))]
    for name in question.columns[1:]:
        column = schema[name]
        if is_number(column) or not isinstance(column, Labels):
            parts.append(column_numbers(table, name))
            continue
        level, unknown = table[name].data, table[name].null | (table[name].data >= len(column.values))
        parts += [np.where(unknown, np.nan, level == i) for i in range(1, len(column.values))]
    return np.column_stack(parts)


def regression_design(
    question: Enquiry, schema: Schema, table: SampledTable, kept: Mask
) -> tuple[Floats, Floats, Floats]:
    """Return design and outcome of all rows, and coefficients fitted to the kept rows without missing values."""
    design, outcome = _design(question, schema, table), _outcome(question, schema, table)
    whole = kept & ~np.isnan(outcome) & ~np.isnan(design).any(axis=1)
    return design, outcome, _coefficients(design[whole], outcome[whole], question.statistic == "linear")


def _coefficients(design: Floats, outcome: Floats, linear: bool) -> Floats:
    """Fit a regression; coefficients are NaN for terms that do not vary, and all NaN if there is no solution."""
    found = np.full(design.shape[1], np.nan)
    seen = np.concatenate([[True], np.ptp(design[:, 1:], axis=0) > 0]) if len(design) else found > 0
    if seen.sum() >= len(design):
        return found
    # Numbers far from 0 would make the normal equations ill-conditioned: standardize, and turn back.
    centre, scale = design[:, 1:].mean(axis=0) * seen[1:], np.where(seen[1:], design[:, 1:].std(axis=0), 1.0)
    scaled = np.column_stack([np.ones(len(design)), (design[:, 1:] - centre) / scale])[:, seen]
    fitted = _solve_least_squares(scaled, outcome) if linear else _logistic(scaled, outcome)
    if fitted is not None:
        found[seen] = fitted
        found[1:] /= scale
        found[0] -= np.nansum(found[1:] * centre)
    return found


def _outcome(question: Enquiry, schema: Schema, table: SampledTable) -> Floats:
    """Return the outcome as numbers; in a logistic regression, 1 for true or the second of two labels or values."""
    name = question.columns[0]
    column, values = schema[name], table[name]
    if question.statistic == "linear":
        return column_numbers(table, name)
    one: Any = True
    if isinstance(column, Labels):
        one = 1 if values.labels is not None else column.values[1]
    elif is_number(column) and column.numeric:
        one = int(column.grid.starts[1])  # type: ignore[attr-defined]
    unknown = values.null | (values.data >= 2 if values.labels is not None else False)
    return np.where(unknown, np.nan, values.data == one)


def _solve_least_squares(design: Floats, outcome: Floats) -> Floats | None:
    found, _, rank, _ = np.linalg.lstsq(design, outcome, rcond=None)
    return np.asarray(found, dtype=np.float64) if rank == design.shape[1] else None


def _logistic(design: Floats, outcome: Floats) -> Floats | None:
    """Maximize the likelihood by Newton steps; None if they do not converge, as with separable classes."""
    if np.ptp(outcome) == 0:
        return None
    beta = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -30, 30)))
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design
        try:
            step = np.linalg.solve(curvature, design.T @ (outcome - chance))
        except np.linalg.LinAlgError:
            return None
        beta = beta + step
        if np.abs(step).max() < NEWTON_TOLERANCE:
            return beta
    return None

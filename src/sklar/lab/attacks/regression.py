"""The linear attribute attacker: a regression of the sensitive column on all others, every column standardized.

With Z the standardized table and j the sensitive column, Z_j is regressed on the others (the response included) by
least squares. From the coefficients of all regressions, without the intercept: MAB is their mean absolute value, WCAB
the greatest, and MR2 the mean adjusted R2. The mean squared error (MSE) of guesses is in units of the sensitive
column's variance. Reference: Griesbauer et al. (2025), section 2.5 and appendix H.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.attacks.result import Attacked, Number, shuffle_columns
from sklar.lab.intervals import Estimate, exact_estimate, normal_interval, student_mean
from sklar.lab.learning.features import frequent_labels, make_indicators
from sklar.lab.tables.table import ExactTable, ordered_values

MAX_LABEL_INDICATORS = 20
"""Labels of a column that get an indicator: the most frequent ones of the real table, without the very first. More
show more about rare labels and make the regression less stable."""
MAX_REGRESSION_ROWS = 5_000
"""Rows of each table in a regression, at most: the time of all bootstraps grows with it."""
MAX_TARGETS = 5_000
"""People whose sensitive value is guessed, at most: more narrow the interval."""
MEASURES = {
    "mab": ("mean absolute coefficient (MAB)", "How well the other columns predict it; the intercept is left out."),
    "wcab": ("greatest absolute coefficient (WCAB)", "How well the most informative other column predicts it."),
    "mr2": ("adjusted R2 of the regression (MR2)", "Share of its variance that the other columns explain."),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DesignLayout:
    """The label codes of each unordered column that get an indicator; taken from the real table."""

    shown: Mapping[str, Ints]
    names: tuple[str, ...]

    def features(self, sensitive: str) -> tuple[str, ...]:
        """Name the features that predict the sensitive column."""
        out: list[str] = []
        for name in self.names:
            if name != sensitive:
                out += [f"{name}={code}" for code in self.shown[name]] if name in self.shown else [name]
        return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """One regression: coefficients without the intercept (which is 0), R2 and adjusted R2."""

    coefficients: Floats
    r2: float
    adjusted: float


def design_layout(real: ExactTable) -> DesignLayout:
    """Choose indicators for the labels of the real table."""
    labels = [name for name in real.names if not real.schema[name].ordered]
    shown = {name: frequent_labels(real, name)[1 : MAX_LABEL_INDICATORS + 1] for name in labels}
    return DesignLayout(shown=shown, names=real.names)


def make_predictors(table: ExactTable, layout: DesignLayout, sensitive: str) -> Floats:
    """Return all columns but the sensitive one as numbers: null is the mean of the table, labels are indicators."""
    blocks = [_make_column(table, layout, name) for name in layout.names if name != sensitive]
    return np.concatenate(blocks, axis=1) if blocks else np.empty((table.rows, 0))


def impute_mean(values: Floats) -> Floats:
    """Replace nulls by the mean."""
    null = np.isnan(values)
    if not null.any():
        return values
    return np.where(null, 0.0 if null.all() else values[~null].mean(), values)


def standardize_columns(values: Floats) -> Floats:
    """Return (x - mean) / standard deviation, column by column; a constant column becomes 0."""
    centred = values - values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])
    # A spread below the rounding error of the values is 0.
    flat = spread <= 1e-12 * np.maximum(np.abs(values).max(axis=0), 1e-300)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))


def regress(x: Floats, y: Floats) -> Fit:
    """Regress a standardized y on standardized x by least squares, with minimum norm for collinear columns."""
    beta = np.asarray(np.linalg.lstsq(x, y, rcond=1e-10)[0] if x.shape[1] else (), dtype=np.float64)
    total, rest = float(y @ y), float(((y - x @ beta) ** 2).sum())
    r2 = 1.0 - rest / total if total > 0 else 0.0
    degrees = len(y) - 1 - int((x != 0).any(axis=0).sum())
    adjusted = 1.0 - (1.0 - r2) * (len(y) - 1) / degrees if degrees > 0 else r2
    return Fit(coefficients=beta, r2=r2, adjusted=adjusted)


def regress_on_table(table: ExactTable, layout: DesignLayout, sensitive: str) -> Fit:
    """Regress the sensitive column of a table on all others."""
    x, y = make_predictors(table, layout, sensitive), impute_mean(ordered_values(table, sensitive))
    return regress(standardize_columns(x), standardize_columns(y))


def _make_column(table: ExactTable, layout: DesignLayout, name: str) -> Floats:
    if name in layout.shown:
        return make_indicators(table, name, layout.shown[name])
    return impute_mean(ordered_values(table, name))[:, None]


def attack_by_regression(tables: Attacked, name: str, bootstraps: int) -> tuple[list[Number], dict[str, Any]]:
    """Report the measures and the error of guesses on one release, with bootstrap intervals, and details."""
    real, rng = tables.real, tables.rng
    layout = design_layout(real)
    roles = {"attack": tables.synthetic, "real": real, "control": tables.holdout}
    drawn = {role: table.sample(MAX_REGRESSION_ROWS, rng) for role, table in roles.items() if table is not None}
    found = {role: _bootstrap_measures(table, layout, name, bootstraps, rng) for role, table in drawn.items()}
    # The baseline is an attacker who learns nothing about the sensitive column.
    found["baseline"] = _bootstrap_measures(
        shuffle_columns(drawn["attack"], [name], rng), layout, name, bootstraps, rng
    )
    numbers = [
        Number(
            name=f"{name}.{measure}", title=f"{title} of '{name}'", says=says, attack=found["attack"][measure],
            baseline=found["baseline"][measure], control=found["control"][measure] if "control" in found else None,
        )
        for measure, (title, says) in MEASURES.items()
    ]  # fmt: skip
    numbers.append(_report_mse(tables, layout, name, max(2, bootstraps // 10)))
    fits = {role: regress_on_table(drawn[role], layout, name).coefficients.tolist() for role in ("attack", "real")}
    return numbers, {
        "features": list(layout.features(name)), "coefficients": fits["attack"], "coefficients_real": fits["real"],
        "real_bootstraps": {measure: found["real"][measure].to_dict() for measure in MEASURES},
    }  # fmt: skip


def _bootstrap_measures(
    table: ExactTable, layout: DesignLayout, name: str, bootstraps: int, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Estimate the measures on the table, with standard errors from bootstraps of its rows."""
    x, y = make_predictors(table, layout, name), impute_mean(ordered_values(table, name))
    picked = (rng.integers(len(y), size=len(y)) for _ in range(bootstraps))
    spread = np.array([_compute_measures(x[rows], y[rows]) for rows in picked]).std(axis=0, ddof=1)
    whole = zip(MEASURES, _compute_measures(x, y), spread, strict=True)
    return {key: normal_interval(value, float(error)) for key, value, error in whole}


def _compute_measures(x: Floats, y: Floats) -> tuple[float, float, float]:
    fit = regress(standardize_columns(x), standardize_columns(y))
    size = np.abs(fit.coefficients)
    return float(size.mean()), float(size.max()), fit.adjusted


def _report_mse(tables: Attacked, layout: DesignLayout, name: str, bootstraps: int) -> Number:
    real, rng = tables.real, tables.rng
    samples = (tables.synthetic.sample(MAX_REGRESSION_ROWS, rng) for _ in range(bootstraps))
    attackers = [table.take(rng.integers(table.rows, size=table.rows)) for table in samples]

    def mean_error(people: ExactTable) -> Estimate:
        return student_mean(guess_errors(attackers, people.sample(MAX_TARGETS, rng), real, layout, name).mean(axis=0))

    return Number(
        name=f"{name}.mse",
        title=f"mean squared error of linear guesses of '{name}'",
        says="In units of its variance: guessing the mean gives 1.",
        attack=mean_error(real),
        baseline=exact_estimate(1.0),
        control=tables.control(mean_error),
        worse="lower",
        trials=min(MAX_TARGETS, real.rows),
    )


def guess_errors(
    attackers: Sequence[ExactTable], targets: ExactTable, real: ExactTable, layout: DesignLayout, name: str
) -> Floats:
    """Return squared errors of linear guesses: one row per attacker's table, one column per target.

    Targets are standardized by the real table, as the data holder does (paper, section 2.5); each attacker's table by
    its own mean and variance.
    """
    x, whole = make_predictors(targets, layout, name), make_predictors(real, layout, name)
    centre, spread = whole.mean(axis=0), whole.std(axis=0, ddof=1)
    truth, own = impute_mean(ordered_values(targets, name)), impute_mean(ordered_values(real, name))
    x = np.clip((x - centre) / np.where(spread > 0, spread, 1.0), -20.0, 20.0)
    y = (truth - own.mean()) / (own.std(ddof=1) or 1.0)
    return np.array([(x @ regress_on_table(table, layout, name).coefficients - y) ** 2 for table in attackers])

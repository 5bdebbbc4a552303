"""The linear attribute attacker: a regression of the sensitive column on all others, every column standardized.

With Z the standardized table and j the sensitive column, Z_j is regressed on the others (the response included) by
least squares. From the coefficients of all regressions, without the intercept: MAB, their mean absolute value; WCAB,
their greatest; and MR2, the mean adjusted R2: how much the other columns say about the sensitive one. The mean squared
error (MSE) is how far guesses are off, in units of the sensitive column's variance. Reference: Griesbauer et al.
(2025), section 2.5 and appendix H.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.attacks.result import Attacked, Number, shuffled
from sklar.lab.intervals import Estimate, exactly, normal_interval, student_mean
from sklar.lab.learning.features import frequent_labels, indicators
from sklar.lab.tables.table import ExactTable, ordered_values

LABELS = 20
"""Labels of a column that get an indicator: the most frequent ones of the real table, but for the very first. More
show more about rare labels and make the regression less stable."""
ROWS = 5_000
"""Rows of each table in a regression, at most: time of all bootstraps grows with it."""
TARGETS = 5_000
"""People whose sensitive value is guessed, at most: more narrow the interval."""
MEASURES = {
    "mab": ("mean absolute coefficient (MAB)", "How much the other columns say about it; the intercept is left out."),
    "wcab": ("greatest absolute coefficient (WCAB)", "How much the most telling other column says about it."),
    "mr2": ("adjusted R2 of the regression (MR2)", "Share of its variance that the other columns explain."),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DesignLayout:
    """Which indicators stand for the labels of each column that is not ordered; taken from the real table."""

    shown: Mapping[str, Ints]
    names: tuple[str, ...]

    def features(self, sensitive: str) -> tuple[str, ...]:
        """Names of the features that predict the sensitive column."""
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


def layout_of(real: ExactTable) -> DesignLayout:
    """Indicators for the labels of the real table."""
    labels = [name for name in real.names if not real.schema[name].ordered]
    shown = {name: frequent_labels(real, name)[1 : LABELS + 1] for name in labels}
    return DesignLayout(shown=shown, names=real.names)


def predictors(table: ExactTable, layout: DesignLayout, sensitive: str) -> Floats:
    """All columns but the sensitive one as numbers: null is the mean of the table, labels are indicators."""
    blocks = [_column(table, layout, name) for name in layout.names if name != sensitive]
    return np.concatenate(blocks, axis=1) if blocks else np.empty((table.rows, 0))


def filled(values: Floats) -> Floats:
    """Unknown values become the mean of the known ones."""
    null = np.isnan(values)
    if not null.any():
        return values
    return np.where(null, 0.0 if null.all() else values[~null].mean(), values)


def standardized(values: Floats) -> Floats:
    """(x - mean) / standard deviation, column by column; a constant column is 0."""
    centred = values - values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])
    # Differences below rounding of the values themselves are no spread.
    flat = spread <= 1e-12 * np.maximum(np.abs(values).max(axis=0), 1e-300)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))


def regress(x: Floats, y: Floats) -> Fit:
    """Least squares of a standardized y on standardized x; of collinear solutions the shortest."""
    beta = np.asarray(np.linalg.lstsq(x, y, rcond=1e-10)[0] if x.shape[1] else (), dtype=np.float64)
    total, rest = float(y @ y), float(((y - x @ beta) ** 2).sum())
    r2 = 1.0 - rest / total if total > 0 else 0.0
    degrees = len(y) - 1 - int((x != 0).any(axis=0).sum())
    adjusted = 1.0 - (1.0 - r2) * (len(y) - 1) / degrees if degrees > 0 else r2
    return Fit(coefficients=beta, r2=r2, adjusted=adjusted)


def regress_table(table: ExactTable, layout: DesignLayout, sensitive: str) -> Fit:
    """The attacker's regression on a table."""
    x, y = predictors(table, layout, sensitive), filled(ordered_values(table, sensitive))
    return regress(standardized(x), standardized(y))


def _column(table: ExactTable, layout: DesignLayout, name: str) -> Floats:
    if name in layout.shown:
        return indicators(table, name, layout.shown[name])
    return filled(ordered_values(table, name))[:, None]


def attack_linearly(tables: Attacked, name: str, bootstraps: int) -> tuple[list[Number], dict[str, Any]]:
    """The measures and the error of guesses on one release, with intervals from so many bootstraps, and details."""
    real, rng = tables.real, tables.rng
    layout = layout_of(real)
    drawn = {"attack": tables.synthetic.sample(ROWS, rng), "real": real.sample(ROWS, rng)}
    if tables.holdout is not None:
        drawn["control"] = tables.holdout.sample(ROWS, rng)
    found = {role: _summaries(table, layout, name, bootstraps, rng) for role, table in drawn.items()}
    # What an attacker sees who learns nothing about the sensitive column.
    found["baseline"] = _summaries(shuffled(drawn["attack"], [name], rng), layout, name, bootstraps, rng)
    numbers = [
        Number(
            name=f"{name}.{measure}", title=f"{title} of '{name}'", says=says, attack=found["attack"][measure],
            baseline=found["baseline"][measure], control=found["control"][measure] if "control" in found else None,
        )
        for measure, (title, says) in MEASURES.items()
    ]  # fmt: skip
    numbers.append(_mse_number(tables, layout, name, max(2, bootstraps // 10)))
    fits = {role: regress_table(drawn[role], layout, name).coefficients.tolist() for role in ("attack", "real")}
    return numbers, {
        "features": list(layout.features(name)), "coefficients": fits["attack"], "coefficients_real": fits["real"],
        "real_bootstraps": {measure: found["real"][measure].to_dict() for measure in MEASURES},
    }  # fmt: skip


def _summaries(
    table: ExactTable, layout: DesignLayout, name: str, bootstraps: int, rng: np.random.Generator
) -> dict[str, Estimate]:
    """The measures on the table, with standard errors from bootstraps of its rows."""
    x, y = predictors(table, layout, name), filled(ordered_values(table, name))
    picked = (rng.integers(len(y), size=len(y)) for _ in range(bootstraps))
    spread = np.array([_measures(x[rows], y[rows]) for rows in picked]).std(axis=0, ddof=1)
    whole = zip(MEASURES, _measures(x, y), spread, strict=True)
    return {key: normal_interval(value, float(error)) for key, value, error in whole}


def _measures(x: Floats, y: Floats) -> tuple[float, float, float]:
    fit = regress(standardized(x), standardized(y))
    size = np.abs(fit.coefficients)
    return float(size.mean()), float(size.max()), fit.adjusted


def _mse_number(tables: Attacked, layout: DesignLayout, name: str, bootstraps: int) -> Number:
    real, rng = tables.real, tables.rng
    samples = (tables.synthetic.sample(ROWS, rng) for _ in range(bootstraps))
    attackers = [table.take(rng.integers(table.rows, size=table.rows)) for table in samples]

    def errors(people: ExactTable) -> Estimate:
        return student_mean(guess_errors(attackers, people.sample(TARGETS, rng), real, layout, name).mean(axis=0))

    return Number(
        name=f"{name}.mse",
        title=f"mean squared error of linear guesses of '{name}'",
        says="In units of its variance: 1 is what guessing the mean gives.",
        attack=errors(real),
        baseline=exactly(1.0),
        control=tables.control(errors),
        worse="lower",
        trials=min(TARGETS, real.rows),
    )


def guess_errors(
    attackers: Sequence[ExactTable], targets: ExactTable, real: ExactTable, layout: DesignLayout, name: str
) -> Floats:
    """Squared errors of linear guesses: one row an attacker's table, one column a target.

    Targets are standardized by the real table, which the data holder does (paper, section 2.5); each attacker's table
    by itself.
    """
    x, whole = predictors(targets, layout, name), predictors(real, layout, name)
    centre, spread = whole.mean(axis=0), whole.std(axis=0, ddof=1)
    truth, own = filled(ordered_values(targets, name)), filled(ordered_values(real, name))
    x = np.clip((x - centre) / np.where(spread > 0, spread, 1.0), -20.0, 20.0)
    y = (truth - own.mean()) / (own.std(ddof=1) or 1.0)
    return np.array([(x @ regress_table(table, layout, name).coefficients - y) ** 2 for table in attackers])

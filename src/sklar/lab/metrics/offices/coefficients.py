"""Overlap of the confidence intervals of regression coefficients (Karr et al. 2006; Snoke et al. 2018).

The target is regressed on all other columns in both tables. For the 95% intervals (l, u) of a coefficient, with
o = min(u, u') - max(l, l'):  overlap = (o / (u - l) + o / (u' - l')) / 2, 1 if they are equal, below 0 if they are
disjoint. The score is the mean over coefficients with disjoint intervals counted as 0, because one outlier would hide
all others. The mean as published, with negative values, is also reported; synthpop's `compare` uses that one, with the
intercept, and by default with both intervals as long as the real one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.learning.features import task_of
from sklar.lab.learning.logistic import fit_logistic
from sklar.lab.metrics.offices.terms import independent_terms, make_terms
from sklar.lab.metrics.score import About, Score, not_applicable
from sklar.lab.tables.table import ExactTable
from sklar.sample.binary import cell_text

ABOUT = About(
    name="interval_overlap",
    title="Regression: overlap of confidence intervals",
    says="Mean overlap of the 95% intervals of regression coefficients of the target on all other columns.",
    reference="Karr et al. 2006; Snoke et al. 2018", better="higher", good=0.65, fair=0.45,
)  # fmt: skip
MAX_REGRESSION_ROWS = 10_000
"""Maximum number of rows, equal for both tables: intervals of tables of unequal size would differ for that reason."""
MIN_ROWS_PER_COEFFICIENT = 10
"""Minimum number of rows for each coefficient."""
HALF_INTERVAL_ERRORS = 1.959963984540054
"""Half width of a 95% interval in standard errors."""
MAX_ERROR_RATIO = 1e4
"""A coefficient with a larger ratio of synthetic to real error is not determined in the synthetic table."""
REGRESSION_RIDGE = 1e-6
"""Ridge penalty; it keeps coefficients finite if a term determines the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One coefficient in both tables, with standard errors; the overlap of its intervals may be below 0."""

    term: str
    real: float
    real_error: float
    synthetic: float
    synthetic_error: float
    overlap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRegression:
    """A regression: its outcome, its kind, and its coefficients without the intercept."""

    outcome: str
    model: str
    terms: tuple[Coefficient, ...]

    @property
    def mean_overlap(self) -> float:
        """Return the mean overlap as published, with disjoint intervals below 0."""
        return sum(one.overlap for one in self.terms) / len(self.terms)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**asdict(self), "mean_overlap": self.mean_overlap}


def interval_overlap(real: ExactTable, synthetic: ExactTable, target: str) -> Score:
    """Return the mean overlap of the intervals of regression coefficients, for tables of about the same size."""
    pair = (_select_rows_with_target(real, target), _select_rows_with_target(synthetic, target))
    outcome, model, answers = _read_outcome(*pair, target)
    rows = min(table.rows for table in pair)
    names = [name for name in real.names if name != target]
    if not names or rows < MIN_ROWS_PER_COEFFICIENT or not _varies(answers[0]):
        why = f"it needs a target that varies, {MIN_ROWS_PER_COEFFICIENT} rows with one, and another column."
        return not_applicable(ABOUT, why)
    if not _varies(answers[1]):
        return Score(about=ABOUT, value=0.0, rows=rows, reason="the target does not vary in the synthetic table.")
    terms, values = make_terms(pair[0], pair, names)
    kept = independent_terms(values[0])
    if rows < MIN_ROWS_PER_COEFFICIENT * len(kept) or len(kept) < 2:
        why = f"it needs {MIN_ROWS_PER_COEFFICIENT} rows for each of its {len(kept)} coefficients, and two columns."
        return not_applicable(ABOUT, why)
    fits = [_fit(model, part[:, kept], answer) for part, answer in zip(values, answers, strict=True)]
    found = tuple(_compare(terms[at], *(fit[place] for fit in fits)) for place, at in enumerate(kept) if at)
    value = float(np.mean([min(max(one.overlap, 0.0), 1.0) for one in found]))
    behind = ComparedRegression(outcome=outcome, model=model, terms=found)
    return Score(about=ABOUT, value=value, rows=rows, reason=f"{model} regression of {outcome}.", behind=behind)


def overlap_share(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Return the mean share of each interval that lies in the other; below 0 if they are disjoint."""
    both = min(one[1], two[1]) - max(one[0], two[0])
    lengths = [high - low for low, high in (one, two)]
    if min(lengths) <= 0:
        return float(one == two)
    return sum(both / length for length in lengths) / 2


def _varies(answer: Floats) -> bool:
    return float(np.ptp(answer)) > 1e-9


def _select_rows_with_target(table: ExactTable, target: str) -> ExactTable:
    null = table.schema[target].null_code
    return table if null is None else table.take(np.flatnonzero(table.codes[target] != null))


def _read_outcome(real: ExactTable, synthetic: ExactTable, target: str) -> tuple[str, str, list[Floats]]:
    """Return the outcome, the kind of regression, and values in both tables: numbers, or 1 for the main label."""
    if task_of(real.schema, target) == "regression":
        centre, spread = (float(f(real.numbers[target])) if real.rows else 1.0 for f in (np.mean, np.std))
        return target, "linear", [(t.numbers[target] - centre) / (spread or 1.0) for t in (real, synthetic)]
    code = int(np.bincount(real.codes[target], minlength=2).argmax())
    code = 1 if real.schema[target].kind == "boolean" else code
    named = f"{target} = {cell_text(real.schema[target], code, code + 1)}"
    return named, "logistic", [(t.codes[target] == code).astype(float) for t in (real, synthetic)]


def _fit(model: str, values: Floats, answer: Floats) -> list[tuple[float, float]]:
    """Return the coefficients with their standard errors."""
    if model == "logistic":
        beta, curve = fit_logistic(values, answer, ridge=REGRESSION_RIDGE)
        return _with_errors(beta, np.asarray(np.linalg.pinv(curve), dtype=np.float64))
    inverse = np.linalg.pinv(values.T @ values + REGRESSION_RIDGE * np.eye(values.shape[1]))
    beta = inverse @ values.T @ answer
    left = answer - values @ beta
    return _with_errors(beta, inverse * float(left @ left) / max(1, len(answer) - len(beta)))


def _with_errors(beta: Floats, covariance: Floats) -> list[tuple[float, float]]:
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return list(zip(beta.tolist(), errors.tolist(), strict=True))


def _compare(term: str, real: tuple[float, float], synthetic: tuple[float, float]) -> Coefficient:
    halves = [HALF_INTERVAL_ERRORS * error for _, error in (real, synthetic)]
    ends = [(value - half, value + half) for (value, _), half in zip((real, synthetic), halves, strict=True)]
    found = 0.0 if synthetic[1] > MAX_ERROR_RATIO * real[1] else overlap_share(ends[0], ends[1])
    return Coefficient(
        term=term, real=real[0], real_error=real[1], synthetic=synthetic[0], synthetic_error=synthetic[1],
        overlap=found,
    )  # fmt: skip

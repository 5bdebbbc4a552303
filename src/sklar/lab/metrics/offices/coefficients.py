"""Overlap of the confidence intervals of regression coefficients (Karr et al. 2006; Snoke et al. 2018).

The target is regressed on all other columns in both tables. For the 95% intervals (l, u) of a coefficient, with
o = min(u, u') - max(l, l'):  overlap = (o / (u - l) + o / (u' - l')) / 2, 1 if they are the same, below 0 if they are
apart. The score is the mean over coefficients, where those apart count as 0: one far off would hide all others. The
mean as published, which has them below 0, stands beside it; synthpop's `compare` takes that one, with the intercept,
and unless told to infer to a population with both intervals as long as the real one.
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
    says="How much the 95% intervals of the coefficients of the target on all other columns overlap, averaged.",
    reference="Karr et al. 2006; Snoke et al. 2018", lower=0.0, upper=1.0, better="higher", good=0.65, fair=0.45,
)  # fmt: skip
ROWS = 10_000
"""Rows of each table that are used, equally many of both: intervals of unequal tables would differ by that alone."""
ENOUGH = 10
"""Rows for each coefficient that are needed."""
NORMAL = 1.959963984540054
"""Standard errors of a 95% interval to either side."""
LOST = 1e4
"""A coefficient whose synthetic error exceeds the real one by this factor is not determined in the synthetic table."""
RIDGE = 1e-6
"""Keeps coefficients finite where a term decides the outcome."""


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
    """The regression: what it explains, of which kind it is, and its coefficients but the intercept."""

    outcome: str
    model: str
    terms: tuple[Coefficient, ...]

    @property
    def mean_overlap(self) -> float:
        """As published, with intervals that are apart below 0."""
        return sum(one.overlap for one in self.terms) / len(self.terms)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "mean_overlap": self.mean_overlap}


def interval_overlap(real: ExactTable, synthetic: ExactTable, target: str) -> Score:
    """The mean overlap; tables should have equally many rows."""
    pair = (_known(real, target), _known(synthetic, target))
    outcome, model, answers = _outcome(*pair, target)
    rows = min(table.rows for table in pair)
    names = [name for name in real.names if name != target]
    if not names or rows < ENOUGH or not _varies(answers[0]):
        return not_applicable(ABOUT, f"it needs a target that varies, {ENOUGH} rows with one, and another column.")
    if not _varies(answers[1]):
        return Score(about=ABOUT, value=0.0, rows=rows, reason="the target does not vary in the synthetic table.")
    terms, values = make_terms(pair[0], pair, names)
    kept = independent_terms(values[0])
    if rows < ENOUGH * len(kept) or len(kept) < 2:
        return not_applicable(
            ABOUT, f"it needs {ENOUGH} rows for each of its {len(kept)} coefficients, and two columns."
        )
    fits = [_fit(model, part[:, kept], answer) for part, answer in zip(values, answers, strict=True)]
    found = tuple(_compare(terms[at], *(fit[place] for fit in fits)) for place, at in enumerate(kept) if at)
    value = float(np.mean([min(max(one.overlap, 0.0), 1.0) for one in found]))
    behind = ComparedRegression(outcome=outcome, model=model, terms=found)
    return Score(about=ABOUT, value=value, rows=rows, reason=f"{model} regression of {outcome}.", behind=behind)


def overlap(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Of two intervals: the mean of the shares of either that lies in the other; below 0 if they are apart."""
    both = min(one[1], two[1]) - max(one[0], two[0])
    lengths = [high - low for low, high in (one, two)]
    if min(lengths) <= 0:
        return float(one == two)
    return sum(both / length for length in lengths) / 2


def _varies(answer: Floats) -> bool:
    return float(np.ptp(answer)) > 1e-9


def _known(table: ExactTable, target: str) -> ExactTable:
    """Rows in which the target is known."""
    null = table.schema[target].null_code
    return table if null is None else table.take(np.flatnonzero(table.codes[target] != null))


def _outcome(real: ExactTable, synthetic: ExactTable, target: str) -> tuple[str, str, list[Floats]]:
    """What is explained, how, and its values in both tables: numbers, or whether a row has the most frequent label."""
    if task_of(real.schema, target) == "regression":
        centre, spread = (float(f(real.numbers[target])) if real.rows else 1.0 for f in (np.mean, np.std))
        return target, "linear", [(t.numbers[target] - centre) / (spread or 1.0) for t in (real, synthetic)]
    code = int(np.bincount(real.codes[target], minlength=2).argmax())
    code = 1 if real.schema[target].kind == "boolean" else code
    named = f"{target} = {cell_text(real.schema[target], code, code + 1)}"
    return named, "logistic", [(t.codes[target] == code).astype(float) for t in (real, synthetic)]


def _fit(model: str, values: Floats, answer: Floats) -> list[tuple[float, float]]:
    """Coefficients with their standard errors."""
    if model == "logistic":
        beta, curve = fit_logistic(values, answer, ridge=RIDGE)
        return _with_errors(beta, np.asarray(np.linalg.pinv(curve), dtype=np.float64))
    inverse = np.linalg.pinv(values.T @ values + RIDGE * np.eye(values.shape[1]))
    beta = inverse @ values.T @ answer
    left = answer - values @ beta
    return _with_errors(beta, inverse * float(left @ left) / max(1, len(answer) - len(beta)))


def _with_errors(beta: Floats, covariance: Floats) -> list[tuple[float, float]]:
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return list(zip(beta.tolist(), errors.tolist(), strict=True))


def _compare(term: str, real: tuple[float, float], synthetic: tuple[float, float]) -> Coefficient:
    ends = [(value - NORMAL * error, value + NORMAL * error) for value, error in (real, synthetic)]
    found = 0.0 if synthetic[1] > LOST * real[1] else overlap(ends[0], ends[1])
    return Coefficient(
        term=term, real=real[0], real_error=real[1], synthetic=synthetic[0], synthetic_error=synthetic[1],
        overlap=found,
    )  # fmt: skip

r"""Estimates with error bars: the model's answer corrected by measurements, or by the spread of its replicas.

Where measurements cover all columns that an answer depends on, they correct the model, with a known variance
(`one_step`). The uncertainty about tails is skewed: with g the skewness of the error, normal quantiles z become
z + g (z^2 - 1) / 6 (Cornish and Fisher 1938) at the end that this makes wider.

Otherwise, with theta the truth, t the model's answer and t_1 ... t_B those of its replicas, t_b - t is distributed
approximately as t - theta. So t minus the mean of t_b - t is free of the bias that replicas show, and with s the
standard deviation of t_b - t the interval is

    2 t - mean(t_b)  +-  q s sqrt(1 + 1 / B),     q the quantile of Student's t with B - 1 degrees of freedom:

t - theta has variance s^2 and the mean over B replicas adds s^2 / B, both estimated from B numbers. Correlations are
treated on Fisher's scale, artanh, where their variance does not depend on their size.

The rows of a replica are drawn again, so s contains the sampling variance as well as the noise: the interval is for the
population that the rows came from. For the fitted table itself each replica is compared with the rows that it was
fitted to, instead of t, and the correction leaves the sampling variance out.

A model that pools groups has replicas that pool them too, which vary less than rows of one group do by chance. For a
population the error is therefore never below the sampling error.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.given_numbers import is_number
from sklar.inference.answers.questions import Enquiry
from sklar.inference.answers.statistics import NumberLabel, describe_numbers
from sklar.inference.one_step import OneStep
from sklar.inference.quantiles import SharesBelow
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

Of = Literal["population", "table"]
MIN_REPLICAS = 5
"""Minimum number of replicas with an answer: with fewer, their standard deviation means little."""
MAX_UNDEFINED_FRACTION = 0.25
"""No interval is given if the statistic is undefined in more than this fraction of replicas."""
MAX_SKEWNESS = 2.0
"""Skewness is clipped to this: beyond it the correction of quantiles is not monotone."""
FROM_TABLES = "from released tables and their known noise"
FROM_TABLES_AND_TAIL_MODEL = (
    "from released tables and their known noise; tails below the noise level from all tail shapes consistent with it"
)
FROM_REPLICAS = (
    "from {count} replicas of the whole mechanism; errors from smoothing and unmeasured dependence are not included"
)
FROM_TABLES_AND_MODEL = (
    "from released tables and their known noise, which determine {explained:.0%} of the joint distribution that this "
    "depends on; the rest comes from the model"
)
FROM_COLUMNS_ALONE = (
    "from released tables of each column and their known noise; no table of one of them together with others was "
    "released, so the interval allows for a correlation of typical size"
)
NO_ROWS = "the model has no such rows, or too few for an estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """An estimate with error bars.

    Attributes:
        name: The question.
        group: The group; None for all rows.
        term: The term of a regression.
        value: The estimate, or None if there is none; `low` and `high`, the ends of its interval, are also None then.
        error: Its standard error.
        confidence: The coverage of the interval.
        of: What is estimated: the value in the "population" the rows came from, or in the fitted "table".
        effective_rows: Effective sample size: the number of rows (of the group, if any) that would give an interval of
            this width without any noise; None if it cannot be estimated.
        how: Where the numbers come from and what they leave out.
    """

    name: str
    group: Any = None
    term: str | None = None
    value: float | None
    low: float | None
    high: float | None
    error: float | None = None
    confidence: float
    of: Of = "population"
    effective_rows: int | None = None
    how: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<sklar.Estimated {self}>"

    def __str__(self) -> str:
        place = "".join(f" [{word}]" for word in (self.group, self.term) if word is not None)
        if self.value is None:
            return f"{self.name}{place}: {self.how}"
        return f"{self.name}{place}: {self.value:.5g} ({self.low:.5g} to {self.high:.5g}, {self.confidence:.0%})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelAnswers:
    """The model's answers to one question and what corrects them; correlations on Fisher's scale.

    Attributes:
        model: The model's answers.
        rows: Rows of the fitted table.
        part: Fraction of the rows that each answer is about.
        chance: Sampling variance of each answer.
        correction: What corrects the answers and gives their error.
    """

    model: Floats
    rows: int
    part: Floats
    chance: Floats
    correction: OneStep | tuple[SharesBelow | None, ...] | ReplicaAnswers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicaAnswers:
    """Answers of replicas, one line each, and of the tables that these were fitted to."""

    replicas: Floats
    tables: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """An answer with the ends of its interval, and the fraction of its variance that is sampling variance."""

    value: float
    low: float
    high: float
    error: float
    chance: float
    how: str


def validate_confidence(confidence: Any) -> float:
    """Return a confidence strictly between 0 and 1; refuse anything else."""
    if not is_number(confidence) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie strictly between 0 and 1, such as 0.95; got {confidence!r}.")
    return float(confidence)


def validate_of(of: Any) -> Of:
    """Return 'population' or 'table'; refuse anything else."""
    if of not in ("population", "table"):
        raise UsageError(f"of must be 'population' or 'table'; got {of!r}.")
    return of


def make_estimates(
    question: Enquiry, schema: Schema, answers: ModelAnswers, confidence: float, of: Of
) -> tuple[Estimated, ...]:
    """Return one estimate for each number of the question, clipped to the range that the schema allows."""
    labels, bounds = describe_numbers(question, schema), _find_possible_range(question, schema)
    return tuple(_estimate(question, schema, one, j, answers, confidence, of, bounds) for j, one in enumerate(labels))


def _estimate(
    question: Enquiry, schema: Schema, label: NumberLabel, j: int, answers: ModelAnswers, confidence: float, of: Of,
    bounds: tuple[float, float],
) -> Estimated:  # fmt: skip
    place: dict[str, Any] = {
        "name": question.name, "group": label.group, "term": label.term, "confidence": confidence, "of": of,
    }  # fmt: skip
    if isinstance(answers.correction, OneStep):
        answer = _estimate_by_step(question, answers, answers.correction, j, confidence, of)
    elif isinstance(answers.correction, tuple):
        whole = isinstance(schema[question.columns[0]], Integer)
        answer = _estimate_by_shares(question, answers.correction[j], confidence, of, whole)
    else:
        answer = _estimate_by_replicas(answers, answers.correction, j, confidence, of)
    if answer is None:
        return Estimated(value=None, low=None, high=None, how=NO_ROWS, **place)
    on_fisher_scale = question.statistic == "correlation"
    ends = (math.tanh(x) if on_fisher_scale else x for x in (answer.value, answer.low, answer.high))
    value, low, high = (min(max(x, bounds[0]), bounds[1]) for x in ends)
    slope = 1 - math.tanh(answer.value) ** 2 if on_fisher_scale else 1.0
    effective_rows = answers.rows * float(answers.part[j]) * min(answer.chance, 1.0)
    return Estimated(
        value=value, low=low, high=high, error=answer.error * slope,
        effective_rows=_two_digits(effective_rows) if effective_rows > 0 else None, how=answer.how, **place,
    )  # fmt: skip


def _estimate_by_step(
    question: Enquiry, answers: ModelAnswers, step: OneStep, j: int, confidence: float, of: Of
) -> _Answer | None:
    value = float(answers.model[j] + step.shift[j])
    if not math.isfinite(value):
        return None
    variance = float(step.noise[j]) + (float(answers.chance[j]) if of == "population" else 0.0)
    error, normal = math.sqrt(variance), NormalDist().inv_cdf((1 + confidence) / 2)
    skewness = min(max(float(step.skew[j]) / error**3, -MAX_SKEWNESS), MAX_SKEWNESS) if error > 0 else 0.0
    longer = skewness * max(normal**2 - 1, 0.0) / 6
    low, high = value - error * (normal + max(-longer, 0.0)), value + error * (normal + max(longer, 0.0))
    how = _explain(question, float(step.explained[j]))
    return _Answer(value=value, low=low, high=high, error=error, chance=_divide(answers.chance[j], variance), how=how)


def _estimate_by_shares(
    question: Enquiry, shares: SharesBelow | None, confidence: float, of: Of, whole: bool
) -> _Answer | None:
    if shares is None:
        return None
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    value, low, high = shares.invert_shares(question.at, normal, chance=of == "population", whole=whole)
    noise = float(np.interp(value, shares.at, shares.noise))
    chance, how = _divide(shares.chance, shares.chance + noise), _explain(question, shares.explained)
    return _Answer(value=value, low=low, high=high, error=(high - low) / (2 * normal), chance=chance, how=how)


def _explain(question: Enquiry, explained: float) -> str:
    if question.columns[1:] or question.by or question.given:
        return FROM_TABLES_AND_MODEL.format(explained=explained) if explained > 0 else FROM_COLUMNS_ALONE
    return FROM_TABLES if question.is_share or question.statistic == "quantile" else FROM_TABLES_AND_TAIL_MODEL


def _divide(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole > 0 else math.nan


def _estimate_by_replicas(
    answers: ModelAnswers, others: ReplicaAnswers, j: int, confidence: float, of: Of
) -> _Answer | None:
    """Estimate the j-th number and its interval from how replicas of the fit deviate; None with too few replicas."""
    model, replicas, tables = float(answers.model[j]), others.replicas[:, j], others.tables[:, j]
    known = np.isfinite(replicas) & np.isfinite(tables)
    if not math.isfinite(model) or known.sum() < max(MIN_REPLICAS, (1 - MAX_UNDEFINED_FRACTION) * len(known)):
        return None
    deviation = replicas[known] - (model if of == "population" else tables[known])
    count = len(deviation)
    value, error = model - float(deviation.mean()), float(np.std(deviation, ddof=1)) * math.sqrt(1 + 1 / count)
    if of == "population":
        error = max(error, math.sqrt(float(answers.chance[j])))
    width = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    how, chance = FROM_REPLICAS.format(count=count), _divide(answers.chance[j], error**2)
    return _Answer(value=value, low=value - width, high=value + width, error=error, chance=chance, how=how)


def _two_digits(number: float) -> int:
    """Return a number rounded down to two digits: the effective sample size never exceeds the rows of the group."""
    digits = max(len(str(int(number))) - 2, 0)
    return max(int(number / 10**digits) * 10**digits, 1)


def _find_possible_range(question: Enquiry, schema: Schema) -> tuple[float, float]:
    column, difference = schema[question.columns[0]], question.statistic == "difference"
    least, most = -math.inf, math.inf
    if question.is_share or question.statistic == "correlation":
        least, most = -1.0 if question.statistic == "correlation" else 0.0, 1.0
    elif isinstance(column, Integer | Real) and question.statistic in ("mean", "quantile", "difference"):
        least, most = float(column.lower), float(column.upper)
    return (least - most, most - least) if difference else (least, most)

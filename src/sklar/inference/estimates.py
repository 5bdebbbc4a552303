r"""Numbers with error bars: the model's answer set right by releases, or else by how far its replicas stray from it.

Where releases tell all columns that an answer depends on, they set the model right, with a known variance (`one_step`).
What noise hides of tails is skewed: with g the skewness of the error, normal quantiles z become z + g (z^2 - 1) / 6
(Cornish and Fisher 1938) at the end that this makes wider.

Else, with theta the truth, t what the model says and t_1 ... t_B what its replicas say, t_b - t is distributed about as
t - theta is. So t less the mean of t_b - t is freed of the bias that replicas show, and with s the standard deviation
of t_b - t the interval is

    2 t - mean(t_b)  +-  q s sqrt(1 + 1 / B),     q the quantile of Student's t with B - 1 degrees of freedom:

t - theta has variance s^2 and the mean over B replicas adds s^2 / B, both known from B numbers alone. Correlations are
treated on Fisher's scale, artanh, where their spread does not depend on their size.

The rows of a replica are drawn afresh, so s holds the chance of having these people and not others, as well as the
noise: the interval is for the population that the rows came from. For the fitted table itself each replica is compared
with the rows that it was fitted to, in the place of t; and a step leaves the chance out.

Replicas of a model that draws groups together do so as well, and scatter less than rows of one group do by chance. For
a population the error is never below that chance.
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
from sklar.inference.answers.statistics import Asked, asked_numbers
from sklar.inference.one_step import OneStep
from sklar.inference.quantiles import SharesBelow
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

Of = Literal["population", "table"]
LEAST_REPLICAS = 5
"""With fewer a standard deviation means little."""
MOST_UNDEFINED = 0.25
"""Beyond this part of replicas without an answer, there is none."""
MOST_SKEW = 2.0
"""Beyond this skewness the correction of quantiles is no longer one."""
FROM_RELEASE = "from released tables and their known noise"
FROM_COLUMN = "from released tables and their known noise; where tails drown in it, from what it leaves possible"
FROM_REPLICAS = (
    "from {count} replicas of the whole mechanism; what the model has smoothed away, or never measured, they do not see"
)
FROM_STEP = (
    "from released tables and their known noise; they tell {told:.0%} of what these columns say together, "
    "and the model the rest"
)
FROM_COLUMNS_ALONE = (
    "from released tables of each column and their known noise; nothing was released about one of them together with "
    "others, so a correlation as in other tables of people is allowed for"
)
NO_ROWS = "the model has no such rows, or too few to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """A number with error bars.

    Attributes:
        name: The question.
        group: Of which group; None for all rows.
        term: Of which term of a regression.
        value: The estimate, or None where there is none; so are the ends of its interval, `low` and `high`.
        error: Its standard error.
        confidence: How often such intervals hold the truth.
        of: What the truth is: that of the "population" the rows came from, or of the fitted "table".
        worth: For how many rows (of the group, if there is one) without any noise the interval would be as wide; None
            if it cannot be estimated.
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
    worth: int | None = None
    how: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        place = "".join(f" [{word}]" for word in (self.group, self.term) if word is not None)
        if self.value is None:
            return f"{self.name}{place}: {self.how}"
        span = f"{self.value:.5g} ({self.low:.5g} to {self.high:.5g}, {self.confidence:.0%})"
        return f"{self.name}{place}: {span}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Said:
    """What was said to one question, one number for each that was asked for; correlations on Fisher's scale.

    Attributes:
        model: By the model.
        rows: Rows of the fitted table.
        part: Part of the rows that each answer is about.
        chance: Variance of each answer from having drawn so many rows.
        told: By what else.
    """

    model: Floats
    rows: int
    part: Floats
    chance: Floats
    told: OneStep | tuple[SharesBelow | None, ...] | Strayed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strayed:
    """What replicas say, one line each, and the tables that these were fitted to."""

    replicas: Floats
    tables: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """An answer with the ends of its interval, and the part of its variance that is the chance of the rows."""

    value: float
    low: float
    high: float
    error: float
    chance: float
    how: str


def checked_confidence(confidence: Any) -> float:
    """A confidence between 0 and 1, or a plain refusal."""
    if not is_number(confidence) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, without the ends, as 0.95; {confidence!r} was given.")
    return float(confidence)


def checked_of(of: Any) -> Of:
    """Whose value is meant, or a plain refusal."""
    if of not in ("population", "table"):
        raise UsageError(f"of must be 'population' or 'table'; {of!r} was given.")
    return of


def estimates_of(question: Enquiry, schema: Schema, said: Said, confidence: float, of: Of) -> tuple[Estimated, ...]:
    """One estimate for each number asked for; none is where the schema leaves no room for it."""
    asked, ends = asked_numbers(question, schema), _bounds(question, schema)
    return tuple(_estimate(question, schema, number, j, said, confidence, of, ends) for j, number in enumerate(asked))


def _estimate(
    question: Enquiry, schema: Schema, asked: Asked, j: int, said: Said, confidence: float, of: Of,
    bounds: tuple[float, float],
) -> Estimated:  # fmt: skip
    place: dict[str, Any] = {
        "name": question.name, "group": asked.group, "term": asked.term, "confidence": confidence, "of": of,
    }  # fmt: skip
    if isinstance(said.told, OneStep):
        answer = _by_step(question, said, said.told, j, confidence, of)
    elif isinstance(said.told, tuple):
        whole = isinstance(schema[question.columns[0]], Integer)
        answer = _by_shares(question, said.told[j], confidence, of, whole)
    else:
        answer = _by_replicas(said, said.told, j, confidence, of)
    if answer is None:
        return Estimated(value=None, low=None, high=None, how=NO_ROWS, **place)
    curved, (least, most) = question.statistic == "correlation", bounds
    ends = (math.tanh(x) if curved else x for x in (answer.value, answer.low, answer.high))
    value, low, high = (min(max(x, least), most) for x in ends)
    worth = said.rows * float(said.part[j]) * min(answer.chance, 1.0)
    return Estimated(
        value=value, low=low, high=high, error=answer.error * (1 - math.tanh(answer.value) ** 2 if curved else 1.0),
        worth=_two_digits(worth) if worth > 0 else None, how=answer.how, **place,
    )  # fmt: skip


def _by_step(question: Enquiry, said: Said, step: OneStep, j: int, confidence: float, of: Of) -> _Answer | None:
    value = float(said.model[j] + step.shift[j])
    if not math.isfinite(value):
        return None
    variance = float(step.noise[j]) + (float(said.chance[j]) if of == "population" else 0.0)
    error, normal = math.sqrt(variance), NormalDist().inv_cdf((1 + confidence) / 2)
    skewness = min(max(float(step.skew[j]) / error**3, -MOST_SKEW), MOST_SKEW) if error > 0 else 0.0
    longer = skewness * max(normal**2 - 1, 0.0) / 6
    low, high = value - error * (normal + max(-longer, 0.0)), value + error * (normal + max(longer, 0.0))
    how = _how(question, float(step.told[j]))
    return _Answer(value=value, low=low, high=high, error=error, chance=_ratio(said.chance[j], variance), how=how)


def _by_shares(question: Enquiry, shares: SharesBelow | None, confidence: float, of: Of, whole: bool) -> _Answer | None:
    if shares is None:
        return None
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    value, low, high = shares.invert_shares(question.at, normal, chance=of == "population", whole=whole)
    noise = float(np.interp(value, shares.at, shares.noise))
    chance, how = _ratio(shares.chance, shares.chance + noise), _how(question, shares.told)
    return _Answer(value=value, low=low, high=high, error=(high - low) / (2 * normal), chance=chance, how=how)


def _how(question: Enquiry, told: float) -> str:
    if question.columns[1:] or question.by or question.given:
        return FROM_STEP.format(told=told) if told > 0 else FROM_COLUMNS_ALONE
    return FROM_RELEASE if question.is_share or question.statistic == "quantile" else FROM_COLUMN


def _ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole > 0 else math.nan


def _by_replicas(said: Said, told: Strayed, j: int, confidence: float, of: Of) -> _Answer | None:
    model, replicas, tables = float(said.model[j]), told.replicas[:, j], told.tables[:, j]
    known = np.isfinite(replicas) & np.isfinite(tables)
    if not math.isfinite(model) or known.sum() < max(LEAST_REPLICAS, (1 - MOST_UNDEFINED) * len(known)):
        return None
    strayed = replicas[known] - (model if of == "population" else tables[known])
    count = len(strayed)
    value, error = model - float(strayed.mean()), float(np.std(strayed, ddof=1)) * math.sqrt(1 + 1 / count)
    if of == "population":
        error = max(error, math.sqrt(float(said.chance[j])))
    width = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    how = FROM_REPLICAS.format(count=count)
    chance = _ratio(said.chance[j], error**2)
    return _Answer(value=value, low=value - width, high=value + width, error=error, chance=chance, how=how)


def _two_digits(number: float) -> int:
    """Return a number rounded down to two digits: no group is worth more rows than it has."""
    digits = max(len(str(int(number))) - 2, 0)
    return max(int(number / 10**digits) * 10**digits, 1)


def _bounds(question: Enquiry, schema: Schema) -> tuple[float, float]:
    column, difference = schema[question.columns[0]], question.statistic == "difference"
    least, most = -math.inf, math.inf
    if question.is_share or question.statistic == "correlation":
        least, most = -1.0 if question.statistic == "correlation" else 0.0, 1.0
    elif isinstance(column, Integer | Real) and question.statistic in ("mean", "quantile", "difference"):
        least, most = float(column.lower), float(column.upper)
    return (least - most, most - least) if difference else (least, most)

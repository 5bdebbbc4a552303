r"""Numbers with error bars: what the model says, how far its replicas stray from it, and what that leaves unsaid.

With theta the truth, t what the model says and t_1 ... t_B what its replicas say, t_b - t is distributed about as
t - theta is. So t less the mean of t_b - t is freed of the bias that replicas show, and with s the standard deviation
of t_b - t the interval is

    2 t - mean(t_b)  +-  q s sqrt(1 + 1 / B),     q the quantile of Student's t with B - 1 degrees of freedom:

t - theta has variance s^2 and the mean over B replicas adds s^2 / B, both known from B numbers alone. Correlations are
treated on Fisher's scale, artanh, where their spread does not depend on their size.

Where releases tell what several columns say together, they set the model right (`one_step`); replicas then tell only
the error of single columns, and the variance of the step is known. Degrees of freedom follow Satterthwaite's rule.

The rows of a replica are drawn afresh, so s holds the chance of having these people and not others, as well as the
noise: the interval is for the population that the rows came from. For the fitted table itself each replica is compared
with the rows that it was fitted to, in the place of t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.inference.answers.questions import Enquiry
from sklar.inference.answers.statistics import Asked
from sklar.inference.one_step import OneStep
from sklar.model.protocol import TableModel
from sklar.model.vine.intervals import released_interval
from sklar.model.vine.model import VineModel

Of = Literal["population", "table"]
LEAST_REPLICAS = 5
"""With fewer a standard deviation means little."""
MOST_UNDEFINED = 0.25
"""Beyond this part of replicas without an answer, there is none."""
LARGE = 1e6
"""Degrees of freedom from which on Student's t is the normal law."""
FROM_RELEASE = "from a released table and its known noise"
FROM_REPLICAS = (
    "from {count} replicas of the whole mechanism; what the model has smoothed away, or never measured, they do not see"
)
FROM_STEP = (
    "from released tables and their known noise, with single columns from {count} replicas; the releases tell "
    "{told:.0%} of what these columns say together, and the model the rest"
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
        worth: For how many rows without any noise the interval would be as wide; None if it cannot be told.
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
    """What was said to one question; correlations on Fisher's scale.

    Attributes:
        model: By the model: one number for each that was asked for.
        replicas: By its replicas, one line each; or what single columns contribute to that, if there is a step.
        tables: The same by the tables that these were fitted to.
        alone: What the model says to what replicas were asked: the same as `model` without a step.
        rows: Rows of such a table.
        chance: Variance of each answer from having drawn so many rows.
        step: What releases add, if they tell something about several columns.
    """

    model: Floats
    replicas: Floats
    tables: Floats
    alone: Floats
    rows: int
    chance: Floats
    step: OneStep | None = None


def checked_confidence(confidence: Any) -> float:
    """A confidence between 0 and 1, or a plain refusal."""
    real = isinstance(confidence, float | int) and not isinstance(confidence, bool)
    if not real or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, without the ends, as 0.95; {confidence!r} was given.")
    return float(confidence)


def checked_of(of: Any) -> Of:
    """Whose value is meant, or a plain refusal."""
    if of not in ("population", "table"):
        raise UsageError(f"of must be 'population' or 'table'; {of!r} was given.")
    return of


def estimates_of(
    question: Enquiry, asked: Sequence[Asked], said: Said, confidence: float, of: Of
) -> tuple[Estimated, ...]:
    """One estimate for each number asked for."""
    return tuple(_estimate(question, number, j, said, confidence, of) for j, number in enumerate(asked))


def _estimate(question: Enquiry, asked: Asked, j: int, said: Said, confidence: float, of: Of) -> Estimated:
    model, replicas, tables = float(said.model[j]), said.replicas[:, j], said.tables[:, j]
    known = np.isfinite(replicas) & np.isfinite(tables)
    place: dict[str, Any] = {
        "name": question.name, "group": asked.group, "term": asked.term, "confidence": confidence, "of": of,
    }  # fmt: skip
    enough = known.sum() >= max(LEAST_REPLICAS, (1 - MOST_UNDEFINED) * len(known))
    if not math.isfinite(model) or not enough or (said.step is not None and not math.isfinite(said.step.shift[j])):
        return Estimated(value=None, low=None, high=None, how=NO_ROWS, **place)
    strayed = replicas[known] - (said.alone[j] if of == "population" else tables[known])
    count = len(strayed)
    own = float(np.var(strayed, ddof=1)) * (1 + 1 / count)
    shift, variance = _stepped(said.step, j, of)
    centre, error = model - float(strayed.mean()) + shift, math.sqrt(own + variance)
    freedom = (count - 1) * ((own + variance) / own) ** 2 if own > 0 else math.inf
    quantile = NormalDist().inv_cdf((1 + confidence) / 2) if freedom > LARGE else stdtrit(freedom, (1 + confidence) / 2)
    curved, (least, most) = question.statistic == "correlation", _bounds(question)
    width = float(quantile) * error
    ends = (math.tanh(x) if curved else x for x in (centre, centre - width, centre + width))
    value, low, high = (min(max(x, least), most) for x in ends)
    worth = said.rows * min(float(said.chance[j]) / error**2, 1.0) if error > 0 else math.nan
    return Estimated(
        value=value, low=low, high=high, error=error * (1 - math.tanh(centre) ** 2 if curved else 1.0),
        worth=_two_digits(worth) if worth > 0 else None, how=_how(said.step, j, count), **place,
    )  # fmt: skip


def _stepped(step: OneStep | None, j: int, of: Of) -> tuple[float, float]:
    """What the step adds to an answer, and to its variance."""
    if step is None:
        return 0.0, 0.0
    chance = float(step.chance[j]) if of == "population" else 0.0
    return float(step.shift[j]), float(step.noise[j]) + chance


def _how(step: OneStep | None, j: int, count: int) -> str:
    if step is None:
        return FROM_REPLICAS.format(count=count)
    return FROM_STEP.format(count=count, told=float(step.told[j]))


def _two_digits(number: float) -> int:
    digits = max(len(str(int(number))) - 2, 0)
    return max(round(number / 10**digits) * 10**digits, 1)


def _bounds(question: Enquiry) -> tuple[float, float]:
    if question.is_share:
        return (-1.0 if question.statistic == "difference" else 0.0), 1.0
    return (-1.0, 1.0) if question.statistic == "correlation" else (-math.inf, math.inf)


def released_share(
    model: TableModel, question: Enquiry, allowed: dict[int, np.ndarray], confidence: float, of: Of
) -> Estimated | None:
    """A share that a released table of a vine tells, from the noise on it alone; None if no table does.

    For the population the chance of having these rows is added: the variance p (1 - p) / n of a share of n rows, with
    two rows more inside and outside (Agresti and Coull 1998), so that a share of 0 is not taken for certain.
    """
    if not isinstance(model, VineModel):
        return None
    found, rows = released_interval(model, allowed, confidence), model.facts.rows
    if found is None:
        return None
    share, width = found.estimate / rows, (found.high - found.low) / 2 / rows
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    likely = min(max((found.estimate + 2) / (rows + 4), 0.0), 1.0)
    chance = likely * (1 - likely) / (rows + 4)
    whole = math.hypot(width, normal * math.sqrt(chance)) if of == "population" else width
    ends = (min(max(x, 0.0), 1.0) for x in (share, share - whole, share + whole))
    value, low, high = ends
    worth = _two_digits(rows * chance / (chance + (width / normal) ** 2))
    return Estimated(
        name=question.name, value=value, low=low, high=high, error=whole / normal, confidence=confidence, of=of,
        worth=worth, how=FROM_RELEASE,
    )  # fmt: skip

"""One question to a fitted model: by its releases where they tell all columns, else by replicas, which are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats
from sklar.counting.code_table import CodeTable
from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.inference.answers.influence import fisher, influences
from sklar.inference.answers.questions import Enquiry, checked
from sklar.inference.answers.statistics import answers, column_numbers, group_rows, group_shares, used_columns
from sklar.inference.estimates import (
    LEAST_REPLICAS,
    Estimated,
    Of,
    Said,
    Strayed,
    checked_confidence,
    checked_of,
    estimates_of,
)
from sklar.inference.linear_measurements import LinearMeasurements, linear_measurements
from sklar.inference.one_step import one_step, smoothed
from sklar.inference.quantiles import SharesBelow, lay_thresholds, shares_below
from sklar.inference.replicas import Mechanism, columns_alone, rows_of, values_of
from sklar.pipeline.estimation.kept import ENDING, keep_replicas, key_of, read_kept
from sklar.pipeline.estimation.making import Done, Replicas, make_replicas, mechanism_of
from sklar.pipeline.estimation.memory import REPLICAS, Memory
from sklar.pipeline.model_file import Stored, model_digest
from sklar.sample.decode import take
from sklar.sample.rng import seed_entropy, substream

MOST_REPLICAS = 1000
MOST_CODES = 4_096
STEP_ROWS = 40_000
"""Rows of the model that a step starts from. What drawing them adds to the model's answer a step takes off again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a question is to be answered."""

    confidence: float = 0.95
    of: Of = "population"
    replicas: int = REPLICAS
    seed: int = 0

    def __post_init__(self) -> None:
        checked_confidence(self.confidence)
        checked_of(self.of)
        count = whole_number(self.replicas, "the number of replicas")
        if not LEAST_REPLICAS <= count <= MOST_REPLICAS:
            raise UsageError(f"from {LEAST_REPLICAS} to {MOST_REPLICAS:,} replicas can be asked for; found {count:,}.")


def ask(
    stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None = None
) -> tuple[Estimated, ...]:
    """The estimates that answer a question, one for each group and term."""
    checked(question, stored.schema)
    mechanism_of(stored)  # refuses models without known noise
    with np.errstate(divide="ignore", invalid="ignore"):
        said = _told_by_releases(stored, question, wanted, memory) or _strayed(stored, question, wanted, memory, done)
    found = estimates_of(question, stored.schema, said, wanted.confidence, wanted.of)
    if stored.coordinates.rows_of_person is None:
        return found
    return tuple(replace(one, how=f"{one.how}; {PER_PERSON}") for one in found)


PER_PERSON = "each person counts once, as the mean of its rows"
"""What estimates of votes are of."""


def _told_by_releases(stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory) -> Said | None:
    """The model's answer set right by releases, if they tell all columns that it depends on."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    if not set(columns) <= columns_alone(mechanism):
        return None
    known = _known(stored, memory)
    rows, codes = mechanism.rows, _model_rows(mechanism, wanted, memory)
    share, own = question.is_share and len(columns) == 1, STEP_ROWS
    if share:  # also of values that the model has not
        codes = _with_every_code(codes.first(own), columns[0], mechanism.by.schema.size(columns[0]))
        own = codes.rows
    if question.statistic == "quantile":
        return _told_quantile(stored, question, known, codes, own)
    table = values_of(mechanism, codes, columns)
    model, psi = influences(question, stored.schema, table, rows, own)
    whole = np.asarray(np.isfinite(psi).all(axis=1))
    step = one_step(known, codes, np.where(whole[:, None], psi, 0.0), columns, rows, question.is_share, own)
    if step is None:
        return None
    if question.statistic == "total":  # of rows whose number has noise as well
        step = replace(step, noise=step.noise + (model / rows * known.rows_sigma) ** 2)
    chance = psi[:, :own].var(axis=1) / rows
    part = group_shares(question, stored.schema, take(table, np.arange(own)))
    if question.statistic == "share":
        # Two rows more inside and outside (Agresti and Coull 1998): a share of 0 is not taken for certain.
        likely = np.clip((rows * part * (model + step.shift) + 2) / (rows * part + 4), 0.0, 1.0)
        chance = likely * (1 - likely) / (rows * part + 4)
    return Said(model=np.where(whole, model, np.nan), rows=rows, part=part, chance=chance, told=step)


def _told_quantile(
    stored: Stored, question: Enquiry, known: LinearMeasurements, codes: CodeTable, own: int
) -> Said | None:
    """A quantile by the shares of rows up to thresholds, as releases set them right."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    table, rows = values_of(mechanism, codes, columns), mechanism.rows
    x, error = column_numbers(table, columns[0]), known.level_error(columns[0], question.at)
    found: list[SharesBelow | None] = []
    parts: list[float] = []
    for group in group_rows(question, stored.schema, table):
        laid = lay_thresholds(x, group, own, question.at, error)
        step = None if laid is None else one_step(known, codes, laid.psi, columns, rows, True, own)
        if laid is not None and step is None:
            return None
        found.append(None if laid is None or step is None else shares_below(laid, step, rows, question.at))
        parts.append(0.0 if laid is None else laid.part)
    nothing = np.zeros(len(found))
    return Said(model=nothing, rows=rows, part=np.array(parts), chance=nothing, told=tuple(found))


def _with_every_code(codes: CodeTable, name: str, size: int) -> CodeTable:
    """Rows with one more for each code of a column, or for some of very many: the step takes off what they add."""
    every = np.unique(np.linspace(0, size - 1, min(size, MOST_CODES)).astype(codes.columns[name].dtype))
    return CodeTable(columns={name: np.concatenate([codes.columns[name], every])})


def _strayed(stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None) -> Said:
    """What the model and its replicas say."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    names, rows = mechanism.by.schema.modelled, mechanism.rows
    alike = set(columns) <= set(names) and not stored.schema.rules
    found = _replicas(stored, columns if alike else names, wanted, memory, done)

    def answered(codes: CodeTable, known: float) -> Floats:
        return fisher(question, answers(question, stored.schema, values_of(mechanism, codes, columns), known))

    table = values_of(mechanism, found.model, columns)
    model, psi = influences(question, stored.schema, table, rows)
    strayed = Strayed(
        replicas=np.stack([answered(x.told, x.rows) for x in found.replicas]),
        tables=np.stack([answered(x.drawn, rows) for x in found.replicas]),
    )
    part = group_shares(question, stored.schema, table)
    return Said(model=model, rows=rows, part=part, chance=psi.var(axis=1) / rows, told=strayed)


def _known(stored: Stored, memory: Memory) -> LinearMeasurements:
    """The measurements of the fit, in memory once they were asked for."""
    if memory.known is None:
        memory.known = linear_measurements(stored.fitted)
    return memory.known


def _model_rows(mechanism: Mechanism, wanted: Wanted, memory: Memory) -> CodeTable:
    """Rows of the model and, below them, smoothed ones, in memory once they were asked for."""
    entropy = seed_entropy(wanted.seed)
    if entropy not in memory.model:
        own = rows_of(mechanism, mechanism.fitted.model, STEP_ROWS, substream(entropy, 0))
        memory.model[entropy] = own.and_then(smoothed(own))
    return memory.model[entropy]


def _replicas(stored: Stored, columns: tuple[str, ...], wanted: Wanted, memory: Memory, done: Done | None) -> Replicas:
    """From memory, from the file, or made now and kept in both."""
    entropy = seed_entropy(wanted.seed)
    place = (wanted.replicas, entropy)
    if place in memory.made:
        return memory.made[place]
    path = None if memory.path is None else memory.path + ENDING
    key = {} if path is None else key_of(model_digest(stored), wanted.replicas, entropy)
    kept = None if path is None else read_kept(path, key, columns)
    if kept is not None:
        return kept
    made = memory.made[place] = make_replicas(stored, wanted.replicas, entropy, done)
    if path is not None:
        keep_replicas(path, key, made)
    return made

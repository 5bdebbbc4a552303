"""One question to a fitted model: by a released table where one answers, else by replicas, which are kept."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from sklar.arrays import Floats
from sklar.errors import SklarError, UsageError
from sklar.inference.answers.influence import fisher, influences
from sklar.inference.answers.questions import Enquiry, checked
from sklar.inference.answers.statistics import answers, asked_numbers, used_columns
from sklar.inference.estimates import (
    LEAST_REPLICAS,
    Estimated,
    Of,
    Said,
    checked_confidence,
    checked_of,
    estimates_of,
    released_share,
)
from sklar.inference.heard import Linear, listen
from sklar.inference.mechanism.replicas import values_of
from sklar.inference.mechanism.sums import CodeTable
from sklar.inference.one_step import OneStep, one_step
from sklar.pipeline.estimation.kept import ENDING, keep_replicas, key_of, read_kept
from sklar.pipeline.estimation.making import Done, Replicas, make_replicas, mechanism_of
from sklar.pipeline.model_file import Stored, model_digest
from sklar.sample.conditions import Condition, allowed_codes, read_conditions
from sklar.sample.decode import covered_widths
from sklar.sample.draw import whole_number
from sklar.sample.rng import seed_entropy
from sklar.sample.translate import exactly_on_coordinates
from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Integer, Real

REPLICAS = 20
"""Enough that Student's t is within 10% of the normal quantile; more make intervals hardly narrower."""
MOST_REPLICAS = 1000


@dataclass(slots=True, kw_only=True)
class Memory:
    """Replicas that were made, what releases tell, and where replicas are kept: beside the model's file, if any."""

    path: str | None = None
    heard: tuple[Linear, ...] | None = None
    made: dict[tuple[int, int], Replicas] = field(default_factory=dict[tuple[int, int], Replicas])


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
    told = _released(stored, question, wanted)
    found = (told,) if told is not None else _estimated(stored, question, wanted, memory, done)
    if stored.coordinates.rows_of_person is None:
        return found
    return tuple(replace(one, how=f"{one.how}; {PER_PERSON}") for one in found)


PER_PERSON = "each person counts once, as the mean of its rows"
"""What estimates of votes are of."""


def _estimated(
    stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None
) -> tuple[Estimated, ...]:
    said = _said(stored, question, wanted, memory, done)
    return estimates_of(question, asked_numbers(question, stored.schema), said, wanted.confidence, wanted.of)


def _said(stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None) -> Said:
    """What model, replicas and releases say."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    names, rows = mechanism.by.schema.modelled, mechanism.rows
    alike = set(columns) <= set(names)
    found = _replicas(stored, columns if alike and not stored.schema.rules else names, wanted, memory, done)
    with np.errstate(divide="ignore", invalid="ignore"):
        table = values_of(mechanism, found.model, columns)
        model, psi = influences(question, stored.schema, table, rows)
        step = None
        if alike and len(columns) > 1 and np.isfinite(psi).all(axis=1).any():
            sizes = {name: mechanism.by.schema.size(name) for name in columns}
            step = one_step(_heard(stored, memory), found.model, np.nan_to_num(psi), sizes, rows)
        if step is not None:
            return _said_with_step(question, found, (model, psi), step, rows)

        def answered(codes: CodeTable, known: float) -> Floats:
            return fisher(question, answers(question, stored.schema, values_of(mechanism, codes, columns), known))

        return Said(
            model=model,
            replicas=np.stack([answered(x.told, x.rows) for x in found.replicas]),
            tables=np.stack([answered(x.drawn, rows) for x in found.replicas]),
            alone=model,
            rows=rows,
            chance=psi.var(axis=1) / rows,
        )


def _said_with_step(question: Enquiry, found: Replicas, own: tuple[Floats, Floats], step: OneStep, rows: int) -> Said:
    """With a step replicas tell only what single columns contribute, and how many rows there are."""
    model, psi = own
    sized = model if question.statistic == "total" else np.zeros_like(model)
    return Said(
        model=np.where(np.isfinite(psi).all(axis=1), model, np.nan),
        replicas=np.stack([step.mean_alone(x.told) + sized * (x.rows / rows - 1) for x in found.replicas]),
        tables=np.stack([step.mean_alone(x.drawn) for x in found.replicas]),
        alone=step.mean_alone(found.model),
        rows=rows,
        chance=psi.var(axis=1) / rows,
        step=step,
    )


def _heard(stored: Stored, memory: Memory) -> tuple[Linear, ...]:
    """What the releases tell about several columns, in memory once it was asked for.

    Nothing, if this version of the method asks for other releases than the one that made the model.
    """
    if memory.heard is None:
        memory.heard = ()
        with suppress(SklarError):
            memory.heard = listen(stored.fitted)
    return memory.heard


def _released(stored: Stored, question: Enquiry, wanted: Wanted) -> Estimated | None:
    """A share of all rows, if a released table has it."""
    if question.statistic != "share" or question.by is not None or question.given:
        return None
    conditions = read_conditions(stored.schema, {question.columns[0]: question.value})
    try:
        exact = exactly_on_coordinates(stored.coordinates, conditions)
    except UsageError:
        return None
    if not all(_in_whole_cells(stored.coordinates.schema[name], condition) for name, condition in exact.items()):
        return None
    allowed = allowed_codes(stored.coordinates.schema, exact)
    return released_share(stored.model, question, allowed, wanted.confidence, wanted.of)


def _in_whole_cells(column: Column, condition: Condition) -> bool:
    """Whether no cell is asked for in part: how much of it lies there is not measured."""
    limit = condition.restriction
    if limit is None or not isinstance(column, Integer | Real | Datetime):
        return limit is None
    inside = condition.allowed[: column.grid.cells]
    return bool(np.all(covered_widths(column.grid, limit)[inside] == column.grid.widths[inside]))


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

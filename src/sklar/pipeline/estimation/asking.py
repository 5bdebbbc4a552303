"""Answer one question to a fitted model: from its measurements if they cover all columns, else from cached replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats
from sklar.counting.code_table import CodeTable
from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.inference.answers.influence import compute_influences, to_fisher_scale
from sklar.inference.answers.questions import Enquiry, validate_question
from sklar.inference.answers.statistics import column_numbers, compute_answers, group_rows, group_shares, used_columns
from sklar.inference.estimates import (
    MIN_REPLICAS,
    Estimated,
    ModelAnswers,
    Of,
    ReplicaAnswers,
    make_estimates,
    validate_confidence,
    validate_of,
)
from sklar.inference.linear_measurements import LinearMeasurements, linear_measurements
from sklar.inference.one_step import compute_one_step, with_gaussian_copula
from sklar.inference.quantiles import SharesBelow, correct_shares, place_thresholds
from sklar.inference.replicas import Mechanism, decode_columns, directly_coded_columns, draw_rows
from sklar.model.margins.margin import heaping_of
from sklar.pipeline.estimation.kept import ENDING, keep_replicas, key_of, read_kept
from sklar.pipeline.estimation.making import Done, Replicas, make_replicas, mechanism_of
from sklar.pipeline.estimation.memory import REPLICAS, Memory
from sklar.pipeline.model_file import Stored, model_digest
from sklar.sample.conditions import read_conditions
from sklar.sample.decode import covered_shares, take
from sklar.sample.rng import seed_entropy, substream
from sklar.schema.numbers import Real

MAX_REPLICAS = 1000
MAX_ADDED_CODES = 4_096
"""Codes of a column that are added to the rows drawn for an answer, so that each occurs; of more, evenly spaced
ones."""
LEAST_COVERED = 1e-9
"""Part of a cell below which numbers are single reals: no range in a question is that narrow."""
STEP_ROWS = 40_000
"""Rows of the model that a one-step correction starts from; it also corrects their sampling error."""
PER_PERSON = "each person counts once, as the mean of its rows"
"""Note on estimates from rows that share one vote per person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Options of an estimate."""

    confidence: float = 0.95
    of: Of = "population"
    replicas: int = REPLICAS
    seed: int = 0

    def __post_init__(self) -> None:
        validate_confidence(self.confidence)
        validate_of(self.of)
        count = whole_number(self.replicas, "the number of replicas")
        if not MIN_REPLICAS <= count <= MAX_REPLICAS:
            raise UsageError(f"replicas must be between {MIN_REPLICAS} and {MAX_REPLICAS:,}; got {count:,}.")


def ask(
    stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None = None
) -> tuple[Estimated, ...]:
    """Return the estimates that answer a question, one for each group and term."""
    validate_question(question, stored.schema)
    _require_numbers_drawn(question, mechanism_of(stored))  # which refuses models without known noise
    with np.errstate(divide="ignore", invalid="ignore"):
        answers = _answer_from_measurements(stored, question, wanted, memory)
        if answers is None:
            answers = _answer_from_replicas(stored, question, wanted, memory, done)
    return _make_estimates(stored, question, answers, wanted)


def ask_measurements(stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory) -> tuple[Estimated, ...] | None:
    """Return the estimates of `ask` if measurements cover the question; None if it would need replicas."""
    validate_question(question, stored.schema)
    _require_numbers_drawn(question, mechanism_of(stored))
    with np.errstate(divide="ignore", invalid="ignore"):
        answers = _answer_from_measurements(stored, question, wanted, memory)
    return None if answers is None else _make_estimates(stored, question, answers, wanted)


def _require_numbers_drawn(question: Enquiry, mechanism: Mechanism) -> None:
    """Refuse the share of single numbers that the model never draws, since it knows nothing about them.

    Numbers are counted in cells. Which numbers of a cell are in the table is known only of whole numbers, and where
    they were found to be multiples of a unit.
    """
    name = question.columns[0]
    if not question.is_share or name not in directly_coded_columns(mechanism):
        return
    schema = mechanism.by.schema
    column, restriction = schema[name], read_conditions(schema, {name: question.value})[name].restriction
    heaping = heaping_of(mechanism.fitted.model.margins).get(name, ())
    if isinstance(column, Real) and restriction and covered_shares(column, restriction, heaping).max() < LEAST_COVERED:
        raise UsageError(
            f"{question.name}: '{name}' was counted in ranges of numbers, and nothing is known about a single one. Ask "
            f"for a range, as share({name}=low..high), or state the number as one of the column's atoms before a fit."
        )


def _make_estimates(stored: Stored, question: Enquiry, answers: ModelAnswers, wanted: Wanted) -> tuple[Estimated, ...]:
    found = make_estimates(question, stored.schema, answers, wanted.confidence, wanted.of)
    if stored.coordinates.rows_of_person is None:
        return found
    return tuple(replace(one, how=f"{one.how}; {PER_PERSON}") for one in found)


def _answer_from_measurements(stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory) -> ModelAnswers | None:
    """Return the model's answer corrected by measurements, if they cover all columns that it depends on."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    if not set(columns) <= directly_coded_columns(mechanism):
        return None
    if memory.known is None:
        memory.known = linear_measurements(stored.fitted)
    known = memory.known
    rows, codes = mechanism.rows, _model_rows(mechanism, wanted, memory)
    share, own = question.is_share and len(columns) == 1, STEP_ROWS
    if share:  # also of values that the model never draws
        codes = _with_every_code(codes.first(own), columns[0], mechanism.by.schema.size(columns[0]))
        own = codes.rows
    if question.statistic == "quantile":
        return _answer_quantile(stored, question, known, codes, own)
    table = decode_columns(mechanism, codes, columns)
    model, psi = compute_influences(question, stored.schema, table, rows, own)
    whole = np.asarray(np.isfinite(psi).all(axis=1))
    step = compute_one_step(known, codes, np.where(whole[:, None], psi, 0.0), columns, rows, question.is_share, own)
    if step is None:
        return None
    if question.statistic == "total":  # the number of rows has noise as well
        step = replace(step, noise=step.noise + (model / rows * known.rows_sigma) ** 2)
    chance = psi[:, :own].var(axis=1) / rows
    part = group_shares(question, stored.schema, take(table, np.arange(own)))
    if question.statistic == "share":
        # Two more rows inside and outside (Agresti and Coull 1998): a share of 0 has a positive error.
        likely = np.clip((rows * part * (model + step.shift) + 2) / (rows * part + 4), 0.0, 1.0)
        chance = likely * (1 - likely) / (rows * part + 4)
    return ModelAnswers(model=np.where(whole, model, np.nan), rows=rows, part=part, chance=chance, correction=step)


def _answer_quantile(
    stored: Stored, question: Enquiry, known: LinearMeasurements, codes: CodeTable, own: int
) -> ModelAnswers | None:
    """Return a quantile from the shares of rows below thresholds, corrected by measurements."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    table, rows = decode_columns(mechanism, codes, columns), mechanism.rows
    x, error = column_numbers(table, columns[0]), known.level_error(columns[0], question.at)
    found: list[SharesBelow | None] = []
    parts: list[float] = []
    for group in group_rows(question, stored.schema, table):
        laid = place_thresholds(x, group, own, question.at, error)
        step = None if laid is None else compute_one_step(known, codes, laid.psi, columns, rows, True, own)
        if laid is not None and step is None:
            return None
        found.append(None if laid is None or step is None else correct_shares(laid, step, rows, question.at))
        parts.append(0.0 if laid is None else laid.part)
    nothing = np.zeros(len(found))
    return ModelAnswers(model=nothing, rows=rows, part=np.array(parts), chance=nothing, correction=tuple(found))


def _with_every_code(codes: CodeTable, name: str, size: int) -> CodeTable:
    """Add a row for each code of a column (or for some of many); the correction removes their effect."""
    every = np.unique(np.linspace(0, size - 1, min(size, MAX_ADDED_CODES)).astype(codes.columns[name].dtype))
    return CodeTable(columns={name: np.concatenate([codes.columns[name], every])})


def _answer_from_replicas(
    stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None
) -> ModelAnswers:
    """Return the answers of the model and of its replicas."""
    mechanism, columns = mechanism_of(stored), used_columns(question)
    names, rows = mechanism.by.schema.modelled, mechanism.rows
    same_columns = set(columns) <= set(names) and not stored.schema.rules
    found = _replicas(stored, columns if same_columns else names, wanted, memory, done)

    def answered(codes: CodeTable, known: float) -> Floats:
        table = decode_columns(mechanism, codes, columns)
        return to_fisher_scale(question, compute_answers(question, stored.schema, table, known))

    table = decode_columns(mechanism, found.model, columns)
    model, psi = compute_influences(question, stored.schema, table, rows)
    others = ReplicaAnswers(
        replicas=np.stack([answered(x.sampled, x.rows) for x in found.replicas]),
        tables=np.stack([answered(x.drawn, rows) for x in found.replicas]),
    )
    part = group_shares(question, stored.schema, table)
    return ModelAnswers(model=model, rows=rows, part=part, chance=psi.var(axis=1) / rows, correction=others)


def _model_rows(mechanism: Mechanism, wanted: Wanted, memory: Memory) -> CodeTable:
    """Return rows of the model followed by rows with a Gaussian copula, cached in memory."""
    entropy = seed_entropy(wanted.seed)
    if entropy not in memory.model:
        own = draw_rows(mechanism, mechanism.fitted.model, STEP_ROWS, substream(entropy, 0))
        memory.model[entropy] = own.append_rows(with_gaussian_copula(own))
    return memory.model[entropy]


def _replicas(stored: Stored, columns: tuple[str, ...], wanted: Wanted, memory: Memory, done: Done | None) -> Replicas:
    """Return replicas from memory or from the file; otherwise make them and store them in both."""
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

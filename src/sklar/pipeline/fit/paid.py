"""Pay for facts before a fit: split the budget, measure, and return the schema and the remaining budget.

Kinds of unknown columns come first, in a measurement of their own, and then their bounds and labels. The share of the
latter depends on the number of such columns.

Let the fit's budget be (epsilon, delta). A part D of delta is set aside for finding labels, if there are any to find;
the rest of delta turns epsilon into one allowance, of which the facts get a share and the model the remainder. Where
all noise of the model is Gaussian, it is one of squared shifts (`sklar.accounting.composition.adaptive`), else of rho.
The parts are reserved in the ledger as fits of their own, so that a table that turns out to be too small costs the
first part alone. Amounts and deltas add up (see `sklar.accounting.ledger.filters`), so together they are within
(epsilon, delta). A pure budget is split the same way in epsilon; rho budgets are split as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError, UsageError
from sklar.methods.evidence import Setting
from sklar.methods.facts.fit import (
    LABEL_WEIGHT,
    STEP_NAME,
    FactsOptions,
    MeasuredFacts,
    collect_facts,
    measure_facts,
    measured_columns,
    measuring_schema,
    requested_schema,
)
from sklar.methods.facts.kinds import KINDS_SHARE, FoundKinds, KindsOptions, classes_schema, measure_kinds
from sklar.methods.facts.kinds import STEP_NAME as KINDS
from sklar.methods.facts.marks import (
    PAY,
    bounds_to_pay,
    labels_to_pay,
    listed_facts,
    must_pay,
    require_payable,
    rows_to_pay,
    unknown_columns,
)
from sklar.methods.method import MIN_GAUSSIAN_FILTER_NOISE
from sklar.pipeline.fit.prices import price_of, stated_digest
from sklar.schema.persons.person import PERSON_ROWS
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.accounting.ledger import FitRecord, Ledger
    from sklar.private.session import Session

DEFAULT_PAY_SHARE = 0.1
"""Default share of the budget that pays for marked facts of columns of known kinds."""
DISCOVERY_SHARE = 0.25
"""Part of delta that is set aside if labels are to be found."""
Signs = Mapping[str, tuple[int, int, int, float]]
"""Noisy counts of negative values, zeros and positive values of columns, and the standard deviation of their noise."""
BOUND_SHARES, LABEL_SHARES = (0.02, 0.10), (0.03, 0.25)
"""Share of the budget for the bounds, respectively labels, of one column of unknown kind, and the most for all of them.

They do not depend on the number of rows: both what noise hides of a column and the error of the model fall with it.
Labels are the main cost of having no schema. On adult (30,000 rows, 8 columns of labels) and compas (10,568 rows, 9 of
numbers) shares that fell with the number of rows, to 12% and 4%, gave 5% to 9% larger errors of pairs.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPart:
    """A part of the budget of a fit, and the allowance that spends it."""

    budget: Budget
    allowance: Allowance


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """The parts that follow a measurement of facts.

    Attributes:
        model: The least that is left for the model.
        whole: What all parts may spend together, if the measurement is the first of them.
    """

    model: BudgetPart
    whole: Allowance | None = None


class SessionOpener(Protocol):
    """Reserves a part of a budget and opens a Door over the rows; only `pipeline.fit.run` can make one."""

    def __call__(
        self, schema: Schema, *, method: str, part: BudgetPart, fingerprint: str, rest: Rest | None
    ) -> AbstractContextManager[Session]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidStage:
    """One measurement of facts.

    Attributes:
        requested: The schema with placeholders for what was to be measured.
        notes: The findings, as text.
        session: The measurement.
        label_weight: Price of the labels of a column relative to that of its bounds.
    """

    requested: Schema
    notes: tuple[str, ...]
    session: Session
    label_weight: float = LABEL_WEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A schema that a fit can use, and what was spent on it.

    Attributes:
        schema: Without "pay" marks; measured facts have a price.
        rest: What remains for the model; None for the whole budget.
        kinds: The measurement of kinds; None if there was none.
        facts: The measurement of bounds and labels; None if there was none.
    """

    schema: Schema
    rest: BudgetPart | None = None
    kinds: PaidStage | None = None
    facts: PaidStage | None = None

    @property
    def stages(self) -> tuple[PaidStage, ...]:
        """The measurements, in their order."""
        return tuple(stage for stage in (self.kinds, self.facts) if stage is not None)

    @property
    def records(self) -> tuple[FitRecord, ...]:
        """The ledger's records of the measurements."""
        return tuple(stage.session.record for stage in self.stages)


@contextmanager
def paid_first(
    schema: Schema,
    whole: BudgetPart,
    unit: Unit,
    share: float | None,
    opener: SessionOpener,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Generator[Paid]:
    """Measure the marked facts with a share of the whole budget.

    The measurements stay open in the ledger until the fit they serve is finished: an interrupted fit uses the same
    facts when it is resumed, and pays nothing again.
    """
    require_payable(schema)
    if not unknown_columns(schema):
        spent, rest = split(whole, DEFAULT_PAY_SHARE if share is None else share)
        parts = _Split(spent=spent, rest=Rest(model=rest, whole=whole.allowance))
        with _paid_facts(schema, parts, unit, opener, ledger, reading) as paid:
            yield paid
        return
    _validate_share(share or KINDS_SHARE, below=1 - KINDS_SHARE)
    spent, left = cut_part(whole, KINDS_SHARE), Rest(model=cut_part(whole, 1 - KINDS_SHARE), whole=whole.allowance)
    with (
        measured_kinds(requested_schema(schema), spent, unit, opener, ledger, reading, rest=left) as (found, stage),
        _paid_facts(found.schema, _split_by_kinds(whole, share, found), unit, opener, ledger, reading) as paid,
    ):
        yield replace(paid, kinds=stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """The part of the budget for bounds and labels, and what is left."""

    spent: BudgetPart
    rest: Rest
    label_weight: float = LABEL_WEIGHT
    signs: Signs = field(default_factory=dict[str, tuple[int, int, int, float]])


@contextmanager
def _paid_facts(
    schema: Schema, parts: _Split, unit: Unit, opener: SessionOpener, ledger: Ledger, reading: Sequence[Sequence[str]]
) -> Generator[Paid]:
    """Measure the bounds and labels that are marked."""
    if not measured_columns(schema):
        yield Paid(schema=collect_facts(schema, schema).schema, rest=parts.rest.model)
        return
    requested = requested_schema(schema)
    options = FactsOptions(marked=requested, label_weight=parts.label_weight, signs=parts.signs)
    with measure_marked_facts(options, parts.spent, unit, opener, ledger, reading, rest=parts.rest) as (facts, session):
        stage = PaidStage(requested=requested, notes=facts.notes, session=session, label_weight=parts.label_weight)
        yield Paid(schema=facts.schema, rest=parts.rest.model, facts=stage)


def _split_by_kinds(whole: BudgetPart, share: float | None, found: FoundKinds) -> _Split:
    """Split the budget left after the kinds by the numbers of columns, or by a stated share."""
    numbers, labels = len(bounds_to_pay(found.schema)), len(labels_to_pay(found.schema))
    bounds, words = min(BOUND_SHARES[0] * numbers, BOUND_SHARES[1]), min(LABEL_SHARES[0] * labels, LABEL_SHARES[1])
    total = share if share is not None and numbers + labels else bounds + words
    # If nothing is left to measure, the share is not spent, but it must not be 0.
    spent = cut_part(whole, total or BOUND_SHARES[0], discovery=bool(labels))
    rest = Rest(model=cut_part(whole, 1 - KINDS_SHARE - total))
    weight = (words / labels) / (bounds / numbers) if numbers and labels else LABEL_WEIGHT
    return _Split(spent=spent, rest=rest, label_weight=weight, signs=found.signs)


@contextmanager
def measured_kinds(
    requested: Schema,
    part: BudgetPart,
    unit: Unit,
    opener: SessionOpener,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    rest: Rest | None = None,
) -> Generator[tuple[FoundKinds, PaidStage]]:
    """Measure the kinds of unknown columns with all of this part, and add their price to the schema."""
    public, budget = classes_schema(requested), part.budget
    with opener(
        public,
        method=KINDS,
        part=part,
        fingerprint=facts_digest(public, budget, unit, method=KINDS) + stated_digest(reading),
        rest=rest,
    ) as session:
        record = session.record
        found = measure_kinds(kinds_setting(session.schema, requested, record.allowance, record.unit), session.door)
        found = replace(found, schema=priced_kinds(found.schema, requested, session.record, budget, ledger, reading))
        yield found, PaidStage(requested=requested, notes=found.notes, session=session)


def kinds_setting(schema: Schema, requested: Schema, allowance: Allowance, unit: Unit) -> Setting[KindsOptions]:
    """Return the setting for measuring kinds, on the coordinates of the `classes_schema`."""
    options = KindsOptions(marked=requested)
    return Setting(schema=schema, options=options, allowance=allowance, unit=unit, generator=_refuse_randomness)


def priced_kinds(
    found: Schema,
    requested: Schema,
    record: FitRecord,
    budget: Budget,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Schema:
    """Return the schema of found kinds with the price of all facts that were measured with them."""
    unknown = unknown_columns(requested)
    bought = [".".join(pair) for pair in found.facts_by_provenance("measured") if pair[0] in unknown]
    return found.with_prices([*found.prices, price_of((record,), budget, ledger, bought, reading)])


@contextmanager
def measure_marked_facts(
    options: FactsOptions,
    part: BudgetPart,
    unit: Unit,
    opener: SessionOpener,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    rest: Rest | None = None,
) -> Generator[tuple[MeasuredFacts, Session]]:
    """Measure the marked facts with all of this part, and add their price; a fit with `rest` may follow."""
    schema, budget = options.marked, part.budget
    public = measuring_schema(schema, keep_listed=options.keep_listed)
    kept = listed_facts(schema) if options.keep_listed else {}
    # Nothing stated under a "pay" mark may reach the ledger, not even as a hash: it may come from the rows. Facts that
    # are kept do reach it: somebody vouches that they do not come from the rows.
    with opener(
        public,
        method=STEP_NAME,
        part=part,
        fingerprint=facts_digest(public, budget, unit) + stated_digest(reading, kept),
        rest=rest,
    ) as session:
        record = session.record
        facts = measure_facts(facts_setting(session.schema, options, record.allowance, record.unit), session.door)
        found = add_price(facts.schema, schema, session.record, budget, ledger, reading, kept)
        yield replace(facts, schema=found), session


def facts_setting(schema: Schema, options: FactsOptions, allowance: Allowance, unit: Unit) -> Setting[FactsOptions]:
    """Return the setting for measuring marked facts, on the coordinates of their `measuring_schema`."""
    return Setting(schema=schema, options=options, allowance=allowance, unit=unit, generator=_refuse_randomness)


def _refuse_randomness() -> np.random.Generator:
    raise AssertionError("facts are estimated without randomness")


def facts_digest(
    public: Schema, budget: Budget, unit: Unit, version: str = sklar.__version__, *, method: str = STEP_NAME
) -> str:
    """Return the first part of the fingerprint by which a ledger recognizes the same measurement of facts."""
    return hashlib.sha256(repr([public.fingerprint, method, budget, unit, version]).encode()).hexdigest()


def add_price(
    found: Schema,
    requested: Schema,
    record: FitRecord,
    budget: Budget,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    kept: Mapping[str, tuple[Any, ...]] | None = None,
) -> Schema:
    """Return the schema of what was found with the price of the request.

    A bound that was not significant is paid for too: that it stays at the public range follows from the noisy counts.
    Facts that were stated and kept are listed with the price, but not paid for.
    """
    kept = kept or {}
    bought = [".".join(pair) for pair in requested.facts_by_provenance(PAY) if pair[1] in ("lower", "upper", "values")]
    new = set(found.facts_by_provenance("measured")) - set(requested.facts_by_provenance("measured"))
    # A pair of labels that was found to be a boolean also has measured spellings of true and false.
    bought += [".".join(pair) for pair in sorted(new) if ".".join(pair) not in bought]
    bought += [PERSON_ROWS] if rows_to_pay(requested) else []
    price = price_of((record,), budget, ledger, [fact for fact in bought if fact not in kept], reading)
    return found.with_prices([*found.prices, replace(price, kept=kept)])


def split(whole: BudgetPart, share: float) -> tuple[BudgetPart, BudgetPart]:
    """Split a budget into that of the facts and that of the model; together they are the budget."""
    _validate_share(share)
    return cut_part(whole, share, discovery=bool(whole.allowance.delta)), cut_part(whole, 1 - share)


def cut_part(whole: BudgetPart, share: float, *, discovery: bool = False) -> BudgetPart:
    """Return a part of a budget, with all of the delta for finding labels or with none of it."""
    budget, aside = whole.budget, whole.allowance.delta
    allowance = replace(whole.allowance.part(share), delta=aside if discovery else 0.0)
    if allowance.measure == "epsilon":
        return BudgetPart(budget=Budget(epsilon=allowance.amount, delta=0.0), allowance=allowance)
    delta = budget.delta if discovery else budget.delta - aside
    return BudgetPart(budget=Budget(rho=allowance.amount, delta=delta), allowance=allowance)


def finds_labels(schema: Schema) -> bool:
    """Return whether a fit by this schema may search for labels, for which it sets a part of delta aside."""
    return bool(labels_to_pay(schema) or unknown_columns(schema))


def find_facts_share(schema: Schema) -> float:
    """Return the share of its budget that a fit spends on facts by default; at most, if columns are of unknown kind."""
    if not must_pay(schema):
        return 0.0
    unknown = len(unknown_columns(schema))
    if not unknown:
        return DEFAULT_PAY_SHARE
    bounds = min(BOUND_SHARES[0] * len(bounds_to_pay(schema)), BOUND_SHARES[1])
    # Labels cost more than bounds: as if all unknown columns held words.
    return KINDS_SHARE + bounds + min(LABEL_SHARES[0] * (unknown + len(labels_to_pay(schema))), LABEL_SHARES[1])


def facts_part(schema: Schema, budget: Budget, unit: Unit) -> BudgetPart:
    """Return the budget of facts that are measured without a fit, with its allowance.

    Raises:
        BudgetError: Labels are to be found, and the budget is pure.
    """
    aside = set_aside(budget, labels=bool(labels_to_pay(schema)))
    usual, shifts = calibrate(budget, unit, discovery=aside), adaptive_allowance(budget, aside)
    enough = usual.noise(unit, max(measured_columns(schema), 1)).scale >= MIN_GAUSSIAN_FILTER_NOISE
    return BudgetPart(budget=budget, allowance=shifts if shifts is not None and enough else usual)


def _validate_share(share: object, below: float = 1.0) -> None:
    if isinstance(share, bool) or not isinstance(share, float | int) or not 0 < share < below:
        raise UsageError(f"pay_share, the share of the budget for facts, must lie between 0 and {below:g}, not {share}")


def set_aside(budget: Budget, *, labels: bool) -> float:
    """Return the part of delta that is reserved for finding labels."""
    if labels and budget.pure:
        raise BudgetError(
            "finding labels needs a delta above 0: with delta = 0 list the values in the schema, or omit the column"
        )
    return DISCOVERY_SHARE * budget.delta if labels else 0.0

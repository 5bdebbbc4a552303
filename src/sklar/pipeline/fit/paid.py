"""Pay for facts before a fit: split the budget, measure, and return the schema and the remaining budget.

Kinds of unknown columns come first, in a measurement of their own, and then their bounds and labels. The share of the
latter depends on the number of such columns and on the noisy number of rows.

Let the fit's budget be (epsilon, delta). A part D of delta is set aside for finding labels, if there are any to find;
the rest of delta turns epsilon into a rho, of which the facts get a share and the model the remainder. Both are
reserved in the ledger as fits of their own. Rhos and deltas add up (see `sklar.accounting.ledger.filters`), so together
they are within (epsilon, delta). A pure budget is split the same way in epsilon; rho budgets are split as they are.
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
MIN_SIGNAL_FOR_BOUNDS = 120.0
"""Rows, in standard deviations of a count, from which the found ranges are at most twice too wide: 28 nearly always
find one, but a range that is too wide makes coarse cells."""
BOUND_SHARES = (0.02, 0.10)
"""Minimum and maximum share of the budget for all bounds of columns of unknown kind."""
ENOUGH_SIGNAL_FOR_LABELS = 660.0
"""With more rows than this, in standard deviations of a count at the whole budget, labels get less: the rarest that
matter are found anyway."""
LABEL_SHARES = (0.03, 0.25)
"""Minimum and maximum share of the budget for all labels of columns of unknown kind; at most 3% per column plus 2%.
Labels are the main cost of having no schema: half as much lost 10% of accuracy at 5,000 rows of 8 such columns, and
twice as much gained less than it cost."""


class SessionOpener(Protocol):
    """Reserves a budget and opens a Door over the rows; only `pipeline.fit.run` can make one."""

    def __call__(
        self,
        schema: Schema,
        *,
        method: str,
        budget: Budget,
        allowance: Allowance,
        fingerprint: str,
        rest: Budget | None,
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
        rest: The remaining budget for the model.
        kinds: The measurement of kinds; None if there was none.
        facts: The measurement of bounds and labels; None if there was none.
    """

    schema: Schema
    rest: Budget
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
    budget: Budget,
    unit: Unit,
    share: float | None,
    opener: SessionOpener,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Generator[Paid]:
    """Measure the marked facts with a share of the budget; if there are none, the whole budget remains.

    The measurements stay open in the ledger until the fit they serve is finished: an interrupted fit uses the same
    facts when it is resumed, and pays nothing again.
    """
    if not must_pay(schema):
        yield Paid(schema=schema, rest=budget)
        return
    require_payable(schema)
    if not unknown_columns(schema):
        spent, rest = split(budget, DEFAULT_PAY_SHARE if share is None else share, labels=bool(labels_to_pay(schema)))
        with _paid_facts(schema, _Split(spent=spent, rest=rest), unit, opener, ledger, reading) as paid:
            yield paid
        return
    whole, aside = whole_rho(budget), set_aside(budget, labels=True)
    _validate_share(share or KINDS_SHARE, below=1 - KINDS_SHARE)
    spent, rest = (Budget(rho=part * whole, delta=budget.delta - aside) for part in (KINDS_SHARE, 1 - KINDS_SHARE))
    with measured_kinds(requested_schema(schema), spent, unit, opener, ledger, reading, rest=rest) as (found, stage):
        then = _split_by_kinds(budget, whole, share, found)
        with _paid_facts(found.schema, then, unit, opener, ledger, reading) as paid:
            yield replace(paid, kinds=stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """The budget for bounds and labels, and the remaining budget for the model."""

    spent: Budget
    rest: Budget
    label_weight: float = LABEL_WEIGHT
    signs: Signs = field(default_factory=dict[str, tuple[int, int, int, float]])


@contextmanager
def _paid_facts(
    schema: Schema, parts: _Split, unit: Unit, opener: SessionOpener, ledger: Ledger, reading: Sequence[Sequence[str]]
) -> Generator[Paid]:
    """Measure the bounds and labels that are marked."""
    if not measured_columns(schema):
        yield Paid(schema=collect_facts(schema, schema).schema, rest=parts.rest)
        return
    requested = requested_schema(schema)
    options = FactsOptions(marked=requested, label_weight=parts.label_weight, signs=parts.signs)
    with measure_marked_facts(options, parts.spent, unit, opener, ledger, reading, rest=parts.rest) as (facts, session):
        stage = PaidStage(requested=requested, notes=facts.notes, session=session, label_weight=parts.label_weight)
        yield Paid(schema=facts.schema, rest=parts.rest, facts=stage)


def _split_by_kinds(budget: Budget, whole: float, share: float | None, found: FoundKinds) -> _Split:
    """Split the budget left after the kinds by the numbers of columns and rows, or by a stated share."""
    numbers, labels = len(bounds_to_pay(found.schema)), len(labels_to_pay(found.schema))
    signal = found.rows / found.std  # rows in standard deviations of a count that costs the whole budget
    least, most = BOUND_SHARES
    bounds = min(max(numbers * (MIN_SIGNAL_FOR_BOUNDS / signal) ** 2, least), most) if numbers else 0.0
    least, most = LABEL_SHARES
    wanted = min(labels * (ENOUGH_SIGNAL_FOR_LABELS / signal) ** 2, 0.03 * labels + 0.02, most)
    words = max(wanted, least) if labels else 0.0
    total = share if share is not None and numbers + labels else bounds + words
    aside = set_aside(budget, labels=True)
    # If nothing is left to measure, the share is not spent, but it must not be 0.
    spent = Budget(rho=(total or least) * whole, delta=budget.delta if labels else budget.delta - aside)
    rest = Budget(rho=(1 - KINDS_SHARE - total) * whole, delta=budget.delta - aside)
    weight = (words / labels) / (bounds / numbers) if numbers and labels else LABEL_WEIGHT
    return _Split(spent=spent, rest=rest, label_weight=weight, signs=found.signs)


@contextmanager
def measured_kinds(
    requested: Schema,
    budget: Budget,
    unit: Unit,
    opener: SessionOpener,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    rest: Budget | None = None,
) -> Generator[tuple[FoundKinds, PaidStage]]:
    """Measure the kinds of unknown columns with all of this budget, and add their price to the schema."""
    public = classes_schema(requested)
    with opener(
        public,
        method=KINDS,
        budget=budget,
        allowance=calibrate(budget, unit),
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
    budget: Budget,
    unit: Unit,
    opener: SessionOpener,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    rest: Budget | None = None,
) -> Generator[tuple[MeasuredFacts, Session]]:
    """Measure the marked facts with all of this budget, and add their price; a fit with `rest` may follow."""
    schema = options.marked
    aside = set_aside(budget, labels=bool(labels_to_pay(schema)))
    public = measuring_schema(schema, keep_listed=options.keep_listed)
    kept = listed_facts(schema) if options.keep_listed else {}
    # Nothing stated under a "pay" mark may reach the ledger, not even as a hash: it may come from the rows. Facts that
    # are kept do reach it: somebody vouches that they do not come from the rows.
    with opener(
        public,
        method=STEP_NAME,
        budget=budget,
        allowance=calibrate(budget, unit, discovery=aside),
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


def split(budget: Budget, share: float, *, labels: bool) -> tuple[Budget, Budget]:
    """Split a budget into that of the facts and that of the model; together they are the budget."""
    _validate_share(share)
    aside = set_aside(budget, labels=labels)
    if budget.pure:
        assert budget.epsilon is not None
        facts, model = (Budget(epsilon=part * budget.epsilon, delta=0.0) for part in (share, 1 - share))
        return facts, model
    whole = whole_rho(budget, labels=labels)
    facts = Budget(rho=share * whole, delta=budget.delta)
    return facts, Budget(rho=(1 - share) * whole, delta=budget.delta - aside)


def _validate_share(share: object, below: float = 1.0) -> None:
    if isinstance(share, bool) or not isinstance(share, float | int) or not 0 < share < below:
        raise UsageError(f"pay_share, the share of the budget for facts, must lie between 0 and {below:g}, not {share}")


def whole_rho(budget: Budget, *, labels: bool = True) -> float:
    """Return the rho of a budget for all measurements, after the delta for finding labels is set aside."""
    return calibrate(budget, Unit(neighbours="add-remove"), discovery=set_aside(budget, labels=labels)).amount


def set_aside(budget: Budget, *, labels: bool) -> float:
    """Return the part of delta that is reserved for finding labels."""
    if labels and budget.pure:
        raise BudgetError(
            "finding labels needs a delta above 0: with delta = 0 list the values in the schema, or omit the column"
        )
    return DISCOVERY_SHARE * budget.delta if labels else 0.0

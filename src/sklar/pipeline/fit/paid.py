"""Pays for facts before a fit: splits the budget, measures, and hands on the schema and what is left.

Kinds of unknown columns come first, in a measurement of their own, and then the bounds and labels of what they are: how
much these get depends on how many of them there are, and on the noisy number of rows.

Let the fit's budget be (epsilon, delta). A part D of delta is set aside for finding labels, none if there are none to
find; the rest of delta turns epsilon into a rho, of which the facts get a share and the model what remains. Both are
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
    NAME,
    FactsOptions,
    MeasuredFacts,
    asked_schema,
    measure_facts,
    measured_columns,
    measuring_schema,
    settled,
)
from sklar.methods.facts.kinds import KINDS_SHARE, FoundKinds, KindsOptions, classes_schema, measure_kinds
from sklar.methods.facts.kinds import NAME as KINDS
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
"""Share of the budget that pays for facts of columns of stated kinds, where the schema marks any."""
DISCOVERY_SHARE = 0.25
"""Part of delta that is set aside where labels are to be found."""


Signs = Mapping[str, tuple[int, int, int, float]]
"""Noisy counts of negative values, zeros and positive values of columns, and the deviation of their noise."""


class OpenWall(Protocol):
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
        asked: The schema with stand-ins for what was to be measured.
        notes: What was found, in words.
        session: The measurement.
        label_weight: Price of the labels of a column against that of the bounds of one.
    """

    asked: Schema
    notes: tuple[str, ...]
    session: Session
    label_weight: float = LABEL_WEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A schema that a fit can use, and what was spent to get it.

    Attributes:
        schema: Without "pay" marks; what was measured has its price.
        rest: The budget that is left for the model.
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
        """The measurements as the ledger has them."""
        return tuple(stage.session.record for stage in self.stages)


@contextmanager
def paid_first(
    schema: Schema,
    budget: Budget,
    unit: Unit,
    share: float | None,
    wall: OpenWall,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Generator[Paid]:
    """Measure the marked facts with a share of the budget; all of the budget stays if there are none.

    The measurements stay open in the ledger until the fit they serve is finished: a fit that was cut short finds the
    same facts when it is resumed, and pays nothing again.
    """
    if not must_pay(schema):
        yield Paid(schema=schema, rest=budget)
        return
    require_payable(schema)
    if not unknown_columns(schema):
        spent, rest = split(budget, DEFAULT_PAY_SHARE if share is None else share, labels=bool(labels_to_pay(schema)))
        with _paid_facts(schema, _Split(spent=spent, rest=rest), unit, wall, ledger, reading) as paid:
            yield paid
        return
    whole, aside = whole_rho(budget), set_aside(budget, labels=True)
    _checked_share(share or KINDS_SHARE, below=1 - KINDS_SHARE)
    spent, rest = (Budget(rho=part * whole, delta=budget.delta - aside) for part in (KINDS_SHARE, 1 - KINDS_SHARE))
    with measured_kinds(asked_schema(schema), spent, unit, wall, ledger, reading, rest=rest) as (found, stage):
        then = _found_split(budget, whole, share, found)
        with _paid_facts(found.schema, then, unit, wall, ledger, reading) as paid:
            yield replace(paid, kinds=stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """What bounds and labels may spend, and what is left for the model."""

    spent: Budget
    rest: Budget
    label_weight: float = LABEL_WEIGHT
    signs: Signs = field(default_factory=dict[str, tuple[int, int, int, float]])


@contextmanager
def _paid_facts(
    schema: Schema, parts: _Split, unit: Unit, wall: OpenWall, ledger: Ledger, reading: Sequence[Sequence[str]]
) -> Generator[Paid]:
    """Measure the bounds and labels that are marked."""
    if not measured_columns(schema):
        yield Paid(schema=settled(schema, schema).schema, rest=parts.rest)
        return
    asked = asked_schema(schema)
    options = FactsOptions(marked=asked, label_weight=parts.label_weight, signs=parts.signs)
    with measured(options, parts.spent, unit, wall, ledger, reading, rest=parts.rest) as (facts, session):
        stage = PaidStage(asked=asked, notes=facts.notes, session=session, label_weight=parts.label_weight)
        yield Paid(schema=facts.schema, rest=parts.rest, facts=stage)


ROWS_FOR_BOUNDS = 120.0
"""Rows, in standard deviations of a count, from which on ranges are found that are at most twice too wide: 28 find one
nearly always, and one that is too wide makes coarse cells."""
BOUND_SHARES = (0.02, 0.10)
"""Least and most that all bounds of columns of unknown kind get, as shares of the budget."""
LABEL_ROWS = 660.0
"""With more rows than this many standard deviations, at the whole budget, labels get less: the rarest that matter are
found then, too."""
LABEL_SHARES = (0.03, 0.25)
"""Least and most that all labels of such columns get; at most 3% a column, and 2%. Labels are the main price of having
no schema: half as much lost 10% of accuracy at 5,000 rows of 8 such columns, and twice as much gained less than it
cost."""


def _found_split(budget: Budget, whole: float, share: float | None, found: FoundKinds) -> _Split:
    """Split what is left after the kinds: by the number of columns of each kind and of rows, unless a share is
    stated."""
    numbers, labels = len(bounds_to_pay(found.schema)), len(labels_to_pay(found.schema))
    signal = found.rows / found.std  # in deviations of a table that costs the whole budget
    least, most = BOUND_SHARES
    bounds = min(max(numbers * (ROWS_FOR_BOUNDS / signal) ** 2, least), most) if numbers else 0.0
    least, most = LABEL_SHARES
    words = max(min(labels * (LABEL_ROWS / signal) ** 2, 0.03 * labels + 0.02, most), least) if labels else 0.0
    total = share if share is not None and numbers + labels else bounds + words
    aside = set_aside(budget, labels=True)
    # Where nothing is left to measure, the share is not spent, and only must not be 0.
    spent = Budget(rho=(total or least) * whole, delta=budget.delta if labels else budget.delta - aside)
    rest = Budget(rho=(1 - KINDS_SHARE - total) * whole, delta=budget.delta - aside)
    weight = (words / labels) / (bounds / numbers) if numbers and labels else LABEL_WEIGHT
    return _Split(spent=spent, rest=rest, label_weight=weight, signs=found.signs)


@contextmanager
def measured_kinds(
    asked: Schema,
    budget: Budget,
    unit: Unit,
    wall: OpenWall,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    rest: Budget | None = None,
) -> Generator[tuple[FoundKinds, PaidStage]]:
    """Measure the kinds of unknown columns with all of this budget, and note their price."""
    public = classes_schema(asked)
    with wall(
        public,
        method=KINDS,
        budget=budget,
        allowance=calibrate(budget, unit),
        fingerprint=facts_digest(public, budget, unit, method=KINDS) + stated_digest(reading),
        rest=rest,
    ) as session:
        record = session.record
        found = measure_kinds(kinds_setting(session.schema, asked, record.allowance, record.unit), session.door)
        found = replace(found, schema=priced_kinds(found.schema, asked, session.record, budget, ledger, reading))
        yield found, PaidStage(asked=asked, notes=found.notes, session=session)


def kinds_setting(schema: Schema, asked: Schema, allowance: Allowance, unit: Unit) -> Setting[KindsOptions]:
    """Return the setting in which kinds are measured, on the coordinates of the `classes_schema`."""
    options = KindsOptions(marked=asked)
    return Setting(schema=schema, options=options, allowance=allowance, unit=unit, generator=_no_generator)


def priced_kinds(
    found: Schema,
    asked: Schema,
    record: FitRecord,
    budget: Budget,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Schema:
    """The schema of found kinds with the price of all facts that were measured with them."""
    unknown = unknown_columns(asked)
    bought = [".".join(pair) for pair in found.facts_by_provenance("measured") if pair[0] in unknown]
    return found.with_prices([*found.prices, price_of((record,), budget, ledger, bought, reading)])


@contextmanager
def measured(
    options: FactsOptions,
    budget: Budget,
    unit: Unit,
    wall: OpenWall,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    rest: Budget | None = None,
) -> Generator[tuple[MeasuredFacts, Session]]:
    """Measure the marked facts with all of this budget, and note their price; a fit with `rest` may follow."""
    schema = options.marked
    aside = set_aside(budget, labels=bool(labels_to_pay(schema)))
    public = measuring_schema(schema, keep_listed=options.keep_listed)
    kept = listed_facts(schema) if options.keep_listed else {}
    # Nothing stated under a "pay" mark may reach the ledger, not even as a hash: it may come from the rows. What is
    # kept must: somebody vouches that it does not.
    with wall(
        public,
        method=NAME,
        budget=budget,
        allowance=calibrate(budget, unit, discovery=aside),
        fingerprint=facts_digest(public, budget, unit) + stated_digest(reading, kept),
        rest=rest,
    ) as session:
        record = session.record
        facts = measure_facts(facts_setting(session.schema, options, record.allowance, record.unit), session.door)
        found = priced(facts.schema, schema, session.record, budget, ledger, reading, kept)
        yield replace(facts, schema=found), session


def facts_setting(schema: Schema, options: FactsOptions, allowance: Allowance, unit: Unit) -> Setting[FactsOptions]:
    """Return the setting in which marked facts are measured, on the coordinates of their `measuring_schema`."""
    return Setting(schema=schema, options=options, allowance=allowance, unit=unit, generator=_no_generator)


def _no_generator() -> np.random.Generator:
    raise AssertionError("facts are estimated without randomness")


def facts_digest(
    public: Schema, budget: Budget, unit: Unit, version: str = sklar.__version__, *, method: str = NAME
) -> str:
    """The first part of the fingerprint by which a ledger recognizes a measurement of facts of the same settings."""
    return hashlib.sha256(repr([public.fingerprint, method, budget, unit, version]).encode()).hexdigest()


def priced(
    found: Schema,
    asked: Schema,
    record: FitRecord,
    budget: Budget,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    kept: Mapping[str, tuple[Any, ...]] | None = None,
) -> Schema:
    """The schema of what was found with the price of what was asked.

    A bound that did not stand out is bought too: that it stays at the public range was read off the noisy counts. What
    was stated and kept is listed with the price, and is not bought.
    """
    kept = kept or {}
    bought = [".".join(pair) for pair in asked.facts_by_provenance(PAY) if pair[1] in ("lower", "upper", "values")]
    new = set(found.facts_by_provenance("measured")) - set(asked.facts_by_provenance("measured"))
    bought += [
        ".".join(pair) for pair in sorted(new) if ".".join(pair) not in bought
    ]  # how the words of a found pair are spelled
    bought += [PERSON_ROWS] if rows_to_pay(asked) else []
    price = price_of((record,), budget, ledger, [fact for fact in bought if fact not in kept], reading)
    return found.with_prices([*found.prices, replace(price, kept=kept)])


def split(budget: Budget, share: float, *, labels: bool) -> tuple[Budget, Budget]:
    """What the facts and what the model may spend; together they are the budget."""
    _checked_share(share)
    aside = set_aside(budget, labels=labels)
    if budget.pure:
        assert budget.epsilon is not None
        return Budget(epsilon=share * budget.epsilon, delta=0.0), Budget(
            epsilon=(1 - share) * budget.epsilon, delta=0.0
        )
    whole = whole_rho(budget, labels=labels)
    facts = Budget(rho=share * whole, delta=budget.delta)
    return facts, Budget(rho=(1 - share) * whole, delta=budget.delta - aside)


def _checked_share(share: object, below: float = 1.0) -> None:
    if isinstance(share, bool) or not isinstance(share, float | int) or not 0 < share < below:
        raise UsageError(
            f"pay_share, the share of the budget that pays for facts, must lie between 0 and {below:g}, not {share}"
        )


def whole_rho(budget: Budget, *, labels: bool = True) -> float:
    """The rho of a budget, all measurements together; what finding labels may add to delta is set aside."""
    return calibrate(budget, Unit(neighbours="add-remove"), discovery=set_aside(budget, labels=labels)).amount


def set_aside(budget: Budget, *, labels: bool) -> float:
    """The part of delta that finding labels may use."""
    if labels and budget.pure:
        raise BudgetError(
            "finding labels needs a delta above 0: with delta = 0 list the values in the schema, or take the column out"
        )
    return DISCOVERY_SHARE * budget.delta if labels else 0.0

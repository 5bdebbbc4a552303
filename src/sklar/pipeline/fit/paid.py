"""Pays for marked facts before a fit: splits the budget, measures, and hands on the schema and what is left.

Let the fit's budget be (epsilon, delta). A part D of delta is set aside for finding labels, none if there are none to
find; the rest of delta turns epsilon into a rho, of which the facts get a share and the model what remains. Both are
reserved in the ledger as fits of their own. Rhos and deltas add up (see `sklar.accounting.ledger.filters`), so together
they are within (epsilon, delta). A pure budget is split the same way in epsilon; rho budgets are split as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
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
    NAME,
    FactsOptions,
    MeasuredFacts,
    asked_schema,
    measure_facts,
    measured_columns,
    measuring_schema,
    settled,
)
from sklar.methods.facts.marks import PAY, labels_to_pay, listed_facts, must_pay, require_payable, rows_to_pay
from sklar.pipeline.fit.prices import price_of, stated_digest
from sklar.schema.persons.person import PERSON_ROWS
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.accounting.ledger import FitRecord, Ledger
    from sklar.private.session import Session
    from sklar.release.measurements import Recorded

DISCOVERY_SHARE = 0.25
"""Part of delta that is set aside where labels are to be found."""


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
class Paid:
    """A schema that a fit can use, and what was spent to get it.

    Attributes:
        schema: Without "pay" marks; what was measured has its price.
        notes: What was found, in words.
        rest: The budget that is left for the model.
        asked: With stand-ins for what was to be measured; None if nothing had to be.
        session: The measurement; None if nothing had to be measured.
    """

    schema: Schema
    notes: tuple[str, ...]
    rest: Budget
    asked: Schema | None = None
    session: Session | None = None

    @property
    def records(self) -> tuple[FitRecord, ...]:
        """The measurement as the ledger has it."""
        return () if self.session is None else (self.session.record,)

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """What was released."""
        return () if self.session is None else self.session.recorded


@contextmanager
def paid_first(
    schema: Schema,
    budget: Budget,
    unit: Unit,
    share: float,
    wall: OpenWall,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Generator[Paid]:
    """Measure the marked facts with a share of the budget; all of the budget stays if there are none.

    The measurement stays open in the ledger until the fit it serves is finished: a fit that was cut short finds the
    same facts when it is resumed, and pays nothing again.
    """
    if not must_pay(schema):
        yield Paid(schema=schema, notes=(), rest=budget)
        return
    require_payable(schema)
    if not measured_columns(schema):
        facts = settled(schema, schema)
        yield Paid(schema=facts.schema, notes=facts.notes, rest=budget)
        return
    spent, rest = split(budget, share, labels=bool(labels_to_pay(schema)))
    asked = asked_schema(schema)
    with measured(asked, spent, unit, wall, ledger, reading, rest=rest) as (facts, session):
        yield Paid(schema=facts.schema, notes=facts.notes, rest=rest, asked=asked, session=session)


@contextmanager
def measured(
    schema: Schema,
    budget: Budget,
    unit: Unit,
    wall: OpenWall,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
    *,
    keep_listed: bool = False,
    rest: Budget | None = None,
) -> Generator[tuple[MeasuredFacts, Session]]:
    """Measure the marked facts with all of this budget, and note their price; a fit with `rest` may follow."""
    aside = set_aside(budget, labels=bool(labels_to_pay(schema)))
    public = measuring_schema(schema, keep_listed=keep_listed)
    kept = listed_facts(schema) if keep_listed else {}
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
        setting = facts_setting(session.schema, schema, record.allowance, record.unit, keep_listed=keep_listed)
        facts = measure_facts(setting, session.door)
        found = priced(facts.schema, schema, session.record, budget, ledger, reading, kept)
        yield replace(facts, schema=found), session


def facts_setting(
    schema: Schema, marked: Schema, allowance: Allowance, unit: Unit, *, keep_listed: bool = False
) -> Setting[FactsOptions]:
    """Return the setting in which marked facts are measured, on the coordinates of their `measuring_schema`."""
    options = FactsOptions(marked=marked, keep_listed=keep_listed)
    return Setting(schema=schema, options=options, allowance=allowance, unit=unit, generator=_no_generator)


def _no_generator() -> np.random.Generator:
    raise AssertionError("facts are estimated without randomness")


def facts_digest(public: Schema, budget: Budget, unit: Unit, version: str = sklar.__version__) -> str:
    """The first part of the fingerprint by which a ledger recognizes a measurement of facts of the same settings."""
    return hashlib.sha256(repr([public.fingerprint, NAME, budget, unit, version]).encode()).hexdigest()


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
    bought += [PERSON_ROWS] if rows_to_pay(asked) else []
    price = price_of((record,), budget, ledger, [fact for fact in bought if fact not in kept], reading)
    return found.with_prices([*found.prices, replace(price, kept=kept)])


def split(budget: Budget, share: float, *, labels: bool) -> tuple[Budget, Budget]:
    """What the facts and what the model may spend; together they are the budget."""
    if isinstance(share, bool) or not isinstance(share, float | int) or not 0 < share < 1:
        raise UsageError(
            f"pay_share, the share of the budget that pays for facts, must lie between 0 and 1, not {share}"
        )
    aside = set_aside(budget, labels=labels)
    if budget.pure:
        assert budget.epsilon is not None
        return Budget(epsilon=share * budget.epsilon, delta=0.0), Budget(
            epsilon=(1 - share) * budget.epsilon, delta=0.0
        )
    whole = calibrate(budget, Unit(neighbours="add-remove"), discovery=aside).amount
    facts = Budget(rho=share * whole, delta=budget.delta)
    return facts, Budget(rho=(1 - share) * whole, delta=budget.delta - aside)


def set_aside(budget: Budget, *, labels: bool) -> float:
    """The part of delta that finding labels may use."""
    if labels and budget.pure:
        raise BudgetError(
            "finding labels needs a delta above 0: with delta = 0 list the values in the schema, or take the column out"
        )
    return DISCOVERY_SHARE * budget.delta if labels else 0.0

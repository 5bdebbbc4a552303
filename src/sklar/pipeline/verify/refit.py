"""Fits a model once more from its own releases, at no cost and without rows, and charges a ledger that is thrown away.

The Door that replays asks of every step that the method's request is the recorded one. So what the method would measure
with the stated budget is what was measured, and each step costs what the Door over rows charges for it. The ledger that
is charged is one in memory: it refuses an allowance beyond the stated budget and a charge beyond the allowance, by the
same lines as any ledger (`sklar.accounting.ledger.filters`), so what it adds up is what the releases cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import plan_events
from sklar.accounting.events import Event
from sklar.accounting.ledger import FitAccount, FitRecord, Ledger, memory_ledger
from sklar.accounting.unit import Unit, unit_of
from sklar.errors import DoorError
from sklar.methods.evidence import Setting
from sklar.methods.facts.fit import NAME as FACTS
from sklar.methods.facts.fit import asked_schema, measure_facts, measuring_schema
from sklar.methods.facts.marks import with_found_digits, without_found_digits
from sklar.methods.method import Method
from sklar.methods.registry import find_method
from sklar.model.protocol import TableModel
from sklar.pipeline.fit.claim import declared_digest, settings_digest
from sklar.pipeline.fit.paid import facts_digest, facts_setting, priced
from sklar.pipeline.fit.prices import stated_digest, with_own_price
from sklar.pipeline.model_file import Stored
from sklar.release.measurements import Recorded, line_digest, read_line, record_line
from sklar.release.replay import ReplayDoor
from sklar.sample.rng import generator
from sklar.schema.coordinates import coordinates, fitted_coordinates
from sklar.schema.persons.person import declared_of
from sklar.schema.table import Schema, schema_from_toml, schema_to_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """A model fitted again, and what its releases cost.

    Attributes:
        schema: As it must have come out: with the facts that the releases give, and what they cost.
        notes: What was found about facts that were paid for within the fit.
        ledger: The ledger in memory that was charged.
        records: The measurement of its facts, if they were paid for within the fit, and the fit itself, last.
    """

    method: Method[Any]
    model: TableModel
    schema: Schema
    notes: tuple[str, ...]
    ledger: Ledger
    records: tuple[FitRecord, ...]


def _require_person(stored: Stored, unit: Unit) -> None:
    """Refuse a schema whose persons are not those that the noise was for."""
    person = stored.schema.person
    nulls = tuple(text for name, text in reading_of(stored) if name == "null_value")
    said = unit_of(person, unit.neighbours, unit.rows_per_person if person is None else 1, nulls)
    if said != unit or stored.fit.get("person") != (None if person is None else declared_of(person)):
        raise DoorError("the schema tells of other persons than the record of the fit")
    if not set(stored.schema.null_values) <= set(nulls):
        raise DoorError("the schema tells of other missing values than the record of the fit")


def refit(stored: Stored) -> Refit:
    """Fit a model from its releases.

    Raises:
        SklarError: The releases are not what the method asks for with this budget, or they cost more than it.
    """
    facts = stored.fit
    method = find_method(facts["method"], facts.get("check_share", 0.0))
    options = method.stored_options(facts["options"])
    unit, paid = Unit(**facts["unit"]), facts.get("paid")
    _require_person(stored, unit)
    ledger = memory_ledger(neighbours=unit.neighbours)
    before = _before(stored) if paid is None else _paid(ledger, stored, unit)
    schema = fitted_coordinates(before.schema, (margin.column for margin in stored.model.margins)).schema
    budget, allowance = Budget(**facts["budget"]), Allowance(**facts["allowance"])
    _require_public_facts(facts, unit)
    setting = Setting(
        schema=schema, options=options, allowance=allowance, unit=unit, rows=facts["rows"], prior=stored.prior,
        generator=lambda: generator(facts["seed"]),
    )  # fmt: skip
    door = ReplayDoor(unit=unit, recorded=stored.recorded)
    model = method.fit(setting, door)
    door.require_end()
    lines = method.plan(schema, options) if method.plan is not None else ()
    plan = plan_events(allowance, unit, lines) if lines else None
    seen = before.schema.with_prices(price for price in before.schema.prices if price.fit != before.measurement)
    settings = settings_digest(
        seen, method, options, budget, unit, paid=before.measurement, version=stored.claim.version
    )
    account = ledger.reserve(
        method=method.name, budget=budget, allowance=allowance, unit=unit, seed=facts["seed"], plan=plan,
        fingerprint=settings + stated_digest(reading_of(stored)) + declared_digest(facts),
    )  # fmt: skip
    fit = _charged(ledger, account, stored.recorded, door.events)
    records = (*before.records, replace(fit, id=facts.get("fit", "")))
    _require_own_prices(stored, {record.id for record in records}, paid is not None)
    found = with_found_digits(before.schema, model.margins)
    asked = Budget(**facts.get("asked", facts["budget"]))
    found = with_own_price(found, before.schema, records, asked, ledger, reading_of(stored))
    return Refit(method=method, model=model, schema=found, notes=before.notes, ledger=ledger, records=records)


def _require_public_facts(facts: Mapping[str, Any], unit: Unit) -> None:
    """Refuse a number of rows that is not public, and a seed that no fit has."""
    rows, seed = facts["rows"], facts["seed"]
    if (type(rows) is not int or rows < 0) if unit.neighbours == "replace" else rows is not None:
        raise DoorError("a number of rows is public under replace neighbours only")
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise DoorError("the seed of the post-processing is not one that a fit draws")


def reading_of(stored: Stored) -> tuple[tuple[str, str], ...]:
    """What the record of a fit states about reading the source."""
    return tuple((str(name), str(text)) for name, text in stored.fit.get("reading", ()))


def _require_own_prices(stored: Stored, own: set[str], paid: bool) -> None:
    """Refuse prices under the fit's own name for facts that it did not find or pay for: they would not be counted."""
    if len(own) < 1 + paid:
        raise DoorError("the fit and the measurement of its facts have one name")
    found = {"decimals", "lower", "upper", "values", "rows"} if paid else {"decimals"}
    for price in stored.schema.prices:
        strange = [fact for fact in price.facts if fact.rpartition(".")[2] not in found]
        if price.fit in own and strange:
            raise DoorError(f"'{strange[0]}' stands under the price of the fit itself, which did not measure it")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What a fit began with: its schema, and the measurement of facts that came first, if any."""

    schema: Schema
    notes: tuple[str, ...] = ()
    records: tuple[FitRecord, ...] = ()

    @property
    def measurement(self) -> str:
        """The fit that measured facts first; empty without one."""
        return "".join(record.id for record in self.records)


def _before(stored: Stored) -> _Before:
    """Of a fit that paid for nothing."""
    own = stored.fit.get("fit", "")
    rest = [price for price in stored.schema.prices if price.fit != own]
    return _Before(schema=without_found_digits(stored.schema, own).with_prices(rest))


def _paid(ledger: Ledger, stored: Stored, unit: Unit) -> _Before:
    """The measurement of facts, replayed from what was asked and what was released."""
    paid, reading = stored.fit["paid"], reading_of(stored)
    if "asked" not in paid:
        raise DoorError("the file does not tell what was asked of the facts it paid for: an older Sklar made it")
    asked = schema_from_toml(paid["asked"])
    if schema_to_toml(asked_schema(asked)) != paid["asked"]:
        raise DoorError("what was asked of the facts says more than what is asked")
    budget, allowance = Budget(**paid["budget"]), Allowance(**paid["allowance"])
    public = measuring_schema(asked)
    setting = facts_setting(coordinates(public).schema, asked, allowance, unit)
    door = ReplayDoor(unit=unit, recorded=[read_line(line) for line in paid["releases"]])
    facts = measure_facts(setting, door)
    door.require_end()
    recorded = door.steps
    if [record_line(step) for step in recorded] != list(paid["releases"]):
        raise DoorError("the record of what was paid for says more than was released")
    account = ledger.reserve(
        method=FACTS, budget=budget, allowance=allowance, unit=unit, seed=0,
        fingerprint=facts_digest(public, budget, unit, stored.claim.version) + stated_digest(reading),
    )  # fmt: skip
    fit = _charged(ledger, account, recorded, door.events)
    record = replace(fit, id=paid["fit"])
    schema = priced(facts.schema, asked, record, budget, ledger, reading)
    return _Before(schema=schema, notes=facts.notes, records=(record,))


def _charged(
    ledger: Ledger, account: FitAccount, recorded: Sequence[Recorded], events: Sequence[tuple[Event, ...]]
) -> FitRecord:
    """Charge as the fit did; a number that is missing among the steps is one that was lost, and measured again."""
    for step, charge in zip(recorded, events, strict=True):
        number = account.charge(charge, step.label)
        while number < step.step:
            account.leave()
            account = ledger.resume(account.id)
            number = account.charge(charge, step.label)
        if number != step.step:
            raise DoorError(f"the step '{step.label}' of the record is out of order")
        account.record_release(number, line_digest(record_line(step)))
    account.close()
    return account.record

"""Fit a model again from its own releases, at no cost and without rows, and charge a temporary ledger.

The replaying Door requires in every step that the method's request is the recorded one. So the method's queries under
the stated budget are those that were measured, and each step costs what the Door over rows charges for it. The ledger
is in memory: it refuses an allowance beyond the stated budget and a charge beyond the allowance, by the same code as
any ledger (`sklar.accounting.ledger.filters`), so its total is the cost of the releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import plan_events
from sklar.accounting.events import Event
from sklar.accounting.ledger import FitAccount, FitRecord, Ledger, memory_ledger
from sklar.accounting.unit import Unit, make_unit
from sklar.errors import DoorError
from sklar.methods.evidence import Setting
from sklar.methods.facts.fit import (
    LABEL_WEIGHT,
    FactsOptions,
    collect_facts,
    measure_facts,
    measuring_schema,
    requested_schema,
)
from sklar.methods.facts.fit import STEP_NAME as FACTS
from sklar.methods.facts.kinds import STEP_NAME as KINDS
from sklar.methods.facts.kinds import classes_schema, measure_kinds
from sklar.methods.facts.marks import with_found_digits, without_found_digits
from sklar.methods.method import Method
from sklar.methods.registry import find_method
from sklar.model.protocol import TableModel
from sklar.pipeline.fit.claim import declared_digest, settings_digest
from sklar.pipeline.fit.paid import Signs, add_price, facts_digest, facts_setting, kinds_setting, priced_kinds
from sklar.pipeline.fit.prices import stated_digest, with_own_price
from sklar.pipeline.model_file import Stored
from sklar.release.measurements import Recorded, decode_step, encode_step, hash_line
from sklar.release.replay import ReplayDoor
from sklar.sample.rng import generator
from sklar.schema.columns import MEASURED_WITH_KIND
from sklar.schema.coordinates import coordinates, fitted_coordinates
from sklar.schema.persons.person import list_declared
from sklar.schema.table import Schema, schema_from_toml, schema_to_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """A model fitted again, and the cost of its releases.

    Attributes:
        schema: The resulting schema, with measured facts and their price.
        notes: The findings on facts that were paid for within the fit.
        ledger: The ledger in memory that was charged.
        records: The measurements of its facts, if they were paid for within the fit, and the fit itself, last.
    """

    method: Method[Any]
    model: TableModel
    schema: Schema
    notes: tuple[str, ...]
    ledger: Ledger
    records: tuple[FitRecord, ...]


def _require_person(stored: Stored, unit: Unit) -> None:
    """Refuse a schema whose persons are not those that the noise was calibrated for."""
    person = stored.schema.person
    nulls = tuple(text for name, text in reading_of(stored) if name == "null_value")
    said = make_unit(person, unit.neighbours, unit.rows_per_person if person is None else 1, nulls)
    if said != unit or stored.fit.get("person") != (None if person is None else list_declared(person)):
        raise DoorError("the schema has other persons than the record of the fit")
    if not set(stored.schema.null_values) <= set(nulls):
        raise DoorError("the schema has other missing values than the record of the fit")


def refit(stored: Stored) -> Refit:
    """Fit a model from its releases.

    Raises:
        SklarError: The releases are not what the method requests with this budget, or they cost more than it.
    """
    facts = stored.fit
    method = find_method(facts["method"], facts.get("check_share", 0.0))
    options = method.stored_options(facts["options"])
    unit = Unit(**facts["unit"])
    _require_person(stored, unit)
    ledger = memory_ledger(neighbours=unit.neighbours)
    before = _before(ledger, stored, unit)
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
    plan = plan_events(allowance, unit, lines) if lines and not allowance.dither else None
    first = {record.id for record in before.records}
    seen = before.schema.with_prices(price for price in before.schema.prices if price.fit not in first)
    settings = settings_digest(
        seen, method, options, budget, unit, paid=before.measurement, version=stored.claim.version
    )
    account = ledger.reserve(
        method=method.name, budget=budget, allowance=allowance, unit=unit, seed=facts["seed"], plan=plan,
        fingerprint=settings + stated_digest(reading_of(stored)) + declared_digest(facts),
    )  # fmt: skip
    fit = _charged(ledger, account, stored.recorded, door.events)
    records = (*before.records, replace(fit, id=facts.get("fit", "")))
    _require_own_prices(stored, [record.id for record in records])
    found = with_found_digits(before.schema, model.margins)
    requested = Budget(**facts.get("requested", facts["budget"]))
    found = with_own_price(found, before.schema, records, requested, ledger, reading_of(stored))
    return Refit(method=method, model=model, schema=found, notes=before.notes, ledger=ledger, records=records)


def _require_public_facts(facts: Mapping[str, Any], unit: Unit) -> None:
    """Refuse a number of rows that is not public, and an impossible seed."""
    rows, seed = facts["rows"], facts["seed"]
    if (type(rows) is not int or rows < 0) if unit.neighbours == "replace" else rows is not None:
        raise DoorError("a number of rows is public under replace neighbours only")
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise DoorError("the seed of the post-processing is not one that a fit draws")


def reading_of(stored: Stored) -> tuple[tuple[str, str], ...]:
    """Return what the record of a fit states about reading the source."""
    return tuple((str(name), str(text)) for name, text in stored.fit.get("reading", ()))


def _require_own_prices(stored: Stored, own: Sequence[str]) -> None:
    """Refuse prices under the fit's own name for facts that it did not measure: they would not be counted."""
    if len(set(own)) < len(own):
        raise DoorError("the fit and the measurement of its facts have one name")
    found = {"decimals"} | ({"lower", "upper", "values", "rows"} if "paid" in stored.fit else set())
    found |= set(MEASURED_WITH_KIND) if "kinds" in stored.fit else set()
    for price in stored.schema.prices:
        strange = [fact for fact in price.facts if fact.rpartition(".")[2] not in found]
        if price.fit in own and strange:
            raise DoorError(f"'{strange[0]}' is listed in the price of the fit itself, which did not measure it")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The initial schema of a fit, and the measurement of facts that came first, if any."""

    schema: Schema
    notes: tuple[str, ...] = ()
    records: tuple[FitRecord, ...] = ()
    signs: Signs = field(default_factory=dict[str, tuple[int, int, int, float]])

    @property
    def measurement(self) -> str:
        """The name of the fit that measured facts first; empty without one."""
        return "".join(record.id for record in self.records)


def _before(ledger: Ledger, stored: Stored, unit: Unit) -> _Before:
    """Return the initial schema of the fit; facts that were paid for are replayed from their releases."""
    if "kinds" in stored.fit:
        found = _kinds(ledger, stored, unit)
        return found if "paid" not in stored.fit else _paid(ledger, stored, unit, found)
    if "paid" in stored.fit:
        return _paid(ledger, stored, unit, None)
    own = stored.fit.get("fit", "")
    rest = [price for price in stored.schema.prices if price.fit != own]
    return _Before(schema=without_found_digits(stored.schema, own).with_prices(rest))


def _kinds(ledger: Ledger, stored: Stored, unit: Unit) -> _Before:
    """Replay the measurement of kinds."""
    bought, reading = stored.fit["kinds"], reading_of(stored)
    requested, budget, allowance = _read_request(bought)
    public = classes_schema(requested)
    setting = kinds_setting(coordinates(public).schema, requested, allowance, unit)
    door = _make_replay_door(bought, unit)
    found = measure_kinds(setting, door)
    _require_same(door, bought)
    account = ledger.reserve(
        method=KINDS, budget=budget, allowance=allowance, unit=unit, seed=0,
        fingerprint=facts_digest(public, budget, unit, stored.claim.version, method=KINDS) + stated_digest(reading),
    )  # fmt: skip
    record = replace(_charged(ledger, account, door.steps, door.events), id=bought["fit"])
    schema = priced_kinds(found.schema, requested, record, budget, ledger, reading)
    if "paid" not in stored.fit:
        schema = collect_facts(schema, schema).schema
    return _Before(schema=schema, notes=found.notes, records=(record,), signs=found.signs)


def _paid(ledger: Ledger, stored: Stored, unit: Unit, kinds: _Before | None) -> _Before:
    """Replay the measurement of bounds and labels, after that of kinds if there was one."""
    bought, reading = stored.fit["paid"], reading_of(stored)
    requested, budget, allowance = _read_request(bought)
    if kinds is not None:
        follows = requested_schema(kinds.schema)
        if follows.with_prices(()) != requested.with_prices(()):
            raise DoorError("the bounds and labels that were requested are not those of the kinds that were found")
        requested = follows  # with the price of the kinds as it was recomputed
    public, weight = measuring_schema(requested), bought.get("label_weight", LABEL_WEIGHT)
    options = FactsOptions(marked=requested, label_weight=weight, signs={} if kinds is None else kinds.signs)
    setting = facts_setting(coordinates(public).schema, options, allowance, unit)
    door = _make_replay_door(bought, unit)
    facts = measure_facts(setting, door)
    _require_same(door, bought)
    account = ledger.reserve(
        method=FACTS, budget=budget, allowance=allowance, unit=unit, seed=0,
        fingerprint=facts_digest(public, budget, unit, stored.claim.version) + stated_digest(reading),
    )  # fmt: skip
    record = replace(_charged(ledger, account, door.steps, door.events), id=bought["fit"])
    schema = add_price(facts.schema, requested, record, budget, ledger, reading)
    first = _Before(schema=schema) if kinds is None else kinds
    return _Before(schema=schema, notes=(*first.notes, *facts.notes), records=(*first.records, record))


def _read_request(bought: Mapping[str, Any]) -> tuple[Schema, Budget, Allowance]:
    """Return the schema, budget and allowance of a measurement of facts."""
    if "requested" not in bought:
        raise DoorError("the file does not contain the request for its measured facts: an older Sklar made it")
    requested = schema_from_toml(bought["requested"])
    if schema_to_toml(requested_schema(requested)) != bought["requested"]:
        raise DoorError("the request for measured facts contains more than it needs")
    return requested, Budget(**bought["budget"]), Allowance(**bought["allowance"])


def _make_replay_door(bought: Mapping[str, Any], unit: Unit) -> ReplayDoor:
    return ReplayDoor(unit=unit, recorded=[decode_step(line) for line in bought["releases"]])


def _require_same(door: ReplayDoor, bought: Mapping[str, Any]) -> None:
    door.require_end()
    if [encode_step(step) for step in door.steps] != list(bought["releases"]):
        raise DoorError("the record of measured facts contains more than was released")


def _charged(
    ledger: Ledger, account: FitAccount, recorded: Sequence[Recorded], events: Sequence[tuple[Event, ...]]
) -> FitRecord:
    """Charge as the fit did; a missing step number is a step that was lost and measured again."""
    for step, charge in zip(recorded, events, strict=True):
        number = account.charge(charge, step.label)
        while number < step.step:
            account.leave()
            account = ledger.resume(account.id)
            number = account.charge(charge, step.label)
        if number != step.step:
            raise DoorError(f"the step '{step.label}' of the record is out of order")
        account.record_release(number, hash_line(encode_step(step)))
    account.close()
    return account.record

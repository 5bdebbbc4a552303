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
from sklar.accounting.events import DiscoveryEvent, Event
from sklar.accounting.ledger import FitAccount, FitRecord, Ledger, memory_ledger
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.methods.facts.fit import NAME as FACTS
from sklar.methods.method import Method
from sklar.methods.registry import find_method
from sklar.model.protocol import TableModel
from sklar.pipeline.model_file import Stored
from sklar.release.charges import count_events
from sklar.release.replay import ReplayDoor
from sklar.release.values import NoisyCounts, NoisyLabels, Recorded, line_digest, read_line, record_line
from sklar.sample.rng import generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """A model fitted again, and what its releases cost.

    Attributes:
        ledger: The ledger in memory that was charged.
        records: The measurement of its facts, if they were paid for within the fit, and the fit itself, last.
    """

    method: Method[Any]
    model: TableModel
    ledger: Ledger
    records: tuple[FitRecord, ...]


def refit(stored: Stored) -> Refit:
    """Fit a model from its releases.

    Raises:
        SklarError: The releases are not what the method asks for with this budget, or they cost more than it.
    """
    facts = stored.fit
    method = find_method(facts["method"])
    options = method.stored_options(facts["options"])
    unit, schema = Unit(**facts["unit"]), stored.coordinates.schema
    budget, allowance = Budget(**facts["budget"]), Allowance(**facts["allowance"])
    door = ReplayDoor(
        schema=schema, allowance=allowance, unit=unit, recorded=stored.recorded, rows=facts["rows"], strict=True
    )
    model = method.fit(door, options, generator(facts["seed"]))
    if len(door.steps) < len(stored.recorded):
        raise DoorError(f"the record has a step '{stored.recorded[len(door.steps)].label}' that the method never asked")
    lines = method.plan(schema, options) if method.plan is not None else ()
    plan = plan_events(allowance, unit, lines) if lines else None
    ledger = memory_ledger(neighbours=unit.neighbours)
    paid = facts.get("paid")
    records = [] if paid is None else [_paid(ledger, paid, unit)]
    account = ledger.reserve(
        method=method.name, budget=budget, allowance=allowance, unit=unit, seed=facts["seed"], fingerprint="", plan=plan
    )
    fit = _charged(ledger, account, stored.recorded, [step.events for step in door.steps])
    records.append(replace(fit, id=facts.get("fit", "")))
    _require_own_prices(stored, {record.id for record in records}, paid is not None)
    return Refit(method=method, model=model, ledger=ledger, records=tuple(records))


def _require_own_prices(stored: Stored, own: set[str], paid: bool) -> None:
    """Refuse prices under the fit's own name for facts that it did not find or pay for: they would not be counted."""
    if len(own) < 1 + paid:
        raise DoorError("the fit and the measurement of its facts have one name")
    found = {"decimals", "lower", "upper", "values"} if paid else {"decimals"}
    for price in stored.schema.prices:
        strange = [fact for fact in price.facts if fact.rpartition(".")[2] not in found]
        if price.fit in own and strange:
            raise DoorError(f"'{strange[0]}' stands under the price of the fit itself, which did not measure it")


def _paid(ledger: Ledger, paid: Mapping[str, Any], unit: Unit) -> FitRecord:
    """The measurement of facts, told by the noise on its releases: what was asked for is not in a model file."""
    if "allowance" not in paid:
        raise DoorError("the file does not tell what was set aside for the facts it paid for: an older Sklar made it")
    recorded = [read_line(line) for line in paid["releases"]]
    account = ledger.reserve(
        method=FACTS, budget=Budget(**paid["budget"]), allowance=Allowance(**paid["allowance"]), unit=unit, seed=0,
        fingerprint="",
    )  # fmt: skip
    fit = _charged(ledger, account, recorded, [_events(step, unit) for step in recorded])
    return replace(fit, id=paid["fit"])


def _events(step: Recorded, unit: Unit) -> tuple[Event, ...]:
    tables = [release for release in step.releases if isinstance(release, NoisyCounts)]
    labels = [release for release in step.releases if isinstance(release, NoisyLabels) and release.floor is not None]
    if len(tables) + len(labels) < len(step.releases):
        raise DoorError(f"the step '{step.label}' of the facts has a release whose price cannot be told")
    found: list[Event] = [
        DiscoveryEvent(label=step.label, noise=r.noise, threshold=r.threshold, floor=r.floor or 1, unit=unit)
        for r in labels
    ]
    return (*count_events([release.noise for release in tables], step.label, unit), *found)


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

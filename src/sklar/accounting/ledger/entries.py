"""Events, budgets and units as JSON values, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from sklar.accounting.budget import Budget
from sklar.accounting.events import ChoiceEvent, CountEvent, DiscoveryEvent, Event, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit

EVENTS: dict[str, type[CountEvent] | type[SumEvent] | type[ChoiceEvent] | type[DiscoveryEvent]] = {
    "count": CountEvent,
    "sum": SumEvent,
    "choice": ChoiceEvent,
    "discovery": DiscoveryEvent,
}


def event_to_json(event: Event) -> dict[str, Any]:
    """Mechanism parameters of an event; the unit is that of its fit and is left out."""
    fields = asdict(event)
    del fields["unit"]
    return {"type": next(name for name, kind in EVENTS.items() if kind is type(event)), **fields}


def event_from_json(value: Mapping[str, Any], unit: Unit) -> Event:
    """The event of a fit with this unit."""
    fields = dict(value)
    kind = EVENTS[fields.pop("type")]
    if "noise" in fields:
        fields["noise"] = Noise(**fields["noise"])
    return kind(**fields, unit=unit)


def events_to_json(events: Iterable[Event]) -> list[dict[str, Any]]:
    """All events, in order."""
    return [event_to_json(event) for event in events]


def events_from_json(values: Iterable[Mapping[str, Any]], unit: Unit) -> tuple[Event, ...]:
    """All events, in order."""
    return tuple(event_from_json(value, unit) for value in values)


def budget_to_json(budget: Budget | None) -> dict[str, Any] | None:
    """A budget, or null."""
    return None if budget is None else asdict(budget)


def budget_from_json(value: Mapping[str, Any] | None) -> Budget | None:
    """A budget, or None."""
    return None if value is None else Budget(**value)

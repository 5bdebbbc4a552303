"""The state of a ledger: its entries read one after another. Structure is checked here, amounts in `filters`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import ROUNDING, Budget, exceeds_limit, validate_delta
from sklar.accounting.events import CountEvent, PlannedEvent, SumEvent
from sklar.accounting.ledger.filters import count_planned, take_from_plan
from sklar.accounting.ledger.records import FitRecord, Header, StepRecord, events_from_json
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import BudgetError, LedgerError, SklarError

VERSION = 1
_FIT = {"type", "time", "fit"}
_STEP = _FIT | {"step"}
FIELDS = {
    "ledger": {"type", "version", "name", "cap", "neighbours", "created", "set_aside"},
    "open": _FIT | {"method", "budget", "allowance", "unit", "accountant", "plan", "seed", "fingerprint", "whole"},
    "charge": _STEP | {"label", "events", "repeats", "request"},
    "release": _STEP | {"digest"},
    "close": _FIT,
}
"""The fields that an entry may have. A ledger is published, so no other field is accepted."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d(T[0-9:.+Z-]{1,32})?")


class Book:
    """The state after the entries read so far, and the entries themselves; fits by id in order of reservation."""

    def __init__(self) -> None:
        self._header: Header | None = None
        self.fits: dict[str, FitRecord] = {}
        self.entries: list[dict[str, Any]] = []

    @property
    def header(self) -> Header:
        """The first entry."""
        if self._header is None:
            raise LedgerError("the ledger is empty, or its first line is incomplete. Delete it and create it again.")
        return self._header

    def add(self, entry: dict[str, Any]) -> None:
        """Add the next entry; a LedgerError names the line if it is not valid here."""
        number = len(self.entries) + 1
        try:
            self._add(entry)
        except (KeyError, TypeError, ValueError, AttributeError, SklarError) as error:
            why = str(error) if isinstance(error, LedgerError) else "its fields are not those of an entry"
            raise LedgerError(f"the ledger is damaged at line {number}: {why}.") from None
        self.entries.append(entry)

    def open_fit(self, fit: str) -> FitRecord:
        """Return the fit of this id, which must be open."""
        if fit not in self.fits:
            raise LedgerError(f"the ledger has no fit {fit}")
        if self.fits[fit].closed:
            raise LedgerError(f"fit {fit} is closed")
        return self.fits[fit]

    def _add(self, entry: Mapping[str, Any]) -> None:
        kind = entry["type"]
        if (kind == "ledger") != (self._header is None):
            raise LedgerError("the header is missing" if self._header is None else "a second header")
        adders: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "ledger": self._add_header,
            "open": self._add_open,
            "charge": self._add_charge,
            "release": self._add_release,
            "close": self._add_close,
        }
        if kind not in adders:
            raise LedgerError("an unknown kind of entry; it was made by a newer version")
        if not set(entry) <= FIELDS[kind] or not _DAY.fullmatch(entry["created" if kind == "ledger" else "time"]):
            raise LedgerError("its fields are not those of an entry")
        adders[kind](entry)

    def _add_header(self, entry: Mapping[str, Any]) -> None:
        if entry["version"] != VERSION:
            raise LedgerError(f"this version of Sklar reads ledgers of version {VERSION} only")
        self._header = Header(
            name=str(entry["name"]),
            cap=None if entry["cap"] is None else Budget(**entry["cap"]),
            neighbours=Unit(neighbours=entry["neighbours"]).neighbours,
            created=str(entry["created"]),
            set_aside=None if entry.get("set_aside") is None else validate_delta(entry["set_aside"]),
        )

    def _add_open(self, entry: Mapping[str, Any]) -> None:
        if entry["fit"] in self.fits:
            raise LedgerError("a fit is opened twice")
        fit = parse_open_entry(entry)
        if fit.unit.neighbours != self.header.neighbours:
            raise LedgerError("a fit under another neighbour relation")
        self.fits[fit.id] = fit

    def _add_charge(self, entry: Mapping[str, Any]) -> None:
        fit = self.open_fit(entry["fit"])
        step = StepRecord(
            number=entry["step"],
            label=entry["label"],
            events=events_from_json(entry["events"], fit.unit),
            repeats=entry["repeats"],
            request=entry.get("request"),
        )
        if step.number != len(fit.steps):
            raise LedgerError("a step is out of order")
        self.fits[fit.id] = add_step(fit, step)

    def _add_release(self, entry: Mapping[str, Any]) -> None:
        fit = self.open_fit(entry["fit"])
        if fit.pending is None or fit.pending.number != entry["step"]:
            raise LedgerError("a release without its charge")
        last = replace(fit.pending, digest=str(entry["digest"]))
        self.fits[fit.id] = replace(fit, steps=(*fit.steps[:-1], last))

    def _add_close(self, entry: Mapping[str, Any]) -> None:
        fit = self.open_fit(entry["fit"])
        self.fits[fit.id] = replace(fit, closed=True)


def parse_open_entry(entry: Mapping[str, Any]) -> FitRecord:
    """Return the fit of an entry that opens one, before any charge."""
    unit = Unit(**entry["unit"])
    plan = None if entry["plan"] is None else _plan_from_json(entry["plan"], unit)
    allowance, whole = Allowance(**entry["allowance"]), entry.get("whole")
    return FitRecord(
        id=entry["fit"],
        opened=entry["time"],
        method=entry["method"],
        budget=Budget(**entry["budget"]),
        allowance=allowance,
        unit=unit,
        accountant=entry["accountant"],
        plan=plan,
        seed=int(entry["seed"]),
        fingerprint=entry["fingerprint"],
        left=count_planned(plan or ()),
        first_of=None if whole is None else _parse_whole(whole, allowance),
    )


def _parse_whole(fields: Mapping[str, Any], part: Allowance) -> Allowance:
    """Return the allowance that a fit is the first part of."""
    whole = Allowance(**fields)
    same = (whole.measure, whole.dither) == (part.measure, part.dither)
    if not same or exceeds_limit(part.amount, whole.amount) or part.delta > whole.delta:
        raise LedgerError("a fit reserves more than the whole that it is a part of")
    return whole


def add_step(fit: FitRecord, step: StepRecord) -> FitRecord:
    """Return the fit after one more charge: a first try spends the reservation, a repeat reserves its own cost."""
    steps = (*fit.steps, step)
    if step.repeats is not None:
        extra = fit.extra_epsilon + step.epsilon * (1 + ROUNDING) if fit.pure else fit.extra_epsilon
        return replace(
            fit,
            steps=steps,
            extra_rho=fit.extra_rho + step.rho * (1 + ROUNDING),
            extra_epsilon=extra,
            extra_delta=fit.extra_delta + step.delta * (1 + ROUNDING),
        )
    left = fit.left if fit.plan is None else (take_from_plan(fit.left, step.events) or ())
    return replace(
        fit, steps=steps, spent=fit.spent + fit.cost(step), spent_delta=fit.spent_delta + step.delta, left=left
    )


def _plan_from_json(values: list[Mapping[str, Any]], unit: Unit) -> tuple[PlannedEvent, ...]:
    events = events_from_json(values, unit)
    plan = tuple(event for event in events if isinstance(event, CountEvent | SumEvent))
    if len(plan) < len(events):
        raise LedgerError("a plan contains tables of counts and vectors of sums only")
    return plan


def utc_today() -> str:
    """Return the date. Entries of a published ledger have no time: the duration of a step could depend on rows."""
    return datetime.now(UTC).date().isoformat()


def new_header(
    name: str, epsilon: float | None, delta: float | None, neighbours: Neighbours, set_aside: float | None
) -> dict[str, Any]:
    """Return the entry of a header; an invalid cap, part set aside or name is refused."""
    if (epsilon is None) != (delta is None):
        raise BudgetError("the cap of a ledger needs both epsilon and delta (0 for pure epsilon), or neither.")
    cap = None if epsilon is None or delta is None else Budget(epsilon=epsilon, delta=delta)
    return {
        "type": "ledger",
        "version": VERSION,
        "name": _validate_name(name),
        "cap": None if cap is None else asdict(cap),
        "neighbours": Unit(neighbours=neighbours).neighbours,
        "created": utc_today(),
        **({} if set_aside is None else {"set_aside": _validate_set_aside(set_aside, cap)}),
    }


def _validate_set_aside(set_aside: float, cap: Budget | None) -> float:
    part = validate_delta(set_aside, "the delta set aside for finding labels")
    if cap is None or not part < cap.delta:
        raise BudgetError("the delta set aside for finding labels is a part of the cap's delta, and must be below it.")
    return part


def _validate_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise LedgerError("a ledger needs the name of its dataset: 1 to 200 printable characters.")
    return name

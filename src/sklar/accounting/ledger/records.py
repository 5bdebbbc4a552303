"""Records of a ledger: each fit with its reservation, its steps and what is left; and the format of lines.

A line is the JSON of one entry, keys sorted, without spaces, in ASCII, ended by a newline. Its field `prev` is the hash
of the line before (64 zeros for the first) and `sha256` the hash of the entry without that field. So an edited,
reordered, inserted or removed line breaks the chain. What a chain cannot show from the file alone is that whole lines
were cut off its end, or that all of it was rewritten: keep the head hash of a published ledger elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.composition.adaptive import shift_cost, why_not_gaussian
from sklar.accounting.composition.zcdp import pure_to_rho
from sklar.accounting.events import ChoiceEvent, CountEvent, DiscoveryEvent, Event, PlannedEvent, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import LedgerError

Accountant = Literal["pure", "zcdp", "exact", "gaussian"]
"""The accounting behind a guarantee; "gaussian" is exact too, for Gaussian releases in any order (see `adaptive`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: the dataset, the cap on its total loss, and the neighbour relation.

    Attributes:
        cap: The most all fits together may lose, as (epsilon, delta); None for no cap.
        created: Date of creation (UTC); early ledgers have a time.
        set_aside: The part of the cap's delta that is kept for finding labels; None to let the first fit fix it.
    """

    name: str
    cap: Budget | None
    neighbours: Neighbours
    created: str
    set_aside: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One charge: the step to be measured, and the hash of its releases.

    Attributes:
        number: 0, 1, 2, ... within the fit.
        repeats: The step this one measures again because its release was lost; None for a first try.
        request: SHA-256 of the queries and their noise; None in ledgers written by hand.
        digest: SHA-256 of the releases, recorded before they are stored or returned; None until then.
    """

    number: int
    label: str
    events: tuple[Event, ...]
    repeats: int | None
    request: str | None = None
    digest: str | None = None

    @property
    def rho(self) -> float:
        """zCDP cost."""
        return sum(event.rho for event in self.events)

    @property
    def epsilon(self) -> float:
        """Pure cost; infinite with Gaussian noise."""
        return sum(event.epsilon for event in self.events)

    @property
    def delta(self) -> float:
        """Delta that discoveries spend."""
        return sum(event.delta for event in self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRecord:
    """One fit: its reservation and its steps.

    Attributes:
        id: Random name of the fit.
        opened: Date of the reservation (UTC); early ledgers have a time.
        allowance: The amount reserved for its budget.
        accountant: The accounting of the allowance: "pure", "zcdp", "exact" (valid for `plan` only) or "gaussian"
            (valid for Gaussian noise only).
        plan: All events the fit may cause, if they were set in advance; else None.
        seed: Seed of the post-processing.
        fingerprint: Hash of schema, method and options, to recognize a fit that may be resumed.
        spent: Sum of first charges, in the allowance's measure.
        spent_delta: Delta that discoveries among them spent.
        extra_rho: Further rho reserved for repeated steps; also extra_epsilon and extra_delta.
        left: The part of the plan not yet charged: tables by their noise, and vectors of sums.
        first_of: The allowance of which this fit reserves the first part, and fits that continue it the rest; None if
            it stands alone or continues another.
    """

    id: str
    opened: str
    method: str
    budget: Budget
    allowance: Allowance
    unit: Unit
    accountant: Accountant
    plan: tuple[PlannedEvent, ...] | None
    seed: int
    fingerprint: str
    steps: tuple[StepRecord, ...] = ()
    spent: float = 0.0
    spent_delta: float = 0.0
    extra_rho: float = 0.0
    extra_epsilon: float = 0.0
    extra_delta: float = 0.0
    left: tuple[tuple[Noise | SumEvent, int], ...] = ()
    closed: bool = False
    first_of: Allowance | None = None

    @property
    def whole(self) -> Allowance:
        """What this fit may spend together with those that continue it."""
        return self.first_of or self.allowance

    @property
    def pure(self) -> bool:
        """Whether all of the fit is pure epsilon."""
        return self.allowance.measure == "epsilon"

    def cost(self, step: StepRecord) -> float:
        """Return the cost of a step in the measure of the allowance; infinite if the allowance does not cover it."""
        if self.pure:
            return step.epsilon
        if not self.allowance.dither:
            return step.rho
        return shift_cost(step.events) if why_not_gaussian(step.events) is None else float("inf")

    @property
    def reserved_rho(self) -> float:
        """zCDP cost of all the fit may do, repeats included."""
        first = pure_to_rho(self.allowance.amount) if self.pure else self.allowance.amount
        return first + self.extra_rho

    @property
    def reserved_epsilon(self) -> float:
        """Pure cost of all the fit may do, repeats included; infinite unless the fit is pure."""
        return self.allowance.amount + self.extra_epsilon if self.pure else float("inf")

    @property
    def reserved_delta(self) -> float:
        """Delta of all discoveries the fit may make, repeats included."""
        return self.allowance.delta + self.extra_delta

    @property
    def converted_at(self) -> float:
        """The rest of the budget's delta, at which rho is converted to an epsilon."""
        return self.budget.delta - self.allowance.delta

    @property
    def repeated(self) -> bool:
        """Whether a lost step was measured again, so that the fit did more than it planned."""
        return any(step.repeats is not None for step in self.steps)

    @property
    def pending(self) -> StepRecord | None:
        """The last step, if it was charged and none of its releases ever left the process."""
        return self.steps[-1] if self.steps and self.steps[-1].digest is None else None

    @property
    def digests(self) -> dict[int, str]:
        """Hash of the recorded releases of each step, except releases that were lost and repeated."""
        lost = {step.repeats for step in self.steps}
        return {s.number: s.digest for s in self.steps if s.digest is not None and s.number not in lost}


EVENTS: dict[str, type[CountEvent] | type[SumEvent] | type[ChoiceEvent] | type[DiscoveryEvent]] = {
    "count": CountEvent,
    "sum": SumEvent,
    "choice": ChoiceEvent,
    "discovery": DiscoveryEvent,
}


def events_to_json(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the mechanism parameters of events; the unit is that of their fit and is left out."""
    names = {kind: name for name, kind in EVENTS.items()}
    fields = [{"type": names[type(event)], **asdict(event)} for event in events]
    return [{name: value for name, value in entry.items() if name != "unit"} for entry in fields]


def events_from_json(values: Iterable[Mapping[str, Any]], unit: Unit) -> tuple[Event, ...]:
    """Return the events of a fit with this unit."""
    return tuple(_read_event(dict(value), unit) for value in values)


def _read_event(fields: dict[str, Any], unit: Unit) -> Event:
    kind = EVENTS[fields.pop("type")]
    if "noise" in fields:
        fields["noise"] = Noise(**fields["noise"])
    return kind(**fields, unit=unit)


GENESIS = "0" * 64
MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest entry; a longer line shows that the file is not a ledger."""


def seal_entry(content: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    """Return the line of an entry that follows the line with hash `previous`, and its own hash."""
    entry = {**content, "prev": previous}
    digest = _hash_entry(entry)
    return (_encode_canonically({**entry, "sha256": digest}) + "\n").encode("ascii"), digest


def unseal_line(line: bytes, previous: str, number: int) -> tuple[dict[str, Any], str]:
    """Return the entry of a line (without its newline) and its hash; a LedgerError names a damaged line."""
    entry = parse_line(line)
    if entry is None:
        raise make_damage_error(number, "it is not an entry of a ledger")
    digest = entry.pop("sha256", None)
    if digest != _hash_entry(entry) or _encode_canonically({**entry, "sha256": digest}).encode() != line:
        raise make_damage_error(number, "it was changed after it was written")
    if entry.pop("prev", None) != previous:
        raise make_damage_error(number, "it does not follow the line before; a line was removed, inserted or moved")
    return entry, digest


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, or None if it is not one."""
    if len(line) > MAX_LINE_BYTES or not line.startswith(b"{"):
        return None
    try:
        return json.loads(line.decode("ascii"))  # it starts with a brace, so it is an object
    except (ValueError, RecursionError):
        return None


def is_incomplete_line(tail: bytes) -> bool:
    """Return whether bytes after the last newline look like an interrupted write: a beginning of a line, or zeros."""
    return parse_line(tail) is None and (tail.startswith(b"{") or not tail.strip(b"\0"))


def _encode_canonically(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _hash_entry(entry: Mapping[str, Any]) -> str:
    try:
        return hashlib.sha256(_encode_canonically(entry).encode("ascii")).hexdigest()
    except ValueError:  # NaN or infinity, which no entry contains
        return ""


def make_damage_error(number: int, what: str) -> LedgerError:
    """Return the error for a changed line. It never quotes the line, which may belong to some other file."""
    return LedgerError(f"the ledger is damaged at line {number}: {what}. Restore it from a copy; nothing was charged.")

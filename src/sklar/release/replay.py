"""A Door without rows: it returns recorded releases and lists what their steps cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sklar.accounting.events import Event
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.charges import (
    get_released_step,
    hash_request,
    price_choice,
    price_discoveries,
    price_measurements,
)
from sklar.release.choices import Discovery, Score
from sklar.release.measurements import (
    AnyQuery,
    Choice,
    FoundLabels,
    Measurement,
    Recorded,
    RecordedLine,
    Release,
    Request,
    is_valid_discovery,
    is_valid_measurement,
)


@dataclass(slots=True, kw_only=True)
class ReplayDoor:
    """Returns recorded releases in order and refuses every request that differs from the recorded one in any number.

    Attributes:
        recorded: The record: whole steps, or lines without their queries.
        steps: The steps returned so far.
        events: The charges of the Door over rows for each of them.
    """

    unit: Unit
    recorded: Sequence[Recorded | RecordedLine]
    steps: list[Recorded] = field(default_factory=list[Recorded], init=False)
    events: list[tuple[Event, ...]] = field(default_factory=list[tuple[Event, ...]], init=False)

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        """Return the recorded measurements of this step."""
        digest = hash_request(tuple(requests))
        queries = [request.query for request in requests]
        releases = self._take(price_measurements(requests, label, self.unit), digest, queries)
        found = tuple(release for release in releases if isinstance(release, Measurement))
        # The record states the request twice, by its digest and in full: both must be the request of now.
        recorded = tuple(Request(query=one.query, noise=one.noise) for one in found)
        self._require(hash_request(recorded) == digest, label)
        steps = (one.resolution == get_released_step(one.query, self.unit) for one in found)
        self._require(all(steps) and all(is_valid_measurement(one) for one in found), label)
        return found

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        """Return the recorded choice of this step."""
        events = price_choice(epsilon, picks, label, self.unit)
        (release,) = self._take(events, hash_request(score, float(epsilon), picks), [score])
        if not isinstance(release, Choice) or not _is_choice(release, score, epsilon, picks):
            raise _refuse_record(label)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        """Return the recorded labels of this step."""
        events = price_discoveries(requests, label, self.unit)
        releases = self._take(events, hash_request(tuple(requests)), requests)
        found = tuple(release for release in releases if isinstance(release, FoundLabels))
        self._require(tuple(one.discovery for one in found) == tuple(requests), label)
        self._require(all(is_valid_discovery(one) for one in found), label)
        return found

    def require_end(self) -> None:
        """Refuse a record with a step that the method did not request."""
        if len(self.events) < len(self.recorded):
            label = self.recorded[len(self.events)].label
            raise DoorError(f"the record has a step '{label}' that the method did not request")

    def _take(self, events: Sequence[Event], digest: str, queries: Sequence[AnyQuery]) -> tuple[Release, ...]:
        label = events[0].label
        if len(self.events) >= len(self.recorded):
            raise DoorError(f"the record ends before the step '{label}'")
        step = self.recorded[len(self.events)]
        count = len(step.entries if isinstance(step, RecordedLine) else step.releases)
        if step.label != label or count != len(queries):
            raise DoorError(f"the record has the step '{step.label}' where the method requests '{label}'")
        self._require(step.request == digest, label)
        whole = step.join(queries) if isinstance(step, RecordedLine) else step
        self.steps.append(whole)
        self.events.append(tuple(events))
        return whole.releases

    def _require(self, answered: bool, label: str) -> None:
        if not answered:
            raise _refuse_record(label)


def _is_choice(release: Choice, score: Score, epsilon: float, picks: int) -> bool:
    """Return whether a choice has `picks` different candidates of the score, made with the requested epsilon."""
    candidates = range(score.count)
    picked = len(release.indices) == len(set(release.indices)) == picks
    return picked and all(index in candidates for index in release.indices) and release.epsilon == float(epsilon)


def _refuse_record(label: str) -> DoorError:
    return DoorError(f"the recorded step '{label}' does not answer this request")

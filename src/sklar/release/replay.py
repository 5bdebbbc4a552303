"""A Door without rows: it hands out recorded releases and adds up what the same steps cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sklar.accounting.events import Event
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.charges import (
    choice_digest,
    choice_events,
    discovery_events,
    measure_digest,
    measure_events,
    released_step,
    request_digest,
)
from sklar.release.choices import Discovery, Score
from sklar.release.measurements import (
    Asked,
    Choice,
    FoundLabels,
    Measurement,
    Recorded,
    RecordedLine,
    Release,
    Request,
    is_found,
    is_sound,
)


@dataclass(slots=True, kw_only=True)
class ReplayDoor:
    """Hands out recorded releases in order and refuses every request that is not the recorded one, to the last number.

    Attributes:
        recorded: The record: whole steps, or lines that leave out what was asked.
        steps: The steps that were handed out so far.
        events: What the Door over rows charges for each of them.
    """

    unit: Unit
    recorded: Sequence[Recorded | RecordedLine]
    steps: list[Recorded] = field(default_factory=list[Recorded], init=False)
    events: list[tuple[Event, ...]] = field(default_factory=list[tuple[Event, ...]], init=False)

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        """Return the recorded measurements of this step."""
        digest = measure_digest(requests)
        queries = [request.query for request in requests]
        releases = self._take(measure_events(requests, label, self.unit), digest, queries)
        found = tuple(release for release in releases if isinstance(release, Measurement))
        # The record states what was asked twice, by a digest and in full: both must be what is asked now.
        self._require(measure_digest([Request(query=one.query, noise=one.noise) for one in found]) == digest, label)
        steps = (one.resolution == released_step(one.query, self.unit) for one in found)
        self._require(all(steps) and all(is_sound(one) for one in found), label)
        return found

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        """Return the recorded choice of this step."""
        events = choice_events(epsilon, picks, label, self.unit)
        (release,) = self._take(events, choice_digest(score, epsilon, picks), [score])
        if not isinstance(release, Choice) or not _is_choice(release, score, epsilon, picks):
            raise _unanswered(label)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        """Return the recorded labels of this step."""
        events = discovery_events(requests, label, self.unit)
        releases = self._take(events, request_digest(tuple(requests)), requests)
        found = tuple(release for release in releases if isinstance(release, FoundLabels))
        self._require(tuple(one.discovery for one in found) == tuple(requests), label)
        self._require(all(is_found(one) for one in found), label)
        return found

    def require_end(self) -> None:
        """Refuse a record with a step that was never asked for."""
        if len(self.events) < len(self.recorded):
            label = self.recorded[len(self.events)].label
            raise DoorError(f"the record has a step '{label}' that the method never asked")

    def _take(self, events: Sequence[Event], digest: str, asked: Sequence[Asked]) -> tuple[Release, ...]:
        label = events[0].label
        if len(self.events) >= len(self.recorded):
            raise DoorError(f"the record ends before the step '{label}'")
        step = self.recorded[len(self.events)]
        count = len(step.entries if isinstance(step, RecordedLine) else step.releases)
        if step.label != label or count != len(asked):
            raise DoorError(f"the record has the step '{step.label}' where the method asks for '{label}'")
        self._require(step.request == digest, label)
        whole = step.join(asked) if isinstance(step, RecordedLine) else step
        self.steps.append(whole)
        self.events.append(tuple(events))
        return whole.releases

    def _require(self, answered: bool, label: str) -> None:
        if not answered:
            raise _unanswered(label)


def _is_choice(release: Choice, score: Score, epsilon: float, picks: int) -> bool:
    """Whether a choice is of so many different candidates, by the mechanism that was asked for."""
    candidates = range(score.count)
    picked = len(release.indices) == len(set(release.indices)) == picks
    return picked and all(index in candidates for index in release.indices) and release.epsilon == float(epsilon)


def _unanswered(label: str) -> DoorError:
    return DoorError(f"the recorded step '{label}' does not answer this request")

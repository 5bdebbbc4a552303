"""Record a method's every look at a table, replay its answers on a neighbour, and compare what it asked and saw.

A method is differentially private by its charges if, with the answers held fixed, (1) it asks the same questions with
the same noise on a neighbouring table, (2) the exact values behind each answer differ by at most the sensitivity that
was charged, and (3) the charges add up to the claim; and if (4) it is shown nothing but these answers. All four are
deterministic and checked here on the real Door.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pytest

import sklar.pipeline.fit.run as fit_module
import sklar.private.door as door_module
from sklar.accounting.events import ChoiceEvent, CountEvent, DiscoveryEvent, SumEvent
from sklar.accounting.noise import Noise
from sklar.pipeline.fit.request import FitRequest
from sklar.pipeline.model import Model
from sklar.private.door import PrivateDoor
from sklar.private.noise import SYSTEM, NoiseSource
from sklar.private.recorder import Recorder
from sklar.release.charges import hash_request
from sklar.release.counts import Counts, PairCounts

FEWER = {
    "sklar.methods.vine.calibrate.PARTICLES": 20_000,
    "sklar.methods.vine.classwise.PARTICLES": 20_000,
    "sklar.model.vine.pool.FEW_PARTICLES": 20_000,
}
"""Draws from a model that is known already: how many decides how exact it is made, not what is asked or charged."""


class DivergedError(AssertionError):
    """On the neighbour the method asked for something else than what was answered: the questions depend on the rows."""


@dataclass
class Look:
    """One use of the noise: the exact values that went in, and what came out."""

    kind: str
    exact: list[np.ndarray]
    settings: tuple[Any, ...]
    answer: Any


@dataclass
class Recording:
    """A whole fit as seen at the wall."""

    looks: list[Look] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    charges: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    shown: list[tuple[str, str]] = field(default_factory=list)
    model: Model | None = None


def record(patch: pytest.MonkeyPatch, answers: Recording | None = None, **arguments: Any) -> Recording:
    """Fit through the real Door; with `answers`, every answer is taken from an earlier recording."""
    recording = Recording()
    with patch.context() as tap:
        tap.setattr(fit_module, "fresh_seed", lambda: 20_240_229)
        for place, number in FEWER.items():
            tap.setattr(place, number)
        source = TappedNoise(recording, answers)
        _tap_labels(tap, source)
        _tap_charges(tap, recording)
        recording.model = _fit(source, **arguments)
    return recording


def compare(one: Recording, other: Recording) -> list[str]:
    """Everything that betrays the table: other questions, other noise, or a larger change than was charged."""
    faults: list[str] = []
    if one.requests != other.requests:
        faults.append("the method asked different questions")
    if one.charges != other.charges:
        faults.append("the charges differ")
    if [(x.kind, x.settings, shapes(x.exact)) for x in one.looks] != [
        (x.kind, x.settings, shapes(x.exact)) for x in other.looks
    ]:
        return [*faults, "the noise or the shapes differ"]
    if one.shown != other.shown:
        faults.append("with the same answers, something else was shown")
    if len(one.looks) != len(one.charges):
        return [*faults, "a look without a charge"]
    for i, (a, b) in enumerate(zip(one.looks, other.looks, strict=True)):
        found = [*_change_faults(a, b, one.charges[i][1]), *_noise_faults(a, one.charges[i][1])]
        faults += [f"look {i} ({a.kind}): {fault}" for fault in found]
    return faults


def _noise_faults(look: Look, events: tuple[Any, ...]) -> list[str]:
    """The noise that was added must be the noise that was charged."""
    if look.kind == "measure":
        tables, sums = (_events_of(events, kind) for kind in (CountEvent, SumEvent))
        charged = {event.noise: event.tables for event in tables}
        step = events[0].unit.resolution  # of votes, noise is drawn in parts of one
        counts = [noise for noise, kind in look.settings if kind is CountEvent]
        used = {replace(noise, scale=noise.scale * step): counts.count(noise) for noise in counts}
        drawn = [noise for noise, kind in look.settings if kind is SumEvent]
        same = len(drawn) == len(sums) and all(
            noise.kind == event.noise.kind and np.isclose(noise.scale * event.resolution, event.noise.scale)
            for noise, event in zip(drawn, sums, strict=True)
        )
        return [] if charged == used and same else ["the noise is not the one that was charged"]
    if look.kind == "discover":
        return _discovery_faults(look, events)
    _, epsilon, picks = look.settings
    return [] if (epsilon, picks) == (events[0].choice, events[0].picks) else ["the choice is not the one charged"]


def _events_of(events: tuple[Any, ...], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def _discovery_faults(look: Look, events: tuple[Any, ...]) -> list[str]:
    """Noise, threshold and floor are those that were charged, and nothing below the threshold is shown."""
    charged = [(event.noise, event.threshold, event.floor) for event in events]
    used = [(request.noise, request.threshold, request.floor) for request in look.settings]
    faults = [] if charged == used else ["the noise, threshold or floor is not the one that was charged"]
    low = any(
        count < event.threshold and label not in release.discovery.listed
        for release, event in zip(look.answer, events, strict=True)
        for label, count in zip(release.labels, release.counts.tolist(), strict=True)
    )
    faults += ["a label below the threshold is shown"] if low else []
    pairs = zip(look.settings, look.exact, strict=True)
    # A listed label without rows must get noise, too: whether it is shown would betray its first row.
    hidden = any(not set(request.listed) <= set(exact) for request, exact in pairs)
    return [*faults, *(["a listed label was not counted"] if hidden else [])]


def _label_faults(one: dict[str, int], other: dict[str, int], event: DiscoveryEvent) -> list[str]:
    """Counts of neighbours: what both list moves as a table may; what one lists alone is close to the floor."""
    both = np.array([one[label] - other[label] for label in one if label in other], dtype=float)
    alone = [
        {label: n for label, n in mine.items() if label not in yours} for mine, yours in ((one, other), (other, one))
    ]
    k = event.unit.rows_per_person
    faults = [] if np.abs(both).sum() <= event.unit.l1 else ["the labels of both moved too far"]
    if any(len(labels) > k for labels in alone):
        faults.append("one person brought more labels than rows")
    if any(n > event.floor - 1 + k for labels in alone for n in labels.values()):
        faults.append("a label that only one neighbour lists has too many rows")
    return faults


def _change_faults(a: Look, b: Look, events: tuple[Any, ...]) -> list[str]:
    if a.kind == "discover":
        triples = zip(a.exact, b.exact, events, strict=True)
        return [fault for one, other, event in triples for fault in _label_faults(one, other, event)]
    faults: list[str] = []
    sums = iter(_events_of(events, SumEvent))
    for place, (x, y) in enumerate(zip(a.exact, b.exact, strict=True)):
        change = np.abs(x.astype(float) - y.astype(float)).ravel()
        if a.kind == "choose":
            assert isinstance(events[0], ChoiceEvent)
            if change.max() > a.settings[0] + 1e-9:
                faults.append(f"a score moved by {change.max()} where {a.settings[0]} was charged")
            continue
        if a.settings[place][1] is CountEvent:
            unit = events[0].unit
            allowed = (unit.l1 / unit.resolution, unit.l2 / unit.resolution)
        else:
            event = next(sums)
            allowed = (event.l1 / event.resolution, event.l2 / event.resolution)
        if change.sum() > allowed[0] + 1e-9 or np.sqrt((change**2).sum()) > allowed[1] + 1e-9:
            faults.append(f"a table moved by {change.sum()} (L1) where {allowed[0]} was charged")
    return faults


def shapes(exact: list[Any]) -> list[tuple[int, ...]]:
    """Shapes of tables; lists of labels have none, since how many there are is not shown."""
    return [() if isinstance(x, dict) else x.shape for x in exact]


def _old_answer(answers: Recording, place: int, kind: str, exact: list[np.ndarray]) -> Any:
    if place >= len(answers.looks):
        raise DivergedError("asked different questions: one more")
    old = answers.looks[place]
    if old.kind != kind or shapes(old.exact) != shapes(exact):
        raise DivergedError("asked different questions: other tables")
    return old.answer


def _fit(source: NoiseSource, **arguments: Any) -> Model:
    known = {f.name for f in fields(FitRequest)}
    asked = {name: value for name, value in arguments.items() if name in known}
    options = {name: value for name, value in arguments.items() if name not in known}
    with fit_module.open_fit(FitRequest(**asked, options=options), source) as model:
        return model


class TappedNoise:
    """The system's noise, or the answers of an earlier recording; every use is written down."""

    def __init__(self, recording: Recording, answers: Recording | None):
        self._recording, self._answers = recording, answers

    def answered(self, kind: str, exact: list[Any], settings: tuple[Any, ...], fresh: Any) -> Any:
        looks, old = self._recording.looks, self._answers
        answer = fresh() if old is None else _old_answer(old, len(looks), kind, exact)
        looks.append(Look(kind, exact, settings, answer))
        return answer

    def add(self, exact_tables: Any, noises: Any, cells: Any = None) -> Any:
        exact: list[np.ndarray] = []
        settings: list[tuple[Noise, type]] = []
        for query, values, noise in zip(self._recording.asked[-1], exact_tables, noises, strict=True):
            # Each pair is a table of its own: its change is held against the charge for one table.
            pairs = np.cumsum(query.pair_cells)[:-1] if isinstance(query, PairCounts) else []
            parts = np.split(values, pairs) if isinstance(query, PairCounts) else [values]
            exact += parts
            settings += [(noise, CountEvent if isinstance(query, Counts | PairCounts) else SumEvent)] * len(parts)
        return self.answered("measure", exact, tuple(settings), lambda: SYSTEM.add(exact_tables, noises, cells))

    def pick(self, exact_scores: np.ndarray, sensitivity: float, epsilon: float, picks: int) -> Any:
        settings = (sensitivity, epsilon, picks)
        return self.answered(
            "choose", [exact_scores], settings, lambda: SYSTEM.pick(exact_scores, sensitivity, epsilon, picks)
        )


def _tap_labels(tap: pytest.MonkeyPatch, source: TappedNoise) -> None:
    """Lists of labels are seen before their noise, as they have no shape to compare."""
    real = door_module.add_noise_to_labels

    def labels(requests: Any, exact: dict[str, dict[str, int]], _: Any) -> Any:
        listed: list[Any] = [dict(exact[request.column]) for request in requests]
        return source.answered("discover", listed, tuple(requests), lambda: real(requests, exact, SYSTEM))

    tap.setattr(door_module, "add_noise_to_labels", labels)


def _tap_charges(tap: pytest.MonkeyPatch, recording: Recording) -> None:
    real_charge, real_recall, real_record = Recorder.charge, Recorder.recall, Recorder.record

    def charge(self: Recorder, events: Any, label: str, request: str) -> int:
        recording.charges.append((label, tuple(events)))
        return real_charge(self, events, label, request)

    def recall(self: Recorder, label: str, request: str, asked: Any) -> Any:
        recording.requests.append((label, request))
        recording.asked.append(tuple(asked))
        return real_recall(self, label, request, asked)

    def shown(self: Recorder, step: int, label: str, request: str, releases: tuple[Any, ...]) -> None:
        recording.shown.append((label, hash_request(*releases)))
        real_record(self, step, label, request, releases)

    real_rows = PrivateDoor.public_rows.fget
    assert real_rows is not None

    def public_rows(self: PrivateDoor) -> int | None:
        recording.shown.append(("rows", str(real_rows(self))))
        return real_rows(self)

    tap.setattr(PrivateDoor, "public_rows", property(public_rows))
    tap.setattr(Recorder, "record", shown)
    tap.setattr(Recorder, "charge", charge)
    tap.setattr(Recorder, "recall", recall)

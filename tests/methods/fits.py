"""Fits of methods to base codes in memory, through a simulated Door that records every step and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.events import Event
from sklar.accounting.unit import Unit
from sklar.counting.code_table import CodeTable, CountedTable
from sklar.inference.simulated import SimulatedDoor
from sklar.methods.evidence import Setting
from sklar.release.charges import hash_request, price_choice, price_measurements
from sklar.release.choices import Discovery, Score
from sklar.release.door import Door
from sklar.release.measurements import Choice, FoundLabels, Measurement, Recorded, Release, Request
from sklar.schema.table import Schema

R = TypeVar("R", bound=Release)


def make_setting(
    schema: Schema,
    options: Any,
    amount: float,
    *,
    measure: Literal["rho", "epsilon"] = "rho",
    unit: Unit | None = None,
    rows: int | None = None,
    seed: int = 0,
) -> Setting[Any]:
    """Return the public setting of a fit; `rows` is kept only where replace-one neighbours make it public."""
    protected = unit or Unit(neighbours="add-remove")
    return Setting(
        schema=schema,
        options=options,
        allowance=Allowance(measure=measure, amount=amount),
        unit=protected,
        rows=rows if protected.neighbours == "replace" else None,
        generator=lambda: np.random.default_rng(seed),
    )


@dataclass(slots=True, kw_only=True)
class RecordingDoor:
    """Passes every step on to another Door, and records what was asked, what it costs and what was released."""

    door: Door
    unit: Unit
    recorded: list[Recorded] = field(default_factory=list[Recorded])
    requests: dict[str, tuple[Request, ...]] = field(default_factory=dict[str, tuple[Request, ...]])
    events: list[Event] = field(default_factory=list[Event])

    @property
    def labels(self) -> list[str]:
        """Labels of the steps, in order."""
        return [step.label for step in self.recorded]

    def spent(self, measure: Literal["rho", "epsilon"] = "rho") -> float:
        """Return what all steps cost."""
        return sum(event.rho if measure == "rho" else event.epsilon for event in self.events)

    def columns(self, label: str) -> list[tuple[str, ...]]:
        """Return the columns of each query of a step."""
        return [request.query.columns for request in self.requests[label]]

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        self.requests[label] = tuple(requests)
        self.events += price_measurements(requests, label, self.unit)
        return self._record(label, hash_request(tuple(requests)), self.door.measure(requests, label))

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        self.events += price_choice(epsilon, picks, label, self.unit)
        (choice,) = self._record(
            label, hash_request(score, float(epsilon), picks), (self.door.choose(score, epsilon, label, picks),)
        )
        return choice

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        return self.door.discover(requests, label)

    def _record(self, label: str, digest: str, releases: tuple[R, ...]) -> tuple[R, ...]:
        self.recorded.append(Recorded(step=len(self.recorded), label=label, request=digest, releases=releases))
        return releases


def open_door(
    schema: Schema, codes: Mapping[str, np.ndarray] | np.ndarray, unit: Unit | None = None, seed: int = 0
) -> RecordingDoor:
    """Return a recording Door over codes: by column, or one line of codes a row in the order of the schema."""
    columns = codes if isinstance(codes, Mapping) else dict(zip(schema.modelled, codes.T, strict=True))
    protected = unit or Unit(neighbours="add-remove")
    rows = CountedTable(schema, CodeTable(columns=columns))
    return RecordingDoor(door=SimulatedDoor(rows=rows, unit=protected, rng=np.random.default_rng(seed)), unit=protected)

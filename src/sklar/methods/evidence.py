"""What a method knows while it is fitted: a public setting and the measurements so far.

A method is two functions of an `Evidence`. `ask` returns the next step to measure, or None; it is the only adaptive
code. `estimate` returns the model, and is a pure function of the measurements: verification, error bars and checks call
it again on the same or on other measurements. A fit is the loop in `measure_all`, the same for every method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Generic, TypeVar

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.arrays import one_blas_thread
from sklar.errors import DoorError
from sklar.release.choices import Discovery, Score
from sklar.release.door import Door
from sklar.release.measurements import Choice, FoundLabels, Measurement, Recorded, Release, Request
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema

Options = TypeVar("Options")
"""The record of a method's options."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting(Generic[Options]):
    """Everything public that a fit depends on, apart from its measurements.

    Attributes:
        schema: The columns that are modelled.
        options: Those of the method.
        allowance: All that the fit may spend.
        unit: Whose privacy is protected.
        rows: The number of rows where it is public (replace-one neighbours), else None.
        prior: Counts of a table that the custodian declares public, or None.
        given: Columns whose values are given whenever a row of the model is drawn.
        generator: Returns the generator of the post-processing, in the same state on every call.
    """

    schema: Schema
    options: Options
    allowance: Allowance
    unit: Unit
    rows: int | None = None
    prior: PublicPrior | None = None
    given: frozenset[str] = frozenset()
    generator: Callable[[], np.random.Generator]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """A step that measures queries; its tables of counts come from one pass over the rows."""

    label: str
    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choose:
    """A step that picks candidates privately."""

    label: str
    score: Score
    epsilon: float
    picks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Discover:
    """A step that finds labels which the schema does not list."""

    label: str
    requests: tuple[Discovery, ...]


Step = Measure | Choose | Discover
READ_AS_ABSENT = "labels that were read as never requested"
"""Key of `Evidence.known` for the labels that were looked up before they were measured: they may not be measured
later."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence(Generic[Options]):
    """The setting of a fit and what was released so far, by the label of the step.

    Attributes:
        known: Results of `remembered` functions. All evidences of one fit share them: what was computed from the steps
            so far is not changed by later ones.
    """

    setting: Setting[Options]
    releases: Mapping[str, tuple[Release, ...]] = field(default_factory=dict[str, tuple[Release, ...]])
    known: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def __contains__(self, label: str) -> bool:
        """Return whether the step was measured."""
        return label in self.releases

    def measured(self, label: str) -> tuple[Measurement, ...]:
        """Return the measurements of a step; none if it was not requested."""
        return tuple(one for one in self._read(label) if isinstance(one, Measurement))

    def chosen(self, label: str) -> tuple[int, ...]:
        """Return the candidates that a step picked."""
        (choice,) = self.releases[label]
        assert isinstance(choice, Choice)
        return choice.indices

    def found(self, label: str) -> tuple[FoundLabels, ...]:
        """Return the labels that a step found; none if it was not requested."""
        return tuple(one for one in self._read(label) if isinstance(one, FoundLabels))

    def _read(self, label: str) -> tuple[Release, ...]:
        if label not in self.releases:
            self.known.setdefault(READ_AS_ABSENT, set()).add(label)
        return self.releases.get(label, ())

    def add(self, label: str, releases: Sequence[Release]) -> Evidence[Options]:
        """Return the evidence with one more step."""
        if label in self.releases:
            raise DoorError(f"the step '{label}' was measured twice")
        return replace(self, releases={**self.releases, label: tuple(releases)}).checked()

    def checked(self) -> Evidence[Options]:
        """Return the evidence; refuse it if a step was read before it was measured: results would be stale."""
        early = self.known.get(READ_AS_ABSENT, set[str]()) & set(self.releases)
        if early:
            raise DoorError(f"steps were read before they were measured: {', '.join(sorted(early))}")
        return self

    def part(
        self, key: Any, setting: Setting[Options], releases: Mapping[str, tuple[Release, ...]]
    ) -> Evidence[Options]:
        """Return evidence about a part of the fit, which remembers its own results from call to call."""
        return Evidence(setting=setting, releases=releases, known=self.known.setdefault(("part", key), {})).checked()


def evidence_of(setting: Setting[Options], recorded: Sequence[Recorded]) -> Evidence[Options]:
    """Return the evidence of a finished fit from its recorded steps."""
    return Evidence(setting=setting, releases={step.label: step.releases for step in recorded})


def remembered(function: Callable[[Evidence[Any]], T]) -> Callable[[Evidence[Any]], T]:
    """Compute a function of evidence once in a fit.

    `ask` and `estimate` share such functions, so that a fit computes nothing twice. It must be called only when every
    step that it reads has been measured, or will never be requested.
    """

    @wraps(function)
    def value(evidence: Evidence[Any]) -> T:
        if function not in evidence.known:
            evidence.known[function] = function(evidence)
        return evidence.known[function]

    return value


def forget_results(evidence: Evidence[Any], *functions: Callable[[Evidence[Any]], Any]) -> dict[Any, Any]:
    """Return what a fit remembers, without the results of some functions, which other measurements would change."""
    stale = {getattr(function, "__wrapped__", function) for function in functions}
    return {key: value for key, value in evidence.known.items() if key not in stale}


def ask_in_order(evidence: Evidence[Any], *stages: Callable[[Evidence[Any]], Step | None]) -> Step | None:
    """Ask for the first step of some stages that is not measured yet.

    A stage is a `remembered` function that returns its one step whenever it is called, or the `ask` of several steps,
    which returns None once all of them are measured.
    """
    for stage in stages:
        step = stage(evidence)
        if step is not None and step.label not in evidence:
            return step
    return None


def answer_step(door: Door, step: Step) -> tuple[Release, ...]:
    """Take a step to a Door."""
    if isinstance(step, Measure):
        return door.measure(step.requests, step.label)
    if isinstance(step, Discover):
        return door.discover(step.requests, step.label)
    return (door.choose(step.score, step.epsilon, step.label, step.picks),)


def measure_all(
    ask: Callable[[Evidence[Options]], Step | None], setting: Setting[Options], door: Door, last: str | None = None
) -> Evidence[Options]:
    """Ask and measure until nothing more is requested, or the step called `last` was measured."""
    evidence: Evidence[Options] = Evidence(setting=setting)
    # With BLAS on one thread, estimates from the same measurements have the same bits.
    with one_blas_thread():
        while last not in evidence.releases and (step := ask(evidence)) is not None:
            if step.label in evidence:  # before it is charged again
                raise DoorError(f"the step '{step.label}' is requested twice")
            evidence = evidence.add(step.label, answer_step(door, step))
    return evidence

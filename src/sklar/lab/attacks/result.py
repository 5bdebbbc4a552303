"""Input and result of an attack on a table.

Each number has an interval, a baseline (an attacker without the release) and a control (people outside the table).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from sklar import notebook
from sklar.lab.intervals import LEVEL, Estimate, exact_estimate
from sklar.lab.tables.table import ExactTable
from sklar.report.page import NOTICE

LABEL = "a lower bound on risk: an attack that fails proves nothing"
Progress = Callable[[str, float], None]
"""Callback with the current step and the fraction completed."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attacked:
    """The input of an attack on a release.

    Attributes:
        real: The table the synthesizer learned from.
        synthetic: The table under attack.
        holdout: Real rows the synthesizer never saw, for the control.
        rng: Picks rows and breaks ties.
        done: Called with the progress.
    """

    real: ExactTable
    synthetic: ExactTable
    holdout: ExactTable | None
    rng: np.random.Generator
    done: Progress = lambda what, fraction: None

    def control(self, measure: Callable[[ExactTable], T]) -> T | None:
        """Measure the attack on the hold-out table, if there is one."""
        return None if self.holdout is None else measure(self.holdout)

    def missing(self, *sentences: str) -> tuple[str, ...]:
        """Return the sentences about what a missing hold-out table leaves open, if it is missing."""
        return sentences if self.holdout is None else ()


def shuffle_columns(table: ExactTable, names: Sequence[str], rng: np.random.Generator) -> ExactTable:
    """Shuffle each of these columns by itself: margins stay, dependence on other columns is removed."""
    orders = {name: rng.permutation(table.rows) for name in names}
    codes = {name: table.codes[name][order] for name, order in orders.items()}
    numbers = {name: table.numbers[name][order] for name, order in orders.items() if name in table.numbers}
    return replace(table, codes={**table.codes, **codes}, numbers={**table.numbers, **numbers})


def five_numbers(values: Any) -> list[float]:
    """Return minimum, quartiles and maximum, for a box plot."""
    return [float(x) for x in np.quantile(np.ravel(values), [0, 0.25, 0.5, 0.75, 1])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One measured number of an attack.

    Attributes:
        name: Short name, as in JSON.
        title: Plain name, as in reports.
        says: Its meaning, in one sentence.
        attack: Success of the attacker with the release.
        baseline: Success of an attacker without it.
        control: Success of the attack on people who are not in the real table: hold-out rows.
        ideal: The value of a release that reveals nothing.
        worse: Direction that is worse.
        trials: Number of guesses, targets or games behind it.
    """

    name: str
    title: str
    says: str
    attack: Estimate
    baseline: Estimate | None = None
    control: Estimate | None = None
    ideal: float | None = None
    worse: Literal["higher", "lower"] = "higher"
    trials: int | None = None

    @property
    def alarming(self) -> bool:
        """Check whether the attack is significantly worse than the control (or else the ideal or the baseline)."""
        limit = self.control or (self.baseline if self.ideal is None else exact_estimate(self.ideal))
        if limit is None:
            return False
        return self.attack.low > limit.high if self.worse == "higher" else self.attack.high < limit.low

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**asdict(self), "label": LABEL, "alarming": self.alarming}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackResult:
    """The numbers of one attack. Computed from real rows without noise: not private.

    Attributes:
        kind: The attack.
        title: Its plain name.
        numbers: The measured numbers.
        missing: What could not be measured, and why, in plain sentences.
        settings: The parameters of the run.
        details: Plain data behind the numbers: by target, level, column.
        level: Confidence of the intervals.
    """

    kind: str
    title: str
    numbers: tuple[Number, ...]
    missing: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    level: float = LEVEL

    def __getitem__(self, name: str) -> Number:
        """Return a number by name."""
        return {number.name: number for number in self.numbers}[name]

    def __repr__(self) -> str:
        """Return the verdict; `to_dict()` has all numbers."""
        return "\n".join(self.verdict)

    @property
    def verdict(self) -> tuple[str, ...]:
        """Interpret the numbers in plain sentences."""
        caught = [number for number in self.numbers if number.alarming]
        if not self.numbers:
            return (f"{self.title}: nothing could be measured.",)
        if not caught:
            return (f"{self.title}: this attack found nothing beyond chance ({LABEL}).",)
        return tuple(f"{self.title}: this attack works: {n.title} {_describe_number(n)} ({LABEL})." for n in caught)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "kind": self.kind, "title": self.title, "label": LABEL, "confidence": self.level,
            "verdict": list(self.verdict), "missing": list(self.missing), "settings": dict(self.settings),
            "numbers": {number.name: number.to_dict() for number in self.numbers}, "details": dict(self.details),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        rows = [
            (n.title, *(notebook.interval_text(x) for x in (n.attack, n.control, n.baseline)), n.ideal, n.worse)
            for n in self.numbers
        ]
        headings = ("number", "attack", "control", "without the release", "ideal", "worse")
        notes = notebook.make_bullets((*self.verdict, *(f"Not measured: {text}" for text in self.missing)))
        return notebook.make_card(
            self.title, notebook.make_paragraph(NOTICE), notes, notebook.make_table(headings, rows) if rows else ""
        )


def _describe_number(number: Number) -> str:
    attack, reference = number.attack, number.control or number.baseline
    text = f"is {attack.value:.3f} (interval {attack.low:.3f} to {attack.high:.3f})"
    if reference is not None:
        who = "rows that are not in the table" if number.control is not None else "an attacker without the release"
        return f"{text}, against {reference.value:.3f} for {who}"
    return text if number.ideal is None else f"{text}, where {number.ideal:g} would reveal nothing"

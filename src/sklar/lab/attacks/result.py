"""What an attack found: numbers with intervals, each beside an attacker without the release and beside a control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sklar.lab.intervals import LEVEL, Estimate

LABEL = "a lower bound on risk: an attack that fails proves nothing"
Worse = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One measured number of an attack.

    Attributes:
        name: Short name, as in JSON.
        title: Plain name, as in reports.
        says: What it means, in one sentence.
        attack: What the attacker reaches with the release.
        baseline: What an attacker reaches who does not have it.
        control: What the same attack reaches against people who are not in the real table: hold-out rows.
        ideal: The value of a release that gives nothing away.
        worse: Which way is worse.
        trials: How many guesses, targets or games it rests on.
    """

    name: str
    title: str
    says: str
    attack: Estimate
    baseline: Estimate | None = None
    control: Estimate | None = None
    ideal: float | None = None
    worse: Worse = "higher"
    trials: int | None = None

    @property
    def alarming(self) -> bool:
        """Whether the attack is worse than the control (or else the ideal or the baseline), beyond chance."""
        if self.control is not None:
            limit = self.control.high if self.worse == "higher" else self.control.low
        elif self.ideal is not None:
            limit = self.ideal
        elif self.baseline is not None:
            limit = self.baseline.high if self.worse == "higher" else self.baseline.low
        else:
            return False
        return self.attack.low > limit if self.worse == "higher" else self.attack.high < limit

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {**asdict(self), "label": LABEL, "alarming": self.alarming}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackResult:
    """What one attack found. Computed from real rows without noise: not private.

    Attributes:
        kind: The attack.
        title: Its plain name.
        numbers: What was measured.
        missing: What could not be measured, and why, in plain sentences.
        settings: The parameters it ran with.
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
        """A number by name."""
        for number in self.numbers:
            if number.name == name:
                return number
        raise KeyError(name)

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the numbers mean, in plain sentences."""
        caught = [number for number in self.numbers if number.alarming]
        if not self.numbers:
            return (f"{self.title}: nothing could be measured.",)
        if not caught:
            return (f"{self.title}: this attack found nothing beyond chance ({LABEL}).",)
        return tuple(f"{self.title}: this attack works: {n.title} {_words(n)} ({LABEL})." for n in caught)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "kind": self.kind, "title": self.title, "label": LABEL, "confidence": self.level,
            "verdict": list(self.verdict), "missing": list(self.missing), "settings": dict(self.settings),
            "numbers": {number.name: number.to_dict() for number in self.numbers}, "details": dict(self.details),
        }  # fmt: skip


def _words(number: Number) -> str:
    attack = number.attack
    beside = number.control if number.control is not None else number.baseline
    text = f"is {attack.value:.3f} (interval {attack.low:.3f} to {attack.high:.3f})"
    if beside is not None:
        who = "rows that are not in the table" if number.control is not None else "an attacker without the release"
        return f"{text}, against {beside.value:.3f} for {who}"
    return text if number.ideal is None else f"{text}, where {number.ideal:g} would give nothing away"

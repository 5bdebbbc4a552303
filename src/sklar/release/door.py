"""The Door: the one way for a method to learn anything about the rows.

Requests are frozen data, never a callable, which could carry rows out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sklar.release.choices import Discovery, Score
from sklar.release.measurements import Choice, FoundLabels, Measurement, Request


class Door(Protocol):
    """Answers requests. The Door over rows charges the ledger first, then reads, adds noise and records."""

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        """Measure queries with noise; tables of counts come from one pass over the rows."""
        ...

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        """Pick the best-scoring candidates, each by an exponential mechanism with `epsilon`."""
        ...

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        """Find labels that the schema does not list and whose counts exceed a threshold; spends a delta of its own."""
        ...

"""A Door over simulated rows: a method measures rows drawn from a model, with noise of the scales in its requests.

The rows come from a published model, so everything computed from them is post-processing: nothing is charged, and the
noise may be seeded. Neither `rows` nor `private` can be imported from here: this noise is never added to real rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Ints
from sklar.counting.code_table import CountedTable
from sklar.counting.evaluate import exact_values
from sklar.counting.scores import exact_scores
from sklar.counting.tables import exact_counts
from sklar.errors import DoorError
from sklar.release.choices import Discovery, Score
from sklar.release.counts import Counts, PairCounts
from sklar.release.measurements import Choice, FoundLabels, Measurement, Request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedDoor:
    """Answers from synthetic rows, with noise of the kind and scale of every request drawn from `rng`."""

    rows: CountedTable
    unit: Unit
    rng: np.random.Generator

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        """Measure queries; every synthetic row counts once."""
        values = exact_values([request.query for request in requests], self.rows)
        return tuple(self._make_measurement(r, exact, label) for r, exact in zip(requests, values, strict=True))

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        """Pick the best of the candidates by Gumbel noise on all scores at once (as at the Door over rows)."""
        specs = [(table.columns, table.partitions) for table in score.tables]
        scores = exact_scores(score, exact_counts(self.rows, specs), Unit(neighbours=self.unit.neighbours))
        noisy = scores + self.rng.gumbel(0.0, 2.0 * score.sensitivity(self.unit) / epsilon, scores.size)
        return Choice(indices=tuple(int(i) for i in np.argsort(-noisy)[:picks]), epsilon=epsilon, score=score)

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        """Refuse to discover labels: a model lists all labels that it has."""
        raise DoorError("labels cannot be discovered in simulated rows")

    def _make_measurement(self, request: Request, exact: np.ndarray, label: str) -> Measurement:
        query, step = request.query, request.query.resolution
        inside = Noise(kind=request.noise.kind, scale=request.noise.scale / step)
        noisy = exact + self._draw(inside, exact.size).reshape(exact.shape)
        values = noisy if isinstance(query, Counts | PairCounts) else np.asarray(noisy * step, dtype=np.float64)
        return Measurement(query=query, values=values, noise=request.noise, resolution=step, label=label)

    def _draw(self, noise: Noise, size: int) -> Ints:
        """Draw integer noise: a rounded normal, or a discrete Laplace as the difference of two geometric variables."""
        if noise.kind == "gaussian":
            return np.rint(self.rng.normal(0.0, noise.scale, size)).astype(np.int64)
        stop = -math.expm1(-1.0 / noise.scale)
        return self.rng.geometric(stop, size) - self.rng.geometric(stop, size)

"""A Door over rows that a model made up: what a method would be told about them, with noise of the scales it asks for.

The rows come from a published model, so whatever is computed from them is post-processing: nothing is charged, and the
noise may follow a seed. Neither `rows` nor `private` can be imported from here: this noise never meets a real row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats, Ints
from sklar.errors import DoorError
from sklar.inference.mechanism.sums import CodeTable, feature_sums, table_scores
from sklar.release.door import (
    Discovery,
    Interaction,
    PairTables,
    RecodedTable,
    Recoding,
    Score,
    Table,
    TableDistance,
)
from sklar.release.features import Feature
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedDoor:
    """Answers from synthetic codes, with noise of the kind and scale of every request drawn from `rng`.

    Attributes:
        codes: Base codes of synthetic rows by column.
        known: Columns that are known whenever a row of the model is drawn.
        rows: As a Door has it: their number where it is public, else None.
    """

    schema: Schema
    allowance: Allowance
    unit: Unit
    codes: CodeTable
    rng: np.random.Generator
    prior: PublicPrior | None = None
    known: frozenset[str] = frozenset()

    @property
    def rows(self) -> int | None:
        """The number of synthetic rows under replace-one neighbours, where it is public; else None."""
        return self.codes.rows if self.unit.neighbours == "replace" else None

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """Tables over base codes."""
        plain = [Recoding(columns=t.columns, lookups=tuple(map(self._same, t.columns))) for t in tables]
        return tuple(self._noisy(table, asked.noise) for table, asked in zip(plain, tables, strict=True))

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """Tables over groups of base codes."""
        return tuple(self._noisy(table, table.noise) for table in tables)

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """Tables of all pairs."""
        lookups = dict(zip(request.columns, request.lookups, strict=True))
        pairs = combinations(request.columns, 2)
        counts = [self.codes.counts(pair, tuple(lookups[name] for name in pair)).ravel() for pair in pairs]
        noisy = np.concatenate(counts) + self._draw(request.noise, sum(table.size for table in counts))
        return NoisyPairs(columns=request.columns, sizes=request.shape, counts=noisy, noise=request.noise)

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        """What tables tell beyond their margins."""
        return tuple(self._interaction(table) for table in tables)

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """Sums of a feature over the rows."""
        return self._sums(feature_sums(feature, self.codes), noise, feature.resolution)

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """The best of the candidates, by Gumbel noise on all scores at once (as at the Door over rows)."""
        scores = table_scores(score, self.codes)
        moved = self.unit.l1 if isinstance(score, TableDistance) else self.unit.l2
        noisy = scores + self.rng.gumbel(0.0, 2.0 * moved / epsilon, scores.size)
        return NoisyChoice(indices=tuple(int(i) for i in np.argsort(-noisy)[:picks]))

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """Refused: a model lists all labels it knows, so there is none left to find."""
        raise DoorError("labels cannot be discovered in rows that a model made up")

    def _same(self, name: str) -> np.ndarray:
        return np.arange(self.schema.size(name), dtype=np.int32)

    def _noisy(self, table: Recoding, noise: Noise) -> NoisyCounts:
        counts = self.codes.counts(table.columns, table.lookups)
        noisy = counts + self._draw(noise, counts.size).reshape(counts.shape)
        return NoisyCounts(columns=table.columns, counts=noisy, noise=noise)

    def _interaction(self, table: Interaction) -> NoisySums:
        left: Floats = self.codes.counts(table.columns, table.lookups).astype(np.float64)
        for axis in range(left.ndim):
            left = left - left.mean(axis=axis, keepdims=True)
        return self._sums(left, table.noise, table.resolution)

    def _sums(self, values: Floats, noise: Noise, resolution: float) -> NoisySums:
        inside = Noise(kind=noise.kind, scale=noise.scale / resolution)
        noisy = values + resolution * self._draw(inside, values.size).reshape(values.shape)
        return NoisySums(values=noisy, noise=noise, resolution=resolution)

    def _draw(self, noise: Noise, size: int) -> Ints:
        """Whole numbers: a rounded normal, or a discrete Laplace as the difference of two geometric numbers."""
        if noise.kind == "gaussian":
            return np.rint(self.rng.normal(0.0, noise.scale, size)).astype(np.int64)
        stop = -math.expm1(-1.0 / noise.scale)
        return self.rng.geometric(stop, size) - self.rng.geometric(stop, size)

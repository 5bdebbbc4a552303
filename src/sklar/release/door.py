"""The Door: the one way for a method to learn anything about the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.release.features import Feature
from sklar.release.requests import Discovery, PairTables, RecodedTable, Score, Table
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums
from sklar.schema.table import Schema


class Door(Protocol):
    """What a method is handed. Each call charges the ledger first, then reads the rows once, then adds noise.

    Attributes:
        schema: The public facts about the columns.
        allowance: All that this fit may spend.
        unit: Whom the promise protects: the neighbour relation and how many rows one person may have.
        rows: The number of rows where it is public (replace-one neighbours), else None.
    """

    @property
    def schema(self) -> Schema: ...
    @property
    def allowance(self) -> Allowance: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def rows(self) -> int | None: ...

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """Noisy tables of counts over base codes, all from one pass over the rows."""
        ...

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """Noisy tables of counts after recoding columns, all from one pass over the rows."""
        ...

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """Noisy tables of counts of all pairs of some columns, from one pass over the rows."""
        ...

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """A noisy vector of sums of one of the listed features; the noise scale is in the feature's own units."""
        ...

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """The best-scoring candidates, each picked by an exponential mechanism with `epsilon`."""
        ...

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """Labels that the schema does not list and that stand out above a threshold; spends a delta of its own."""
        ...

"""A Door for tests: exact counts from arrays of base codes, plus seeded noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.release.door import RecodedTable
from sklar.release.values import NoisyCounts
from sklar.schema.table import Schema


class ArrayDoor:
    """Counts the codes it is given; remembers every request."""

    prior = None

    def __init__(self, schema: Schema, codes: Mapping[str, np.ndarray], allowance: Allowance, unit: Unit, seed: int):
        self.schema, self.allowance, self.unit = schema, allowance, unit
        self.rows = len(next(iter(codes.values()))) if unit.neighbours == "replace" else None
        self.calls: list[tuple[str, tuple[RecodedTable, ...]]] = []
        self._codes, self._rng = codes, np.random.default_rng(seed)

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        self.calls.append((label, tuple(tables)))
        return tuple(self._noisy(table) for table in tables)

    def _noisy(self, table: RecodedTable) -> NoisyCounts:
        size = table.shape[0]
        exact = np.bincount(table.lookups[0][self._codes[table.columns[0]]], minlength=size)
        draw = self._rng.normal if table.noise.kind == "gaussian" else self._rng.laplace
        noise = np.round(draw(0.0, table.noise.scale, size)).astype(np.int64)
        return NoisyCounts(columns=table.columns, counts=exact + noise, noise=table.noise)


@pytest.fixture
def open_door() -> Callable[..., ArrayDoor]:
    def make(
        schema: Schema,
        codes: Mapping[str, np.ndarray],
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        neighbours: str = "add-remove",
        seed: int = 0,
    ) -> ArrayDoor:
        measure, amount = ("rho", rho) if rho is not None else ("epsilon", epsilon)
        allowance = Allowance(measure=measure, amount=amount)  # type: ignore[arg-type]
        return ArrayDoor(schema, codes, allowance, Unit(neighbours=neighbours), seed)  # type: ignore[arg-type]

    return make

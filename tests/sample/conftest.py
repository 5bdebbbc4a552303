"""A tiny model for tests of sampling: independent columns with given probabilities over base codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from sklar.schema import Schema


class FakeModel:
    """Independent columns; uniform over base codes unless told otherwise."""

    def __init__(self, schema: Schema, mass: Mapping[str, np.ndarray] | None = None):
        mass = mass or {}
        self.mass = [np.asarray(mass.get(n, np.ones(schema.size(n))), float) for n in schema.modelled]

    def simulate(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        return self.simulate_given(rows, {}, rng)[0]

    simulate_rounded = simulate

    def simulate_given(
        self, rows: int, allowed: Mapping[int, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        codes = np.empty((rows, len(self.mass)), np.int32, order="F")
        for j, mass in enumerate(self.mass):
            kept = mass * allowed.get(j, 1)
            codes[:, j] = rng.choice(len(mass), rows, p=kept / kept.sum())
        return codes, float(rows)


@pytest.fixture
def fake_model() -> type[FakeModel]:
    return FakeModel

"""A tiny model for tests of sampling: independent columns with given probabilities over base codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from sklar.model.conditioning import Proposals
from sklar.model.independent import IndependentModel
from sklar.model.margins.margin import margin_from_dense
from sklar.schema import Schema


class FakeModel:
    """Independent columns; uniform over base codes unless told otherwise."""

    def __init__(self, schema: Schema, mass: Mapping[str, np.ndarray] | None = None):
        mass = mass or {}
        dense = {n: np.asarray(mass.get(n, np.ones(schema.size(n))), float) for n in schema.modelled}
        self.margins = tuple(margin_from_dense(name, line) for name, line in dense.items())
        self.rows_estimate = 100

    def simulate(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        return self.proposals({})(rows, rng)[0]

    simulate_rounded = simulate

    def proposals(self, allowed: Mapping[int, np.ndarray]) -> Proposals:
        return IndependentModel(margins=self.margins, rows_estimate=1).proposals(allowed)


@pytest.fixture
def fake_model() -> type[FakeModel]:
    return FakeModel

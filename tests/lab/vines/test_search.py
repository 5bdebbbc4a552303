"""The simplex search: known lowest points, and no more questions than allowed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sklar.lab.vines.pairs import minimize_simplex


@pytest.mark.parametrize("goal", [(0.3, -1.2), (2.0, 0.5, -0.7)])
def test_a_bowl(goal: tuple[float, ...]) -> None:
    def cost(x: Sequence[float]) -> float:
        return sum((at + 1) * (a - b) ** 2 for at, (a, b) in enumerate(zip(x, goal, strict=True))) + 0.3 * x[0] * x[1]

    # The lowest point of a quadratic form solves a linear system.
    matrix = np.diag([2.0 * (at + 1) for at in range(len(goal))])
    matrix[0, 1] = matrix[1, 0] = 0.3
    truth = np.linalg.solve(matrix, [2.0 * (at + 1) * b for at, b in enumerate(goal)])
    found, place = minimize_simplex(cost, [0.0] * len(goal), 0.3, near=1e-5, level=1e-12, evaluations=1_000)
    assert place == pytest.approx(list(truth), abs=1e-4) and found == pytest.approx(cost(list(truth)), abs=1e-8)


def test_a_bent_valley_is_followed() -> None:
    found, place = minimize_simplex(
        lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2,
        [-1.2, 1.0],
        0.3,
        near=1e-6,
        level=1e-12,
        evaluations=500,
    )
    assert found < 1e-9 and place == pytest.approx([1.0, 1.0], abs=1e-4)


def test_it_asks_no_more_than_allowed_and_ends_early_on_a_plain() -> None:
    asked: list[float] = []

    def steep(x: Sequence[float]) -> float:
        asked.append(1.0)
        return x[0] + x[1]

    minimize_simplex(steep, [0.0, 0.0], 0.3, near=0.1, level=0.01, evaluations=20)
    assert 20 <= len(asked) <= 23
    asked.clear()
    minimize_simplex(lambda x: float(asked.append(0.0) or 0.0), [0.0, 0.0], 0.05, near=0.1, level=0.01, evaluations=20)
    assert len(asked) == 3

"""Codes drawn by the guide table are those of the plain inverse."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.independent import draw_codes
from sklar.model.margins.margin import Margin, margin_from_dense


def drawn(margin: Margin, u: np.ndarray) -> list[int]:
    out = np.empty(len(u), dtype=np.int32)
    draw_codes(margin, u, out)
    return out.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_same_as_the_inverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(1, 3000))
    starts = np.concatenate([[0], np.sort(rng.choice(np.arange(1, 5 * cells + 1), cells - 1, replace=False))])
    mass = rng.gamma(0.05, size=cells) * (rng.random(cells) < 0.7)
    mass[rng.integers(cells)] = 1.0
    margin = Margin(column="x", starts=starts, mass=mass, size=5 * cells + 5)
    edges = margin.edges()
    u = np.concatenate([rng.random(20_000), edges, np.nextafter(edges, 0), np.nextafter(edges, 1), [0.0]])
    u = u[(u >= 0) & (u < 1)]
    assert drawn(margin, u) == margin.ppf(u).tolist()


def test_codes_without_mass_are_never_drawn() -> None:
    margin = margin_from_dense("x", np.array([0.0, 0.5, 0.0, 0.5, 0.0]))
    assert set(drawn(margin, np.linspace(0, 1, 1001)[:-1])) == {1, 3}

"""The noise that leaves the wall has the law that is charged for."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.errors import BudgetError
from sklar.private.noise import CHUNK_CELLS, SYSTEM, require_samplable

# Chi-square with ALARM: the statistic of a right sampler exceeds it with probability below 1e-7.
DRAWS = 40_000


def add_noise(exact_values: np.ndarray, noise: Noise) -> np.ndarray:
    return SYSTEM.add([exact_values], [noise])[0]


def probabilities(noise: Noise, reach: int) -> np.ndarray:
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x**2) / (2 * noise.scale**2)) if noise.kind == "gaussian" else np.exp(-np.abs(x) / noise.scale)
    return weights / weights.sum()


def chi_square_tail(draws: np.ndarray, noise: Noise) -> float:
    from scipy.stats import chi2, poisson

    reach = int(60 * noise.scale) + 5
    expected = probabilities(noise, reach) * len(draws)
    observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
    keep = expected >= 8
    o, e = observed[keep], expected[keep]
    far, few = int(observed[~keep].sum()), float(expected[~keep].sum())
    if few >= 8:
        o, e = np.append(o, far), np.append(e, few)
    else:  # too few for a chi-square: with the rarest value, and looked at by itself
        o[-1], e[-1] = o[-1] + far, e[-1] + few
    bulk = chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1)
    return float(min(bulk, poisson.sf(far - 1, few)))


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.6, pytest.param(3.7, marks=pytest.mark.slow)])
def test_the_sampler_has_the_stated_law(kind: str, scale: float) -> None:
    noise = Noise(kind=kind, scale=scale)  # type: ignore[arg-type]
    draws = add_noise(np.zeros(DRAWS, np.int64), noise)
    assert chi_square_tail(draws, noise) > 1e-8


def test_the_check_sees_a_wrong_scale() -> None:
    draws = add_noise(np.zeros(DRAWS, np.int64), Noise(kind="gaussian", scale=3.5))
    assert chi_square_tail(draws, Noise(kind="gaussian", scale=3.7)) < 1e-8


def test_golden_probabilities_of_zero_and_variance() -> None:
    assert probabilities(Noise(kind="laplace", scale=1.0), 200)[200] == pytest.approx(0.4621171573, abs=1e-9)
    assert probabilities(Noise(kind="gaussian", scale=1.0), 200)[200] == pytest.approx(0.3989422783, abs=1e-9)
    assert Noise(kind="laplace", scale=1.0).variance == pytest.approx(1.8413471884, abs=1e-9)


def test_every_cell_of_every_table_gets_its_own_draw() -> None:
    noise = Noise(kind="gaussian", scale=1e6)
    tables = [np.zeros((3, CHUNK_CELLS), np.int64), np.zeros(7, np.int64), np.zeros((0, 4), np.int64)]
    noisy = SYSTEM.add(tables, [noise] * 3)
    assert [t.shape for t in noisy] == [t.shape for t in tables]
    values = np.concatenate([t.ravel() for t in noisy])
    assert len(np.unique(values)) > 0.99 * len(values)


def test_noise_is_added_to_the_counts() -> None:
    exact = np.arange(1000, dtype=np.int64) * 1000
    assert np.abs(add_noise(exact, Noise(kind="laplace", scale=1.0)) - exact).max() < 60


FORKS = """
import os
import numpy as np
from sklar.accounting.noise import Noise
from sklar.private.noise import SYSTEM

def draw():
    return int(SYSTEM.add([np.zeros(1, np.int64)], [Noise(kind="gaussian", scale=1e9)])[0][0])

draw()
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        print(draw(), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_forked_processes_draw_different_noise() -> None:
    """In a process of its own: a child of one with other libraries' threads may wait for their locks for ever."""
    ended = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=600)
    one, other = ended.stdout.split()
    assert one != other


def test_seeding_numpy_changes_nothing() -> None:
    noise = Noise(kind="gaussian", scale=1e9)
    draws = []
    for _ in range(2):
        np.random.seed(7)
        draws.append(int(add_noise(np.zeros(1, np.int64), noise)[0]))
    assert draws[0] != draws[1]


def test_a_choice_follows_the_exponential_mechanism() -> None:
    epsilon, gap, runs = 1.0, 1.0, 4000
    hits = sum(SYSTEM.pick(np.array([0.0, gap]), 1.0, epsilon, 1)[0] for _ in range(runs))
    expected = 1 / (1 + np.exp(-epsilon * gap / 2))
    assert abs(hits / runs - expected) < 5.5 * np.sqrt(expected * (1 - expected) / runs)


def test_several_picks_are_distinct_and_ordered_by_score_without_noise() -> None:
    scores = np.array([0.0, 3e6, 1e6, 2e6])
    assert SYSTEM.pick(scores, 1.0, 5.0, 3) == (1, 3, 2)


def test_a_scale_beyond_64_bits_is_refused_before_rows_are_read() -> None:
    with pytest.raises(BudgetError, match="64-bit"):
        require_samplable(Noise(kind="gaussian", scale=1e18))

"""Tails of composed losses: no plan above its delta by direct sums; and what the proof takes on trust, measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from sklar.accounting.composition import tilted
from sklar.accounting.composition.exact import MIN_DELTA
from sklar.accounting.composition.gaussian import analytic_gaussian_delta, log_gaussian_deltas
from sklar.accounting.composition.tilted import TRANSFORM, make_grid_loss, tail_bound
from sklar.accounting.noise import Noise
from tests.accounting.direct_sums import ACCURACY, random_plan, share_used
from tests.tiers import slow_unless


@pytest.mark.parametrize("seed", slow_unless(lambda seed: seed % 4 == 0, range(80)))
def test_no_random_plan_is_above_its_delta(seed: int) -> None:
    plan = random_plan(np.random.default_rng([17, seed]), least=MIN_DELTA)
    assert share_used(plan) <= 1 + ACCURACY


# With transforms of losses as they are, plans 14 and 50 of these are above their delta.
@pytest.mark.parametrize("seed", slow_unless((14, 50, 1).__contains__, [14, 50, *range(1, 9)]))
def test_no_plan_of_thousands_of_draws_is_above_the_smallest_delta(seed: int) -> None:
    plan = random_plan(np.random.default_rng([17, seed]), least=MIN_DELTA, hard=True)
    assert 0.97 <= share_used(plan) <= 1 + ACCURACY


def test_a_transform_without_a_tilt_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the same code without tilt has an error bound that swamps the tail."""
    draws = ((Noise(kind="laplace", scale=400.0), 3000),)
    spread = math.sqrt(3000) / 400
    found = tail_bound(draws, 0.0, 0.02 * spread / math.sqrt(3000), 7 * spread)
    monkeypatch.setattr(tilted, "_find_tilt", lambda parts, shift, epsilon: 0.0)
    assert tail_bound(draws, 0.0, 0.02 * spread / math.sqrt(3000), 7 * spread) > 100 * found


@pytest.mark.parametrize(
    "draws", [((Noise(kind="gaussian", scale=500.0), 4000),), ((Noise(kind="laplace", scale=9.0), 3),)]
)
def test_the_bound_on_rounding_errors_is_a_small_part_of_delta(
    monkeypatch: pytest.MonkeyPatch, draws: tuple[tuple[Noise, int], ...]
) -> None:
    spread = math.sqrt(draws[0][1]) / draws[0][0].scale
    step = 0.02 * spread / math.sqrt(max(draws[0][1], 400))
    for epsilon in (0.5 * spread, 1.5 * spread):
        found = tail_bound(draws, 0.0, step, epsilon)
        with monkeypatch.context() as context:
            context.setattr(tilted, "TRANSFORM", 0.0)
            assert found <= (1 + 3e-7) * tail_bound(draws, 0.0, step, epsilon)


@pytest.mark.parametrize(
    "noise", [Noise(kind="gaussian", scale=0.3), Noise(kind="gaussian", scale=40), Noise(kind="laplace", scale=7)]
)
def test_a_loss_on_the_grid_keeps_both_laws(noise: Noise) -> None:
    """E 1 = 1 and E e^-L = 1: both laws have mass 1, on the grid as before; and a loss never falls."""
    losses, masses = tilted.list_losses(noise)
    for step in (1e-4, 1e-2, 0.3):
        grid = make_grid_loss(noise, 1, step)
        places = step * np.arange(grid.first, grid.last + 1)
        assert math.fsum(grid.masses) == pytest.approx(1, abs=1e-12)
        assert math.fsum(grid.masses * np.exp(-places)) == pytest.approx(1, abs=1e-9)
        for epsilon in (0.0, 0.1 * losses[-1], 0.5 * losses[-1]):
            before, after = (
                math.fsum(p * np.maximum(-np.expm1(epsilon - at), 0.0))
                for p, at in ((masses, losses), (grid.masses, places))
            )
            assert after >= before * (1 - 1e-14)


@pytest.mark.parametrize("levels", [8, 12, 15, 17])
def test_transforms_are_as_accurate_as_the_proof_takes_them_to_be(levels: int) -> None:
    from scipy.fft import irfft, rfft

    rng, size = np.random.default_rng(levels), 2**levels
    laws = [rng.random(size), np.exp(-0.5 * ((np.arange(size) - size / 3) / 30.0) ** 2), np.eye(1, size, 7)[0]]
    for law in laws:
        true, found = rfft(law.astype(np.longdouble)), np.fft.rfft(law)
        assert _norm(found - true) <= TRANSFORM * levels * _norm(true) / 16
        back = irfft(found.astype(np.clongdouble), size)
        assert _norm(np.fft.irfft(found, size) - back) <= TRANSFORM * levels * _norm(back) / 16


def _norm(values: np.ndarray) -> float:
    return float(np.sqrt((np.abs(values) ** 2).sum()))


def test_logs_of_normal_probabilities_are_as_accurate_as_the_proof_takes_them_to_be() -> None:
    from scipy.special import log_ndtr

    rng = np.random.default_rng(5)
    for x in [*rng.uniform(-40, 8, 300), *rng.uniform(-2, 2, 100), -300.0, -1e4]:
        with mp.workdps(60):
            true = (
                mp.log(mp.ncdf(mpf(float(x))))
                if x > -1000
                else -(mpf(x) ** 2) / 2 - mp.log(-mpf(x) * mp.sqrt(2 * mp.pi))
            )
            assert abs(mpf(float(log_ndtr(x))) / true - 1) < (1e-14 if x > -1000 else 1e-7)


def test_the_gaussian_delta_is_never_below_the_formula() -> None:
    rng = np.random.default_rng(6)
    for _ in range(400):
        shift = 10 ** rng.uniform(-6, 1.3)
        epsilon = shift * rng.uniform(0, 8) + rng.uniform(0, 1) * shift**2
        with mp.workdps(80):
            m, e = mpf(shift), mpf(epsilon)
            true = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
            found = mp.exp(mpf(float(log_gaussian_deltas(shift, epsilon))))
            assert true <= found <= true * (1 + max(1e-9, 1e-10 / shift))
    assert math.isinf(-float(log_gaussian_deltas(0.0, 0.1)))
    assert analytic_gaussian_delta(1.0, 1.0) == pytest.approx(0.12693673750664397, rel=1e-12)


def test_parity_with_the_library_of_loss_distributions() -> None:
    from dp_accounting.pld import privacy_loss_distribution as loss

    for scale, times, epsilon in ((3.0, 20, 4.0), (40.0, 300, 1.0)):
        theirs = loss.from_discrete_gaussian_mechanism(
            scale, value_discretization_interval=1e-4, use_connect_dots=True
        ).self_compose(times)
        noise = Noise(kind="gaussian", scale=scale)
        ours = tail_bound(((noise, times),), 0.0, 1e-4, epsilon)
        assert ours == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=1e-5)

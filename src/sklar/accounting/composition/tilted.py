r"""The tail of a sum of independent privacy losses, bounded from above with a proven relative error.

For L = log P(o) / Q(o), o drawn from P, delta(epsilon) = E (1 - e^(epsilon - L))^+. Here L is a sum: of the losses of n
integer draws moved by 1 (`noise`), and of a normal number N(m^2 / 2, m^2), the loss of a Gaussian shifted by m. All
three are the same with P and Q swapped. The sum is composed by Fourier transforms, whose rounding errors are about
10^-13 of the largest mass: of no use for a tail of 10^-11. So the losses are first *tilted*: masses are multiplied by
e^(t L) and scaled to sum to 1, with t such that the tilted sum has its mean at epsilon. The tail is then the middle of
the distribution, rounding errors are small against it, and the factor e^(-t L) that undoes the tilt makes them as small
as delta. What follows bounds every step from above.

**One draw.** Laplace of scale s: the loss is 1/s with probability 1 / (1 + e^(-1/s)) and -1/s else. Gaussian: (2 x + 1)
/ (2 sigma^2) at the integer x of N_Z(0, sigma^2), cut to |x| <= R = ceil(14 sigma) + 1. With every draw within R, delta
is at most that of the distribution cut and scaled up to mass 1; and one is beyond with probability below n e^-97 (P(X >
R) <= P(N(0, sigma^2) >= R), Canonne, Kamath, Steinke 2020), which is part of `SLACK` in `exact`.

**The grid** of losses a h, a an integer. A loss between two points is split over both, p = p (1 - v) + p v, such that
e^-L keeps its mean (connect the dots; Doroshenko et al. 2022). Given all other losses (1 - e^(epsilon - L))^+ is convex
in e^-L, so by Jensen's inequality delta only grows. So it does if a loss is moved up, which pays for the rounding of
losses: they are raised by 2^-49 of themselves, more than their error, before they are split.

**The window.** With M(t) the sum of the masses times e^(t a h), K(t) = sum of log M(t) over the draws, and Q_j the
tilted distribution of the sum of the grid losses,

    delta = C sum_j Q_j w_j,    C = e^(K(t) + t (t + 1) m^2 / 2 - t epsilon),    t >= 0,
    w_j = e^(t g - t (t + 1) m^2 / 2) D(g),    g = epsilon - j h,

D(g) being the delta at g of the Gaussian shifted by m, or (1 - e^g)^+ for m = 0. All w_j are at most 1, as
(1 - e^-y)^+ <= e^(t y). The transforms have length N and give Q summed over j modulo N, which is at least Q_j for the N
values of j in a window. The tilted mass above the window is at most e^(K(t + s) - K(t) - s top) for every s > 0, and
the same below: the window is laid so that each is at most e^-45, and 2 C e^-45 is added.

**Rounding.** u = 2^-53. (a) Masses, tilts, w_j, C and the sums are computed with small *relative* errors; all terms are
positive. Exponents are at most 10^5 (t is kept below that over the largest loss), and masses are sums of at most 60,000
terms, so each tilted mass is within 5 x 10^5 u of itself, products of n <= 4,000 of them within 2.3 x 10^-7, C within
10^-7. This is part of `RELATIVE_SLACK` in `exact`. (b) A transform of length N is off by at most F = 64 u log2(N) of
the norm |.| of its result, |x|^2 = sum x_j^2; for the algorithm of Cooley and Tukey with roots of unity to the last bit
Higham (2002, chapter 24) proves 7 u log2(N). We take the ninefold since the library's passes of radix 4 and 8 order the
same operations differently. A transformed tilted distribution f is at most 1 in absolute value; products of complex
numbers are off by sqrt(5) u of themselves. Hence the product of n distributions is off by at most 1.1 n (F + 3 u)
sqrt(N) in norm, and after the inverse transform, which divides norms by sqrt(N),

    |Q' - Q| <= 1.1 (n + 1) (F + 3 u) =: E,    hence (Cauchy, Schwarz)    delta <= C (sum Q'_j w_j + |w| E + 2 e^-45).

With 4,000 draws E is 5 x 10^-10, and C |w| E comes to 10^-7 of delta or less: it is computed each time, not assumed.

**Assumptions.** The proofs above rely on the libraries for the following: float64 arithmetic by IEEE 754; exp, log and
expm1 within a few u; scipy's `log_ndtr` within 10^-14 of itself; the transform as above. The tests measure the last two
against high precision, and whole plans against direct sums of positive numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.accounting.composition.gaussian import log_gaussian_deltas
from sklar.accounting.noise import Noise
from sklar.arrays import Floats

UNIT = 2.0**-53
TRANSFORM = 64 * UNIT
"""Relative error of a transform, in norm, for each factor 2 of its length."""
LOSS_MARGIN = 2.0**-49
"""Losses, and the shares that go to the upper neighbour, are raised by this part of themselves."""
MAX_DRAW_SCALES = 14.0
"""Gaussian draws beyond this many scales are left to the slack."""
LOG_OUTSIDE_MASS = 45.0
"""Minus the log of the tilted mass that may lie on either side of the window."""
MAX_EXPONENT = 1e5
"""The largest exponent of a tilt."""
MAX_NEWTON_STEPS, MEAN_TOLERANCE = 25, 0.1
"""Most steps to find the tilt, and how near, in standard deviations, the mean must come to epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridLoss:
    """The loss of one draw on the grid: masses of the points `first`, `first` + 1, ...; `times` such draws."""

    first: int
    masses: Floats
    times: int
    step: float

    @property
    def last(self) -> int:
        """The largest point."""
        return self.first + len(self.masses) - 1

    def tilted(self, tilt: float) -> tuple[float, Floats]:
        """Return log M(tilt), and the tilted masses."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses) + tilt * self.step * np.arange(self.first, self.last + 1)
        top = float(logs.max())
        masses = np.exp(logs - top)
        total = float(masses.sum())
        return top + math.log(total), masses / total

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """Return log M, and mean and variance of the tilted loss, of all draws together."""
        log_mass, masses = self.tilted(tilt)
        losses = self.step * np.arange(self.first, self.last + 1)
        mean = float(masses @ losses)
        return self.times * log_mass, self.times * mean, self.times * float(masses @ (losses - mean) ** 2)


def tail_bound(draws: Sequence[tuple[Noise, int]], shift: float, step: float, epsilon: float) -> float:
    """Bound delta at `epsilon` from above for draws moved by 1 and a Gaussian moved by `shift`, on a grid of `step`.

    What is left to the slack, absolute and relative, is not added here.
    """
    parts = [make_grid_loss(noise, times, step) for noise, times in draws]
    tilt = _find_tilt(parts, shift, epsilon)
    losses, masses = _compute_tilted_sum(parts, tilt)
    normal = 0.5 * tilt * (tilt + 1) * shift**2
    weights = np.exp(_log_weights(losses, shift, epsilon, tilt) - normal)
    error = 1.1 * (sum(part.times for part in parts) + 1) * (TRANSFORM * math.log2(len(masses)) + 3 * UNIT)
    found = float(weights @ masses) + float(np.linalg.norm(weights)) * error + 2 * math.exp(-LOG_OUTSIDE_MASS)
    log_mass = math.fsum(part.cumulants(tilt)[0] for part in parts)
    return min(1.0, math.exp(min(log_mass + normal - tilt * epsilon, 700.0)) * found)


def _log_weights(losses: Floats, shift: float, epsilon: float, tilt: float) -> Floats:
    """Return log (e^(t g) D(g)) for all losses of a window."""
    differences = epsilon - losses
    # Lower by more than the rounding errors of g: D falls.
    inner: Floats = log_gaussian_deltas(shift, differences - LOSS_MARGIN * (epsilon + np.abs(losses)))
    return inner + tilt * differences


def _compute_tilted_sum(parts: Sequence[GridLoss], tilt: float) -> tuple[Floats, Floats]:
    """Return all losses of a window, and the tilted distribution of the sum there from the transforms."""
    start, size = _choose_window(parts, tilt)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for part in parts:
        places = np.arange(part.first, part.last + 1) % size
        product *= _raise_to_power(np.fft.rfft(np.bincount(places, part.tilted(tilt)[1], size)), part.times)
    window = np.arange(start, start + size, dtype=np.int64)
    return window.astype(np.float64) * parts[0].step, np.fft.irfft(product, size)[window % size]


def _choose_window(parts: Sequence[GridLoss], tilt: float) -> tuple[int, int]:
    """Return start and length, a power of two, of a window with all of the tilted sum but e^-45 on either side."""
    step = parts[0].step
    here, spread = _sum_cumulants(parts, tilt)[0], math.sqrt(_sum_cumulants(parts, tilt)[2])
    away = math.sqrt(2 * LOG_OUTSIDE_MASS) / max(spread, step)
    low = (here - _sum_cumulants(parts, tilt - away)[0] - LOG_OUTSIDE_MASS) / away
    high = (_sum_cumulants(parts, tilt + away)[0] - here + LOG_OUTSIDE_MASS) / away
    first = max(math.floor(low / step) - 1, sum(part.times * part.first for part in parts))
    last = min(math.ceil(high / step) + 1, sum(part.times * part.last for part in parts))
    return first, 2 ** max(1, (last - first).bit_length())


def _find_tilt(parts: Sequence[GridLoss], shift: float, epsilon: float) -> float:
    """Find about the t that puts the mean of the tilted sum at epsilon, by Newton's method; any t >= 0 is valid."""
    steepest = MAX_EXPONENT / max(part.step * max(abs(part.first), abs(part.last)) for part in parts)
    tilt = 0.0
    for _ in range(MAX_NEWTON_STEPS):
        _, mean, variance = _sum_cumulants(parts, tilt)
        gap = epsilon - mean - (tilt + 0.5) * shift**2
        variance += shift**2
        if abs(gap) <= MEAN_TOLERANCE * math.sqrt(variance) or (gap < 0 and not tilt):
            break
        tilt = min(max(tilt + gap / max(variance, 1e-300), 0.0), steepest)
    return tilt


def _sum_cumulants(parts: Sequence[GridLoss], tilt: float) -> tuple[float, float, float]:
    """Return K, and mean and variance of the tilted sum."""
    found = [part.cumulants(tilt) for part in parts]
    return math.fsum(f[0] for f in found), math.fsum(f[1] for f in found), math.fsum(f[2] for f in found)


def _raise_to_power(base: npt.NDArray[np.complex128], times: int) -> npt.NDArray[np.complex128]:
    """Return base^times by repeated squaring."""
    result = np.ones_like(base)
    while times:
        if times & 1:
            result = result * base
        base, times = base * base, times >> 1
    return result


def make_grid_loss(noise: Noise, times: int, step: float) -> GridLoss:
    """Return the loss of one integer moved by 1 under this noise, on a grid, raised by `LOSS_MARGIN`."""
    losses, masses = list_losses(noise)
    places = losses / step
    places += LOSS_MARGIN * np.abs(places)
    low = np.floor(places)
    share = np.minimum(np.expm1(-(places - low) * step) / math.expm1(-step) * (1 + LOSS_MARGIN), 1.0)
    first = int(low[0])
    at = low.astype(np.int64) - first
    size = int(at[-1]) + 2
    split = np.zeros(size)
    split += np.bincount(at, masses * (1 - share), size)
    split += np.bincount(at + 1, masses * share, size)
    return GridLoss(first=first, masses=split, times=times, step=step)


def list_losses(noise: Noise) -> tuple[Floats, Floats]:
    """Return the losses, in ascending order, and their probabilities."""
    if noise.kind == "laplace":
        loss = 1 / noise.scale
        return np.array([-loss, loss]), np.array([1 / (1 + math.exp(loss)), 1 / (1 + math.exp(-loss))])
    reach = math.ceil(MAX_DRAW_SCALES * noise.scale) + 1
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    masses = np.exp(-0.5 * (x / noise.scale) ** 2)
    return (x + 0.5) / noise.scale**2, masses / masses.sum()

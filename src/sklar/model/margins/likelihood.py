"""What noisy histograms say about the cells of a column: the data of a density fit as one linear Gaussian model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.laplace import Likelihood


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellSupport:
    """Public facts about the k cells of a column.

    Attributes:
        width: Base measure of each cell, such as its width in values; positive where chained.
        position: Mid-point of each cell; 1 is a natural spacing, such as a 32nd of the range.
        chained: True for the ordered cells whose log-density is smooth; False for atoms and levels.
    """

    width: Floats
    position: Floats
    chained: Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """One noisy histogram: the bin of each of the k cells (-1 where a cell was not observed), counts and deviations."""

    parent: Ints
    counts: Floats
    sigma: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTotal:
    """An estimate of the number of rows and its standard deviation (0 when it is public)."""

    rows: float
    sigma: float


def likelihood_of(support: CellSupport, observations: Sequence[Observation], total: KnownTotal) -> Likelihood:
    """All observed bins, and the total as one more bin that holds every cell."""
    k, rows = len(support.width), max(total.rows, 1.0)
    finest = min((float(seen.sigma.min()) for seen in observations if len(seen.sigma)), default=1.0)
    # A total without noise would be infinitely heavy; a twentieth of the finest noise is as good.
    sigma = max(total.sigma, 0.05 * finest, 1e-6 * rows)
    designs, targets = [np.full((1, k), 1.0 / sigma)], [np.array([rows / sigma])]
    for seen in observations:
        design = np.zeros((len(seen.counts), k))
        cells = np.flatnonzero(seen.parent >= 0)
        design[seen.parent[cells], cells] = 1.0
        designs.append(design / seen.sigma[:, None])
        targets.append(seen.counts / seen.sigma)
    design, target = np.vstack(designs), np.concatenate(targets)
    return Likelihood(design=design, target=target, log_base=log_base(support, total), gram=design.T @ design)


def log_base(support: CellSupport, total: KnownTotal) -> Floats:
    """Log counts under the base measure: chained cells share theirs by width, every other cell gets an average one."""
    k, chain = len(support.width), support.chained
    base = np.full(k, 1.0 / k)
    width = np.maximum(support.width[chain], 1e-12 * max(float(support.width[chain].sum()), 1e-300))
    base[chain] = width / width.sum() * chain.sum() / k
    return np.log(max(total.rows, 1.0) * base)


def with_sampling(likelihood: Likelihood, counts: Floats) -> tuple[Likelihood, Floats]:
    """The likelihood of the population behind the rows, and the sampling covariance of the rows' own counts.

    Rows are a multinomial draw around the population's counts c, so a bin scatters by its noise and by the rows:
    y ~ N(A c, S + A C A'), C = diag(c) - c c' / n. C is held fixed at a first estimate of the cells' counts, and the
    model, of noise alone before, is whitened.
    """
    sampling = np.diag(counts) - np.outer(counts, counts) / counts.sum()
    spread = likelihood.design @ sampling @ likelihood.design.T
    factor = np.linalg.cholesky(spread + np.eye(len(spread)))
    design = solve_triangular(factor, likelihood.design, lower=True)
    target = solve_triangular(factor, likelihood.target, lower=True)
    whitened = Likelihood(design=design, target=target, log_base=likelihood.log_base, gram=design.T @ design)
    return whitened, sampling


def expected_rows(likelihood: Likelihood, sampling: Floats, counts: Floats) -> Floats:
    """Expected counts of the rows themselves, given the population's counts and what was observed of the rows.

    E[rows | y] = c + C A' (S + A C A')^-1 (y - A c): the smooth density where noise hides the rows, the observed counts
    where it does not. Clipped at 0.
    """
    surprise = likelihood.target - likelihood.design @ counts
    return np.maximum(counts + sampling @ (likelihood.design.T @ surprise), 0.0)


def seen_alone(observations: Sequence[Observation], k: int) -> tuple[Floats, Floats]:
    """Inverse-variance mean count and its standard deviation for each cell, from bins that hold only that cell.

    Cells never seen alone have count 0 and an infinite standard deviation.
    """
    weight, value = np.zeros(k), np.zeros(k)
    for seen in observations:
        cells = np.flatnonzero(seen.parent >= 0)
        bins = seen.parent[cells]
        alone = np.bincount(bins, minlength=len(seen.counts))[bins] == 1
        cells, bins = cells[alone], bins[alone]
        weight[cells] += seen.sigma[bins] ** -2
        value[cells] += seen.counts[bins] * seen.sigma[bins] ** -2
    sigma = np.divide(1.0, np.sqrt(weight), out=np.full(k, np.inf), where=weight > 0)
    return np.divide(value, weight, out=np.zeros(k), where=weight > 0), sigma

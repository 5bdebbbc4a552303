r"""One-step estimates: the model's answer corrected by its measurements, where the model smooths or follows noise.

A model shrinks what is weak beside the noise towards smooth margins and independence, and so does every replica of it.
The measurements are unbiased: their noise has mean 0. With psi the influence of a row on the statistic at the model M,
f a linear combination, with weights a, of the measured functions of several columns, and psi_0 a sum of functions of
single columns, the true distribution P obeys to first order

    theta(P) = theta(M) + mean_P(f) + mean_P(psi_0) + mean_P(psi - f - psi_0).

The first mean is estimated from measurements of several columns: sum_c a_c s_c, with s_c the measured value per row and
unbiased noise of variance sum_c a_c^2 sigma_c^2. The second is estimated from the histograms of each column
(`columns`). The third needs an assumption, a distribution S. If the variance of the relative error of S is D in any one
direction, the mean has variance D var_S(psi - f - psi_0) around that of S, which psi_0 makes 0. The weights a, and
those of bins of single columns in psi_0, with v the variance of each bin's estimate from histograms, minimize

    sum_c a_c^2 sigma_c^2  +  sum_b v_b w_b^2  +  D var_S(psi - f - psi_0).

This is a ridge regression of psi on both together, since the margins of a measured interaction are removed cell by cell
and not row by row, so that it is uninformative without them. D is the squared deviation of measured values from those
of S, relative to the variance of their functions, and at least what the noise contributes; the weights allow for more
(DIVERGENCE_INFLATION).

S is not the model. Where noise was positive, the model has rows: the same noise would be in the weights and in what
they weigh, and spurious rows in a tail would be taken for real. So S has the model's margins and rank correlations and
a Gaussian copula (`with_gaussian_copula`), if every pair of columns was measured and no measurement contradicts it;
otherwise S is the model.

If no measurement contains a column together with any other (labels of a table of few rows, or all columns of a method
without dependence), the model assumes independence there. D is then that of typical tables of people
(TYPICAL_SQUARED_CORRELATION).

For a population the sampling variance adds var(psi) / n. The part of psi beyond single columns that measurements
explain is reported with the answer. Reference: Bickel, Klaassen, Ritov, Wellner (1993), chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, block_diag, cho_factor, cho_solve

from sklar.arrays import Floats, Ints
from sklar.counting.code_table import CodeTable
from sklar.inference.columns import ColumnEstimator
from sklar.inference.linear_measurements import LinearMeasurements, LinearStatistic
from sklar.model.correlation.nearest import clean_correlations, clipped_correlation
from sklar.release.agreements import Agreements
from sklar.sample.rng import substream

DIVERGENCE_INFLATION = 25.0
"""Multiple of D for which weights are chosen: an error of five typical ones in a single direction. A larger value
follows the measurements, and their noise, where S would do; a smaller one trusts S. From 9 to 160 the errors of linear
coefficients of 25,000 rows at epsilon 3 grow by a quarter, and the intervals with them."""
MIN_RECIPROCAL_CONDITION = 1e-13
"""Systems below this reciprocal condition number are solved by least squares: Cholesky's solution would be rounding."""
MAX_SMOOTH_DEVIATION = 3.0
"""Standard deviations by which a measurement may differ from the Gaussian copula before the model is used instead. On
two tables of people, where a Gaussian copula is wrong, always using it doubled the errors of correlations."""
TYPICAL_SQUARED_CORRELATION = 0.015
"""D for a column that was never measured together with others: the mean squared correlation of a number with membership
in a group. On five tables of people (adult, compas, hmeq, support2, a wage panel) it is 0.009 to 0.029. Half this value
makes intervals of means in groups of 12% of 545 persons shorter by a tenth."""
MAX_EQUATIONS = 4_000
"""Maximum number of measured values in one system of equations; the smallest tables come first."""
RANK_CORRELATION_ROUNDS = 4
"""Rounds of adjusting rank correlations to their targets: ties make them weaker than those of the normal scores."""
BINS_PER_COLUMN, BACKFITTING_ROUNDS = 64, 8
"""Bins for functions of a single column, and rounds of fitting these functions to each other's residuals."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneStep:
    """Correction of the model's answers by measurements, one number per answer.

    Attributes:
        shift: Correction to add to the answer.
        noise: Variance from the noise on measurements, and from what it hides.
        skew: Third central moment of the same error.
        chance: Sampling variance, for a population.
        explained: Part of the joint influence of the columns that measurements explain; 1 for a single column.
    """

    shift: Floats
    noise: Floats
    skew: Floats
    chance: Floats
    explained: Floats


def compute_one_step(
    known: LinearMeasurements, codes: CodeTable, psi: Floats, columns: Sequence[str], rows: float, counts: bool,
    own: int | None = None,
) -> OneStep | None:  # fmt: skip
    """Compute the correction from measurements of these columns.

    Returns None if a column has no histogram above its noise, or if columns were measured, but only with other columns.

    Args:
        known: The measurements.
        codes: Many rows drawn from the model, followed by rows `with_gaussian_copula`.
        psi: Influence of each of these rows on each answer, one line per answer.
        columns: Columns that the answers depend on.
        rows: Rows of the fitted table.
        counts: Whether psi only counts rows: then it is extrapolated without slope where the model has no rows, and
            for a single column the counts are used without a model of tails.
        own: Number of rows, at the beginning, that are the model's; all by default.
    """
    found = {name: known.column(name, counts and len(columns) == 1) for name in columns}
    sums = {name: one for name, one in found.items() if one is not None}
    usable = _select_statistics(known.linear, set(columns))
    unmeasured = len(columns) > 1 and _has_unpaired_column(known.linear, columns)
    if len(sums) < len(columns) or (len(columns) > 1 and not usable and not unmeasured):
        return None
    own = codes.rows if own is None else own
    chance, psi = psi[:, :own].var(axis=1) / rows, psi - psi[:, :own].mean(axis=1, keepdims=True)
    smooth = codes.last(codes.rows - own)
    is_smooth = own < codes.rows and _covers_all_pairs(usable, columns) and not _is_contradicted(usable, smooth, rows)
    codes, psi = (smooth, psi[:, own:]) if is_smooth else (codes.first(own), psi[:, :own])
    places = {name: known.places[name] for name in columns}
    f = _combine_statistics(usable, sums, codes, psi, places, rows)
    alone, left = _fit_additive(psi - f.at_rows, codes, places, counts)
    divergence = max(f.divergence, TYPICAL_SQUARED_CORRELATION if unmeasured else 0.0)
    shift, noise, skew = f.mean, f.noise + divergence * left.var(axis=1), np.zeros(len(psi))
    for name, one in sums.items():
        around = _moments_around(left, codes.columns[name], alone[name].shape[1]) if len(columns) == 1 else None
        mean, variance, third = one.estimate_means(alone[name], around)
        shift, noise, skew = shift + mean, noise + variance, skew + third
    joint = _fit_additive(psi, codes, places, counts)[1].var(axis=1)
    explained = np.clip(1 - left.var(axis=1) / np.maximum(joint, 1e-300), 0.0, 1.0)
    explained = explained if usable else np.full_like(explained, float(len(columns) == 1))
    return OneStep(shift=shift, noise=noise, skew=skew, chance=chance, explained=explained)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Combination:
    """The combination f of measured functions of several columns, one line per answer.

    Attributes:
        at_rows: Its values at the rows.
        mean: Its measured mean over the rows of the fitted table.
        noise: The variance of that mean.
        divergence: D.
    """

    at_rows: Floats
    mean: Floats
    noise: Floats
    divergence: float


def _combine_statistics(
    usable: Sequence[LinearStatistic], sums: Mapping[str, ColumnEstimator], codes: CodeTable, psi: Floats,
    places: Mapping[str, Floats], rows: float,
) -> _Combination:  # fmt: skip
    """Return the least-error combination of the statistics of two or more columns; 0 if there are none."""
    nothing = np.zeros(len(psi))
    if not usable:
        return _Combination(at_rows=np.zeros_like(psi), mean=nothing, noise=nothing, divergence=0.0)
    released = np.concatenate([one.values for one in usable]) / rows
    noise = np.concatenate([np.full(one.values.size, (one.sigma / rows) ** 2) for one in usable])
    functions = sparse.hstack([one.evaluate(codes) for one in usable], format="csr")
    projection = sparse.csr_array(np.asarray(block_diag(*(one.projection for one in usable))))
    bins = {name: _bins(codes.columns[name], place, False) for name, place in places.items()}
    single = [
        sums[name].estimate_means((bins[name] == np.arange(bins[name].max() + 1)[:, None]) * 1.0)[1] for name in bins
    ]
    every = sparse.hstack([functions, *(_indicators(codes.columns[name], bins[name]) for name in bins)], format="csr")
    extended = sparse.block_diag([projection, sparse.eye_array(sum(map(len, single)))], format="csr")
    gram = (extended @ (every.T @ every) @ extended.T).toarray() / codes.rows
    expected = projection @ np.asarray(functions.mean(axis=0)).ravel()
    squared_deviation = max(float(noise.sum()), float(np.sum((released - expected) ** 2)))
    divergence = squared_deviation / max(float(gram.diagonal()[: len(noise)].sum() - expected @ expected), 1e-300)
    ridge = np.diag(np.concatenate([noise, *single]) / (DIVERGENCE_INFLATION * divergence))
    weights = solve_semidefinite(gram + ridge, extended @ (every.T @ psi.T) / codes.rows)[: len(noise)]
    return _Combination(
        at_rows=(functions @ (projection.T @ weights)).T, mean=released @ weights, noise=noise @ weights**2,
        divergence=divergence,
    )  # fmt: skip


def solve_semidefinite(matrix: Floats, right: Floats) -> Floats:
    """Solve a symmetric system; where it is (nearly) singular, return the shortest solution in least squares.

    Bins that are known without noise and measured by several tables make such systems.
    """
    try:
        factor = cho_factor(matrix)
        pivots = np.diagonal(factor[0])
        if (pivots.min() / pivots.max()) ** 2 > MIN_RECIPROCAL_CONDITION:
            return np.asarray(cho_solve(factor, right))
    except LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=MIN_RECIPROCAL_CONDITION)[0], dtype=np.float64)


def _covers_all_pairs(usable: Sequence[LinearStatistic], columns: Sequence[str]) -> bool:
    measured = {pair for one in usable for pair in combinations(sorted(one.columns), 2)}
    return measured >= set(combinations(sorted(columns), 2))


def _has_unpaired_column(linear: Sequence[LinearStatistic], columns: Sequence[str]) -> bool:
    """Return whether one of the columns was never measured together with another column.

    Agreements of a column with itself in the next row contain nothing about other columns.
    """
    others = [one for one in linear if not isinstance(one.measurement.query, Agreements)]
    about = [one for one in linear if set(one.columns) <= set(columns)]
    return not set(columns) <= {name for one in (*others, *about) for name in one.columns}


def _is_contradicted(usable: Sequence[LinearStatistic], codes: CodeTable, rows: float) -> bool:
    """Return whether a measurement differs from these rows by more than noise and sampling explain.

    Squared distances have mean v = sigma^2 / n^2 + var / n, and their sum, about chi-square, a variance of 2 sum v^2.
    """
    for one in usable:
        functions, projection = one.evaluate(codes), one.projection
        mean, square = (np.asarray(part.mean(axis=0)).ravel() for part in (functions, functions.power(2)))
        expected = projection @ mean
        variance = (one.sigma / rows) ** 2 + (projection**2 @ square - expected**2) * (1 / rows + 1 / codes.rows)
        excess = np.sum((one.values / rows - expected) ** 2 - variance)
        if excess > MAX_SMOOTH_DEVIATION * np.sqrt(2 * np.sum(variance**2)):
            return True
    return False


def with_gaussian_copula(codes: CodeTable) -> CodeTable:
    """Return rows with the margins and rank correlations of these, and a Gaussian copula (Iman and Conover 1982).

    Unordered labels keep their shares, and little of their dependence.
    """
    rng, columns = substream(0, 0), codes.columns
    normals = rng.standard_normal((len(columns), codes.rows))
    wanted = _rank_correlations(codes)
    corr, found = clipped_correlation(wanted), codes
    for _ in range(RANK_CORRELATION_ROUNDS):
        drawn = np.linalg.cholesky(corr) @ normals
        ranks = np.argsort(np.argsort(drawn, axis=1), axis=1)
        found = CodeTable(columns={name: np.sort(columns[name])[ranks[j]] for j, name in enumerate(columns)})
        corr = clipped_correlation(corr + wanted - _rank_correlations(found))
    return found


def _rank_correlations(codes: CodeTable) -> Floats:
    """Return Spearman's rank correlations; rows of one code have their mean rank."""
    count = [np.bincount(code) for code in codes.columns.values()]
    ranks = [(np.cumsum(n) - n / 2)[code] for n, code in zip(count, codes.columns.values(), strict=True)]
    return clean_correlations(np.atleast_2d(np.corrcoef(ranks)))


def _indicators(codes: np.ndarray, bin_of: Ints) -> Any:
    """Return indicators of the bins of one column, one line per row."""
    shape = (len(codes), int(bin_of.max()) + 1)
    return sparse.csr_array((np.ones(len(codes)), (np.arange(len(codes)), bin_of[codes])), shape=shape)


def _select_statistics(linear: Sequence[LinearStatistic], columns: set[str]) -> list[LinearStatistic]:
    """Return statistics of these columns alone, smallest first, up to the size that can be solved."""
    about = sorted((one for one in linear if set(one.columns) <= columns), key=lambda one: one.values.size)
    upto = np.cumsum([one.values.size for one in about])
    return [one for one, numbers in zip(about, upto, strict=True) if numbers <= MAX_EQUATIONS]


def _fit_additive(
    psi: Floats, codes: CodeTable, places: Mapping[str, Floats], flat: bool
) -> tuple[dict[str, Floats], Floats]:
    """Return the best additive approximation of psi, by column and base code, and its residuals.

    It fits parabolas of numbers, which extrapolate where the model has no rows, unless `flat`; then means over bins
    by backfitting.
    """
    inside = {name: codes.columns[name] for name in places}
    powers = {name: np.nan_to_num(np.stack([place, place**2])) * (not flat) for name, place in places.items()}
    design = np.concatenate([np.ones((1, psi.shape[1])), *(powers[name][:, inside[name]] for name in places)])
    found = np.linalg.lstsq(design @ design.T, design @ psi.T, rcond=None)[0]
    left = psi - found.T @ design
    parabolas = np.split(found[1:], len(places))
    alone = {name: part.T @ powers[name] for (name, part) in zip(places, parabolas, strict=True)}
    alone[next(iter(places))] += found[:1].T
    bins = {name: _bins(inside[name], place, len(places) == 1) for name, place in places.items()}
    for _ in range(BACKFITTING_ROUNDS if len(places) > 1 else 1):
        for name, bin_of in bins.items():
            count = np.maximum(np.bincount(bin_of[inside[name]], minlength=len(bin_of)), 1)
            mean = np.stack([np.bincount(bin_of[inside[name]], line, len(bin_of)) for line in left]) / count
            alone[name] += mean[:, bin_of]
            left -= mean[:, bin_of[inside[name]]]
    return alone, left


def _moments_around(left: Floats, codes: np.ndarray, size: int) -> tuple[Floats, Floats]:
    """Return the second and third moments of residuals (lines) of the rows of each base code."""
    count = np.maximum(np.bincount(codes, minlength=size), 1)
    second, third = (np.stack([np.bincount(codes, line**k, size) for line in left]) / count for k in (2, 3))
    return second, third


def _bins(codes: np.ndarray, place: Floats, fine: bool) -> Ints:
    """Return the bin of each base code: bins of about equal numbers of rows, or one for each code that has rows.

    Codes that are not numbers, such as missing values, have bins of their own.
    """
    number = ~np.isnan(place)
    count = np.bincount(codes, minlength=len(place)) * number
    upto = np.cumsum(count) / max(count.sum(), 1)
    middle = upto - np.diff(upto, prepend=0.0) / 2
    equal = (middle * BINS_PER_COLUMN).astype(np.int64).clip(0, BINS_PER_COLUMN - 1)
    ordered = np.cumsum(count > 0) if fine else equal
    return np.unique(np.where(number, ordered, len(place) + np.arange(len(place))), return_inverse=True)[1]

r"""The model's answer, set right by its releases where it smooths or follows noise: a one-step estimate.

A model draws what is weak beside the noise towards smooth margins and no dependence, and so does every replica of it.
The releases are not drawn anywhere; their noise has mean 0. With psi the influence of a row on the statistic at the
model M, f a linear combination, with weights a, of the functions of several columns that were released, and psi_0 a sum
of functions of single columns, the truth P obeys to first order

    theta(P) = theta(M) + mean_P(f) + mean_P(psi_0) + mean_P(psi - f - psi_0).

The first mean is told by releases about several: sum_c a_c s_c, with s_c the released value for one row, but for
bias-free noise of variance sum_c a_c^2 sigma_c^2. The second is told by the histograms of each column (`columns`). In
the third something must be believed, a law S. If the variance of the relative error of S is D in any one direction, the
mean has variance D var_S(psi - f - psi_0) about that of S, which psi_0 makes 0. Weights a, and those of bins of single
columns in psi_0, with the variance v of what histograms tell of each, make

    sum_c a_c^2 sigma_c^2  +  sum_b v_b w_b^2  +  D var_S(psi - f - psi_0)

least: a ridge regression of psi on both together, since a released interaction has its margins taken out cell by cell,
not row by row, and tells nothing without them. D is how far released values stray from those of S, relative to the
variance of their functions, and at least what their noise makes of it; the weights allow for more (CAUTION).

S is not the model. Where noise was upwards, the model has rows: the same noise would be in the weights and in what they
weigh, and rows that noise has made in a tail would be believed. So S has the model's margins and rank correlations and
a Gaussian copula between (`smoothed`), where releases tell something of all columns two by two and none of them speaks
against it; else it is the model.

About a column that no release has together with any other (labels of a table of few rows, or all columns of a method
without dependence) the model says nothing: it is independent there. D is then that of columns of people in general
(TYPICAL_SQUARED_CORRELATION).

For a population the chance of having drawn these rows adds var(psi) / n. Which part of psi beyond single columns the
releases tell is said with the answer. Reference: Bickel, Klaassen, Ritov, Wellner (1993), chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag, solve

from sklar.arrays import Floats, Ints
from sklar.counting.code_table import CodeTable
from sklar.inference.columns import ColumnSums
from sklar.inference.linear_measurements import Linear, LinearMeasurements
from sklar.model.correlation.nearest import clean_correlations, clipped_correlation
from sklar.release.agreements import Agreements
from sklar.sample.rng import substream

CAUTION = 25.0
"""Times D for which weights are chosen: an error of five typical ones in a single direction. Larger follows releases
where S would do, and pays for it in noise; smaller believes S. From 9 to 160 the errors of linear coefficients of
25,000 rows at epsilon 3 grow by a quarter, and those that intervals allow for with them."""
BELIEVED = 3.0
"""Standard deviations that a release may be off a smooth law before the model is believed in its place. On two tables
of people, where a Gaussian copula is wrong, belief in it in any case made errors of correlations twice as large."""
TYPICAL_SQUARED_CORRELATION = 0.015
"""D where nothing was released of a column together with others: the mean squared correlation of a number with being in
a group. On five tables of people (adult, compas, hmeq, support2, a wage panel) it is 0.009 to 0.029. Half as much makes
intervals of means in groups of 12% of 545 persons shorter by a tenth."""
MOST_NUMBERS = 4_000
"""Released numbers in one system of equations; those of fewest cells come first."""
ROUNDS_OF_RANKS = 4
"""Of bringing rank correlations to what is wanted: ties make them weaker than those of the normals behind them."""
BINS, ROUNDS = 64, 8
"""Bins of a column on which functions of it alone are taken, and rounds of fitting them to each other's residuals."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneStep:
    """What releases add to the model's answers, one number of each for every answer.

    Attributes:
        shift: To be added.
        noise: Variance from the noise on releases, and from what it hides.
        skew: Third central moment of that.
        chance: Variance from having drawn these rows of a population.
        told: Part of what columns say together that releases tell; 1 if there is one column.
    """

    shift: Floats
    noise: Floats
    skew: Floats
    chance: Floats
    told: Floats


def one_step(
    known: LinearMeasurements, codes: CodeTable, psi: Floats, columns: Sequence[str], rows: float, counts: bool,
    own: int | None = None,
) -> OneStep | None:  # fmt: skip
    """The step from releases about these columns.

    None if one of them has no histogram that shows anything, or only releases about other columns tell of two of them.

    Args:
        known: What was measured.
        codes: Many rows drawn from the model, and smoothed ones.
        psi: Influence of each of these rows on each answer, one line an answer.
        columns: Those that the answers depend on.
        rows: Rows of the fitted table.
        counts: Whether psi only counts rows: then it goes on without slope where the model has no rows, and one column
            is told by its counts alone, tails and all.
        own: How many of the rows, the first, are the model's; the others, if any, are `smoothed` ones.
    """
    found = {name: known.column(name, counts and len(columns) == 1) for name in columns}
    sums = {name: one for name, one in found.items() if one is not None}
    usable = _usable(known.linear, set(columns))
    unmeasured = len(columns) > 1 and _any_alone(known.linear, columns)
    if len(sums) < len(columns) or (len(columns) > 1 and not usable and not unmeasured):
        return None
    own = codes.rows if own is None else own
    chance, psi = psi[:, :own].var(axis=1) / rows, psi - psi[:, :own].mean(axis=1, keepdims=True)
    smooth = codes.last(codes.rows - own)
    believable = own < codes.rows and _every_pair(usable, columns) and not _contradicted(usable, smooth, rows)
    codes, psi = (smooth, psi[:, own:]) if believable else (codes.first(own), psi[:, :own])
    places = {name: known.places[name] for name in columns}
    f = _together(usable, sums, codes, psi, places, rows)
    alone, left = _split(psi - f.at_rows, codes, places, counts)
    divergence = max(f.divergence, TYPICAL_SQUARED_CORRELATION if unmeasured else 0.0)
    shift, noise, skew = f.mean, f.noise + divergence * left.var(axis=1), np.zeros(len(psi))
    for name, one in sums.items():
        mean, variance, third = one.means(alone[name])
        shift, noise, skew = shift + mean, noise + variance, skew + third
    together = _split(psi, codes, places, counts)[1].var(axis=1)
    told = np.clip(1 - left.var(axis=1) / np.maximum(together, 1e-300), 0.0, 1.0)
    told = told if usable else np.full_like(told, float(len(columns) == 1))
    return OneStep(shift=shift, noise=noise, skew=skew, chance=chance, told=told)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Together:
    """The combination f of released functions of several columns, one line for each answer.

    Attributes:
        at_rows: Its values at the rows.
        mean: Its mean over the rows of the fitted table, as released.
        noise: The variance of that.
        divergence: D.
    """

    at_rows: Floats
    mean: Floats
    noise: Floats
    divergence: float


def _together(
    usable: Sequence[Linear], sums: Mapping[str, ColumnSums], codes: CodeTable, psi: Floats,
    places: Mapping[str, Floats], rows: float,
) -> _Together:  # fmt: skip
    """The best combination of what releases tell about two or more of the columns; nothing of one."""
    nothing = np.zeros(len(psi))
    if not usable:
        return _Together(at_rows=np.zeros_like(psi), mean=nothing, noise=nothing, divergence=0.0)
    released = np.concatenate([one.values for one in usable]) / rows
    noise = np.concatenate([np.full(one.values.size, (one.sigma / rows) ** 2) for one in usable])
    functions, turn = sparse.hstack([one.functions(codes) for one in usable], format="csr"), _turn(usable)
    bins = {name: _bins(codes.columns[name], place, False) for name, place in places.items()}
    single = [sums[name].means((bins[name] == np.arange(bins[name].max() + 1)[:, None]) * 1.0)[1] for name in bins]
    every = sparse.hstack([functions, *(_indicators(codes.columns[name], bins[name]) for name in bins)], format="csr")
    turned = sparse.block_diag([turn, sparse.eye_array(sum(map(len, single)))], format="csr")
    gram = (turned @ (every.T @ every) @ turned.T).toarray() / codes.rows
    believed = turn @ np.asarray(functions.mean(axis=0)).ravel()
    strayed = max(float(noise.sum()), float(np.sum((released - believed) ** 2)))
    divergence = strayed / max(float(gram.diagonal()[: len(noise)].sum() - believed @ believed), 1e-300)
    ridge = np.diag(np.concatenate([noise, *single]) / (CAUTION * divergence))
    weights = solve(gram + ridge, turned @ (every.T @ psi.T) / codes.rows, assume_a="pos")[: len(noise)]
    return _Together(
        at_rows=(functions @ (turn.T @ weights)).T, mean=released @ weights, noise=noise @ weights**2,
        divergence=divergence,
    )  # fmt: skip


def _every_pair(usable: Sequence[Linear], columns: Sequence[str]) -> bool:
    """Whether something is told of all columns two by two."""
    return {pair for one in usable for pair in combinations(sorted(one.columns), 2)} >= set(
        combinations(sorted(columns), 2)
    )


def _any_alone(linear: Sequence[Linear], columns: Sequence[str]) -> bool:
    """Return whether no release has one of the columns together with another column.

    How often a column keeps its value from one row to the next tells nothing about other columns.
    """
    others = [one for one in linear if not isinstance(one.measurement.query, Agreements)]
    about = [one for one in linear if set(one.columns) <= set(columns)]
    return not set(columns) <= {name for one in (*others, *about) for name in one.columns}


def _contradicted(usable: Sequence[Linear], codes: CodeTable, rows: float) -> bool:
    """Whether a release is farther from what these rows have than noise and chance make it.

    Squared distances have mean v = sigma^2 / n^2 + var / n, and their sum, about chi-square, a variance of 2 sum v^2.
    """
    for one in usable:
        functions, turn = one.functions(codes), one.turn
        mean, square = (np.asarray(part.mean(axis=0)).ravel() for part in (functions, functions.power(2)))
        believed = turn @ mean
        variance = (one.sigma / rows) ** 2 + (turn**2 @ square - believed**2) * (1 / rows + 1 / codes.rows)
        if np.sum((one.values / rows - believed) ** 2 - variance) > BELIEVED * np.sqrt(2 * np.sum(variance**2)):
            return True
    return False


def smoothed(codes: CodeTable) -> CodeTable:
    """As many rows with the margins and the rank correlations of these, and a Gaussian copula (Iman and Conover 1982).

    Labels without an order keep their shares, and little of what they go with.
    """
    rng, columns = substream(0, 0), codes.columns
    normals = rng.standard_normal((len(columns), codes.rows))
    wanted = _rank_correlations(codes)
    corr, found = clipped_correlation(wanted), codes
    for _ in range(ROUNDS_OF_RANKS):
        drawn = np.linalg.cholesky(corr) @ normals
        ranks = np.argsort(np.argsort(drawn, axis=1), axis=1)
        found = CodeTable(columns={name: np.sort(columns[name])[ranks[j]] for j, name in enumerate(columns)})
        corr = clipped_correlation(corr + wanted - _rank_correlations(found))
    return found


def _rank_correlations(codes: CodeTable) -> Floats:
    """Spearman's, by the mean ranks of rows of one code."""
    count = [np.bincount(code) for code in codes.columns.values()]
    ranks = [(np.cumsum(n) - n / 2)[code] for n, code in zip(count, codes.columns.values(), strict=True)]
    return clean_correlations(np.atleast_2d(np.corrcoef(ranks)))


def _indicators(codes: np.ndarray, bin_of: Ints) -> Any:
    """Of the bins of one column, one line a row."""
    shape = (len(codes), int(bin_of.max()) + 1)
    return sparse.csr_array((np.ones(len(codes)), (np.arange(len(codes)), bin_of[codes])), shape=shape)


def _usable(linear: Sequence[Linear], columns: set[str]) -> list[Linear]:
    """Releases about these columns alone, as many as can be solved for."""
    about = sorted((one for one in linear if set(one.columns) <= columns), key=lambda one: one.values.size)
    upto = np.cumsum([one.values.size for one in about])
    return [one for one, numbers in zip(about, upto, strict=True) if numbers <= MOST_NUMBERS]


def _turn(usable: Sequence[Linear]) -> Any:
    return sparse.csr_array(np.asarray(block_diag(*(one.turn for one in usable))))


def _split(psi: Floats, codes: CodeTable, places: Mapping[str, Floats], flat: bool) -> tuple[dict[str, Floats], Floats]:
    """Functions of single columns that tell most of psi, by base code, and what they leave.

    Parabolas of numbers, which go on where the model has no rows, unless it is flat; then means over bins
    (backfitting).
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
    for _ in range(ROUNDS if len(places) > 1 else 1):
        for name, bin_of in bins.items():
            count = np.maximum(np.bincount(bin_of[inside[name]], minlength=len(bin_of)), 1)
            mean = np.stack([np.bincount(bin_of[inside[name]], line, len(bin_of)) for line in left]) / count
            alone[name] += mean[:, bin_of]
            left -= mean[:, bin_of[inside[name]]]
    return alone, left


def _bins(codes: np.ndarray, place: Floats, fine: bool) -> Ints:
    """A bin for each base code: of about equal numbers of rows, or for each code that has rows.

    Codes that are no numbers, as of missing ones, are bins of their own.
    """
    number = ~np.isnan(place)
    count = np.bincount(codes, minlength=len(place)) * number
    upto = np.cumsum(count) / max(count.sum(), 1)
    middle = upto - np.diff(upto, prepend=0.0) / 2
    ordered = np.cumsum(count > 0) if fine else (middle * BINS).astype(np.int64).clip(0, BINS - 1)
    return np.unique(np.where(number, ordered, len(place) + np.arange(len(place))), return_inverse=True)[1]

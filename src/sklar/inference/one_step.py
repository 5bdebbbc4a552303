r"""The model's answer, set right by its releases where it smooths: a one-step estimate.

A model draws what is weak beside the noise towards smooth margins and no dependence, and so does every replica of it.
The releases are not drawn anywhere; their noise has mean 0. With psi the influence of a row on the statistic, split
into a part psi_0 that is a sum of functions of single columns and the rest psi_1, and f a linear combination, with
weights a, of the functions of several columns that were released, the truth P obeys to first order (M the model)

    theta(P) = theta(M) + mean_P(psi_0) + mean_P(f) + mean_P(psi_1 - f).

The first mean is told by the histograms of each column (`columns`). The second is told by releases about several:
sum_c a_c (s_c - m_c), with s_c the released and m_c the model's value for one row, but for bias-free noise of variance
sum_c a_c^2 sigma_c^2. In the third the model must be believed. If the variance of the model's relative error is D in
any one direction, it has variance D var_M(psi_1 - f), and the weights make

    sum_c a_c^2 sigma_c^2  +  D var_M(psi_1 - f)

least, a ridge regression of psi_1. They are chosen for a model that is far off (DIVERGENCE). The third mean itself is
taken to be of the size that noise would have hidden if it had been released: with D the variance of the noise on the
released functions over their own. For a population the chance of having drawn these rows adds var(psi) / n. Which part
of psi_1 releases tell is said with the answer. Reference: Bickel, Klaassen, Ritov, Wellner (1993), chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag, solve

from sklar.arrays import Floats, Ints
from sklar.inference.heard import Heard, Linear
from sklar.inference.mechanism.sums import CodeTable

DIVERGENCE = 0.1
"""D for the weights. Larger follows the releases where the model would do, and pays for it in noise; smaller believes
what the model has smoothed away. From 0.3 to 10 errors of differences between groups change by less than 5%."""
MOST_NUMBERS = 4_000
"""Released numbers in one system of equations; those of fewest cells come first."""
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
    heard: Heard, codes: CodeTable, psi: Floats, columns: Sequence[str], rows: float, counts: bool
) -> OneStep | None:
    """The step from releases about these columns.

    None if one of them has no histogram that shows anything, or nothing is told of two of them together.

    Args:
        heard: What was released.
        codes: Many rows drawn from the model.
        psi: Influence of each of these rows on each answer, one line an answer.
        columns: Those that the answers depend on.
        rows: Rows of the fitted table.
        counts: Whether psi only counts rows: then it goes on without slope where the model has no rows, and one column
            is told by its counts alone, tails and all.
    """
    sums = {name: heard.column(name, counts and len(columns) == 1) for name in columns}
    usable = _usable(heard.linear, set(columns))
    if any(one is None for one in sums.values()) or (len(columns) > 1 and not usable):
        return None
    psi = psi - psi.mean(axis=1, keepdims=True)
    alone, together = _split(psi, codes, {name: heard.places[name] for name in columns}, counts)
    told = _together(usable, codes, together, rows)
    shift, noise, skew = told.shift, told.noise, told.skew
    for name, one in sums.items():
        assert one is not None
        mean, variance, third = one.means(alone[name])
        shift, noise, skew = shift + mean, noise + variance, skew + third
    return OneStep(shift=shift, noise=noise, skew=skew, chance=psi.var(axis=1) / rows, told=told.told)


def _together(usable: Sequence[Linear], codes: CodeTable, psi: Floats, rows: float) -> OneStep:
    """What releases about two or more of the columns tell; nothing of one."""
    nothing, whole = np.zeros(len(psi)), psi.var(axis=1)
    if not usable:
        return OneStep(shift=nothing, noise=nothing, skew=nothing, chance=nothing, told=nothing + 1.0)
    functions = sparse.hstack([one.functions(codes) for one in usable], format="csr")
    turn = _turn(usable)
    gram = turn @ (functions.T @ functions).toarray() @ turn.T / codes.rows
    moments = (turn @ (functions.T @ psi.T)) / codes.rows
    model = turn @ np.asarray(functions.mean(axis=0)).ravel()
    released = np.concatenate([one.values for one in usable]) / rows
    variance = np.concatenate([np.full(one.values.size, (one.sigma / rows) ** 2) for one in usable])
    weights = solve(gram + np.diag(variance / DIVERGENCE), moments, assume_a="pos")
    explained = 2 * (moments * weights).sum(axis=0) - ((gram @ weights) * weights).sum(axis=0)
    hidden = variance.sum() / max(float(gram.diagonal().sum() - model @ model), 1e-300)
    left = np.maximum(whole - explained, 0.0)
    return OneStep(
        shift=(released - model) @ weights,
        noise=variance @ weights**2 + hidden * left,
        skew=nothing,
        chance=nothing,
        told=np.clip(explained / np.maximum(whole, 1e-300), 0.0, 1.0),
    )


def _usable(heard: Sequence[Linear], columns: set[str]) -> list[Linear]:
    """Releases about these columns alone, as many as can be solved for."""
    about = sorted((one for one in heard if set(one.columns) <= columns), key=lambda one: one.values.size)
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

"""Gaussian copulas fitted to the rows themselves: `plain-gaussian`, the reference for all Gaussian systems, and dpc's
without noise, `cop`, `cop-id` and `cop-1`.

Reference: Asghar et al. (2020), section 4.4.1 and table 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np

from sklar.arrays import Floats
from sklar.lab.baselines.method import BaselineMethod
from sklar.lab.tables.table import ExactTable
from sklar.methods.dpc.fit import Projection
from sklar.methods.dpc.tables import (
    Counted,
    estimates,
    first_codes,
    fit_counted,
    require_scores,
    score_probabilities,
    value_margins,
)
from sklar.methods.dpcopula.margins import public_bins
from sklar.methods.method import require_listed, require_whole
from sklar.model.correlation.nearest import clipped_correlation, nearest_correlation
from sklar.model.gaussian import GaussianModel
from sklar.model.margins.margin import margin_from_dense, u_edges
from sklar.model.onehot.decoding import Decoding, fit_decoding
from sklar.model.onehot.fit import onehot_model
from sklar.model.onehot.model import OneHotModel, lay_out_scores

ALL_ONES_FLOOR = 1e-4
"""Least eigenvalue of the matrix of ones, which has none but one that is positive: nearer to it against a sampler that
stays accurate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainGaussianOptions:
    """It has none."""


def fit_gaussian(table: ExactTable, options: PlainGaussianOptions, rng: np.random.Generator) -> GaussianModel:
    """The observed share of every base code, and the correlations of z = Phi^-1((F(x-) + F(x)) / 2): ties share the
    middle of their ranks. A constant column has no correlation with any other."""
    from scipy.special import ndtri

    margins = tuple(
        margin_from_dense(name, np.bincount(table.codes[name], minlength=table.schema.size(name)) / table.rows)
        for name in table.names
    )
    read = [(u_edges(margin), table.codes[margin.column]) for margin in margins]
    scores = np.column_stack([ndtri((edges[codes] + edges[codes + 1]) / 2) for edges, codes in read])
    centred = scores - scores.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(norms > 0, norms, 1.0)
    corr = scaled.T @ scaled
    np.fill_diagonal(corr, 1.0)
    return GaussianModel(margins=margins, corr=nearest_correlation(corr), rows_estimate=table.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopOptions:
    """What may be changed. The defaults are the paper's, which says nothing of how columns are cut; rows are decoded to
    one value a column in any case (ours: the paper's binary table may have two, or none).

    Attributes:
        bins: Ordered columns with more value cells are cut into this many equal runs of them; every nominal value has a
            code of its own.
        rounds: Ours: rounds of moving correlations until decoded rows have the observed pairs (dpc takes 3).
        projection: "plain": the correlation matrix that is nearest in its entries; "weighted" (ours): nearest in
            probabilities of pairs. Only `cop` has use for it.
    """

    bins: int = 32
    rounds: int = 0
    projection: Projection = "plain"

    def __post_init__(self) -> None:
        require_whole("bins", self.bins, 2, 4096)
        require_whole("rounds", self.rounds, 0, 100)
        require_listed("projection", self.projection, get_args(Projection))


def fit_cop(table: ExactTable, options: CopOptions, rng: np.random.Generator) -> OneHotModel:
    """The Gaussian copula over values behind the exact tables of all pairs."""
    counted = exact_counted(table, options.bins)
    decoding = Decoding(rounds=options.rounds, weighted=options.projection == "weighted")
    return fit_counted(counted, "pooled", 0.0, decoding, rng)


def fit_identity(table: ExactTable, options: CopOptions, rng: np.random.Generator) -> OneHotModel:
    """The same margins with the identity as the correlation matrix of all values."""
    return _with_corr(exact_counted(table, options.bins), np.eye, rng)


def fit_ones(table: ExactTable, options: CopOptions, rng: np.random.Generator) -> OneHotModel:
    """The same margins with ones as the correlations of all values."""
    counted = exact_counted(table, options.bins)
    return _with_corr(counted, lambda size: clipped_correlation(np.ones((size, size)), floor=ALL_ONES_FLOOR), rng)


def exact_counted(table: ExactTable, most: int) -> Counted:
    """Exact counts of the groups of all columns and all pairs of them."""
    bins = tuple(public_bins(table.schema[name], most) for name in table.names)
    groups = [b[table.codes[name]].astype(np.int64) for name, b in zip(table.names, bins, strict=True)]
    sizes = [int(b.max()) + 1 for b in bins]
    require_scores(sizes)
    exact_pairs = [
        np.bincount(groups[j] * sizes[k] + groups[k], minlength=sizes[j] * sizes[k]).astype(np.int64)
        for j, k in combinations(range(len(bins)), 2)
    ]
    return Counted(
        schema=table.schema,
        bins=bins,
        histograms=tuple(np.bincount(g, minlength=s).astype(np.float64) for g, s in zip(groups, sizes, strict=True)),
        counts=np.concatenate([np.zeros(0, np.int64), *exact_pairs]),
        std=0.0,
        rows=float(max(table.rows, 1)),
    )


def _with_corr(counted: Counted, corr: Callable[[int], Floats], rng: np.random.Generator) -> OneHotModel:
    """Exact margins joined by a given correlation matrix; offsets so that decoded margins hold."""
    layout = lay_out_scores(counted.sizes)
    found = estimates(counted, layout, "pooled", 0.0)
    p = score_probabilities(layout, found.shares)
    margins = value_margins(counted, found)
    model = onehot_model(layout, p, corr(len(p)), margins, first_codes(counted), round(found.rows))
    return fit_decoding(model, layout, p, found.joint, Decoding(rounds=0), rng) if max(counted.sizes) > 2 else model


REAPPEAR = "Its margins and pairs are the observed ones, so rare values of real people reappear."
PLAIN_GAUSSIAN = BaselineMethod(
    name="plain-gaussian",
    summary="A Gaussian copula over empirical margins, without noise",
    options=PlainGaussianOptions,
    fit=fit_gaussian,
    caveats=("Its margins are the observed shares of every value, so rare values of real people reappear.",),
)
COP = BaselineMethod(
    name="cop",
    summary="dpc without noise: a Gaussian copula over the values of columns, from exact tables of all pairs",
    options=CopOptions,
    fit=fit_cop,
    caveats=(REAPPEAR,),
)
COP_IDENTITY = BaselineMethod(
    name="cop-id",
    summary="cop with the identity as its correlation matrix: exact margins, no dependence",
    options=CopOptions,
    fit=fit_identity,
    caveats=(REAPPEAR,),
)
COP_ONES = BaselineMethod(
    name="cop-1",
    summary="cop with ones as its correlations: exact margins, all values drawn by one score",
    options=CopOptions,
    fit=fit_ones,
    caveats=(
        REAPPEAR,
        "Its ones hold in the binary table of the paper only: where a column must have one value, scores that agree "
        "leave the choice to chance, and columns of more than two values come out independent.",
    ),
)

"""Gaussian copulas fitted to the rows: `plain-gaussian`, the reference for all Gaussian systems, and dpc without noise:
`cop`, `cop-id` and `cop-1`.

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
    estimate_probabilities,
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

MIN_EIGENVALUE_OF_ONES = 1e-4
"""Eigenvalue floor of the singular matrix of ones: smaller is closer to it, larger keeps the sampler accurate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainGaussianOptions:
    """No options."""


def fit_gaussian(table: ExactTable, options: PlainGaussianOptions, rng: np.random.Generator) -> GaussianModel:
    """Fit the observed share of every base code, and the correlations of z = Phi^-1((F(x-) + F(x)) / 2).

    Ties share their middle rank. A constant column has correlation 0 with all others.
    """
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
    """Options of `cop`. The defaults are the paper's, which does not specify how columns are binned. Rows are always
    decoded to one value per column (ours: the paper's binary table may have two, or none).

    Attributes:
        bins: Ordered columns with more value cells are cut into this number of equal runs; every nominal value has its
            own code.
        rounds: Ours: rounds of adjusting correlations until decoded rows have the observed pairs (dpc uses 3).
        projection: "plain": the correlation matrix that is nearest in its entries; "weighted" (ours): nearest in
            probabilities of pairs. Used by `cop` only.
    """

    bins: int = 32
    rounds: int = 0
    projection: Projection = "plain"

    def __post_init__(self) -> None:
        require_whole("bins", self.bins, 2, 4096)
        require_whole("rounds", self.rounds, 0, 100)
        require_listed("projection", self.projection, get_args(Projection))


def fit_cop(table: ExactTable, options: CopOptions, rng: np.random.Generator) -> OneHotModel:
    """Fit the Gaussian copula over values to the exact tables of all pairs."""
    counted = count_pairs(table, options.bins)
    decoding = Decoding(rounds=options.rounds, weighted=options.projection == "weighted")
    return fit_counted(counted, "pooled", 0.0, decoding, rng)


def fit_identity(table: ExactTable, options: CopOptions, rng: np.random.Generator) -> OneHotModel:
    """Fit exact margins with the identity as the correlation matrix of all values."""
    return _join_margins(count_pairs(table, options.bins), np.eye, rng)


def fit_ones(table: ExactTable, options: CopOptions, rng: np.random.Generator) -> OneHotModel:
    """Fit exact margins with ones as the correlations of all values."""
    counted = count_pairs(table, options.bins)
    return _join_margins(
        counted, lambda size: clipped_correlation(np.ones((size, size)), floor=MIN_EIGENVALUE_OF_ONES), rng
    )


def count_pairs(table: ExactTable, most: int) -> Counted:
    """Count the groups of all columns and of all pairs of columns exactly."""
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


def _join_margins(counted: Counted, corr: Callable[[int], Floats], rng: np.random.Generator) -> OneHotModel:
    """Join exact margins by a given correlation matrix, with offsets that keep the decoded margins exact."""
    layout = lay_out_scores(counted.sizes)
    found = estimate_probabilities(counted, layout, "pooled", 0.0)
    p = score_probabilities(layout, found.shares)
    margins = value_margins(counted, found)
    model = onehot_model(layout, p, corr(len(p)), margins, first_codes(counted), round(found.rows))
    return fit_decoding(model, layout, p, found.joint, Decoding(rounds=0), rng) if max(counted.sizes) > 2 else model


RARE_VALUES_CAVEAT = "Its margins and pairs are the observed ones, so rare values of real people reappear."
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
    caveats=(RARE_VALUES_CAVEAT,),
)
COP_IDENTITY = BaselineMethod(
    name="cop-id",
    summary="cop with the identity as its correlation matrix: exact margins, no dependence",
    options=CopOptions,
    fit=fit_identity,
    caveats=(RARE_VALUES_CAVEAT,),
)
COP_ONES = BaselineMethod(
    name="cop-1",
    summary="cop with ones as its correlations: exact margins, one score for all values",
    options=CopOptions,
    fit=fit_ones,
    caveats=(
        RARE_VALUES_CAVEAT,
        "Its correlations of one hold in the paper's binary table only: if a column must have exactly one value, equal "
        "scores leave the choice to chance, and columns of more than two values become independent.",
    ),
)

"""dpc without noise, and its two extremes: the paper's references cop, cop-ID and cop-1.

Reference: Asghar et al. (2020), section 4.4.1 and table 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.baselines.method import BaselineMethod
from sklar.lab.tables.table import ExactTable
from sklar.methods.dpc.fit import Projection
from sklar.methods.dpc.tables import Counted, estimates, first_codes, fit_counted, score_probabilities, value_margins
from sklar.methods.dpcopula.kendall import require_listed
from sklar.methods.dpcopula.margins import public_bins
from sklar.model.correlation.nearest import clipped_correlation
from sklar.model.onehot.decoding import Decoding, fit_decoding
from sklar.model.onehot.fit import onehot_model
from sklar.model.onehot.model import OneHotModel, lay_out_scores

ALL_ONES_FLOOR = 1e-4
"""Least eigenvalue of the matrix of ones, which has none but one that is positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopOptions:
    """What may be changed.

    Attributes:
        bins: Columns with more value cells are cut into this many equal runs of them.
        rounds: Rounds of moving correlations until decoded rows have the observed pairs; 0 for the binary table.
        projection: "weighted": the correlation matrix that is nearest in probabilities of pairs; "plain": nearest in
            its entries, as in the paper. Only `cop` has use for it.
    """

    bins: int = 32
    rounds: int = 3
    projection: Projection = "weighted"

    def __post_init__(self) -> None:
        for name, low, high in (("bins", 2, 4096), ("rounds", 0, 100)):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise UsageError(f"{name} must be a whole number between {low} and {high}; {value!r} was given")
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

    def ones(size: int) -> Floats:
        return clipped_correlation(np.ones((size, size)), floor=ALL_ONES_FLOOR)

    return _with_corr(exact_counted(table, options.bins), ones, rng)


def exact_counted(table: ExactTable, most: int) -> Counted:
    """Exact counts of the groups of all columns and all pairs of them."""
    names = table.names
    bins = tuple(public_bins(table.schema[name], most) for name in names)
    groups = [b[table.codes[name]].astype(np.int64) for name, b in zip(names, bins, strict=True)]
    sizes = [int(b.max()) + 1 for b in bins]
    exact_pairs = [_exact_pair(groups[j] * sizes[k], groups[k], sizes[j] * sizes[k]) for j, k in _pairs(len(names))]
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
    model = onehot_model(
        layout, p, corr(len(p)), value_margins(counted, found.shares), first_codes(counted), round(found.rows)
    )
    return fit_decoding(model, layout, p, found.joint, Decoding(rounds=0), rng) if max(counted.sizes) > 2 else model


def _pairs(columns: int) -> list[tuple[int, int]]:
    return list(combinations(range(columns), 2))


def _exact_pair(left: Ints, right: Ints, cells: int) -> Ints:
    return np.bincount(left + right, minlength=cells).astype(np.int64)


REAPPEAR = "Its margins and pairs are the observed ones, so rare values of real people reappear."
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

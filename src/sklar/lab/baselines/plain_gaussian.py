"""A Gaussian copula fitted to the rows themselves: the reference without noise for the Gaussian systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.lab.baselines.method import DisclosedMethod
from sklar.lab.tables.table import ExactTable
from sklar.model.correlation.nearest import nearest_correlation
from sklar.model.gaussian import GaussianModel
from sklar.model.margins.margin import Margin, margin_from_dense, u_edges


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainGaussianOptions:
    """It has none."""


def fit(table: ExactTable, options: PlainGaussianOptions, rng: np.random.Generator) -> GaussianModel:
    """Empirical margins, and the correlations of the normal scores of mid-ranks."""
    margins = exact_margins(table)
    scores = np.column_stack([_scores(margin, table.codes[margin.column]) for margin in margins])
    return GaussianModel(margins=margins, corr=_correlations(scores), rows_estimate=table.total)


def _scores(margin: Margin, codes: npt.NDArray[np.integer]) -> Floats:
    """z = Phi^-1((F(x-) + F(x)) / 2): ties share the middle of their ranks."""
    from scipy.special import ndtri

    edges = u_edges(margin)
    return ndtri((edges[codes] + edges[codes + 1]) / 2)


def _correlations(scores: Floats) -> Floats:
    """Pearson correlations; a constant column has none with any other."""
    centered = scores - scores.mean(axis=0)
    norms = np.sqrt((centered**2).sum(axis=0))
    scaled = centered / np.where(norms > 0, norms, 1.0)
    corr = scaled.T @ scaled
    np.fill_diagonal(corr, 1.0)
    return nearest_correlation(corr)


PLAIN_GAUSSIAN = DisclosedMethod(
    name="plain-gaussian",
    summary="A Gaussian copula over empirical margins, without noise",
    options=PlainGaussianOptions,
    fit=fit,
    caveats=("Its margins are the observed shares of every value, so rare values of real people reappear.",),
)


def exact_margins(table: ExactTable) -> tuple[Margin, ...]:
    """The observed share of every base code, column by column."""
    return tuple(_margin(table, name) for name in table.names)


def _margin(table: ExactTable, name: str) -> Margin:
    exact_counts = np.bincount(table.codes[name], minlength=table.schema.size(name))
    return margin_from_dense(name, exact_counts / table.rows)

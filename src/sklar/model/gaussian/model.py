"""A Gaussian copula over margins: one normal score a column, cut at the thresholds of its margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Mask
from sklar.errors import UsageError
from sklar.model.conditioning import Proposals, Runs, cover
from sklar.model.correlation.bivariate import truncated_normal
from sklar.model.correlation.normals import factor_of, latent_blocks
from sklar.model.margins.margin import Margin, u_edges

Codes = NDArray[np.int32]
ROUNDED_ENTRIES = 1 << 26
"""Rows are balanced against each other in blocks of this many numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianModel:
    """Margins joined by a Gaussian copula.

    Attributes:
        margins: One per modelled column, in schema order.
        corr: Correlation matrix of the normal scores of the columns.
        rows_estimate: Noisy (or public) number of rows, at least 1.
    """

    margins: tuple[Margin, ...]
    corr: Floats
    rows_estimate: int

    def __post_init__(self) -> None:
        if self.corr.shape != (len(self.margins), len(self.margins)):
            raise UsageError("a Gaussian copula needs one line of correlations per margin.")

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes, shape (rows, columns), Fortran order."""
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        cuts = [np.asarray(x, dtype=np.float32) for x in self._thresholds()]
        for part, scores in latent_blocks(factor_of(self.corr), rows, rng):
            for column, cut in enumerate(cuts):
                codes[part, column] = np.searchsorted(cut, scores[column], side="right")
        return codes

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose counts match every margin to rounding and whose scores have the model's correlations."""
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        blocks = latent_blocks(factor_of(self.corr), rows, rng, balanced=True, entries=ROUNDED_ENTRIES)
        for part, scores in blocks:
            height = part.stop - part.start
            for column, margin in enumerate(self.margins):
                order = np.argsort(scores[column], kind="stable")
                codes[part, column][order] = margin.ppf((np.arange(height) + rng.random(height)) / height)
        return codes

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows for a condition by the sampler of Geweke, Hajivassiliou and Keane: the columns of the sets come first.

        The mean weight is the probability of the sets.
        """
        order = [*allowed, *(j for j in range(len(self.margins)) if j not in allowed)]
        factor, thresholds = factor_of(self.corr[np.ix_(order, order)]), self._thresholds()
        runs = [_score_runs(self.margins[column], mask) for column, mask in allowed.items()]

        def propose(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            draws, log = rng.standard_normal((len(order), rows)), np.zeros(rows)
            for i, run in enumerate(runs):
                draws[i], inside = truncated_normal(run, factor[i, :i] @ draws[:i], float(factor[i, i]), rng)
                log += inside
            codes = np.empty((rows, len(order)), dtype=np.int32, order="F")
            for column, scores in zip(order, factor @ draws, strict=True):
                codes[:, column] = np.searchsorted(thresholds[column], scores, side="right")
            return codes, log

        return propose

    def _thresholds(self) -> list[Floats]:
        """Normal scores between neighboring base codes of each column; codes without mass lie between equal ones."""
        from scipy.special import ndtri

        return [ndtri(u_edges(margin)[1:-1]) for margin in self.margins]


def _score_runs(margin: Margin, mask: Mask) -> Runs:
    """Intervals of normal scores that cover a set of base codes."""
    from scipy.special import ndtri

    edges = u_edges(margin)
    keep = mask & (np.diff(edges) > 0)
    runs = cover(edges[:-1][keep], edges[1:][keep])
    return Runs(low=ndtri(runs.low), high=ndtri(runs.high))

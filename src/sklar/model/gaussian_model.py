"""A Gaussian copula over margins: one normal score a column, cut at the thresholds of its margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UnsupportedConditionError, UsageError
from sklar.model.gaussian_given import conditioned_scores, runs_of_scores
from sklar.model.gaussian_latent import factor_of, latent_blocks
from sklar.model.margin import Margin, u_edges

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
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

    def simulate_given(
        self, rows: int, allowed: Mapping[int, NDArray[np.bool_]], rng: np.random.Generator
    ) -> tuple[Codes, float]:
        """Independent rows with some columns inside given sets of base codes, and the effective sample size.

        Raises:
            UnsupportedConditionError: The model gives the sets no, or too little, mass.
        """
        if not allowed:
            return self.simulate(rows, rng), float(rows)
        given, runs = tuple(allowed), []
        for column in given:
            found = runs_of_scores(self.margins[column], np.asarray(allowed[column], dtype=bool))
            if not len(found.low):
                raise UnsupportedConditionError(
                    f"no row of the model has column '{self.margins[column].column}' inside the given set; "
                    "ask for values that the model gives some mass."
                )
            runs.append(found)
        order = [*given, *(j for j in range(len(self.margins)) if j not in allowed)]
        factor = factor_of(self.corr[np.ix_(order, order)])
        drawn = conditioned_scores(factor[: len(given), : len(given)], runs, rows, rng)
        return self._fill(rows, order, factor, drawn.draws, drawn.codes, rng), drawn.effective

    def _fill(
        self, rows: int, order: list[int], factor: Floats, draws: Floats, inside: Codes, rng: np.random.Generator
    ) -> Codes:
        """The other columns given the draws behind the conditioned ones."""
        codes = np.empty((rows, len(order)), dtype=np.int32, order="F")
        known, thresholds = draws.shape[0], self._thresholds()
        codes[:, order[:known]] = inside
        height = max(256, (1 << 22) // len(order))
        for start in range(0, rows, height):
            part = slice(start, min(start + height, rows))
            fresh = rng.standard_normal((len(order) - known, part.stop - part.start))
            scores = factor[known:, :known] @ draws[:, part] + factor[known:, known:] @ fresh
            for place, column in enumerate(order[known:]):
                codes[part, column] = np.searchsorted(thresholds[column], scores[place], side="right")
        return codes

    def _thresholds(self) -> list[Floats]:
        """Normal scores between neighboring base codes of each column; codes without mass lie between equal ones."""
        from scipy.special import ndtri

        return [ndtri(u_edges(margin)[1:-1]) for margin in self.margins]

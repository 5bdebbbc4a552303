"""Gaussian copulas over margins: one normal score a column, cut at the thresholds of its margin.

Also over base codes put into another order, and in cells, where some columns pick a cell and each cell has a copula of
its own for the others. How correlations were measured is the business of `sklar.methods.dpcopula`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import UsageError
from sklar.model.conditioning import Runs, mass_of_sets, merge_intervals, mix_proposals, resample_systematically
from sklar.model.correlation.bivariate import truncated_normal
from sklar.model.correlation.normals import factor_of, latent_blocks
from sklar.model.margins.margin import Margin, margin_from_dense, u_edges
from sklar.model.protocol import UNKNOWN_CODE, Codes, Proposals, RowProposals

REAL_LINE = (-np.inf, np.inf)
"""The axis of normal scores."""
MAX_BALANCED_ENTRIES = 1 << 26
"""Rows are balanced against each other in blocks of this many numbers: more hold margins tighter and take more memory
(256 MB)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianModel:
    """Margins joined by a Gaussian copula; `corr` is the correlation matrix of the normal scores of the columns."""

    margins: tuple[Margin, ...]
    corr: Floats
    rows_estimate: int

    def __post_init__(self) -> None:
        if self.corr.shape != (len(self.margins), len(self.margins)):
            raise UsageError("a Gaussian copula needs one line of correlations per margin.")

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        cuts = [np.asarray(x, dtype=np.float32) for x in self._thresholds()]
        for part, scores in latent_blocks(factor_of(self.corr), rows, rng):
            for column, cut in enumerate(cuts):
                codes[part, column] = np.searchsorted(cut, scores[column], side="right")
        return codes

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose counts match every margin to rounding and whose scores have the model's correlations."""
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        blocks = latent_blocks(factor_of(self.corr), rows, rng, balanced=True, entries=MAX_BALANCED_ENTRIES)
        for part, scores in blocks:
            height = part.stop - part.start
            for column, margin in enumerate(self.margins):
                order = np.argsort(scores[column], kind="stable")
                codes[part, column][order] = margin.ppf((np.arange(height) + rng.random(height)) / height)
        return codes

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition by the sampler of Geweke, Hajivassiliou and Keane: the columns of the sets come
        first.

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

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return rows with known codes, each its own, in the same way."""
        order = [*first, *(j for j in range(len(self.margins)) if j not in first)]
        factor, cuts = factor_of(self.corr[np.ix_(order, order)]), self._thresholds()
        ends = [(np.append(-np.inf, cut), np.append(cut, np.inf)) for cut in cuts]

        def propose(known: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
            draws, log = rng.standard_normal((len(order), len(known))), np.zeros(len(known))
            for i, column in enumerate(order):
                codes = known[:, column]
                if (codes >= 0).any():
                    low, high = (
                        np.where(codes >= 0, end[codes], w) for end, w in zip(ends[column], REAL_LINE, strict=True)
                    )
                    mean, run = factor[i, :i] @ draws[:i], Runs(low=low[None], high=high[None])
                    draws[i], inside = truncated_normal(run, mean, float(factor[i, i]), rng)
                    log += inside
            scores = factor @ draws
            drawn = [np.searchsorted(cuts[j], scores[order.index(j)], side="right") for j in range(len(order))]
            return np.where(known >= 0, known, np.column_stack(drawn)).astype(np.int32), log

        return propose

    def _thresholds(self) -> list[Floats]:
        """Return normal scores between neighbouring base codes of each column; codes without mass lie between equal
        ones."""
        from scipy.special import ndtri

        return [ndtri(u_edges(margin)[1:-1]) for margin in self.margins]


def _score_runs(margin: Margin, mask: Mask) -> Runs:
    """Return intervals of normal scores that cover a set of base codes."""
    from scipy.special import ndtri

    edges = u_edges(margin)
    keep = mask & (np.diff(edges) > 0)
    runs = merge_intervals(edges[:-1][keep], edges[1:][keep])
    return Runs(low=ndtri(runs.low), high=ndtri(runs.high))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReorderedModel:
    """A Gaussian copula over places (`inner`); for each column, `codes` lists the base code at each place."""

    margins: tuple[Margin, ...]
    inner: GaussianModel
    codes: tuple[Ints, ...]

    @property
    def rows_estimate(self) -> int:
        """Noisy (or public) number of rows."""
        return self.inner.rows_estimate

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        return self._codes_at(self.inner.simulate(rows, rng))

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose counts match every margin to rounding."""
        return self._codes_at(self.inner.simulate_rounded(rows, rng))

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: those of the model over places."""
        propose = self.inner.proposals({column: mask[self.codes[column]] for column, mask in allowed.items()})

        def reordered(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            places, log = propose(rows, rng)
            return self._codes_at(places), log

        return reordered

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return rows with known codes: those of the model over places."""
        propose = self.inner.row_proposals(first)
        places = [np.append(np.argsort(codes), UNKNOWN_CODE) for codes in self.codes]

        def reordered(known: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
            found, log = propose(np.column_stack([place[known[:, j]] for j, place in enumerate(places)]), rng)
            return self._codes_at(found), log

        return reordered

    def _codes_at(self, places: Codes) -> Codes:
        for column, codes in enumerate(self.codes):
            places[:, column] = codes[places[:, column]]
        return places


def reordered_margin(margin: Margin, codes: Ints) -> Margin:
    """Return the margin over places."""
    return replace(margin_from_dense(margin.column, margin.dense()[codes]), decimals=margin.decimals)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureModel:
    """A distribution over cells, and a model of the other columns in each.

    Attributes:
        small: Positions of the columns that make the cells; `large` are the others.
        cells: Codes of the small columns in each cell, one line a cell, with their probabilities (`weights`).
        models: A model of the large columns for each cell.
    """

    margins: tuple[Margin, ...]
    small: tuple[int, ...]
    large: tuple[int, ...]
    cells: Ints
    weights: Floats
    models: tuple[GaussianModel, ...]
    rows_estimate: int

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        return self._fill(rng.choice(len(self.weights), rows, p=self.weights), rng, rounded=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose cells, and margins inside cells, match the model to rounding."""
        return self._fill(resample_systematically(self.weights, rows, rng), rng, rounded=True)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: those of the cells, drawn by their weights and by the margins of the sets in
        them.

        What a cell's own dependence makes of the sets is in the weights of its rows.
        """
        keep = np.ones(len(self.weights), dtype=bool)
        for place, column in enumerate(self.small):
            if column in allowed:
                keep &= allowed[column][self.cells[:, place]]
        inner = {self.large.index(column): mask for column, mask in allowed.items() if column not in self.small}
        guesses = self.weights * keep * [mass_of_sets(model.margins, inner) for model in self.models]
        parts = [self._cell_proposals(cell, inner) if guess > 0 else None for cell, guess in enumerate(guesses)]
        return mix_proposals(self.weights, guesses, parts)

    def _cell_proposals(self, cell: int, inner: Mapping[int, Mask]) -> Proposals:
        propose = self.models[cell].proposals(inner)

        def in_cell(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
            codes[:, self.small] = self.cells[cell]
            codes[:, self.large], log = propose(rows, rng)
            return codes, log

        return in_cell

    def _fill(self, chosen: Ints, rng: np.random.Generator, *, rounded: bool) -> Codes:
        """Return rows in the chosen cells."""
        codes = np.empty((len(chosen), len(self.margins)), dtype=np.int32, order="F")
        codes[:, self.small] = self.cells[chosen]
        order = np.argsort(chosen, kind="stable")
        bounds = np.searchsorted(chosen[order], np.arange(len(self.models) + 1))
        for cell, model in enumerate(self.models):
            at = order[bounds[cell] : bounds[cell + 1]]
            if len(at) and self.large:
                draw = model.simulate_rounded if rounded else model.simulate
                codes[at[:, None], np.array(self.large)] = draw(len(at), rng)
        return codes

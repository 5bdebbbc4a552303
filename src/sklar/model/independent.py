"""A model without dependence: every column is drawn from its own margin."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.model.margins.margin import Margin, restrict
from sklar.model.protocol import Codes, Proposals, RowProposals

GUIDES_PER_CELL = 4
"""Entries of the guide table for each cell of the margin: more lead nearer, and take longer to build."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndependentModel:
    """The product of its margins."""

    margins: tuple[Margin, ...]
    rows_estimate: int

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        return _draw(self.margins, rows, rng, stratified=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose counts match every margin to rounding: one uniform in each of `rows` equal strata,
        shuffled."""
        return _draw(self.margins, rows, rng, stratified=True)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: from the margins cut to the sets, all of one weight."""
        margins = [restrict(m, allowed[j]) if j in allowed else m for j, m in enumerate(self.margins)]
        return lambda rows, rng: (_draw(margins, rows, rng, stratified=False), np.zeros(rows))

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return rows with known codes: what is known says nothing about the rest."""

        def propose(known: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
            return np.where(known >= 0, known, self.simulate(len(known), rng)), np.zeros(len(known))

        return propose


def _draw(margins: Sequence[Margin], rows: int, rng: np.random.Generator, stratified: bool) -> Codes:
    codes = np.empty((rows, len(margins)), dtype=np.int32, order="F")
    for column, margin in enumerate(margins):
        u = rng.random(rows)
        if stratified:
            u = rng.permutation((np.arange(rows) + u) / max(rows, 1))
        draw_codes(margin, u, codes[:, column])
    return codes


def draw_codes(margin: Margin, u: Floats, out: Codes) -> None:
    """out = margin.ppf(u), for u in [0, 1): the same codes, found in constant time on average.

    The guide table (Chen and Asau 1974) has, for each of equally wide parts of [0, 1), the first cell that reaches
    into it; from there the search is linear.
    """
    from sklar.model.kernels import invert_cdf  # not at import time: numba is slow to load

    edges, positive = margin.edges(), np.flatnonzero(margin.mass)
    cells = int(positive[-1])
    parts = max(16, GUIDES_PER_CELL * len(margin.mass))
    guide = np.searchsorted(edges, np.arange(parts) / parts, side="right") - 1
    guide = np.clip(guide - 1, 0, cells)  # one earlier: u * parts is rounded
    invert_cdf(u, edges, margin.mass, margin.starts, margin.widths(), guide, cells, out)

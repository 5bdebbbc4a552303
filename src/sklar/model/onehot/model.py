"""A Gaussian copula over the values of columns: a normal score per value, and the value with the highest score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.model.conditioning import by_rejection
from sklar.model.correlation.normals import factor_of, latent_blocks
from sklar.model.margins.margin import Margin, u_edges
from sklar.model.protocol import Codes, Proposals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneHotModel:
    """Columns cut into groups of base codes; each group of a column has a normal score.

    A column of two groups has one score: the second group is where it exceeds the threshold. A column of more groups
    takes the group with the largest score plus offset. A column of one group has none.

    Attributes:
        groups: For each column, the first base code of every group.
        starts: Where the scores of each column start; one more for the end.
        offsets: Added to each score before the largest is taken; for columns of two groups minus the threshold.
        thresholds: Normal score above which each group has its own probability: the cut of the binary table.
        corr: Correlations of all scores.
        rest: For each column, the base codes that share its last group, distinguished by the margin; none if groups are
            runs of codes. Empty if this is so in all columns.
    """

    margins: tuple[Margin, ...]
    groups: tuple[Ints, ...]
    starts: Ints
    offsets: Floats
    thresholds: Floats
    corr: Floats
    rows_estimate: int
    rest: tuple[Ints, ...] = ()

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        return self._simulate(rows, rng, balanced=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose scores have the model's correlations exactly, which leaves less to chance."""
        return self._simulate(rows, rng, balanced=True)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: by rejection."""
        return by_rejection(self, allowed)

    def simulate_binary(self, rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Return the binary table of the paper: one column per group, each cut on its own, so that a row of several
        groups of one column, or of none, can come up. Base codes that share the rest of a column have a column each."""
        first = np.cumsum([0, *map(len, self.binary_codes())])
        out = np.zeros((rows, int(first[-1])), dtype=np.uint8, order="F")
        for part, scores in latent_blocks(factor_of(self.corr), rows, rng):
            above = scores > self.thresholds.astype(np.float32)[:, None]
            for column, groups in enumerate(self.groups):
                low, high = int(self.starts[column]), int(self.starts[column + 1])
                bits = np.stack([~above[low], above[low]]) if len(groups) == 2 else above[low:high]
                here = out[part, int(first[column]) : int(first[column + 1])]
                rest = self._rest_of(column)
                if len(rest):
                    here[:, groups[:-1]] = bits[:-1].T
                    hit = np.flatnonzero(bits[-1])
                    here[hit, self._draw_rest(column, len(hit), rng)] = 1
                else:
                    here[:] = 1 if len(groups) == 1 else bits.T
        return out

    def binary_codes(self) -> tuple[Ints, ...]:
        """Return for each column, the first base code of every column of the binary table."""
        parts = zip(self.margins, self.groups, strict=True)
        return tuple(np.arange(m.size) if len(self._rest_of(j)) else g for j, (m, g) in enumerate(parts))

    def _rest_of(self, column: int) -> Ints:
        return self.rest[column] if self.rest else np.zeros(0, np.int64)

    def _draw_rest(self, column: int, rows: int, rng: np.random.Generator) -> Ints:
        """Return the base codes out of the rest of a column, by its margin."""
        codes = self.rest[column]
        mass = self.margins[column].dense()[codes]
        edges = np.cumsum(mass if mass.sum() > 0 else np.ones(len(codes)))
        drawn = np.searchsorted(edges, rng.random(rows) * edges[-1], side="right")
        return codes[np.minimum(drawn, len(codes) - 1)]

    def _simulate(self, rows: int, rng: np.random.Generator, balanced: bool) -> Codes:
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        firsts = [np.append(groups, m.size) for m, groups in zip(self.margins, self.groups, strict=True)]
        bounds = [u_edges(margin)[first] for margin, first in zip(self.margins, firsts, strict=True)]
        offsets, sizes = self.offsets.astype(np.float32), [len(groups) for groups in self.groups]
        for part, scores in latent_blocks(factor_of(self.corr), rows, rng, balanced=balanced):
            picked = picked_groups(scores, offsets, self.starts, sizes)
            for column, (margin, group) in enumerate(zip(self.margins, picked, strict=True)):
                if sizes[column] == margin.size:
                    codes[part, column] = group
                    continue
                if len(self._rest_of(column)):
                    codes[part, column] = self.groups[column][group]
                    hit = np.flatnonzero(group == sizes[column] - 1)
                    codes[part.start + hit, column] = self._draw_rest(column, len(hit), rng)
                    continue
                edges, first = bounds[column], firsts[column]
                u = edges[group] + rng.random(len(group)) * (edges[group + 1] - edges[group])
                # Rounding, or a group without mass, would leave the group.
                codes[part, column] = np.clip(margin.ppf(u), first[group], first[group + 1] - 1)
        return codes


def picked_groups(scores: NDArray[np.float32], offsets: NDArray[np.float32], starts: Ints, sizes: list[int]) -> Codes:
    """Group of each column (line) and row: by sign where there are two, by the largest where there are more."""
    from sklar.model.kernels import pick_best_group  # not at import time: numba is slow to load

    out = np.zeros((len(sizes), scores.shape[1]), dtype=np.int32)
    for column, size in enumerate(sizes):
        low, high = int(starts[column]), int(starts[column + 1])
        if size == 2:
            out[column] = scores[low] + offsets[low] > 0
        elif size > 2:
            pick_best_group(scores[low:high], offsets[low:high], out[column])
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreLayout:
    """Which score belongs to which value: the column (`owner`) and the group (`value`) of each.

    For each column there is its number of groups, and where its scores start; one more for the end.
    """

    sizes: tuple[int, ...]
    starts: Ints
    owner: Ints
    value: Ints


def lay_out_scores(sizes: tuple[int, ...]) -> ScoreLayout:
    """No score for a column of one group, one for two groups (the second's), else one for each."""
    values = [score_values(size) for size in sizes]
    counts = [len(v) for v in values]
    return ScoreLayout(
        sizes=sizes,
        starts=np.cumsum([0, *counts]).astype(np.int64),
        owner=np.repeat(np.arange(len(sizes)), counts),
        value=np.concatenate([np.zeros(0, dtype=np.int64), *values]).astype(np.int64),
    )


def score_values(size: int) -> Ints:
    """Return the groups that have a score in a column with this number of groups."""
    return np.arange(1, 2) if size == 2 else np.arange(size if size > 2 else 0)

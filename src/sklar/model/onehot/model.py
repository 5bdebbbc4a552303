"""A Gaussian copula over the values of columns: a normal score per value, and the value whose score stands out most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.model.conditioning import Proposals, by_rejection
from sklar.model.correlation.normals import factor_of, latent_blocks
from sklar.model.margins.margin import Margin, u_edges

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneHotModel:
    """Columns cut into groups of base codes; each group of a column has a normal score.

    A column of two groups has one score: the second group is where it exceeds the threshold. A column of more groups
    takes the group with the largest score plus offset. A column of one group has none.

    Attributes:
        margins: One per modelled column, in schema order.
        groups: For each column, the first base code of every group.
        starts: Where the scores of each column start; one more for the end.
        offsets: Added to each score before the largest is taken; for columns of two groups minus the threshold.
        thresholds: Normal score above which each group has its own probability: the cut of the binary table.
        corr: Correlations of all scores.
        rows_estimate: Noisy (or public) number of rows, at least 1.
    """

    margins: tuple[Margin, ...]
    groups: tuple[Ints, ...]
    starts: Ints
    offsets: Floats
    thresholds: Floats
    corr: Floats
    rows_estimate: int

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes, shape (rows, columns), Fortran order."""
        return self._simulate(rows, rng, balanced=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose scores have the model's correlations exactly, which leaves less to chance."""
        return self._simulate(rows, rng, balanced=True)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows for a condition: by rejection."""
        return by_rejection(self, allowed)

    def simulate_binary(self, rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """The binary table of the paper: one column per group, each cut on its own, so that a row of several groups of
        one column, or of none, can come up."""
        out = np.empty((rows, sum(len(g) for g in self.groups)), dtype=np.uint8, order="F")
        first = np.cumsum([0, *(len(g) for g in self.groups)])
        for part, scores in latent_blocks(factor_of(self.corr), rows, rng):
            above = scores > self.thresholds.astype(np.float32)[:, None]
            for column, groups in enumerate(self.groups):
                at = slice(int(self.starts[column]), int(self.starts[column + 1]))
                here = slice(int(first[column]), int(first[column + 1]))
                if len(groups) == 1:
                    out[part, here] = 1
                elif len(groups) == 2:
                    out[part, here] = np.stack([~above[at.start], above[at.start]], axis=1)
                else:
                    out[part, here] = above[at].T
        return out

    def group_blocks(self, rows: int, rng: np.random.Generator, balanced: bool) -> Iterator[tuple[slice, Codes]]:
        """Blocks of rows as groups, one line of the array per column."""
        offsets = self.offsets.astype(np.float32)
        for part, scores in latent_blocks(factor_of(self.corr), rows, rng, balanced=balanced):
            yield part, picked_groups(scores, offsets, self.starts, [len(g) for g in self.groups])

    def _simulate(self, rows: int, rng: np.random.Generator, balanced: bool) -> Codes:
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        bounds = [_bounds(margin, groups) for margin, groups in zip(self.margins, self.groups, strict=True)]
        for part, picked in self.group_blocks(rows, rng, balanced):
            for column, margin in enumerate(self.margins):
                group = picked[column]
                if len(self.groups[column]) == margin.size:
                    codes[part, column] = group
                else:
                    edges = bounds[column]
                    u = edges[group] + rng.random(len(group)) * (edges[group + 1] - edges[group])
                    codes[part, column] = _within(margin.ppf(u), group, self.groups[column], margin.size)
        return codes


def picked_groups(scores: NDArray[np.float32], offsets: NDArray[np.float32], starts: Ints, sizes: list[int]) -> Codes:
    """Group of each column (line) and row: by sign where there are two, by the largest where there are more."""
    from sklar.model.kernels import pick  # not at import time: numba is slow to load

    out = np.zeros((len(sizes), scores.shape[1]), dtype=np.int32)
    for column, size in enumerate(sizes):
        low, high = int(starts[column]), int(starts[column + 1])
        if size == 2:
            out[column] = scores[low] + offsets[low] > 0
        elif size > 2:
            pick(scores[low:high], offsets[low:high], out[column])
    return out


def _bounds(margin: Margin, groups: Ints) -> Floats:
    """Cumulative probability at the borders of the groups."""
    return u_edges(margin)[np.append(groups, margin.size)]


def _within(codes: Ints, group: Codes, first: Ints, size: int) -> Ints:
    """Codes kept inside their group, where rounding, or a group without mass, would leave it."""
    last = np.append(first[1:], size) - 1
    return np.clip(codes, first[group], last[group])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreLayout:
    """Which score belongs to which value.

    Attributes:
        sizes: Number of groups of each column.
        starts: Where the scores of each column start; one more for the end.
        owner: Column of each score.
        value: Group of each score.
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
    """The groups that have a score in a column of so many groups."""
    return np.arange(1, 2) if size == 2 else np.arange(size if size > 2 else 0)

"""Which normal score belongs to which value of which column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
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


def lay_out_scores(sizes: tuple[int, ...]) -> Layout:
    """No score for a column of one group, one for two groups (the second's), else one for each."""
    values = [score_values(size) for size in sizes]
    counts = [len(v) for v in values]
    return Layout(
        sizes=sizes,
        starts=np.cumsum([0, *counts]).astype(np.int64),
        owner=np.repeat(np.arange(len(sizes)), counts),
        value=np.concatenate([np.zeros(0, dtype=np.int64), *values]).astype(np.int64),
    )


def score_values(size: int) -> Ints:
    """The groups that have a score in a column of so many groups."""
    return np.arange(1, 2) if size == 2 else np.arange(size if size > 2 else 0)

"""Measured tables of pairs for tests, from the ends of their groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.tables import MeasuredTable


def pair_table(counts: np.ndarray, sigma: float, edges1: np.ndarray, edges2: np.ndarray, **more: Any) -> MeasuredTable:
    """Return a measured table of two columns whose margin cells are the groups."""
    groups = tuple(Groups(lookup=np.arange(len(edges) - 1), edges=edges) for edges in (edges1, edges2))
    return MeasuredTable(columns=(0, 1), groups=groups, counts=counts, sigma=sigma, **more)

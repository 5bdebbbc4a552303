"""Tables of three columns for controlled rounding: not measured, but the weighted pool tells what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sklar.model.calibration import MOST_CELLS, Calibration, part_codes
from sklar.model.scale import Scale

MOST_TRIPLES = 400
"""All triples up to 14 columns; of more columns a random choice."""


def triple_cells(
    calibration: Calibration, scales: Sequence[Scale], particles: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, list[int]]:
    """Cell of each particle (column) in tables of three columns (rows), and the number of cells of each table.

    Rows picked to follow these tables too carry less sampling noise in whatever involves three columns. The targets are
    those of the weighted pool, which holds several times as many particles as rows are picked.
    """
    axes = pair_axes(calibration)
    triples = _choose(sorted(axes), rng)
    codes = part_codes(calibration.partitions, scales, particles)
    cells: list[np.ndarray] = []
    counts: list[int] = []
    for triple in triples:
        parts = [axes[column] for column in triple]
        first, second, third = (calibration.partitions[part].count for part in parts)
        if first * second * third <= MOST_CELLS:
            a, b, c = (codes[part] for part in parts)
            cells.append((a * np.uint16(second) + b) * np.uint16(third) + c)
            counts.append(first * second * third)
    return np.array(cells, dtype=np.uint16).reshape(len(cells), len(particles)), counts


def pair_axes(calibration: Calibration) -> dict[int, int]:
    """By column, its partition in the first table of two columns that it is part of."""
    found: dict[int, int] = {}
    for table in calibration.tables:
        for part in table.parts if len(table.parts) == 2 else ():
            found.setdefault(calibration.partitions[part].column, part)
    return found


def _choose(columns: Sequence[int], rng: np.random.Generator) -> list[tuple[int, ...]]:
    size = len(columns)
    if size * (size - 1) * (size - 2) // 6 <= MOST_TRIPLES:
        return list(combinations(columns, 3))
    chosen = {tuple(sorted(int(columns[i]) for i in rng.choice(size, 3, replace=False))) for _ in range(MOST_TRIPLES)}
    return sorted(chosen)

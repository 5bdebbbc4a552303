"""Rows inside given sets of base codes by drawing many and keeping those that are inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UnsupportedConditionError

Codes = NDArray[np.int32]
LEAST_FOUND = 30
MOST_TRIED = 1_000_000
BLOCK = 100_000


def draw_inside(
    simulate: Callable[[int, np.random.Generator], Codes],
    rows: int,
    allowed: Mapping[int, NDArray[np.bool_]],
    rng: np.random.Generator,
    *,
    at_most: float = 1.0,
) -> tuple[Codes, float]:
    """Rows of a model whose codes are allowed, and how many independent rows they are worth.

    Rows found are repeated if there are fewer than asked for.

    Args:
        simulate: Draws independent rows.
        rows: How many rows.
        allowed: Masks over base codes by position of the column.
        rng: The randomness.
        at_most: A bound on the share of rows inside, if one is known: hopeless searches are not begun.

    Raises:
        UnsupportedConditionError: Fewer than 30 of a million rows are inside.
    """
    if not allowed:
        return simulate(rows, rng), float(rows)
    kept: list[Codes] = []
    found = tried = 0
    if at_most * MOST_TRIED < LEAST_FOUND / 3:
        raise UnsupportedConditionError(
            "too little of the model lies inside the given sets: one of them alone has a share of less than "
            f"{LEAST_FOUND / 3 / MOST_TRIED:g}. Give wider sets."
        )
    while found < max(rows, LEAST_FOUND) and tried < MOST_TRIED:
        block = simulate(int(np.clip(4 * rows, 20_000, BLOCK)), rng)
        kept.append(block[_inside(block, allowed)])
        found, tried = found + len(kept[-1]), tried + len(block)
    if found < LEAST_FOUND:
        raise UnsupportedConditionError(
            f"too little of the model lies inside the given sets: {found} of {tried:,} rows, and "
            f"{LEAST_FOUND} are needed. Give fewer columns or wider sets."
        )
    pool = np.concatenate(kept)
    chosen = np.arange(rows) if found >= rows else rng.integers(0, found, rows)
    return np.asfortranarray(pool[chosen]), float(min(found, rows))


def _inside(codes: Codes, allowed: Mapping[int, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    inside = np.ones(len(codes), dtype=bool)
    for column, mask in allowed.items():
        inside &= np.asarray(mask, dtype=bool)[codes[:, column]]
    return inside

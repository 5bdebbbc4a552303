"""Rows of a noise-free vine with some columns inside given sets: sequential importance sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sklar.model.conditional import runs_of
from sklar.model.conditioning import Proposals, Runs, place_inside
from sklar.model.disclosed_vine import DisclosedVine
from sklar.model.scale import Scale, codes_at

Floats = NDArray[np.float64]


def disclosed_proposals(
    vine: DisclosedVine, scales: Sequence[Scale], allowed: Mapping[int, NDArray[np.bool_]]
) -> Proposals:
    """Rows of the vine conditioned on the sets; their mean weight is the probability of the sets."""
    runs = {column: runs_of(scales[column], mask) for column, mask in allowed.items()}

    def propose(rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], Floats]:
        u, log = _particles_inside(vine, runs, rows, rng)
        return np.column_stack([codes_at(scale, u[:, j]) for j, scale in enumerate(scales)]), log

    return propose


def _particles_inside(
    vine: DisclosedVine, runs: Mapping[int, Runs], rows: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Uniforms with some columns inside their runs, and the log-weight of each row.

    Columns are taken in the vine's sampling order. A column's conditional distribution given the ones before is its
    Rosenblatt transform, so that a set is an interval of the column's independent uniform, and its length the weight.
    """
    w, log = rng.random((rows, vine.size)), np.zeros(rows)
    for column in (column for column in vine.sampling_order() if column in runs):
        u = vine.from_independent(w)
        low, high = (_levels(vine, u, column, ends) for ends in (runs[column].low, runs[column].high))
        _, w[:, column], share = place_inside(low, high, w[:, column])
        with np.errstate(divide="ignore"):
            log += np.log(share)
    return vine.from_independent(w), log


def _levels(vine: DisclosedVine, u: Floats, column: int, at: Floats) -> Floats:
    """P(U <= x | columns drawn before) for every x of `at` (rows of the result)."""
    out = np.empty((len(at), len(u)))
    for place, x in enumerate(at):
        if x <= 0 or x >= 1:
            out[place] = float(x >= 1)
            continue
        moved = u.copy()
        moved[:, column] = x
        out[place] = vine.to_independent(moved)[:, column]
    return out

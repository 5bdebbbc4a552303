"""One-hot columns: offsets that give the picked levels their shares."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sklar.model.rvine.shirley import ShirleyColumn

Floats = NDArray[np.float64]
ROWS = 20_000
ROUNDS = 60
STEP = 0.5


def with_offsets(column: ShirleyColumn, uniforms: Floats) -> ShirleyColumn:
    """The column with offsets under which rows of the vine have the shares of its margin.

    Picking the level that stands out most favors levels by chance of their dependence. Offsets move against the log
    ratio of drawn and wanted shares until they agree.
    """
    if column.variables < 2:
        return column
    scores, wanted = column.scores(uniforms), np.diff(column.edges)
    offsets, best, least = np.zeros(column.variables), np.zeros(column.variables), np.inf
    for round_ in range(ROUNDS):
        drawn = np.bincount(np.argmax(scores + offsets, axis=1), minlength=column.variables) / len(scores)
        gap = float(np.abs(drawn - wanted).sum())
        if gap < least:
            best, least = offsets.copy(), gap
        floor = 0.5 / len(scores)
        offsets = offsets - STEP / (1 + round_ / 20) * np.log(np.maximum(drawn, floor) / np.maximum(wanted, floor))
    return dataclasses.replace(column, offsets=best)

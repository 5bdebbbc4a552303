"""Histograms told by runs of neighbouring bins: NoiseFirst and StructureFirst.

Reference: Xu, Zhang, Xiao, Yang, Yu, Winslett (2013), "Differentially private histogram publication". NoiseFirst is the
paper's. StructureFirst scores a cut by the distance of the histogram from its runs, where the paper takes the square of
it: that moves with the largest count, which is private, the distance by no more than one row can.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.arrays import Floats, Ints
from sklar.model.margins.transforms import merge_runs
from sklar.release.door import Door, RecodedTable, SplitNorms

RUNS = 16
"""Runs that StructureFirst cuts a histogram into. More follow its shape closer, and leave less of the budget for the
cuts; the paper leaves the number open."""
CUTS_SHARE = 0.5
"""StructureFirst spends this part of a column's share on where to cut."""


def noise_first(door: Door, share: Allowance, column: str, bins: NDArray[np.int32], values: int) -> Floats:
    """Noise on every bin first; then runs of the bins of values that differ by little more than noise are evened."""
    noise = share.noise(door.unit)
    noisy = _count(door, share, column, bins, f"noisefirst of {column}")
    return np.append(merge_runs(noisy[:values], noise.variance), noisy[values:])


def structure_first(door: Door, share: Allowance, column: str, bins: NDArray[np.int32], values: int) -> Floats:
    """Runs of the bins of values are chosen noisily first, the last one first; then each is counted with noise."""
    starts = np.arange(values) if values <= RUNS else _cut(door, share.part(CUTS_SHARE), column, bins, values)
    rest = share if values <= RUNS else share.part(1 - CUTS_SHARE)
    run = np.searchsorted(starts, np.arange(values), side="right") - 1
    more = int(bins.max()) + 1 - values
    lookup = np.append(run, len(starts) + np.arange(more)).astype(np.int32)
    noisy = _count(door, rest, column, lookup[bins], f"structurefirst of {column}")
    return noisy[lookup] / np.bincount(lookup)[lookup]


def _cut(door: Door, share: Allowance, column: str, bins: NDArray[np.int32], values: int) -> Ints:
    """Where runs begin."""
    epsilon, starts = share.part(1 / (RUNS - 1)).choice_epsilon(), [values]
    for runs in range(RUNS, 1, -1):
        score = SplitNorms(column=column, lookup=bins, runs=runs, end=starts[0])
        chosen = door.choose(score, epsilon, f"run {runs} of {column}").indices[0]
        starts.insert(0, chosen + runs - 1)
    return np.array([0, *starts[:-1]])


def _count(door: Door, share: Allowance, column: str, lookup: NDArray[np.int32], label: str) -> Floats:
    table = RecodedTable(columns=(column,), lookups=(lookup,), noise=share.noise(door.unit))
    return door.count_recoded([table], label)[0].counts.astype(np.float64)

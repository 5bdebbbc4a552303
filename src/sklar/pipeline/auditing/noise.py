"""Is the noise in the releases of an audit as wide as they state?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sklar.disclosed.intervals import Estimate, normal_quantile
from sklar.pipeline.auditing.statistic import Seen

ALL = "all tables"


def noise_spreads(groups: Sequence[Sequence[Seen]], tail: float) -> dict[str, Estimate]:
    """Spread found over spread stated, by release and for all tables of counts together; `tail` is shared by all.

    Counts: the exact ones are public here, so residuals are known. Sums: spread around their mean over the fits on one
    table, which is no less than that of the noise even if the question asked changes from fit to fit.
    """
    parts: dict[str, list[tuple[float, float, float]]] = {}
    for seen in (s for group in groups for s in group):
        for label, found in seen.residuals.items():
            for name in (ALL, label):
                parts.setdefault(name, []).append(found)
    for label, found in _sums(groups):
        parts.setdefault(label, []).append(found)
    cut = normal_quantile(1 - tail / max(1, len(parts)))
    return {label: _spread(found, cut) for label, found in parts.items()}


def _spread(found: Sequence[tuple[float, float, float]], cut: float) -> Estimate:
    squares, variance, cells = (math.fsum(part[at] for part in found) for at in range(3))
    share, half = squares / cells, cut * math.sqrt(variance) / cells
    return Estimate(value=math.sqrt(share), low=math.sqrt(max(0.0, share - half)), high=math.sqrt(share + half))


def _sums(groups: Sequence[Sequence[Seen]]) -> list[tuple[str, tuple[float, float, float]]]:
    out: list[tuple[str, tuple[float, float, float]]] = []
    for group in groups:
        for label in {label for seen in group for label in seen.sums}:
            values = [seen.sums[label] for seen in group if label in seen.sums]
            if len(values) < 3 or len({len(v) for v in values}) != 1:
                continue
            matrix = np.array(values)
            degrees = (len(matrix) - 1) * matrix.shape[1]
            # In units of the scale: 1 and kurtosis 3 for Gaussian noise, 2 and kurtosis 6 for Laplace noise.
            variance, kurtosis = (2.0, 6.0) if any(seen.laplace for seen in group) else (1.0, 3.0)
            squares = float(((matrix - matrix.mean(axis=0)) ** 2).sum()) / variance
            out.append((label, (squares, degrees * (kurtosis - 1), float(degrees))))
    return out

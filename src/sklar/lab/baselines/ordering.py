"""The order in which columns become roots of a C-vine: Algorithm 1 of Griesbauer et al. (2025)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UsageError
from sklar.lab.metrics.phik import phik_matrix
from sklar.lab.metrics.spearman import spearman_correlation
from sklar.lab.tables.table import ExactTable, ordered_values

Floats = NDArray[np.float64]
ASSOCIATIONS = ("kendall", "spearman", "pearson", "phik")
MANY_COLUMNS = 400
FEW_TREES = 50
"""Beyond MANY_COLUMNS columns at most this many trees are fitted, as the paper advises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """The covariates by position: sensitive ones first, then those that tell most about them, then the rest.

    Attributes:
        names: Covariates at positions 1, 2, ...; the last becomes the root of tree two, right after the response.
        sensitive: How many of them are sensitive.
        close: How many more are in the block associated with the sensitive ones.
    """

    names: tuple[str, ...]
    sensitive: int
    close: int

    @property
    def most(self) -> int:
        """t_max = d + 1 - j: the tree in which the first sensitive column becomes a root; at most 50 of many."""
        size = len(self.names)
        most = min(size + 1 - self.sensitive, size)
        return min(most, FEW_TREES) if size > MANY_COLUMNS else most

    @property
    def block_level(self) -> int:
        """d + 1 - |K| - |S|: at this level and below nothing ties the block to its own columns (Theorem 2.5)."""
        return len(self.names) + 1 - self.sensitive - self.close


def order_columns(
    names: Sequence[str],
    sensitive: Sequence[str],
    association: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, float],
) -> Ordering:
    """Algorithm 1: S, then K by its largest association over S (descending), then the rest as they come.

    Args:
        names: The covariates.
        sensitive: The sensitive ones, S.
        association: For each sensitive column, its association with every other covariate.
        thresholds: For each sensitive column, above which absolute association a covariate belongs to K.
    """
    others = [name for name in names if name not in sensitive]
    strength = {name: max(abs(association[s][name]) for s in sensitive) for name in others} if sensitive else {}
    close = [name for name in others if any(abs(association[s][name]) > thresholds[s] for s in sensitive)]
    close.sort(key=lambda name: -strength[name])
    rest = [name for name in others if name not in close]
    return Ordering(names=(*sensitive, *close, *rest), sensitive=len(sensitive), close=len(close))


def associations(
    table: ExactTable, names: Sequence[str], sensitive: Sequence[str], measure: str
) -> dict[str, dict[str, float]]:
    """Association of every sensitive column with every other covariate; 0 where it is not defined."""
    if measure == "phik":
        return {s: {n: _finite(phik_matrix(table, (s, n))[0, 1]) for n in names if n != s} for s in sensitive}
    values = {name: _values(table, name) for name in names}
    pair = {"kendall": _kendall, "spearman": spearman_correlation, "pearson": _pearson}[measure]
    return {s: {n: _finite(_both(pair, values[s], values[n])) for n in names if n != s} for s in sensitive}


def default_levels(most: int) -> tuple[int, ...]:
    """Candidate truncation levels: 1, every fifth, and the highest."""
    return tuple(sorted({1, *range(5, most, 5), most}))


def privacy_utility(
    privacy: Mapping[int, float], utility: Mapping[int, float], weight: float = 0.5
) -> dict[int, float]:
    """PU_t = a P_t + (1 - a) U_t for every level t, both scores scaled to [0, 1] (appendix E of the paper).

    Args:
        privacy: A privacy score of each level, higher being better.
        utility: A utility score of each level, higher being better.
        weight: a, what privacy counts for.
    """
    if set(privacy) != set(utility) or not privacy:
        raise UsageError("privacy and utility scores are needed for the same truncation levels")
    if not np.isfinite([*privacy.values(), *utility.values()]).all():
        raise UsageError("every score must be a finite number; leave out levels that were not measured")
    if not 0 <= weight <= 1:
        raise UsageError(f"the weight of privacy lies between 0 and 1; found {weight}")
    one, two = _scaled(privacy), _scaled(utility)
    return {level: weight * one[level] + (1 - weight) * two[level] for level in sorted(privacy)}


def best_level(scores: Mapping[int, float]) -> int:
    """The level with the highest score; of equal ones the lowest, which keeps fewer dependencies."""
    return min(scores, key=lambda level: (-scores[level], level))


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    low, high = min(scores.values()), max(scores.values())
    width = high - low
    return {level: (score - low) / width if width > 0 else 1.0 for level, score in scores.items()}


def _values(table: ExactTable, name: str) -> Floats:
    if table.schema[name].ordered:
        return ordered_values(table, name)
    return table.codes[name].astype(np.float64)


def _both(pair: Callable[[Floats, Floats], float], left: Floats, right: Floats) -> float:
    known = ~(np.isnan(left) | np.isnan(right))
    return pair(left[known], right[known]) if known.sum() > 1 else 0.0


def _kendall(left: Floats, right: Floats) -> float:
    """Tau-b, twenty times as fast as scipy's for a few hundred rows; every fit asks for it once a pair."""
    from pyvinecopulib.utils import wdm

    return 0.0 if np.ptp(left) == 0 or np.ptp(right) == 0 else float(wdm(left, right, "kendall"))


def _pearson(left: Floats, right: Floats) -> float:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0

"""Nominal columns beside a target: an order of their levels, and how strongly it follows the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.model.margin import Margin
from sklar.model.small_latent import place_scores
from sklar.model.small_shrink import shrink_mixture
from sklar.model.small_target import Basis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SHARES = (0.03, 0.06, 0.1, 0.2, 0.4, 0.7, 1.0)
_SPREADS = np.geomspace(0.01, 3.0, 18)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelOrder:
    """Base codes ordered by how they go with the classes, and E[c score] along that order (M numbers)."""

    order: Ints
    shifts: Floats


def order_levels(
    margins: Sequence[Margin], share: Floats, basis: Basis, sums: Sequence[Floats], variance: float
) -> list[LevelOrder]:
    """Order the levels of each column by their class effects E[c | level], shrunken towards none.

    All levels of all columns share one spike-and-slab prior, so that weak columns borrow from strong ones.

    Args:
        margins: Margins of the nominal columns.
        share: Class probabilities.
        basis: The standardized class variables c.
        sums: For each column, contrasts x levels: mean per row of contrast times level.
        variance: Noise variance of each entry of `sums`.
    """
    if not margins:
        return []
    masses = [margin.dense() for margin in margins]
    mean = share @ basis.contrasts
    covariance = [basis.turn(s - np.outer(mean, p)) for s, p in zip(sums, masses, strict=True)]
    joint, mass = np.concatenate(covariance, axis=1), np.concatenate(masses)
    effects = [shrunken_effects(line, mass, variance / v) for line, v in zip(joint, basis.spread, strict=True)]
    cuts = np.cumsum([len(p) for p in masses])[:-1]
    return [_ordered(e, p) for e, p in zip(np.split(np.stack(effects), cuts, axis=1), masses, strict=True)]


def shrunken_effects(covariance: Floats, mass: Floats, variance: float) -> Floats:
    """Posterior means of E[c | level], where cov(c, level) = mass * effect + noise."""
    return shrink_mixture(covariance, np.full(len(mass), variance), mass, _SPREADS, _SHARES)


def _ordered(effects: Floats, mass: Floats) -> LevelOrder:
    """Order along the leading direction of the effects, and what that order says about each class variable."""
    effects = effects - (effects @ mass)[:, None]
    leading = np.linalg.svd(effects * np.sqrt(mass), full_matrices=False)[0][:, 0]
    order = np.argsort(leading @ effects, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(mass[order])])
    return LevelOrder(order=order, shifts=(effects * mass)[:, order] @ place_scores(edges / edges[-1]))

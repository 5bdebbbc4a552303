"""The classes of a declared target, and the contrasts that distinguish them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.latent.normals import SLAB_SHARES, shrink_mixture
from sklar.model.latent.scores import place_scores
from sklar.model.margins.margin import Margin, compute_cumulative

MAX_CLASSES = 6
"""Largest number of classes. More describe the target better, with fewer rows for each."""
MIN_CLASS_PROBABILITY = 0.02
"""A class holds at least this probability; lighter codes share one."""
CONTRAST_BITS = 10
"""Contrasts are multiples of 2^-10."""
_SLAB_VARIANCES = np.geomspace(0.01, 3.0, 18)
"""Grid of variances of the slab of class effects, which are larger than correlations: a finer one costs time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classes:
    """A partition of the target's base codes: the class of each code, and the probability of each class."""

    column: int
    of_code: Ints
    share: Floats

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.share)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Basis:
    """Uncorrelated, standardized class variables c_1..c_M behind the contrasts y.

    Attributes:
        contrasts: y of each class, classes x M.
        scores: c of each class, classes x M: mean 0 and covariance I under the class shares.
        rotate: E, contrasts x M: c = (y - mean) E / sqrt(spread).
        spread: Variances of the contrasts along the columns of E.
    """

    contrasts: Floats
    scores: Floats
    rotate: Floats
    spread: Floats

    def turn(self, of_contrasts: Floats) -> Floats:
        """Return covariances with the contrasts (first axis) -> covariances with the standardized variables."""
        scale = np.sqrt(self.spread).reshape(-1, *[1] * (of_contrasts.ndim - 1))
        return np.tensordot(self.rotate.T, of_contrasts, axes=1) / scale


NO_BASIS = Basis(contrasts=np.zeros((1, 0)), scores=np.zeros((1, 0)), rotate=np.zeros((0, 0)), spread=np.zeros(0))
"""The basis without a target: one class and no class variables."""


def target_classes(column: int, margin: Margin, nominal: bool) -> Classes | None:
    """Return classes of the target by its released margin; None if it is all but constant.

    Each of the few heavy codes is a class and the rest share one. An ordered target with many values is cut in two.
    """
    mass = margin.dense()
    heavy = np.flatnonzero(mass >= MIN_CLASS_PROBABILITY)
    light = 1.0 - mass[heavy].sum()
    if len(heavy) + (light >= MIN_CLASS_PROBABILITY) > MAX_CLASSES or not len(heavy):
        if not nominal:
            return _classes(column, (np.cumsum(mass) > 0.5).astype(np.int64), mass)
        heavy = np.sort(np.argsort(-mass, kind="stable")[: MAX_CLASSES - 1])
        light = 1.0 - mass[heavy].sum()
    of_code = np.full(len(mass), len(heavy) if light >= MIN_CLASS_PROBABILITY else int(np.argmax(mass[heavy])))
    of_code[heavy] = np.arange(len(heavy))
    return _classes(column, of_code, mass)


def contrast_vectors(count: int) -> Floats:
    """Return the unit vectors of the classes: -1, +1 for two, else the corners of a regular simplex (count x (count -
    1))."""
    if count == 2:
        return np.array([[-1.0], [1.0]])
    centred = np.eye(count) - 1.0 / count
    basis = np.linalg.svd(centred)[2][: count - 1].T
    corners = centred @ basis
    return corners / np.linalg.norm(corners, axis=1, keepdims=True)


def contrast_lookups(classes: Classes) -> tuple[tuple[Ints, ...], int]:
    """Return (lookups, bits): fixed-point contrasts of every base code, rounded toward zero: norms stay at most 1."""
    bits = 0 if classes.count == 2 else CONTRAST_BITS
    fixed = np.trunc(contrast_vectors(classes.count) * (1 << bits)).astype(np.int64)
    return tuple(line[classes.of_code] for line in fixed.T), bits


def class_basis(classes: Classes) -> Basis:
    """Rotate and scale the contrasts to uncorrelated variables of variance one under the class shares."""
    lookups, bits = contrast_lookups(classes)
    first = np.array([int(np.argmax(classes.of_code == k)) for k in range(classes.count)])
    contrasts = np.stack([a[first] for a in lookups], axis=1) / (1 << bits)
    centred = contrasts - classes.share @ contrasts
    spread, rotate = np.linalg.eigh(centred.T @ (centred * classes.share[:, None]))
    spread = np.maximum(spread, 1e-6)
    return Basis(contrasts=contrasts, scores=centred @ rotate / np.sqrt(spread), rotate=rotate, spread=spread)


def _classes(column: int, of_code: Ints, mass: Floats) -> Classes | None:
    share = np.bincount(of_code, mass)
    if len(share) < 2 or share.min() <= 0:
        return None
    share = np.maximum(share / share.sum(), MIN_CLASS_PROBABILITY)
    return Classes(column=column, of_code=of_code, share=share / share.sum())


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
    return [_order_along(e, p) for e, p in zip(np.split(np.stack(effects), cuts, axis=1), masses, strict=True)]


def shrunken_effects(covariance: Floats, mass: Floats, variance: float) -> Floats:
    """Return posterior means of E[c | level], where cov(c, level) = mass * effect + noise."""
    return shrink_mixture(covariance, np.full(len(mass), variance), mass, _SLAB_VARIANCES, SLAB_SHARES)


def _order_along(effects: Floats, mass: Floats) -> LevelOrder:
    """Order along the leading direction of the effects, and what that order says about each class variable."""
    effects = effects - (effects @ mass)[:, None]
    leading = np.linalg.svd(effects * np.sqrt(mass), full_matrices=False)[0][:, 0]
    order = np.argsort(leading @ effects, kind="stable")
    return LevelOrder(order=order, shifts=(effects * mass)[:, order] @ place_scores(compute_cumulative(mass[order])))

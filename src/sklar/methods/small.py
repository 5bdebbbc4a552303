"""The small regime of the DP vine: many columns, few rows; margins, then one sphere of normal scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.small_margins import measure_small_margins
from sklar.methods.small_shares import Shares, choose_shares, correlation_noise
from sklar.methods.small_sums import measure_class_pairs, measure_pairs, measure_star
from sklar.model.density_likelihood import Total
from sklar.model.margin import Margin
from sklar.model.small_fit import Moment, Moments, fit_normals
from sklar.model.small_latent import Latent, null_latent, value_latent
from sklar.model.small_model import SmallModel
from sklar.model.small_nominal import order_levels
from sklar.model.small_target import Basis, Classes, class_basis, no_basis, target_classes
from sklar.release.door import Door

NEARLY_ALL = 0.9999
"""A column with one code this likely has nothing to correlate."""


class HasTarget(Protocol):
    """Options of any method that may name a target."""

    @property
    def target(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallOptions:
    """What may be changed about the small regime.

    Attributes:
        target: A column that users will predict.
        small_shares: Budget for margins, star, pairs and class pairs; chosen from the noise by default.
    """

    target: str | None = None
    small_shares: Shares | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Setting:
    """What the margins settled: who is scored, who is nominal, and the classes of the target."""

    margins: tuple[Margin, ...]
    rows: float
    scored: tuple[Latent, ...]
    nominal: tuple[int, ...]
    classes: Classes | None
    basis: Basis


def fit_small(
    door: Door, allowance: Allowance, total: float | None, options: HasTarget, rng: np.random.Generator
) -> SmallModel:
    """Measure margins and a few sums on a sphere; fit latent normals to them without looking at rows again.

    Args:
        door: The way to the rows.
        allowance: What remains of `door.allowance`.
        total: The number of rows as released (or public) before, or None.
        options: May name a target; `SmallOptions` may set the shares.
        rng: For the simulations of the fit; what is asked at the Door never depends on it.
    """
    target = None if options.target is None else door.schema.modelled.index(options.target)
    shares = _shares(door, allowance, total, options)
    measured = measure_small_margins(door, allowance.part(shares.margins), _known(door, allowance, total))
    setting = _settle(door, measured.margins, measured.total.rows, target)
    latents, moments = _measure(door, allowance, shares, setting)
    share = np.ones(1) if setting.classes is None else setting.classes.share
    normals = fit_normals(latents, share, setting.basis, moments, rng)
    return SmallModel(
        margins=setting.margins, latents=latents, normals=normals, classes=setting.classes, rows=setting.rows
    )


def _shares(door: Door, allowance: Allowance, total: float | None, options: HasTarget) -> Shares:
    given = options.small_shares if isinstance(options, SmallOptions) else None
    if given is not None:
        return given
    noise = correlation_noise(allowance, door.unit, total or 1.0, len(door.schema.modelled))
    return choose_shares(noise, options.target is not None)


def _known(door: Door, allowance: Allowance, total: float | None) -> Total | None:
    """The number of rows released before, with the noise that the spent part of the door's allowance bought."""
    if door.rows is not None:
        return Total(rows=float(max(door.rows, 1)), sigma=0.0)
    spent = door.allowance.amount - allowance.amount
    if total is None or spent <= 0:
        return None
    noise = Allowance(measure=allowance.measure, amount=spent).noise(door.unit)
    return Total(rows=total, sigma=noise.std)


def _settle(door: Door, margins: tuple[Margin, ...], rows: float, target: int | None) -> _Setting:
    columns = [door.schema[name] for name in door.schema.modelled]
    classes = None
    if target is not None:
        classes = target_classes(target, margins[target], not columns[target].ordered)
    scored: list[Latent] = []
    nominal: list[int] = []
    for j, (column, margin) in enumerate(zip(columns, margins, strict=True)):
        if j == target or margin.dense().max() > NEARLY_ALL:
            continue
        if not column.ordered and np.count_nonzero(margin.dense()) > 2:
            nominal += [j] if classes is not None else []
            continue
        scored.append(value_latent(j, margin, column.null_code))
        marker = null_latent(j, margin, column.null_code) if column.null_code is not None else None
        scored += [marker] if marker is not None else []
    basis = no_basis() if classes is None else class_basis(classes)
    return _Setting(
        margins=margins, rows=rows, scored=tuple(scored), nominal=tuple(nominal), classes=classes, basis=basis
    )


def _measure(door: Door, allowance: Allowance, shares: Shares, at: _Setting) -> tuple[tuple[Latent, ...], Moments]:
    """Star first: it orders the levels of nominal columns, which then join the pairs."""
    latents = at.scored
    star, levels, pairs, class_pairs = None, None, None, None
    if at.classes is not None and shares.star > 0 and len(latents) + len(at.nominal):
        seen = measure_star(door, allowance.part(shares.star), latents, at.nominal, at.classes, at.rows)
        star = Moment(mean=seen.scores, variance=seen.variance)
        margins = [at.margins[j] for j in at.nominal]
        ordered = order_levels(margins, at.classes.share, at.basis, seen.levels, seen.variance)
        latents += tuple(
            value_latent(j, at.margins[j], None, found.order) for j, found in zip(at.nominal, ordered, strict=True)
        )
        levels = np.stack([found.shifts for found in ordered], axis=1) if ordered else None
    if shares.pairs > 0 and len(latents) > 1:
        pairs = measure_pairs(door, allowance.part(shares.pairs), latents, at.rows)
    if at.classes is not None and shares.class_pairs > 0 and len(latents) > 1:
        class_pairs = measure_class_pairs(door, allowance.part(shares.class_pairs), latents, at.classes, at.rows)
    return latents, Moments(star=star, levels=levels, pairs=pairs, class_pairs=class_pairs)

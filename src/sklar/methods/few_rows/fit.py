"""The regime of the DP vine for few rows and many columns: margins, then one sphere of normal scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.few_rows.shares import FewRowsShares, closing_shares, correlation_noise, opening_shares
from sklar.methods.few_rows.sums import Star, measure_class_pairs, measure_pairs, measure_star, pool_stars
from sklar.methods.margins import measure_margins
from sklar.methods.vine.options import told_by_sums
from sklar.model.latent.indirect import Moment, Moments, fit_normals
from sklar.model.latent.model import LatentNormalModel
from sklar.model.latent.scores import NEARLY_ALL, Latent, null_latent, value_latent
from sklar.model.latent.target import NO_BASIS, Basis, Classes, LevelOrder, class_basis, order_levels, target_classes
from sklar.model.margins.fit import Histogram
from sklar.model.margins.margin import Margin
from sklar.release.door import Door, settled

LEAST_SHARE = 1e-3
"""Smaller parts of the budget buy nothing but noise."""


class HasTarget(Protocol):
    """Options of any method that may name a target."""

    @property
    def target(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRowsOptions:
    """What may be changed about the regime of few rows.

    Attributes:
        target: A column that users will predict.
        small_shares: Budget for margins, star, pairs and class pairs; chosen from the noise by default.
    """

    target: str | None = None
    small_shares: FewRowsShares | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """What the margins settled: who is scored, who is nominal, and the classes of the target."""

    margins: tuple[Margin, ...]
    rows: float
    scored: tuple[Latent, ...]
    nominal: tuple[int, ...]
    classes: Classes | None
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredFewRows:
    """All that is measured where rows are few.

    Attributes:
        latents: Scored columns, and nominal ones whose levels the star orders.
        moments: What is known of dependence, as the fit of latent normals takes it.
        star: The released star; None without one.
        first: The first histogram of each column.
    """

    setting: Setting
    latents: tuple[Latent, ...]
    moments: Moments
    star: Star | None
    first: tuple[Histogram, ...]


def fit_measured(measured: MeasuredFewRows, rng: np.random.Generator) -> LatentNormalModel:
    """Fit latent normals to what was measured, without looking at rows again; `rng` is for the fit's simulations."""
    setting = measured.setting
    share = np.ones(1) if setting.classes is None else setting.classes.share
    normals = fit_normals(measured.latents, share, setting.basis, measured.moments, rng)
    return LatentNormalModel(
        margins=setting.margins, latents=measured.latents, normals=normals, classes=setting.classes, rows=setting.rows
    )


def measure_few_rows(door: Door, allowance: Allowance, total: float | None, options: HasTarget) -> MeasuredFewRows:
    """Measure margins and a few sums on a sphere.

    Args:
        door: The way to the rows.
        allowance: What remains of `door.allowance`.
        total: The number of rows as released (or public) before, or None.
        options: May name a target; `FewRowsOptions` may set the shares.
    """
    target = None if options.target is None else door.schema.modelled.index(options.target)
    noise = correlation_noise(allowance, door.unit, total or 1.0, len(door.schema.modelled))
    given = options.small_shares if isinstance(options, FewRowsOptions) else None
    told = told_by_sums(door.schema)
    shares = opening_shares(noise, target is not None, told) if given is None else given
    measured = measure_margins(door, allowance.part(shares.margins), *_known(door, allowance, total))
    measured = settled(door, "margins", measured)
    setting = _settle(door, measured.margins, max(measured.rows, 1.0), target)
    seen = _measure_star(door, allowance, shares.star, setting)
    if given is None and target is not None:
        closing = closing_shares(shares, _strength(setting, seen), noise, told)
        seen = _again(door, allowance, closing.star - shares.star, setting, seen)
        shares = closing
    latents, moments = _measure_pairs(door, allowance, shares, setting, seen)
    first = tuple(histograms[0] for histograms in measured.histograms)
    return MeasuredFewRows(setting=setting, latents=latents, moments=moments, star=seen, first=first)


def _known(door: Door, allowance: Allowance, total: float | None) -> tuple[float, float]:
    """The number of rows released before, with the noise that the spent part of the door's allowance bought."""
    if door.rows is not None:
        return float(max(door.rows, 1)), 0.0
    spent = door.allowance.amount - allowance.amount
    if total is None or spent <= 0:
        return 0.0, np.inf
    return total, replace(allowance, amount=spent).noise(door.unit).std


def _settle(door: Door, margins: tuple[Margin, ...], rows: float, target: int | None) -> Setting:
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
    basis = NO_BASIS if classes is None else class_basis(classes)
    return Setting(
        margins=margins, rows=rows, scored=tuple(scored), nominal=tuple(nominal), classes=classes, basis=basis
    )


def _measure_star(door: Door, allowance: Allowance, share: float, at: Setting, label: str = "star") -> Star | None:
    if at.classes is None or share < LEAST_SHARE or not (at.scored or at.nominal):
        return None
    return measure_star(door, allowance.part(share), at.scored, at.nominal, at.classes, at.rows, label)


def _again(door: Door, allowance: Allowance, share: float, at: Setting, seen: Star | None) -> Star | None:
    """A second star from what was left, joined to the first by inverse variance."""
    again = _measure_star(door, allowance, share, at, "star again") if seen is not None else None
    return seen if seen is None or again is None else pool_stars(seen, again)


def _strength(at: Setting, seen: Star | None) -> float:
    """Sum over columns of the squared correlation with the classes, without what noise adds."""
    if seen is None:
        return 0.0
    noise = seen.variance / at.basis.spread
    scored = float((at.basis.turn(seen.scores) ** 2 - noise[:, None]).sum())
    return scored + sum(float((found.shifts**2).sum()) for found in _orders(at, seen))


def _orders(at: Setting, seen: Star) -> list[LevelOrder]:
    assert at.classes is not None
    margins = [at.margins[j] for j in at.nominal]
    return order_levels(margins, at.classes.share, at.basis, seen.levels, seen.variance)


def _measure_pairs(
    door: Door, allowance: Allowance, shares: FewRowsShares, at: Setting, seen: Star | None
) -> tuple[tuple[Latent, ...], Moments]:
    """The star orders the levels of nominal columns, which then join the pairs."""
    latents, star, levels, pairs, class_pairs = at.scored, None, None, None, None
    if seen is not None:
        star = Moment(mean=seen.scores, variance=seen.variance)
        orders = _orders(at, seen)
        nominal = zip(at.nominal, orders, strict=True)
        latents += tuple(value_latent(j, at.margins[j], None, found.order) for j, found in nominal)
        levels = np.stack([found.shifts for found in orders], axis=1) if orders else None
    if shares.pairs >= LEAST_SHARE and len(latents) > 1:
        pairs = measure_pairs(door, allowance.part(shares.pairs), latents, at.rows)
    if at.classes is not None and shares.class_pairs >= LEAST_SHARE and len(latents) > 1:
        class_pairs = measure_class_pairs(door, allowance.part(shares.class_pairs), latents, at.classes, at.rows)
    return latents, Moments(star=star, levels=levels, pairs=pairs, class_pairs=class_pairs)

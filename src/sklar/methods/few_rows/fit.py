"""The vine's regime for few rows and many columns: margins, then one sphere of normal scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.evidence import Evidence, Measure, Setting, Step, ask_in_order, remembered
from sklar.methods.few_rows.shares import FewRowsShares, closing_shares, correlation_noise, opening_shares
from sklar.methods.few_rows.sums import (
    Star,
    pool_stars,
    read_moment,
    read_star,
    request_class_pairs,
    request_pairs,
    request_star,
)
from sklar.methods.margin_plan import MarginOptions
from sklar.methods.margins import MarginStage, margin_steps
from sklar.methods.vine.options import scored_pair_share
from sklar.model.latent.indirect import Moment, Moments, fit_normals
from sklar.model.latent.model import LatentNormalModel
from sklar.model.latent.scores import MAX_CONSTANT_SHARE, Latent, null_latent, value_latent
from sklar.model.latent.target import NO_BASIS, Basis, Classes, LevelOrder, class_basis, order_levels, target_classes
from sklar.model.margins.fit import Histogram
from sklar.model.margins.likelihood import KnownTotal
from sklar.model.margins.margin import Margin

MIN_SHARE = 1e-3
"""Smaller parts of the budget buy nothing but noise."""
STAR, STAR_AGAIN, PAIRS, CLASS_PAIRS = "star", "star again", "pairs", "class pairs"
"""Labels of the steps after the margins."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FewRowsStage:
    """How the model for few rows is measured and estimated.

    Attributes:
        setting: That of the fit.
        allowance: What may be spent.
        total: The number of rows as it is known before: public, or measured.
        target: Position of a column that users will predict, or None.
        shares: Budget for margins, star, pairs and class pairs; chosen from the noise if None.
    """

    setting: Setting[Any]
    allowance: Allowance
    total: KnownTotal
    target: int | None
    shares: FewRowsShares | None = None

    @property
    def noise(self) -> float:
        """Noise of one correlation if the whole allowance went to correlations."""
        rows = self.total.rows or 1.0
        return correlation_noise(self.allowance, self.setting.unit, rows, len(self.setting.schema.modelled))

    @property
    def opening(self) -> FewRowsShares:
        """Shares until the star is known."""
        if self.shares is not None:
            return self.shares
        return opening_shares(self.noise, self.target is not None, scored_pair_share(self.setting.schema))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatentLayout:
    """What the margins decide: which columns are scored, which are nominal, and the classes of the target."""

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

    layout: LatentLayout
    latents: tuple[Latent, ...]
    moments: Moments
    star: Star | None
    first: tuple[Histogram, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRowsSteps:
    """How the regime measures: the next step, the margins' own estimate, and all that was measured."""

    ask: Callable[[Evidence[Any]], Step | None]
    margins: Callable[[Evidence[Any]], tuple[Margin, ...]]
    estimate: Callable[[Evidence[Any]], MeasuredFewRows]


def few_rows_steps(stage_of: Callable[[Evidence[Any]], FewRowsStage]) -> FewRowsSteps:
    """Return the steps of a method whose regime for few rows has this stage."""
    stage = remembered(stage_of)

    def margin_stage(evidence: Evidence[Any]) -> MarginStage:
        one = stage(evidence)
        allowance = one.allowance.part(one.opening.margins)
        return MarginStage(setting=one.setting, allowance=allowance, total=one.total, options=MarginOptions())

    margins = margin_steps(margin_stage)

    @remembered
    def layout(evidence: Evidence[Any]) -> LatentLayout:
        measured, one = margins.estimate(evidence), stage(evidence)
        return lay_out_latents(one.setting, measured.margins, max(measured.rows, 1.0), one.target)

    @remembered
    def ask_star(evidence: Evidence[Any]) -> Measure | None:
        return _plan_star(stage(evidence), stage(evidence).opening.star, layout(evidence), STAR)

    @remembered
    def first_star(evidence: Evidence[Any]) -> Star | None:
        return _read_measured_star(evidence, layout(evidence), STAR)

    @remembered
    def shares(evidence: Evidence[Any]) -> FewRowsShares:
        one = stage(evidence)
        if one.shares is not None or one.target is None:
            return one.opening
        strength = _strength(layout(evidence), first_star(evidence))
        return closing_shares(one.opening, strength, one.noise, scored_pair_share(one.setting.schema))

    @remembered
    def ask_star_again(evidence: Evidence[Any]) -> Measure | None:
        """Ask for a second star from what was left."""
        more = shares(evidence).star - stage(evidence).opening.star
        return None if first_star(evidence) is None else _plan_star(stage(evidence), more, layout(evidence), STAR_AGAIN)

    @remembered
    def star(evidence: Evidence[Any]) -> Star | None:
        """Both stars, joined by inverse variance."""
        first, again = first_star(evidence), _read_measured_star(evidence, layout(evidence), STAR_AGAIN)
        return first if first is None or again is None else pool_stars(first, again)

    @remembered
    def latents(evidence: Evidence[Any]) -> tuple[Latent, ...]:
        """Return scored columns; the star orders the levels of nominal ones, which then join the pairs."""
        at, seen = layout(evidence), star(evidence)
        orders = zip(at.nominal, _order_latent_levels(at, seen), strict=True) if seen is not None else ()
        return at.scored + tuple(value_latent(j, at.margins[j], None, found.order) for j, found in orders)

    @remembered
    def ask_pairs(evidence: Evidence[Any]) -> Measure | None:
        one, share, found = stage(evidence), shares(evidence).pairs, latents(evidence)
        if share < MIN_SHARE or len(found) < 2:
            return None
        return Measure(label=PAIRS, requests=(request_pairs(one.setting, one.allowance.part(share), found),))

    @remembered
    def ask_class_pairs(evidence: Evidence[Any]) -> Measure | None:
        one, share, found = stage(evidence), shares(evidence).class_pairs, latents(evidence)
        classes = layout(evidence).classes
        if classes is None or share < MIN_SHARE or len(found) < 2:
            return None
        request = request_class_pairs(one.setting, one.allowance.part(share), found, classes)
        return Measure(label=CLASS_PAIRS, requests=(request,))

    def ask(evidence: Evidence[Any]) -> Step | None:
        return ask_in_order(evidence, margins.ask, ask_star, ask_star_again, ask_pairs, ask_class_pairs)

    @remembered
    def estimate(evidence: Evidence[Any]) -> MeasuredFewRows:
        at, seen = layout(evidence), star(evidence)
        orders = _order_latent_levels(at, seen) if seen is not None else []
        moments = Moments(
            star=None if seen is None else Moment(mean=seen.scores, variance=seen.variance),
            levels=np.stack([found.shifts for found in orders], axis=1) if orders else None,
            pairs=read_moment(evidence.measured(PAIRS), at.rows),
            class_pairs=read_moment(evidence.measured(CLASS_PAIRS), at.rows),
        )
        first = tuple(histograms[0] for histograms in margins.estimate(evidence).histograms)
        return MeasuredFewRows(layout=at, latents=latents(evidence), moments=moments, star=seen, first=first)

    return FewRowsSteps(ask=ask, margins=lambda evidence: margins.estimate(evidence).margins, estimate=estimate)


def fit_measured(measured: MeasuredFewRows, rng: np.random.Generator) -> LatentNormalModel:
    """Fit latent normals to what was measured; `rng` is for the fit's simulations."""
    layout = measured.layout
    share = np.ones(1) if layout.classes is None else layout.classes.share
    normals = fit_normals(measured.latents, share, layout.basis, measured.moments, rng)
    return LatentNormalModel(
        margins=layout.margins, latents=measured.latents, normals=normals, classes=layout.classes, rows=layout.rows
    )


def lay_out_latents(
    setting: Setting[Any], margins: tuple[Margin, ...], rows: float, target: int | None
) -> LatentLayout:
    """Decide from the margins which columns get a latent normal."""
    columns = [setting.schema[name] for name in setting.schema.modelled]
    classes = None
    if target is not None:
        classes = target_classes(target, margins[target], not columns[target].ordered)
    scored: list[Latent] = []
    nominal: list[int] = []
    for j, (column, margin) in enumerate(zip(columns, margins, strict=True)):
        if j == target or margin.dense().max() > MAX_CONSTANT_SHARE:
            continue
        if not column.ordered and np.count_nonzero(margin.dense()) > 2:
            nominal += [j] if classes is not None else []
            continue
        scored.append(value_latent(j, margin, column.null_code))
        marker = null_latent(j, margin, column.null_code) if column.null_code is not None else None
        scored += [marker] if marker is not None else []
    basis = NO_BASIS if classes is None else class_basis(classes)
    return LatentLayout(
        margins=margins, rows=rows, scored=tuple(scored), nominal=tuple(nominal), classes=classes, basis=basis
    )


def _plan_star(stage: FewRowsStage, share: float, at: LatentLayout, label: str) -> Measure | None:
    if at.classes is None or share < MIN_SHARE or not (at.scored or at.nominal):
        return None
    request = request_star(stage.setting, stage.allowance.part(share), at.scored, at.nominal, at.classes)
    return Measure(label=label, requests=(request,))


def _read_measured_star(evidence: Evidence[Any], at: LatentLayout, label: str) -> Star | None:
    measured = evidence.measured(label)
    return read_star(measured[0], at.rows) if measured else None


def _strength(at: LatentLayout, seen: Star | None) -> float:
    """Sum over columns of the squared correlation with the classes, without what noise adds."""
    if seen is None:
        return 0.0
    noise = seen.variance / at.basis.spread
    scored = float((at.basis.turn(seen.scores) ** 2 - noise[:, None]).sum())
    return scored + sum(float((found.shifts**2).sum()) for found in _order_latent_levels(at, seen))


def _order_latent_levels(at: LatentLayout, seen: Star) -> list[LevelOrder]:
    assert at.classes is not None
    margins = [at.margins[j] for j in at.nominal]
    return order_levels(margins, at.classes.share, at.basis, seen.levels, seen.variance)

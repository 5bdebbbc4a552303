"""Rows of the small model with some columns inside given sets of base codes.

The class is drawn first, then the latents of the conditioned columns one after the other, each from its conditional
normal cut to the allowed intervals; the probability of the intervals is the weight of the row (the sampler of Geweke,
Hajivassiliou and Keane). The other latents follow from their conditional normals without a weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from sklar.errors import UnsupportedConditionError
from sklar.model.given import LEAST_EFFECTIVE, effective_size
from sklar.model.margin import Margin
from sklar.model.small_latent import Latent
from sklar.model.small_model import SmallModel
from sklar.model.table import Codes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_RUNS = 64
MOST_DRAWS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cut:
    """One conditioned latent: intervals of z that it may fall into, and the latent whose nulls it skips."""

    latent: int
    low: Floats
    high: Floats
    unless: int | None = None


def draw_given(
    model: SmallModel, rows: int, allowed: Mapping[int, Mask], rng: np.random.Generator
) -> tuple[Codes, float]:
    """Rows inside the sets, and the effective sample size behind them.

    Raises:
        UnsupportedConditionError: A set has no mass, or the effective sample size stays below 30.
    """
    _require_mass(model, allowed)
    cuts = _cuts(model, allowed)
    size = int(np.clip(4 * rows, 5_000, 20_000))
    codes: list[Codes] = []
    weights: list[Floats] = []
    effective = 0.0
    for _ in range(max(MOST_DRAWS // size, 1)):
        block, weight = _draw(model, size, allowed, cuts, rng)
        codes.append(block)
        weights.append(weight)
        effective = effective_size(np.concatenate(weights))
        if effective >= 2 * rows:
            break
    if effective < LEAST_EFFECTIVE:
        raise UnsupportedConditionError(
            f"too little of the model lies inside the given sets: the effective sample size is {effective:.1f}, "
            f"and {LEAST_EFFECTIVE:.0f} is needed. Give fewer columns or wider sets."
        )
    weight = np.concatenate(weights)
    chosen = rng.choice(len(weight), size=rows, p=weight / weight.sum())
    return np.asfortranarray(np.concatenate(codes)[chosen]), effective


def _require_mass(model: SmallModel, allowed: Mapping[int, Mask]) -> None:
    for column, mask in allowed.items():
        if not model.margins[column].dense()[mask].sum() > 0:
            raise UnsupportedConditionError(
                f"no value of the given set of '{model.margins[column].column}' has any probability under the model"
            )


def _cuts(model: SmallModel, allowed: Mapping[int, Mask]) -> list[_Cut]:
    """Conditioned latents, null markers before the values that depend on them."""
    cuts: list[_Cut] = []
    for i, latent in enumerate(model.latents):
        mask = allowed.get(latent.column)
        if mask is not None:
            unless = None if latent.marks_null else model.null_marker(latent)
            low, high = _intervals(model, i, _places(latent, mask, model.margins[latent.column]))
            cuts.append(_Cut(latent=i, low=low, high=high, unless=unless))
    return sorted(cuts, key=lambda cut: not model.latents[cut.latent].marks_null)


def _places(latent: Latent, mask: Mask, margin: Margin) -> Mask:
    """Places along the axis that the set allows."""
    if not latent.marks_null:
        return mask[latent.order] & (np.diff(latent.edges) > 0)
    null = int(latent.order[1])
    values = np.delete(mask & (margin.dense() > 0), null).any()
    return np.array([values, mask[null]])


def _intervals(model: SmallModel, latent: int, places: Mask) -> tuple[Floats, Floats]:
    """Intervals of z of the allowed places; beyond 64 the smallest gaps are closed, and their rows discarded later."""
    edges = model.latents[latent].edges
    change = np.diff(np.concatenate([[False], places, [False]]).astype(np.int8))
    low, high = edges[np.flatnonzero(change == 1)], edges[np.flatnonzero(change == -1)]
    gaps = low[1:] - high[:-1]
    if len(gaps) >= MOST_RUNS:
        keep = gaps > np.sort(gaps)[-MOST_RUNS]
        low, high = low[np.concatenate([[True], keep])], high[np.concatenate([keep, [True]])]
    return model.normals.quantile(low, latent), model.normals.quantile(high, latent)


def _draw(
    model: SmallModel, size: int, allowed: Mapping[int, Mask], cuts: list[_Cut], rng: np.random.Generator
) -> tuple[Codes, Floats]:
    classes = _draw_classes(model, size, allowed, rng)
    spread = [rng.random(size) for _ in model.margins]
    _settle_rare_nulls(model, allowed, spread)
    z, weight = _draw_latents(model, classes, cuts, spread, rng)
    u = np.column_stack([model.normals.uniform(z[:, i], i) for i in range(z.shape[1])]) if z.shape[1] else z
    codes = model.codes_of(u, classes, spread)
    latent_columns = {latent.column for latent in model.latents}
    for column, mask in allowed.items():
        if column not in latent_columns:
            codes[:, column] = _draw_inside(model, column, mask, classes, rng)
    keep = weight > 0
    for column, mask in allowed.items():
        keep &= mask[codes[:, column]]
    return codes[keep], weight[keep]


def _draw_classes(model: SmallModel, size: int, allowed: Mapping[int, Mask], rng: np.random.Generator) -> Ints:
    share = model.normals.share
    if model.classes is not None and model.classes.column in allowed:
        mask = allowed[model.classes.column]
        dense = model.margins[model.classes.column].dense()
        inside = np.bincount(model.classes.of_code, dense * mask, minlength=len(share))
        share = share * inside / np.maximum(np.bincount(model.classes.of_code, dense, minlength=len(share)), 1e-300)
    return rng.choice(len(share), size=size, p=share / share.sum())


def _settle_rare_nulls(model: SmallModel, allowed: Mapping[int, Mask], spread: list[Floats]) -> None:
    """Nulls that no latent decides: force or forbid them where the set leaves one way only."""
    for latent in model.latents:
        mask = allowed.get(latent.column)
        if mask is None or latent.null < 0 or model.null_marker(latent) is not None:
            continue
        if not mask[latent.null]:
            spread[latent.column][:] = 1.0
        elif not mask[latent.order].any():
            spread[latent.column][:] = -1.0


def _draw_latents(
    model: SmallModel, classes: Ints, cuts: list[_Cut], spread: list[Floats], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Latents with the conditioned ones inside their intervals, and the weights."""
    normals = model.normals
    first = [cut.latent for cut in cuts]
    order = np.array([*first, *(i for i in range(normals.size) if i not in first)], dtype=np.int64)
    noise = rng.standard_normal((len(classes), normals.size))
    z, weight = np.empty_like(noise), np.ones(len(classes))
    for k in range(len(normals.share)):
        rows = np.flatnonzero(classes == k)
        covariance = (normals.factors[k] @ normals.factors[k].T)[np.ix_(order, order)]
        factor = np.linalg.cholesky(covariance)
        w = noise[rows]
        for step, cut in enumerate(cuts):
            mean = normals.means[k, cut.latent] + w[:, :step] @ factor[step, :step]
            free = _null_rows(model, cut, z, spread, rows)
            inside, probability = _truncated(cut, mean, factor[step, step], rng)
            w[~free, step] = inside[~free]
            weight[rows[~free]] *= probability[~free]
            z[rows, cut.latent] = mean + factor[step, step] * w[:, step]
        z[np.ix_(rows, order)] = w @ factor.T + normals.means[k, order]
    return z, weight


def _null_rows(model: SmallModel, cut: _Cut, z: Floats, spread: list[Floats], rows: Ints) -> Mask:
    """Rows whose column is null already, so that its value is free."""
    latent = model.latents[cut.latent]
    if latent.marks_null or latent.null < 0:
        return np.zeros(len(rows), np.bool_)
    if cut.unless is None:
        return spread[latent.column][rows] < model.margins[latent.column].dense()[latent.null]
    u = model.normals.uniform(z[rows, cut.unless], cut.unless)
    return model.latents[cut.unless].places_at(u) == 1


def _truncated(cut: _Cut, mean: Floats, scale: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Standard normals w with mean + scale w inside the intervals, and the probability of the intervals."""
    if not len(cut.low):
        return np.zeros(len(mean)), np.zeros(len(mean))
    low = ndtr((cut.low[None, :] - mean[:, None]) / scale)
    high = ndtr((cut.high[None, :] - mean[:, None]) / scale)
    mass = np.maximum(high - low, 0.0)
    rising = np.cumsum(mass, axis=1)
    total = rising[:, -1]
    drawn = rng.random(len(mean)) * total
    run = np.minimum((rising <= drawn[:, None]).sum(axis=1), mass.shape[1] - 1)
    line = np.arange(len(mean))
    u = low[line, run] + drawn - (rising[line, run] - mass[line, run])
    return ndtri(np.clip(u, 1e-300, 1 - 1e-16)), total


def _draw_inside(model: SmallModel, column: int, mask: Mask, classes: Ints, rng: np.random.Generator) -> Ints:
    """Codes of a column without a latent, by its margin (inside the class, for the target)."""
    dense = model.margins[column].dense() * mask
    if model.classes is None or column != model.classes.column:
        return rng.choice(len(dense), size=len(classes), p=dense / dense.sum())
    out = np.zeros(len(classes), np.int64)
    for k in np.unique(classes):
        rows = np.flatnonzero(classes == k)
        inside = dense * (model.classes.of_code == k)
        out[rows] = rng.choice(len(dense), size=len(rows), p=inside / inside.sum())
    return out

"""Truncation levels of a fitted vine: every level is the same fit with fewer trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.errors import UsageError
from sklar.pipeline.model import Model

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.model.rvine.table import SplitVineTable, VineTable


def truncation_levels(model: Model) -> tuple[int, ...]:
    """Return all levels at which the model can be sampled, starting at 1."""
    return tuple(range(1, _get_vine_model(model).most + 1))


def candidate_levels(model: Model) -> tuple[int, ...]:
    """Return the levels to compare: 1, every fifth, and the highest (Griesbauer et al. 2025)."""
    most = _get_vine_model(model).most
    return tuple(sorted({1, *range(5, most, 5), most}))


def at_level(model: Model, level: int, *, drop: bool = False) -> Model:
    """Truncate the model at a level. Nothing is fitted again and no row is read.

    Args:
        model: A model of `tvine`, `rvine`, `rvine-star1` or `plain-vine`.
        level: Number of trees to keep, at least 1.
        drop: Remove the other trees from the model for good, for example from a file for others.
    """
    cut = _get_vine_model(model).truncate(level)
    stored = model._stored  # pyright: ignore[reportPrivateUsage]
    return Model(dataclasses.replace(stored, model=cut.drop_trees() if drop else cut))


def sweep(
    model: Model, chosen: Sequence[int] | None = None, *, rows: int | None = None, seed: int | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """Yield one synthetic table for each level, by default for the candidate levels, all from one fit."""
    for level in candidate_levels(model) if chosen is None else chosen:
        yield level, at_level(model, level).sample(rows, seed=seed)


def choose_level(privacy: Mapping[int, float], utility: Mapping[int, float], *, weight: float = 0.5) -> int:
    """Return the level t with the largest PU_t (see `privacy_utility`), and the lowest of several.

    Args:
        privacy: Privacy score of each level; higher is better.
        utility: Utility score of each level; higher is better.
        weight: The weight a of privacy.
    """
    scores = privacy_utility(privacy, utility, weight=weight)
    return max(sorted(scores), key=lambda level: scores[level])


def privacy_utility(
    privacy: Mapping[int, float], utility: Mapping[int, float], *, weight: float = 0.5
) -> dict[int, float]:
    """Compute PU_t = a P_t + (1 - a) U_t of each level t, both scores scaled to [0, 1].

    Reference: Griesbauer et al. (2025), appendix E.

    Args:
        privacy: Privacy score of each level; higher is better.
        utility: Utility score of each level; higher is better.
        weight: The weight a of privacy.
    """
    if set(privacy) != set(utility) or not privacy:
        raise UsageError("privacy and utility scores are needed for the same truncation levels")
    if not np.isfinite([*privacy.values(), *utility.values()]).all():
        raise UsageError("every score must be a finite number; leave out levels that were not measured")
    if not 0 <= weight <= 1:
        raise UsageError(f"the weight of privacy must be between 0 and 1; found {weight}")
    one, two = _scale_scores(privacy), _scale_scores(utility)
    return {level: weight * one[level] + (1 - weight) * two[level] for level in privacy}


def _scale_scores(scores: Mapping[int, float]) -> dict[int, float]:
    low, width = min(scores.values()), max(scores.values()) - min(scores.values())
    return {level: (score - low) / width if width > 0 else 1.0 for level, score in scores.items()}


def _get_vine_model(model: Model) -> VineTable | SplitVineTable:
    record: Any = model.table_model
    if not hasattr(record, "truncate") or not hasattr(record, "most"):
        raise UsageError(f"a model of method '{model.method}' has no truncation levels; tvine and rvine models have")
    return record

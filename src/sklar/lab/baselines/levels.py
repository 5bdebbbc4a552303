"""Truncation levels of a model that was fitted once: every level is the same fit with fewer trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sklar.errors import UsageError
from sklar.pipeline.model import Model

if TYPE_CHECKING:
    import pyarrow as pa


class Truncated(Protocol):
    """A table model that can be sampled at several levels."""

    level: int

    @property
    def most(self) -> int:
        """The highest level."""
        ...

    def truncate(self, level: int) -> Any:
        """The same fit at another level."""
        ...

    def dropped(self) -> Any:
        """Without the trees beyond its level."""
        ...


def levels(model: Model) -> tuple[int, ...]:
    """All levels that the model can be sampled at, from 1 on."""
    return tuple(range(1, _record(model).most + 1))


def candidate_levels(model: Model) -> tuple[int, ...]:
    """The levels worth a look: 1, every fifth, and the highest (Griesbauer et al. 2025)."""
    from sklar.lab.baselines.ordering import default_levels

    return default_levels(_record(model).most)


def at_level(model: Model, level: int, *, drop: bool = False) -> Model:
    """The model truncated at a level. Nothing is fitted again and no row is read.

    Args:
        model: A model of `tvine`, `rvine`, `rvine-star1` or `plain-vine`.
        level: Trees to keep, from 1 on.
        drop: Leave the further trees out of the record for good, as for a file that others will get.
    """
    cut = _record(model).truncate(level)
    stored = model._stored  # pyright: ignore[reportPrivateUsage]
    return Model(dataclasses.replace(stored, model=cut.dropped() if drop else cut))


def sweep(
    model: Model, chosen: Sequence[int] | None = None, *, rows: int | None = None, seed: int | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """One synthetic table for each level, by default for the candidate levels; all from the one fit."""
    for level in candidate_levels(model) if chosen is None else chosen:
        yield level, at_level(model, level).sample(rows, seed=seed)


def choose_level(privacy: Mapping[int, float], utility: Mapping[int, float], *, weight: float = 0.5) -> int:
    """The level t with the largest PU_t = a P_t + (1 - a) U_t, the scores being scaled to [0, 1], higher is better.

    Args:
        privacy: Privacy score of each level, higher being better.
        utility: Utility score of each level, higher being better.
        weight: a, what privacy counts for.
    """
    from sklar.lab.baselines.ordering import best_level, privacy_utility

    return best_level(privacy_utility(privacy, utility, weight))


def _record(model: Model) -> Truncated:
    record: Any = model.table_model
    if not hasattr(record, "truncate") or not hasattr(record, "most"):
        raise UsageError(f"a model of method '{model.method}' has no truncation levels; tvine and rvine models have")
    return record

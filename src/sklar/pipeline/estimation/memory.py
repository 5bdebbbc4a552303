"""What a model remembers between two questions; light, since every model has one and few are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklar.counting.code_table import CodeTable
    from sklar.inference.linear_measurements import LinearMeasurements
    from sklar.pipeline.estimation.making import Replicas

REPLICAS = 20
"""Enough that Student's t is within 10% of the normal quantile; more make intervals hardly narrower."""


@dataclass(slots=True, kw_only=True)
class Memory:
    """Replicas that were made, the measurements, and where replicas are kept: beside the model's file, if any.

    Of persons whose rows follow one another, each of their tables has a memory of its own, without a file.
    """

    path: str | None = None
    known: LinearMeasurements | None = None
    model: dict[int, CodeTable] = field(default_factory=dict)
    made: dict[tuple[int, int], Replicas] = field(default_factory=dict)
    views: dict[int, Memory] = field(default_factory=dict)

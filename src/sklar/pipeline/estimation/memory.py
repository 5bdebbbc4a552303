"""Cache of a model between two questions; it imports little, since every model has one and few are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklar.counting.code_table import CodeTable
    from sklar.inference.linear_measurements import LinearMeasurements
    from sklar.pipeline.estimation.making import Replicas

REPLICAS = 20
"""Default number of replicas: Student's t is then within 10% of the normal quantile. With more replicas, intervals
become hardly narrower."""


@dataclass(slots=True, kw_only=True)
class Memory:
    """Cached replicas and measurements, and the path of the model's file, beside which replicas are stored.

    For longitudinal data, each of the tables (`views`) has a cache of its own, without a file.
    """

    path: str | None = None
    known: LinearMeasurements | None = None
    model: dict[int, CodeTable] = field(default_factory=dict)
    made: dict[tuple[int, int], Replicas] = field(default_factory=dict)
    views: dict[int, Memory] = field(default_factory=dict)

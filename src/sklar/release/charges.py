"""What a request at the Door costs, as events for the ledger, and the digest by which it is known again.

The Door over rows and the one that replays a record charge by the same lines.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklar.accounting.events import ChoiceEvent, CountEvent, DiscoveryEvent, Event, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.release.door import Discovery, Interaction, PairTables
from sklar.release.features import Feature
from sklar.release.scores import SUM_VOTE_BITS


def count_events(noises: Sequence[Noise], label: str, unit: Unit) -> list[Event]:
    """One event per distinct noise, with the number of tables that carry it."""
    tables: dict[Noise, int] = {}
    for noise in noises:
        tables[noise] = tables.get(noise, 0) + 1
    return [CountEvent(label=label, noise=noise, tables=count, unit=unit) for noise, count in tables.items()]


def pairs_event(request: PairTables, label: str, unit: Unit) -> Event:
    """The tables of all pairs, with one noise."""
    return CountEvent(label=label, noise=request.noise, tables=request.tables, unit=unit)


def sum_event(feature: Feature, noise: Noise, label: str, unit: Unit) -> Event:
    """A vector of sums that one person moves by the feature's norms."""
    l1, l2 = feature.norms(unit)
    return SumEvent(label=label, noise=noise, l1=l1, l2=l2, resolution=sum_resolution(feature, unit), unit=unit)


def sum_resolution(feature: Feature, unit: Unit) -> float:
    """What the entries of a vector of sums are whole multiples of: finer where a person's rows share a vote."""
    return feature.resolution * (2.0**-SUM_VOTE_BITS if unit.votes else 1.0)


def interaction_events(tables: Sequence[Interaction], label: str, unit: Unit) -> list[Event]:
    """One event for each table of interactions, which one person moves by its own norms."""
    norms = [table.norms(unit) for table in tables]
    return [
        SumEvent(label=label, noise=table.noise, l1=l1, l2=l2, resolution=table.resolution * unit.resolution, unit=unit)
        for table, (l1, l2) in zip(tables, norms, strict=True)
    ]


def choice_event(epsilon: float, picks: int, label: str, unit: Unit) -> Event:
    """Picks by exponential mechanisms."""
    return ChoiceEvent(label=label, choice=float(epsilon), picks=picks, unit=unit)


def discovery_events(requests: Sequence[Discovery], label: str, unit: Unit) -> list[Event]:
    """One event for the labels of each column."""
    return [
        DiscoveryEvent(label=label, noise=r.noise, threshold=r.threshold, floor=r.floor, unit=unit) for r in requests
    ]


def request_digest(*parts: object) -> str:
    """SHA-256 over the content of requests, to tell on resume whether the same thing is asked again."""
    digest = hashlib.sha256()
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: Any, value: object) -> None:
    digest.update(type(value).__name__.encode() + b":")
    if isinstance(value, np.ndarray):
        digest.update(str((value.dtype.str, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple | list):
        for item in value:
            _feed(digest, item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _feed(digest, getattr(value, field.name))
    else:
        digest.update(repr(value).encode())
    digest.update(b";")

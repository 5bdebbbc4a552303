"""Prices of the steps at the Door, as events for the ledger, and the digest that identifies a request.

The Door over rows and verification use the same functions, so both compute the same charge.
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
from sklar.release.choices import Discovery
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Query, Request
from sklar.release.scores import SUM_VOTE_BITS


def price_measurements(requests: Sequence[Request], label: str, unit: Unit) -> list[Event]:
    """Return the cost of a step: tables of counts with equal noise are one event, everything else one event each."""
    tables: dict[Noise, int] = {}
    others: list[Event] = []
    for request in requests:
        query = request.query
        if isinstance(query, Counts | PairCounts):
            count = query.tables if isinstance(query, PairCounts) else 1
            tables[request.noise] = tables.get(request.noise, 0) + count
        else:
            l1, l2 = query.sensitivity(unit)
            step = get_lattice_step(query, unit)
            others.append(SumEvent(label=label, noise=request.noise, l1=l1, l2=l2, resolution=step, unit=unit))
    counts = [CountEvent(label=label, noise=noise, tables=count, unit=unit) for noise, count in tables.items()]
    return [*counts, *others]


def get_lattice_step(query: Query, unit: Unit) -> float:
    """Return the unit whose whole multiples are the exact values; it is finer where rows share a vote."""
    if isinstance(query, Counts | PairCounts | Interaction):
        return query.resolution * unit.resolution
    return query.resolution * (2.0**-SUM_VOTE_BITS if unit.votes else 1.0)


def get_released_step(query: Query, unit: Unit) -> float:
    """Return the unit whose whole multiples are the released values; counts of votes are rounded after noise."""
    return 1.0 if isinstance(query, Counts | PairCounts) else get_lattice_step(query, unit)


def price_choice(epsilon: float, picks: int, label: str, unit: Unit) -> list[Event]:
    """Return the cost of picks by exponential mechanisms."""
    return [ChoiceEvent(label=label, choice=float(epsilon), picks=picks, unit=unit)]


def price_discoveries(requests: Sequence[Discovery], label: str, unit: Unit) -> list[Event]:
    """Return the cost of discoveries: one event for the labels of each column."""
    return [
        DiscoveryEvent(label=label, noise=r.noise, threshold=r.threshold, floor=r.floor, unit=unit) for r in requests
    ]


def hash_request(*parts: object) -> str:
    """Return SHA-256 over the content of a request: resuming and verification compare it with the recorded one."""
    digest = hashlib.sha256()
    array_digests: dict[int, bytes] = {}
    for part in parts:
        _update_digest(digest, part, array_digests)
    return digest.hexdigest()


def _update_digest(digest: Any, value: object, array_digests: dict[int, bytes]) -> None:
    digest.update(type(value).__name__.encode() + b":")
    if isinstance(value, np.ndarray):
        digest.update(_array_digest(value, array_digests))
    elif isinstance(value, tuple | list):
        for item in value:
            _update_digest(digest, item, array_digests)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.metadata.get("digest", True):
                _update_digest(digest, getattr(value, field.name), array_digests)
    else:
        digest.update(repr(value).encode())
    digest.update(b";")


def _array_digest(array: np.ndarray, array_digests: dict[int, bytes]) -> bytes:
    """Return the digest of an array; hundreds of tables share one partition, which is hashed once."""
    if id(array) not in array_digests:
        head = str((array.dtype.str, array.shape)).encode()
        array_digests[id(array)] = hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).digest()
    return array_digests[id(array)]

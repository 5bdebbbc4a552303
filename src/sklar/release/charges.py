"""What a step at the Door costs, as events for the ledger, and the digest by which a request is recognized.

The Door over rows and verification charge by the same lines.
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
from sklar.release.choices import Discovery, Score
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Query, Request
from sklar.release.scores import SUM_VOTE_BITS


def measure_events(requests: Sequence[Request], label: str, unit: Unit) -> list[Event]:
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
            step = lattice_step(query, unit)
            others.append(SumEvent(label=label, noise=request.noise, l1=l1, l2=l2, resolution=step, unit=unit))
    counts = [CountEvent(label=label, noise=noise, tables=count, unit=unit) for noise, count in tables.items()]
    return [*counts, *others]


def lattice_step(query: Query, unit: Unit) -> float:
    """Return what exact values are whole multiples of: finer than the query's own step where rows share a vote."""
    if isinstance(query, Counts | PairCounts | Interaction):
        return query.resolution * unit.resolution
    return query.resolution * (2.0**-SUM_VOTE_BITS if unit.votes else 1.0)


def released_step(query: Query, unit: Unit) -> float:
    """Return what released values are whole multiples of: counts of votes are rounded to whole ones after noise."""
    return 1.0 if isinstance(query, Counts | PairCounts) else lattice_step(query, unit)


def choice_events(epsilon: float, picks: int, label: str, unit: Unit) -> list[Event]:
    """Return the cost of picks by exponential mechanisms."""
    return [ChoiceEvent(label=label, choice=float(epsilon), picks=picks, unit=unit)]


def discovery_events(requests: Sequence[Discovery], label: str, unit: Unit) -> list[Event]:
    """Return the cost of discoveries: one event for the labels of each column."""
    return [
        DiscoveryEvent(label=label, noise=r.noise, threshold=r.threshold, floor=r.floor, unit=unit) for r in requests
    ]


def measure_digest(requests: Sequence[Request]) -> str:
    """Return the digest of what a step measures."""
    return request_digest(tuple(requests))


def choice_digest(score: Score, epsilon: float, picks: int) -> str:
    """Return the digest of a choice."""
    return request_digest(score, float(epsilon), picks)


def request_digest(*parts: object) -> str:
    """Return SHA-256 over the content of requests: on resuming and in verification it shows whether they are equal."""
    digest = hashlib.sha256()
    known: dict[int, bytes] = {}
    for part in parts:
        _feed(digest, part, known)
    return digest.hexdigest()


def _feed(digest: Any, value: object, known: dict[int, bytes]) -> None:
    digest.update(type(value).__name__.encode() + b":")
    if isinstance(value, np.ndarray):
        digest.update(_array_digest(value, known))
    elif isinstance(value, tuple | list):
        for item in value:
            _feed(digest, item, known)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _feed(digest, getattr(value, field.name), known)
    else:
        digest.update(repr(value).encode())
    digest.update(b";")


def _array_digest(array: np.ndarray, known: dict[int, bytes]) -> bytes:
    """Return the digest of an array; hundreds of tables share one partition, which is hashed once."""
    if id(array) not in known:
        head = str((array.dtype.str, array.shape)).encode()
        known[id(array)] = hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).digest()
    return known[id(array)]

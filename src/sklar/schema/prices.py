"""Prices of measured facts: one per measurement, with its facts and the unit of privacy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RELATIONS = ("add-remove", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One measurement of facts, as recorded in the ledger. A fit that uses the facts adds it to its claim.

    Attributes:
        fit: Name of the measurement in its ledger.
        ledger: Name of the dataset in that ledger; empty if it was kept in memory only.
        delta: The delta of epsilon, that of finding labels included.
        rho: The price in zCDP.
        facts: The measured facts, as "column.fact"; several facts of one measurement share its price.
        votes: Whether it protects a person whose rows share one vote.
        person: Name of the unit that it protects; None where each row is a person.
        kept: Values that the schema stated and the measurement kept or searched within (`keep_listed`), by
            "column.fact". These facts were stated, not measured: they are not among `facts`.
        reading: Options stated for reading the rows that were measured (`ReadOptions.assumptions`).
    """

    fit: str
    ledger: str
    epsilon: float
    delta: float
    rho: float
    neighbours: str
    rows_per_person: int
    facts: Sequence[str]
    votes: bool = False
    person: str | None = None
    kept: Mapping[str, Sequence[Any]] | tuple[tuple[str, tuple[Any, ...]], ...] = ()
    reading: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho"):
            if type(getattr(self, name)) is int:
                object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "facts", tuple(self.facts))
        pairs = self.kept.items() if isinstance(self.kept, Mapping) else self.kept
        object.__setattr__(self, "kept", tuple((fact, tuple(values)) for fact, values in pairs))
        object.__setattr__(self, "reading", tuple(tuple(pair) for pair in self.reading))

    def faults(self) -> list[str]:
        """List all faults of the price."""
        faults = [f"{name} must be text" for name in ("fit", "ledger") if not _is_line(getattr(self, name))]
        faults += [f"{name} must be a number above 0" for name in ("epsilon", "rho") if not _is_positive(self, name)]
        if type(self.delta) is not float or not 0 <= self.delta < 1:
            faults.append("delta must be at least 0 and below 1")
        if self.neighbours not in RELATIONS:
            faults.append(f"neighbours must be one of {', '.join(RELATIONS)}")
        if type(self.rows_per_person) is not int or self.rows_per_person < 1:
            faults.append("rows_per_person must be a whole number of at least 1")
        if type(self.votes) is not bool:
            faults.append("votes must be true or false")
        if self.person is not None and not _is_line(self.person):
            faults.append("person must be text")
        if not all(isinstance(fact, str) and "." in fact for fact in self.facts):
            faults.append('facts must be a list of texts, such as ["age.lower", "age.upper"]')
        if not all("." in fact and all(type(x) in (str, int, float) for x in values) for fact, values in self.kept):
            faults.append('kept must list values by fact, such as { "city.values" = ["Oslo", "Rome"] }')
        if not all(len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in self.reading):
            faults.append('reading must be a list of pairs of texts, such as [["null_value", "NA"]]')
        return faults if self.fit else [*faults, "fit must name the measurement"]


def price_faults(prices: Iterable[Price]) -> list[str]:
    """List all faults of the prices of a schema."""
    listed = list(prices)
    faults = [f"price {i}: {fault}" for i, price in enumerate(listed, 1) for fault in price.faults()]
    if not faults and len({price.fit for price in listed}) < len(listed):
        faults.append("two prices are of the same fit: one measurement has one price")
    return faults


def _is_line(text: object) -> bool:
    return isinstance(text, str) and text.isprintable() and len(text) <= 200


def _is_positive(price: Price, name: str) -> bool:
    number = getattr(price, name)
    return type(number) is float and math.isfinite(number) and number > 0

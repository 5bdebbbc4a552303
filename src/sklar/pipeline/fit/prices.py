"""Prices of measured facts: the cost of a measurement, and whether the prices in a schema can be added to a fit.

A fit that uses facts measured before is composed with their measurement: epsilons add up, and so do deltas (Dwork,
Kenthapadi, McSherry, Mironov, Naor 2006; the later mechanism may depend on the earlier output). That requires that both
budgets are set in advance and refer to the same neighbours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklar.accounting.budget import Budget, exceeds_limit
from sklar.accounting.ledger import FitRecord, Ledger, LedgerView, fit_total, fits_total
from sklar.accounting.unit import Unit
from sklar.errors import SchemaError
from sklar.schema.prices import Price
from sklar.schema.table import Schema


def compute_guarantee(records: Sequence[FitRecord], budget: Budget) -> tuple[float, float]:
    """Return the guaranteed (epsilon, delta) of fits that share this budget.

    It is the requested budget, unless a lost step had to be measured again and the fits cost more.
    """
    total, wanted = fits_total(records), budget.epsilon
    epsilon = wanted if wanted is not None and not exceeds_limit(total.epsilon, wanted) else total.epsilon
    return epsilon, total.delta if any(fit.extra_delta for fit in records) else budget.delta


def price_of(
    records: Sequence[FitRecord],
    budget: Budget,
    ledger: Ledger,
    facts: Iterable[str],
    reading: Sequence[Sequence[str]],
) -> Price:
    """Return the price of facts that these fits measured, under the name of the last of them."""
    last = records[-1]
    epsilon, delta = compute_guarantee(records, budget)
    return Price(
        fit=last.id,
        ledger="" if ledger.path is None else ledger.header.name,
        epsilon=epsilon,
        delta=delta,
        rho=fits_total(records).rho,
        neighbours=last.unit.neighbours,
        rows_per_person=last.unit.rows_per_person,
        votes=last.unit.votes,
        person=last.unit.person,
        facts=tuple(dict.fromkeys(facts)),
        reading=reading,
    )


def stated_digest(
    reading: Sequence[Sequence[str]], kept: Mapping[str, Sequence[Any]] | Sequence[tuple[str, Sequence[Any]]] = ()
) -> str:
    """Return the second part of a fit's fingerprint in the ledger: a hash of what was stated about its rows.

    A price states the same, so that whoever has both can compare them.

    Args:
        reading: What was stated about reading the source (`ReadOptions.assumptions`).
        kept: Stated facts that a measurement kept (`Price.kept`).
    """
    parts = [list(map(list, reading)), sorted(dict(kept).items())]
    return "." + hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def fingerprint_parts(record: FitRecord) -> tuple[str, str, str]:
    """Return the parts of a fit's fingerprint: settings, statements about its rows, declarations in advance."""
    text = record.fingerprint
    return text[:64], text[64:129], text[129:]


def step_costs(records: Sequence[FitRecord]) -> list[dict[str, str | float | None]]:
    """Return the cost of each step of these fits, as model files store it; an infinite epsilon is None."""
    return [
        {
            "label": step.label, "cost": fit.cost(step), "rho": step.rho,
            "epsilon": None if step.epsilon == float("inf") else step.epsilon,
        }
        for fit in records
        for step in fit.steps
    ]  # fmt: skip


def with_own_price(
    found: Schema,
    before: Schema,
    records: Sequence[FitRecord],
    budget: Budget,
    ledger: Ledger,
    reading: Sequence[Sequence[str]],
) -> Schema:
    """Return the schema of a model with a price for facts its own fit found, so that a later fit counts this one.

    Facts that the fit paid for first are included in the same price, which is that of the whole fit.

    Args:
        found: The schema of the model.
        before: The schema given to the fit, after facts were paid for.
        records: The ledger's records of the whole fit.
        budget: The budget of the whole fit.
        ledger: Its ledger.
        reading: What was stated about reading the source.
    """
    known = set(before.facts_by_provenance("measured"))
    new = [".".join(pair) for pair in found.facts_by_provenance("measured") if pair not in known]
    if not new:
        return found
    own = {record.id for record in records}
    first = [fact for price in found.prices if price.fit in own for fact in price.facts]
    earlier = [price for price in found.prices if price.fit not in own]
    return found.with_prices([*earlier, price_of(records, budget, ledger, [*first, *new], reading)])


def require_addable(prices: Iterable[Price], unit: Unit, ledger: Ledger | LedgerView) -> None:
    """Refuse, before anything is spent, prices for other neighbours or below those in the ledger."""
    known = {fit.id: fit for fit in ledger.fits}
    faults = [fault for price in prices for fault in _find_faults(price, unit, known.get(price.fit))]
    if faults:
        raise SchemaError(faults)


def _find_faults(price: Price, unit: Unit, record: FitRecord | None) -> list[str]:
    paid = f"the price of fit {price.fit}"
    whom, here = ((x.neighbours, x.rows_per_person, x.votes, x.person) for x in (price, unit))
    if whom != here:
        return [
            f"{paid} is for {_describe_protected(*whom)}, but this fit is for {_describe_protected(*here)}; they "
            "cannot be added: use the same setting as for the facts, or pay for them again"
        ]
    if record is not None and (record.unit != unit or _is_understated(price, record)):
        return [f"{paid} is less than its cost in the ledger: restore the schema that was paid for"]
    if record is not None and fingerprint_parts(record)[1] != stated_digest(price.reading, price.kept):
        return [
            f"{paid} lists other kept facts, or another way to read the rows, than its ledger: restore the schema that "
            "was paid for"
        ]
    return []


def _is_understated(price: Price, record: FitRecord) -> bool:
    total = fit_total(record)
    pairs = ((total.epsilon, price.epsilon), (total.delta, price.delta), (total.rho, price.rho))
    return any(exceeds_limit(spent, stated) for spent, stated in pairs)


def _describe_protected(neighbours: str, rows: int, votes: bool, person: str | None) -> str:
    each = "one vote" if votes else f"{rows} row{'' if rows == 1 else 's'}"
    return f"{neighbours} neighbours with {each} a person{'' if person is None else f' (a value of {person!r})'}"

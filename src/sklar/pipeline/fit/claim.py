"""Assemble the claim from the schema, the method and the ledger's record of the fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import fsum
from typing import Any

import sklar
from sklar.accounting.budget import Budget
from sklar.accounting.claim import RULE_PREFIX, Claim, FactPrice, LedgerTotal, PersonFact, PriorFact
from sklar.accounting.ledger import FitRecord, Ledger, ledger_totals
from sklar.accounting.unit import Unit
from sklar.methods.method import Method
from sklar.pipeline.fit.prices import compute_guarantee
from sklar.schema.persons.person import PERSON_KEY, PERSON_ROWS, PERSON_STATIC, Person
from sklar.schema.prices import Price
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema

ON_CRITERIA = (
    "It was to be released only if it met criteria that were stated in advance. That was decided on noisy tables held "
    "back for it, and is covered by what is promised."
)


def settings_digest(
    schema: Schema,
    method: Method[Any],
    options: Any,
    budget: Budget,
    unit: Unit,
    *,
    paid: str,
    version: str = sklar.__version__,
) -> str:
    """Return the first part of the fingerprint by which a ledger recognizes a fit of the same settings.

    Args:
        schema: As the fit used it, with the prices of earlier fits only.
        method: The method.
        options: Its options.
        budget: The budget of the model.
        unit: What is protected.
        paid: The fit that measured facts first, within the same request; empty without one.
        version: The version of Sklar that made the fit.
    """
    settings = [asdict(options), asdict(budget), asdict(unit), paid]
    # The caveats contain the share of the budget that a method holds back, if any.
    parts = [schema.fingerprint, method.name, method.caveats, settings, version]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def declared_digest(facts: Mapping[str, Any]) -> str:
    """Return the third part of the fingerprint: a hash of prior, share held back, criteria and person, from the record.

    It is empty if none of them was declared.
    """
    declared = {name: facts[name] for name in ("prior", "check_share", "accepted", "person") if name in facts}
    if not declared:
        return ""
    return "." + hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()


def make_claim(
    schema: Schema,
    method: Method[Any],
    records: Sequence[FitRecord],
    budget: Budget,
    ledger: Ledger,
    reading: Sequence[tuple[str, str]],
    prior: PublicPrior | None = None,
    *,
    criteria: bool = False,
) -> Claim:
    """Return the claim of one private fit.

    Args:
        schema: As the model has it; the prices of facts that other fits measured are added to what this one cost.
        method: The method that made the model.
        records: The ledger's records of the fit: measurements of its facts, if any, and the model itself last.
        budget: The requested budget.
        ledger: The ledger.
        reading: What was stated about reading the source; what prices state about theirs is added.
        prior: The public table that the fit used as a prior, if any.
        criteria: Whether it was to be released only if it met criteria.
    """
    record, own = records[-1], {fit.id for fit in records}
    earlier = [price for price in schema.prices if price.fit not in own]
    epsilon, delta = compute_guarantee(records, budget)
    again = any(fit.repeated for fit in records)
    return Claim(
        method=method.name,
        guarantee=True,
        epsilon=fsum([epsilon, *(price.epsilon for price in earlier)]),
        delta=fsum([delta, *(price.delta for price in earlier)]),
        rho=None if record.pure else fsum([*(fit.reserved_rho for fit in records), *(p.rho for p in earlier)]),
        accounting="zcdp" if again and not record.pure else record.accountant,
        neighbours=record.unit.neighbours,
        rows_per_person=record.unit.rows_per_person,
        ledger=_compute_ledger_total(ledger),
        public=_facts(schema, "public"),
        assumed=(*(["rows_per_person"] if schema.person is None else []), *_facts(schema, "assumed")),
        measured=_facts(schema, "measured"),
        rules=tuple(rule.describe() for rule in (*schema.rules, *(schema.person.steps if schema.person else ()))),
        caveats=(*method.caveats, *([ON_CRITERIA] if criteria else [])),
        version=sklar.__version__,
        own=(epsilon, delta),
        prices=_list_prices(earlier, ledger),
        unpriced=tuple(".".join(pair) for pair in schema.unpriced),
        reading=tuple(dict.fromkeys([*reading, *((a, b) for price in earlier for a, b in price.reading)])),
        confirmed=_confirmed(schema),
        prior=None if prior is None else _make_prior_fact(prior),
        person=None if schema.person is None else _make_person_fact(schema.person),
        repeated=again or any(fit.repeated for fit in ledger.fits if fit.id in {price.fit for price in earlier}),
    )


def _person_facts(person: Person | None, word: str) -> tuple[str, ...]:
    """Return facts of this provenance about persons; with a measured bound, the other facts are assumed."""
    if person is None:
        return ()
    known = "assumed" if person.source == "measured" else person.source
    static = [PERSON_STATIC] if person.static and person.parents is None else []
    return (
        *([PERSON_KEY] if word == known else []),
        *([PERSON_ROWS] if word == person.source else []),
        *(static if word == known else []),
    )


def _make_person_fact(person: Person) -> PersonFact:
    static = () if person.parents is not None else tuple(person.static)  # parents have one row each
    return PersonFact(key=person.name, rows=person.bound, order=person.order, votes=person.shares_vote, static=static)


def _make_prior_fact(prior: PublicPrior) -> PriorFact:
    columns = tuple(column.name for column in prior.columns)
    return PriorFact(
        name=prior.name, by=prior.by, rows=prior.rows, columns=columns, digest=prior.digest, promise=prior.promise
    )


def _facts(schema: Schema, word: str) -> tuple[str, ...]:
    """Return facts of this provenance that the schema states, as 'column.fact'."""
    columns = (f"{name}.{fact}" for name, fact in schema.facts_by_provenance(word) if _is_stated(schema, name, fact))
    return (*columns, *_person_facts(schema.person, word))


def _is_stated(schema: Schema, name: str, fact: str) -> bool:
    column = schema[name]
    value = getattr(column, fact)
    if fact == "missing_value":
        return value is not None and not getattr(column, "nullable", False)
    return column.states(fact) and (value is not False or fact == "nullable")


def _confirmed(schema: Schema) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the people who vouch for assumed or public facts, each with these facts."""
    rules = {f"{RULE_PREFIX}{rule.describe()}" for rule in schema.rules}
    known = {*_facts(schema, "assumed"), *_facts(schema, "public"), *rules}
    said = [(one.by, tuple(fact for fact in one.facts if fact in known)) for one in schema.confirmed]
    return tuple((by, facts) for by, facts in said if facts)


def _list_prices(earlier: Sequence[Price], ledger: Ledger) -> tuple[FactPrice, ...]:
    known = {fit.id for fit in ledger.fits}
    return tuple(
        FactPrice(
            fit=p.fit,
            ledger=p.ledger,
            epsilon=p.epsilon,
            delta=p.delta,
            charged_here=p.fit in known,
            kept=tuple((fact, tuple(values)) for fact, values in dict(p.kept).items()),
        )
        for p in earlier
    )


def _compute_ledger_total(ledger: Ledger) -> LedgerTotal | None:
    if ledger.path is None:
        return None
    totals = ledger_totals(ledger.header, ledger.fits)
    cap = ledger.header.cap
    return LedgerTotal(
        name=ledger.header.name,
        fits=totals.fits,
        epsilon=totals.epsilon,
        delta=totals.delta,
        in_advance=totals.in_advance,
        cap=None if cap is None or cap.epsilon is None else (cap.epsilon, cap.delta),
    )

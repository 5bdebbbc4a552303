"""Puts the claim together from the schema, the method and the ledger's record of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import sklar
from sklar.accounting.budget import Budget
from sklar.accounting.claim import Claim, LedgerTotal
from sklar.accounting.ledger import FitRecord, Ledger, fits_total, ledger_totals
from sklar.methods.method import Method
from sklar.schema.constraints import AtMost, Constraint, Function
from sklar.schema.table import Schema


def make_claim(schema: Schema, method: Method, records: Sequence[FitRecord], budget: Budget, ledger: Ledger) -> Claim:
    """The claim of one private fit.

    Args:
        schema: As the model has it.
        method: The method that made the model.
        records: What the ledger knows of the fit: the model itself last, the measurement of its facts, if any, before.
        budget: What was asked for.
        ledger: The ledger.
    """
    record, total = records[-1], fits_total(records)
    asked = budget.epsilon
    # What was asked for is promised, unless a lost step had to be measured again and the fit cost more.
    epsilon = asked if asked is not None and total.epsilon <= asked * (1 + 1e-9) else total.epsilon
    again = any(fit.repeated for fit in records)
    return Claim(
        method=method.name,
        guarantee=True,
        epsilon=epsilon,
        delta=total.delta if any(fit.extra_delta for fit in records) else budget.delta,
        rho=None if record.pure else fsum(fit.reserved_rho for fit in records),
        accounting="zcdp" if again and not record.pure else record.accountant,
        neighbours=record.unit.neighbours,
        rows_per_person=record.unit.rows_per_person,
        ledger=_ledger_total(ledger),
        public=_facts(schema, "public"),
        assumed=_facts(schema, "assumed"),
        measured=_facts(schema, "measured"),
        rules=tuple(describe_rule(rule) for rule in schema.constraints),
        caveats=method.caveats,
        version=sklar.__version__,
    )


def describe_rule(rule: Constraint) -> str:
    """A public rule in words."""
    if isinstance(rule, AtMost):
        return f"{rule.low} is at most {rule.high}"
    if isinstance(rule, Function):
        return f"{rule.column} is a function of {rule.of}"
    return "never " + " with ".join(f"{name} = {value}" for name, value in rule.pairs)


def _facts(schema: Schema, word: str) -> tuple[str, ...]:
    """Facts of this provenance which the schema really states, as 'column.fact'."""
    return tuple(f"{name}.{fact}" for name, fact in schema.facts_by_provenance(word) if _stated(schema, name, fact))


def _stated(schema: Schema, name: str, fact: str) -> bool:
    value = getattr(schema[name], fact)
    return value is not None and value is not False and value != ()


def _ledger_total(ledger: Ledger) -> LedgerTotal | None:
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

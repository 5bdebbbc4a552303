"""The parts of a budget that finds out what columns hold: together they are the budget, whatever was found."""

from __future__ import annotations

from itertools import product

import pytest

import sklar
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.unit import Unit
from sklar.methods.facts.kinds import KINDS_SHARE, FoundKinds
from sklar.pipeline.fit.paid import BudgetPart, _split_by_kinds, set_aside

BOUNDS = {"lower": "pay", "upper": "pay"}


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("share", [None, 0.01, 0.3])
def test_kinds_facts_and_model_spend_the_budget_and_no_more(share: float | None, gaussian: bool) -> None:
    budget = Budget(epsilon=1.0, delta=1e-9)
    aside = set_aside(budget, labels=True)
    allowance = calibrate(budget, Unit(neighbours="add-remove"), discovery=aside)
    allowance = adaptive_allowance(budget, aside) if gaussian else allowance
    assert allowance is not None
    whole = BudgetPart(budget=budget, allowance=allowance)
    for numbers, labels in product((0, 1, 12), (0, 1, 12)):
        columns: dict[str, sklar.Column] = {f"x{i}": sklar.Real(0, 1, source=BOUNDS) for i in range(numbers)}
        columns |= {f"w{i}": sklar.Category(source="pay") for i in range(labels)}
        columns["known"] = sklar.Boolean()
        found = FoundKinds(schema=sklar.Schema(columns), notes=(), signs={})
        parts = _split_by_kinds(whole, share, found)
        facts, model = parts.spent, parts.rest.model
        spent = (facts.allowance.amount if numbers + labels else 0.0) + model.allowance.amount
        assert KINDS_SHARE * allowance.amount + spent == pytest.approx(allowance.amount, rel=1e-12)
        for part in (facts, model):
            assert part.budget.rho == part.allowance.amount and part.allowance.dither == allowance.dither
            assert part.budget.delta - part.allowance.delta == pytest.approx(budget.delta - aside, rel=1e-12)
        assert (facts.allowance.delta, model.allowance.delta) == (aside if labels else 0.0, 0.0)

"""The parts of a budget that finds out what columns hold: together they are the budget, whatever was found."""

from __future__ import annotations

from itertools import product

import pytest

import sklar
from sklar.accounting.budget import Budget
from sklar.methods.facts.kinds import KINDS_SHARE, FoundKinds
from sklar.pipeline.fit.paid import _split_by_kinds, whole_rho

BOUNDS = {"lower": "pay", "upper": "pay"}


@pytest.mark.parametrize("share", [None, 0.01, 0.3])
def test_kinds_facts_and_model_spend_the_budget_and_no_more(share: float | None) -> None:
    budget = Budget(epsilon=1.0, delta=1e-9)
    whole = whole_rho(budget)
    for numbers, labels, rows in product((0, 1, 12), (0, 1, 12), (50.0, 5_000.0, 3e6)):
        columns: dict[str, sklar.Column] = {f"x{i}": sklar.Real(0, 1, source=BOUNDS) for i in range(numbers)}
        columns |= {f"w{i}": sklar.Category(source="pay") for i in range(labels)}
        columns["known"] = sklar.Boolean()
        found = FoundKinds(schema=sklar.Schema(columns), notes=(), rows=rows, std=6.0, signs={})
        parts = _split_by_kinds(budget, whole, share, found)
        assert parts.spent.rho is not None and parts.rest.rho is not None
        spent = KINDS_SHARE * whole + (parts.spent.rho if numbers + labels else 0.0) + parts.rest.rho
        assert spent == pytest.approx(whole, rel=1e-12)
        assert max(parts.spent.delta, parts.rest.delta) <= budget.delta

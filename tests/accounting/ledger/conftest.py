"""Ledgers to test with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.events import CountEvent
from sklar.accounting.ledger import FitAccount, Ledger
from sklar.accounting.unit import Unit

ONE = Unit(neighbours="add-remove")
DIGEST = "ab" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture
def reserve() -> Callable[..., FitAccount]:
    """Reserve a fit of a budget without a plan."""

    def make(ledger: Ledger, budget: Budget | None = None, unit: Unit = ONE, **more: Any) -> FitAccount:
        budget = budget or Budget(epsilon=1, delta=1e-9)
        allowance = more.pop("allowance", None) or calibrate(budget, unit)
        return ledger.reserve(
            method="vine", budget=budget, allowance=allowance, unit=unit, seed=7, fingerprint="f" * 64, **more
        )

    return make


@pytest.fixture
def counts() -> Callable[..., list[CountEvent]]:
    """A charge for a share of a fit's allowance."""

    def make(account: FitAccount, share: float = 0.25, tables: int = 3, label: str = "pairs") -> list[CountEvent]:
        unit = account.record.unit
        noise = account.record.allowance.part(share).noise(unit, tables)
        return [CountEvent(label=label, noise=noise, tables=tables, unit=unit)]

    return make

"""The first entry of a new ledger: whose dataset, which cap, which relation, since when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sklar.accounting.amounts import checked_delta
from sklar.accounting.budget import Budget
from sklar.accounting.ledger.book import VERSION
from sklar.accounting.ledger.entries import budget_to_json
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import BudgetError, LedgerError


def utc_today() -> str:
    """The date. A ledger may be published, and how long a step took could tell about rows: no entry has a time."""
    return datetime.now(UTC).date().isoformat()


def new_header(
    name: str, epsilon: float | None, delta: float | None, neighbours: Neighbours, set_aside: float | None
) -> dict[str, Any]:
    """The entry; a cap, a part set aside or a name that is not usable is refused."""
    if (epsilon is None) != (delta is None):
        raise BudgetError("the cap of a ledger needs both epsilon and delta (0 for pure epsilon), or neither.")
    cap = None if epsilon is None or delta is None else Budget(epsilon=epsilon, delta=delta)
    return {
        "type": "ledger",
        "version": VERSION,
        "name": _checked_name(name),
        "cap": budget_to_json(cap),
        "neighbours": Unit(neighbours=neighbours).neighbours,
        "created": utc_today(),
        **({} if set_aside is None else {"set_aside": _checked_part(set_aside, cap)}),
    }


def _checked_part(set_aside: float, cap: Budget | None) -> float:
    part = checked_delta(set_aside, "the delta set aside for finding labels")
    if cap is None or not part < cap.delta:
        raise BudgetError("the delta set aside for finding labels is a part of the cap's delta, and must be below it.")
    return part


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise LedgerError("a ledger needs the name of its dataset: 1 to 200 printable characters.")
    return name

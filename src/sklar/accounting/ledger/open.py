"""Making and opening ledgers: a file the custodian names, or one in memory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sklar.accounting.amounts import checked_delta
from sklar.accounting.budget import Budget
from sklar.accounting.ledger.account import Ledger, utc_now
from sklar.accounting.ledger.book import VERSION
from sklar.accounting.ledger.entries import budget_to_json
from sklar.accounting.ledger.file import FileJournal, write_new_file
from sklar.accounting.ledger.journal import MemoryJournal
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import BudgetError, LedgerError


def create_ledger(
    path: str | os.PathLike[str],
    name: str,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Neighbours = "add-remove",
    set_aside: float | None = None,
) -> Ledger:
    """Make a new ledger file for one dataset.

    Args:
        path: Where; must not exist.
        name: What the custodian calls the dataset. Never derive it from the rows.
        epsilon: Cap on the total privacy loss of all fits; None for no cap.
        delta: The delta of the cap; 0 admits pure fits only. Needed with epsilon.
        neighbours: The one neighbour relation of this ledger.
        set_aside: The part of the cap's delta that is kept for finding labels, at any time. By default it is what the
            first fit needs for that, often nothing.
    """
    write_new_file(Path(path), _header(name, epsilon, delta, neighbours, set_aside))
    return open_ledger(path)


def open_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Open an existing ledger file for writing, after verifying all of it."""
    return Ledger(FileJournal(Path(path)))


def ensure_ledger(path: str | os.PathLike[str], name: str, neighbours: Neighbours = "add-remove") -> Ledger:
    """Open the ledger at this path, or make one without a cap; safe against another process that does the same."""
    if not os.path.exists(path):
        with suppress(LedgerError):  # taken meanwhile, or not writable: opening it tells
            return create_ledger(path, name, neighbours=neighbours)
    if not os.path.exists(path):
        return create_ledger(path, name, neighbours=neighbours)
    return open_ledger(path)


def memory_ledger(
    name: str = "this fit only",
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Neighbours = "add-remove",
    set_aside: float | None = None,
) -> Ledger:
    """A ledger that lives as long as the process; its totals are about the fits made with it only."""
    return Ledger(MemoryJournal(_header(name, epsilon, delta, neighbours, set_aside)))


def _header(
    name: str, epsilon: float | None, delta: float | None, neighbours: Neighbours, set_aside: float | None
) -> dict[str, Any]:
    if (epsilon is None) != (delta is None):
        raise BudgetError("the cap of a ledger needs both epsilon and delta (0 for pure epsilon), or neither.")
    cap = None if epsilon is None or delta is None else Budget(epsilon=epsilon, delta=delta)
    return {
        "type": "ledger",
        "version": VERSION,
        "name": _checked_name(name),
        "cap": budget_to_json(cap),
        "neighbours": Unit(neighbours=neighbours).neighbours,
        "created": utc_now(),
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

"""Making and opening ledgers: a file the custodian names, or one in memory."""

from __future__ import annotations

import os
from contextlib import suppress

from sklar.accounting.ledger.account import Ledger
from sklar.accounting.ledger.heading import new_header
from sklar.accounting.ledger.journal import MemoryJournal
from sklar.accounting.unit import Neighbours
from sklar.errors import LedgerError

create_ledger = Ledger.create
open_ledger = Ledger.open


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
    return Ledger(MemoryJournal(new_header(name, epsilon, delta, neighbours, set_aside)))

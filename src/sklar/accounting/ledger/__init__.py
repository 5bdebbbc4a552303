"""The ledger: an append-only, hash-chained record of every privacy loss of one dataset, and the filter that caps it.

A fit *reserves* its whole budget before it reads any row, *charges* each measurement within the reservation before the
rows are read for it, and *records* the hash of each release before anyone sees it. Every entry is on disk before the
act it allows. Nothing is ever refunded. Of a measurement the ledger knows only its noise.

Start with `filters`, which has the proofs, then `account` (the entries of one fit) and `file` (the file format).
"""

from __future__ import annotations

from sklar.accounting.ledger.account import FitAccount, Ledger, create_ledger, ensure_ledger, memory_ledger, open_ledger
from sklar.accounting.ledger.file import LedgerView, read_ledger, verify_ledger
from sklar.accounting.ledger.records import FitRecord
from sklar.accounting.ledger.totals import common_delta, fit_total, fits_total, ledger_totals

__all__ = [
    "FitAccount",
    "FitRecord",
    "Ledger",
    "LedgerView",
    "common_delta",
    "create_ledger",
    "ensure_ledger",
    "fit_total",
    "fits_total",
    "ledger_totals",
    "memory_ledger",
    "open_ledger",
    "read_ledger",
    "verify_ledger",
]

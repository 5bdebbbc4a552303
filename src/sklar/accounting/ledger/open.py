"""Making and opening ledgers: a file the custodian names, or one in memory."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklar.accounting.allowance import Measure
from sklar.accounting.ledger.account import Ledger
from sklar.accounting.ledger.book import new_header
from sklar.accounting.ledger.file import FileJournal, MemoryJournal, real_path
from sklar.accounting.ledger.filters import left_of_cap
from sklar.accounting.ledger.locks import is_alive
from sklar.accounting.ledger.records import GENESIS, FitRecord, Header, seal
from sklar.accounting.ledger.totals import LedgerTotals, describe_left, ledger_totals, left_epsilon
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """A ledger as it stood when it was read and verified.

    Attributes:
        path: The file.
        header: Name, cap and relation.
        fits: All fits, in order of their reservation.
        entries: All entries, as they stand in the file.
        head: Hash of the last line; keep it elsewhere to notice if lines are cut off.
        torn: Whether the file ends in a line that was cut short; it was never acted upon.
        alive: Unfinished fits whose process is still running.
    """

    path: Path
    header: Header
    fits: tuple[FitRecord, ...]
    entries: tuple[dict[str, Any], ...]
    head: str
    torn: bool
    alive: frozenset[str]

    @property
    def unfinished(self) -> tuple[FitRecord, ...]:
        """Fits that were neither closed nor are still running: these can be resumed."""
        return tuple(fit for fit in self.fits if not fit.closed and fit.id not in self.alive)

    @property
    def left(self) -> tuple[Measure, float] | None:
        """What the cap still admits, as ("rho" or "epsilon", amount); None without a cap."""
        return left_of_cap(self.header, self.fits)

    def left_epsilon(self, delta: float) -> float:
        """The largest epsilon that one more fit at this delta may have; infinite without a cap."""
        return left_epsilon(self.header, self.fits, delta)

    def describe_left(self, delta: float | None = None) -> str:
        """The same as a clause."""
        return describe_left(self.header, self.fits, delta)

    def totals(self, delta: float | None = None) -> LedgerTotals:
        """What all fits together may lose."""
        return ledger_totals(self.header, self.fits, delta)


def read_ledger(path: str | os.PathLike[str]) -> LedgerView:
    """Read and verify a ledger file; LedgerError says what is wrong and in which line."""
    place = real_path(path)
    journal = FileJournal(place, writable=False)
    fits = tuple(journal.book.fits.values())
    return LedgerView(
        path=place,
        header=journal.book.header,
        fits=fits,
        entries=tuple(journal.book.entries),
        head=journal.head,
        torn=journal.torn,
        alive=frozenset(fit.id for fit in fits if not fit.closed and is_alive(place, fit.id)),
    )


def verify_ledger(path: str | os.PathLike[str], head: str | None = None) -> LedgerView:
    """Read a ledger and check its chain; with `head`, an earlier last line's hash, also that nothing was cut off."""
    view = read_ledger(path)
    if head is not None:
        _require_head(view, head)
    return view


def _require_head(view: LedgerView, head: str) -> None:
    digest = GENESIS
    for entry in view.entries:
        _, digest = seal(entry, digest)
        if digest == head:
            return
    raise LedgerError(f"the ledger {view.path} has no line of the given hash: it was cut short or rewritten.")

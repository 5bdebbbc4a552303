"""Where entries are kept: the protocol of a journal, and one in memory that dies with the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sklar.accounting.ledger.book import Book
from sklar.accounting.ledger.chain import GENESIS, seal

Decide = Callable[[Book], dict[str, Any]]
"""Given the state of the ledger, the entry to append, or an error that refuses it."""


class Journal(Protocol):
    """An append-only list of entries, shared by all who use it at the same time."""

    @property
    def path(self) -> Path | None:
        """The file, or None."""
        ...

    def append(self, decide: Decide) -> dict[str, Any]:
        """Bring the state up to date, ask for the next entry and write it; no other entry comes in between."""
        ...

    def look(self) -> Book:
        """The state, up to date."""
        ...


class MemoryJournal:
    """Entries in memory, for fits on data without a ledger file."""

    path: Path | None = None

    def __init__(self, header: dict[str, Any]):
        self._lock = threading.Lock()
        self._book = Book()
        self._head = GENESIS
        self.append(lambda _: header)

    def append(self, decide: Decide) -> dict[str, Any]:
        """Add the entry that `decide` makes of the present state."""
        with self._lock:
            entry = decide(self._book)
            _, self._head = seal(entry, self._head)
            self._book.add(entry)
            return entry

    def look(self) -> Book:
        """The state."""
        return self._book

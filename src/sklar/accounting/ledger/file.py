"""The ledger as a file: locked, verified, synced appends, the repair of an interrupted write, and a view."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sklar.accounting.allowance import Measure
from sklar.accounting.ledger.book import Book
from sklar.accounting.ledger.filters import left_of_cap
from sklar.accounting.ledger.locks import hold_ledger_lock, is_alive
from sklar.accounting.ledger.records import (
    GENESIS,
    MAX_LINE_BYTES,
    FitRecord,
    Header,
    is_incomplete_line,
    make_damage_error,
    seal_entry,
    unseal_line,
)
from sklar.accounting.ledger.totals import LedgerTotals, describe_left, ledger_card, ledger_totals, left_epsilon
from sklar.errors import LedgerError
from sklar.portable import is_file_at, open_file, read_at, sync_folder

_CHUNK_BYTES = 1 << 20
"""Bytes read at once; larger chunks only take memory."""


class FileJournal:
    """A journal in a file. The state is kept between calls, so that an append reads only what was added since.

    Attributes:
        head: Hash of the last line.
        torn: Whether the file ended in an incomplete line.
    """

    def __init__(self, path: Path, *, writable: bool = True):
        """Read and verify the whole file; with `writable`, open it for appending."""
        self.path = path
        self.book = Book()
        self.head = GENESIS
        self.torn = False
        self._writable = writable
        self._verified = 0
        self._has_newline = True
        self._last = b""
        self._threads = threading.Lock()
        _ = self.look().header  # a file without a header is no ledger

    def look(self) -> Book:
        """Return the state, up to date; nothing is written."""
        with self._threads, self._open() as handle:
            self._read_new_lines(handle)
            return self.book

    def append(self, decide: Decide) -> dict[str, Any]:
        """Read new entries, decide on the next, write it, sync it to disk and read it back, all under the lock."""
        with self._threads, self._open() as handle, hold_ledger_lock(handle, self.path):
            if not is_file_at(handle, self.path):  # it could have been moved during the wait for the lock
                raise LedgerError(f"the ledger {self.path} was moved or replaced while in use. Nothing was charged.")
            self._read_new_lines(handle)
            self._repair_end(handle)
            entry = decide(self.book)
            line, _ = seal_entry(entry, self.head)
            self._write(handle, line)
            self._read_new_lines(handle)
            return entry

    @contextmanager
    def _open(self) -> Generator[int]:
        handle = open_ledger_file(self.path, writable=self._writable)
        try:
            yield handle
        finally:
            os.close(handle)

    def _read_new_lines(self, handle: int) -> None:
        """Verify and add all lines written since the last look.

        The last verified line must still be in its place; its hash covers all lines before it.
        """
        if read_at(handle, len(self._last), self._verified - len(self._last)) != self._last:
            raise LedgerError(f"the ledger {self.path} was replaced or cut while in use. Nothing was charged.")
        self.torn = False
        for line in _read_lines(handle, self._verified, self.path):
            self._accept_line(line)

    def _accept_line(self, line: bytes) -> None:
        """Add one line. Without its newline it counts if it is complete, and is left alone if it is not."""
        if not self._has_newline:
            self._accept_newline(line)
        elif line.endswith(b"\n") or not is_incomplete_line(line):
            entry, digest = unseal_line(line.removesuffix(b"\n"), self.head, len(self.book.entries) + 1)
            self.book.add(entry)
            self.head, self._has_newline = digest, line.endswith(b"\n")
            self._last, self._verified = line, self._verified + len(line)
        else:
            self.torn = True

    def _accept_newline(self, line: bytes) -> None:
        """Add the newline of a line that was read without it."""
        if line != b"\n":
            raise make_damage_error(len(self.book.entries), "it was changed after it was written")
        self._has_newline = True
        self._last, self._verified = self._last + line, self._verified + 1

    def _repair_end(self, handle: int) -> None:
        """Repair the end after an interrupted write: drop an incomplete line, end a complete one."""
        if self.torn:
            try:
                os.ftruncate(handle, self._verified)
                os.fsync(handle)
            except OSError as error:
                raise _make_unusable_error(self.path, error) from None
            self.torn = False
        if not self._has_newline:
            self._write(handle, b"\n")
            self._accept_newline(b"\n")

    def _write(self, handle: int, data: bytes) -> None:
        """Write and sync; on failure remove what was written, so that no partial charge stays."""
        try:
            write_synced(handle, data)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(handle, self._verified)
            raise _make_unusable_error(self.path, error) from None


class NewFileJournal:
    """A journal whose file is created with its first entry; until then the header is in memory."""

    def __init__(self, path: Path, header: dict[str, Any]):
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise LedgerError(f"the ledger {path} cannot be created: its folder is missing or not writable.")
        try:
            path.exists()
        except (OSError, ValueError) as error:  # a name that no file can have
            raise _make_unusable_error(path, error) from None
        self.path = path
        self._header = header
        self._file_journal: FileJournal | None = None

    def append(self, decide: Decide) -> dict[str, Any]:
        """Decide on the header first: an entry that is refused makes no file."""
        if self._file_journal is None and not os.path.exists(self.path):
            decide(self.look())
            try:
                write_new_file(self.path, self._header)
            except LedgerError:
                if not os.path.exists(self.path):  # else another process created it meanwhile
                    raise
        return self._open_journal().append(decide)

    def look(self) -> Book:
        if self._file_journal is not None or os.path.exists(self.path):
            return self._open_journal().look()
        book = Book()
        book.add(self._header)
        return book

    def _open_journal(self) -> FileJournal:
        if self._file_journal is None:
            self._file_journal = FileJournal(self.path)
        return self._file_journal


def resolve_path(path: str | os.PathLike[str]) -> Path:
    """Return the path without links: side files are next to the ledger itself, also when a link to it is given."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise _make_unusable_error(Path(path), error) from None


def open_ledger_file(path: Path, *, writable: bool) -> int:
    """Open an existing ledger; only regular files are accepted (a pipe would block, a device swallow entries)."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise LedgerError(f"{path} is not a file, so it cannot be a ledger.")
        return open_file(path, os.O_RDWR | os.O_APPEND if writable else os.O_RDONLY)
    except FileNotFoundError:
        raise LedgerError(f"there is no ledger at {path}. Create one with `sklar ledger create`.") from None
    except (OSError, ValueError) as error:
        raise _make_unusable_error(path, error) from None


def write_new_file(path: Path, header: dict[str, Any]) -> None:
    """Create a ledger of one line, all of it or nothing, and sync file and folder; never touch an existing file."""
    draft = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    line, _ = seal_entry(header, GENESIS)
    try:
        _create(draft, line, os.O_TRUNC)
        try:
            os.link(draft, path)  # unlike a rename, this fails if the path is taken
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: no better than exclusive creation
            _create(path, line, os.O_EXCL)
        sync_folder(path.parent)
    except FileExistsError:
        raise LedgerError(f"{path} exists already; a ledger is never overwritten.") from None
    except (OSError, ValueError) as error:
        raise _make_unusable_error(path, error) from None
    finally:
        with suppress(OSError, ValueError):
            draft.unlink()


def _create(path: Path, data: bytes, flag: int) -> None:
    handle = open_file(path, os.O_WRONLY | os.O_CREAT | flag)
    try:
        write_synced(handle, data)
    finally:
        os.close(handle)


def write_synced(handle: int, data: bytes) -> None:
    """Write all bytes and wait until they are on disk."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    os.fsync(handle)


def _read_lines(handle: int, start: int, path: Path) -> Iterator[bytes]:
    """Yield lines from `start` on, with their newline; the last may lack it."""
    rest, place = b"", start
    while chunk := read_at(handle, _CHUNK_BYTES, place):
        place += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in whole)
        if len(rest) > MAX_LINE_BYTES:
            raise LedgerError(f"{path} is not a ledger: it has a line of more than {MAX_LINE_BYTES:,} bytes.")
    if rest:
        yield rest


def _make_unusable_error(path: Path, error: OSError | ValueError) -> LedgerError:
    why = error.strerror if isinstance(error, OSError) else "the path is not valid"
    return LedgerError(f"the ledger {path} cannot be used: {why}. Nothing was charged.")


Decide = Callable[[Book], dict[str, Any]]
"""Returns the entry to append, given the state of the ledger, or raises an error that refuses it."""


class Journal(Protocol):
    """An append-only list of entries, shared by concurrent users."""

    @property
    def path(self) -> Path | None: ...
    def append(self, decide: Decide) -> dict[str, Any]:
        """Bring the state up to date, decide on the next entry and write it; no other entry comes in between."""
        ...

    def look(self) -> Book:
        """Read new entries and return the up-to-date state of the ledger."""
        ...


class MemoryJournal:
    """A journal in memory, for fits on data without a ledger file."""

    path: Path | None = None

    def __init__(self, header: dict[str, Any]):
        self._lock = threading.Lock()
        self._book = Book()
        self._head = GENESIS
        self.append(lambda _: header)

    def append(self, decide: Decide) -> dict[str, Any]:
        with self._lock:
            entry = decide(self._book)
            _, self._head = seal_entry(entry, self._head)
            self._book.add(entry)
            return entry

    def look(self) -> Book:
        return self._book


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """A ledger as it stood when it was read and verified.

    Attributes:
        head: Hash of the last line; keep it elsewhere to notice if lines are cut off.
        torn: Whether the file ends in an incomplete line; it was never acted upon.
        alive: Unfinished fits whose process is still running.
    """

    path: Path
    header: Header
    fits: tuple[FitRecord, ...]
    entries: tuple[dict[str, Any], ...]
    head: str
    torn: bool
    alive: frozenset[str]

    def __repr__(self) -> str:
        fits = "1 fit" if len(self.fits) == 1 else f"{len(self.fits)} fits"
        return f"<sklar.LedgerView of '{self.header.name}': {fits}; left is {self.describe_left()}>"

    def _repr_html_(self) -> str:
        return ledger_card(self.header, self.fits)

    @property
    def unfinished(self) -> tuple[FitRecord, ...]:
        """Fits that are not closed and whose process has ended: these can be resumed."""
        return tuple(fit for fit in self.fits if not fit.closed and fit.id not in self.alive)

    @property
    def left(self) -> tuple[Measure, float] | None:
        """What the cap still admits, as ("rho" or "epsilon", amount); None without a cap."""
        return left_of_cap(self.header, self.fits)

    def left_epsilon(self, delta: float) -> float:
        """Return the largest epsilon that one more fit at this delta may have; infinite without a cap."""
        return left_epsilon(self.header, self.fits, delta)

    def describe_left(self, delta: float | None = None) -> str:
        """Describe in a clause what one more fit may have."""
        return describe_left(self.header, self.fits, delta)

    def totals(self, delta: float | None = None) -> LedgerTotals:
        """Return the bound on the privacy loss of all fits together."""
        return ledger_totals(self.header, self.fits, delta)


def read_ledger(path: str | os.PathLike[str]) -> LedgerView:
    """Read and verify a ledger file; LedgerError says what is wrong and in which line."""
    place = resolve_path(path)
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
    """Read a ledger and check its chain; with `head`, an earlier last line's hash, also that no line was cut off."""
    view = read_ledger(path)
    digest = GENESIS
    for entry in view.entries if head is not None else ():
        _, digest = seal_entry(entry, digest)
        if digest == head:
            return view
    if head is not None:
        raise LedgerError(f"the ledger {view.path} has no line of the given hash: it was cut short or rewritten.")
    return view

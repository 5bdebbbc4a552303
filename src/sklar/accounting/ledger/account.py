"""The ledger as fits use it: reserve, charge, record, close. Each call is one entry, on disk when it returns."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.events import Event, PlannedEvent
from sklar.accounting.ledger.book import Book, new_header, parse_open_entry, utc_today
from sklar.accounting.ledger.file import (
    Decide,
    FileJournal,
    Journal,
    MemoryJournal,
    NewFileJournal,
    resolve_path,
    write_new_file,
)
from sklar.accounting.ledger.filters import check_charge, check_repeat, check_reservation, fit_accountant
from sklar.accounting.ledger.locks import FitLock
from sklar.accounting.ledger.records import FitRecord, Header, StepRecord, events_to_json
from sklar.accounting.ledger.totals import COMMON_DELTA, describe_left, format_plain, ledger_card, left_epsilon
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import LedgerError, OverspendError


class Ledger:
    """A ledger open for writing. Get one from `Ledger.create` or `Ledger.open`."""

    def __init__(self, journal: Journal):
        self._journal = journal

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        name: str,
        epsilon: float | None = None,
        delta: float | None = None,
        neighbours: Neighbours = "add-remove",
        set_aside: float | None = None,
    ) -> Ledger:
        """Create a ledger file for one dataset.

        Args:
            name: What the custodian calls the dataset. Never derive it from the rows.
            epsilon: Cap on the total privacy loss of all fits; None for no cap.
            delta: The delta of the cap; 0 admits pure fits only. Needed with epsilon.
            neighbours: The one neighbour relation of this ledger.
            set_aside: The part of the cap's delta that is reserved for finding labels, at any time. By default it is
                what the first fit needs for that, often 0.
        """
        write_new_file(Path(path), new_header(name, epsilon, delta, neighbours, set_aside))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Ledger:
        """Open an existing ledger file for writing, after verifying all of it."""
        return cls(FileJournal(resolve_path(path)))

    def __repr__(self) -> str:
        fits = "1 fit" if len(self.fits) == 1 else f"{len(self.fits)} fits"
        return f"<sklar.Ledger of '{self.header.name}': {fits}; left is {describe_left(self.header, self.fits)}>"

    def _repr_html_(self) -> str:
        return ledger_card(self.header, self.fits)

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._journal.path

    def __fspath__(self) -> str:
        """Return the path of the file, so that a ledger can be passed in place of its path."""
        if self.path is None:
            raise LedgerError("a ledger in memory has no file; create one with Ledger.create(path, ...).")
        return os.fspath(self.path)

    @property
    def header(self) -> Header:
        """Name, cap and relation."""
        return self._journal.look().header

    @property
    def fits(self) -> tuple[FitRecord, ...]:
        """All fits up to now, in order of their reservation."""
        return tuple(self._journal.look().fits.values())

    def left(self, delta: float = COMMON_DELTA) -> float:
        """Return the largest epsilon of one more fit at this delta, by any method; infinite without a cap."""
        return left_epsilon(self.header, self.fits, delta)

    def reserve(
        self,
        *,
        method: str,
        budget: Budget,
        allowance: Allowance,
        unit: Unit,
        seed: int,
        fingerprint: str,
        plan: Sequence[PlannedEvent] | None = None,
        whole: Allowance | None = None,
    ) -> FitAccount:
        """Reserve the whole budget of a fit, before it reads any row.

        Args:
            allowance: The result of `calibrate` for the budget, with the same plan.
            seed: Seed of the post-processing, so that a resumed fit estimates the same model.
            fingerprint: Hash of schema, method and options.
            plan: All tables and vectors the fit will measure, if set in advance (`plan_events`); it is then held to it.
            whole: If later fits continue this one, what all of them may spend together.

        Raises:
            OverspendError: The allowance exceeds the budget, or the ledger's cap does not cover it, or the whole.
                Nothing is reserved then.
        """
        fit = secrets.token_hex(8)
        entry = _open_entry(
            fit, method=method, budget=budget, allowance=allowance, unit=unit, seed=seed, fingerprint=fingerprint,
            plan=plan,
        )  # fmt: skip
        entry |= {} if whole is None else {"whole": asdict(whole)}
        # The lock comes first: a process that sees the entry must see that the fit is alive.
        lock = FitLock(self.path, fit)
        try:
            self._journal.append(lambda book: _admit(book, entry))
        except BaseException:
            lock.release()
            raise
        return FitAccount(self._journal, fit, lock)

    def resume(self, fit: str, lost: int | None = None) -> FitAccount:
        """Take up a fit whose process ended before it closed; LedgerError if it is closed or still alive.

        Args:
            fit: Its id.
            lost: The last step, if its release was recorded here and is not stored completely: it is measured again.
        """
        self._journal.look().open_fit(fit)
        lock = FitLock(self.path, fit)
        try:
            pending = self._journal.look().open_fit(fit).pending  # as of now, when no other process has the lock
        except LedgerError:
            lock.release()
            raise
        return FitAccount(self._journal, fit, lock, lost=lost, unanswered=None if pending is None else pending.number)


class FitAccount:
    """One fit's reservation. As a context manager it releases its lock at the end; `close` is separate."""

    def __init__(
        self, journal: Journal, fit: str, lock: FitLock, lost: int | None = None, unanswered: int | None = None
    ):
        self.id = fit
        self._journal = journal
        self._lock = lock
        self._lost = lost
        self._unanswered = unanswered
        self._active = True

    def __enter__(self) -> FitAccount:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    @property
    def record(self) -> FitRecord:
        """The fit's entry in the ledger: allowance, steps, hashes of releases."""
        return self._journal.look().fits[self.id]

    def charge(self, events: Sequence[Event], label: str, request: str | None = None) -> int:
        """Charge one step before its rows are read, and return the step's number.

        In a resumed fit whose last step was charged and never answered, the same request is answered under the same
        charge, at no further cost (the proof is in `filters`). Any other request there, and a step whose release was
        recorded and then lost, reserves its cost again, against the cap.

        Args:
            events: The cost of the step.
            label: Name of the step, for people.
            request: SHA-256 of the queries and their noise.

        Raises:
            OverspendError: The reservation, the plan or the cap does not cover it. Nothing is charged then.
        """
        unanswered, self._unanswered = self._unanswered, None
        if unanswered is not None:
            before = self.record.steps[unanswered]
            if request is not None and (before.events, before.label, before.request) == (tuple(events), label, request):
                return unanswered
            self._lost = unanswered
        step = int(self._append_entry(lambda book: self._charge_entry(book, tuple(events), label, request))["step"])
        self._lost = None
        return step

    def record_release(self, step: int, digest: str) -> None:
        """Record the hash of a step's releases before they are stored or returned. This uses up the charge.

        If two processes answer one charge, only the first can record its release: the other is refused.
        """
        if len(digest) != 64:
            raise LedgerError("a release is recorded by its SHA-256, 64 hexadecimal digits.")

        def entry(book: Book) -> dict[str, Any]:
            pending = book.open_fit(self.id).pending
            if pending is None or pending.number != step:
                raise LedgerError(f"step {step} of fit {self.id} is not waiting for a release.")
            return {"type": "release", "time": utc_today(), "fit": self.id, "step": step, "digest": digest}

        self._append_entry(entry)

    def close(self) -> None:
        """Finish the fit; budget that it did not use is lost."""
        self._append_entry(lambda book: {"type": "close", "time": utc_today(), "fit": book.open_fit(self.id).id})
        self.leave()

    def leave(self) -> None:
        """Release the fit's lock. A fit that was not closed can then be resumed; nothing is refunded."""
        self._active = False
        self._lock.release()

    def _charge_entry(self, book: Book, events: tuple[Event, ...], label: str, request: str | None) -> dict[str, Any]:
        fit = book.open_fit(self.id)
        if not events or any(event.unit != fit.unit for event in events):
            raise LedgerError("a charge needs at least one event, all for the unit of its fit.")
        step = StepRecord(number=len(fit.steps), label=label, events=events, repeats=self._lost, request=request)
        if self._lost is not None:
            check_repeat(book.header, tuple(book.fits.values()), fit, step)
        elif fit.pending is not None:
            raise LedgerError(f"step {fit.pending.number} of fit {self.id} was charged and its release not recorded.")
        else:
            check_charge(fit, step)
        return {
            "type": "charge",
            "time": utc_today(),
            "fit": self.id,
            "step": step.number,
            "label": str(label),
            "repeats": step.repeats,
            "request": step.request,
            "events": events_to_json(events),
        }

    def _append_entry(self, entry: Decide) -> dict[str, Any]:
        if not self._active:
            raise LedgerError(f"fit {self.id} was closed or left by this process.")
        return self._journal.append(entry)


def _open_entry(
    fit: str, *, method: str, budget: Budget, allowance: Allowance, unit: Unit, seed: int, fingerprint: str,
    plan: Sequence[PlannedEvent] | None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "type": "open",
        "time": utc_today(),
        "fit": fit,
        "method": str(method),
        "budget": asdict(budget),
        "allowance": asdict(allowance),
        "unit": unit.to_dict(),
        "accountant": fit_accountant(budget, allowance, plan),
        "plan": None if plan is None else events_to_json(plan),
        "seed": int(seed),
        "fingerprint": str(fingerprint),
    }


def _admit(book: Book, entry: dict[str, Any]) -> dict[str, Any]:
    fits, record = tuple(book.fits.values()), parse_open_entry(entry)
    try:
        check_reservation(book.header, fits, record)
    except OverspendError as refusal:
        if record.whole.delta or record.first_of:  # the number below is for fits that stand alone and find no labels
            raise
        left = describe_left(book.header, fits, record.budget.delta)
        measure = "epsilon" if record.budget.epsilon is not None else "rho"
        raise OverspendError(
            f"this fit requests {measure} {getattr(record.budget, measure):g} at delta "
            f"{format_plain(record.budget.delta)}, and the cap of the ledger {book.header.name!r} leaves {left}. "
            f"In detail: {refusal}"
        ) from None
    return entry


create_ledger = Ledger.create
open_ledger = Ledger.open


def ensure_ledger(path: str | PathLike[str], name: str, neighbours: Neighbours = "add-remove") -> Ledger:
    """Open the ledger at this path, or one without a cap whose file is created with its first entry.

    A fit that is refused before its reservation then leaves no ledger behind.
    """
    if os.path.exists(path):
        return open_ledger(path)
    return Ledger(NewFileJournal(resolve_path(path), new_header(name, None, None, neighbours, None)))


def memory_ledger(
    name: str = "this fit only",
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Neighbours = "add-remove",
    set_aside: float | None = None,
) -> Ledger:
    """Return a ledger in memory, for the life of the process; its totals cover only the fits made with it."""
    return Ledger(MemoryJournal(new_header(name, epsilon, delta, neighbours, set_aside)))

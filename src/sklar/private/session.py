"""One fit at the privacy boundary: its reservation in the ledger, its record of releases and its Door."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.events import PlannedEvent
from sklar.accounting.ledger import FitAccount, FitRecord, Ledger, read_ledger
from sklar.accounting.unit import Unit
from sklar.private.door import PrivateDoor
from sklar.private.noise import NoiseSource
from sklar.private.recorder import Recorder, read_steps
from sklar.release.measurements import Recorded, RecordedLine
from sklar.rows import hold_source, is_spark_frame, open_rows
from sklar.rows.sources import open_source
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The budget that a fit sets aside before it reads any row; see `Ledger.reserve`."""

    method: str
    budget: Budget
    allowance: Allowance
    unit: Unit
    seed: int
    fingerprint: str
    plan: tuple[PlannedEvent, ...] | None
    whole: Allowance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions to be checked before any budget is reserved.

    Attributes:
        admit: Refuses a fit that cannot succeed, given the number of persons where that is public.
        again: Whether the data will be read a second time: a stream that can be read once is then refused.
    """

    admit: Callable[[int | None], None]
    again: bool = False


class Session:
    """A running fit: its Door, the schema of its codes, its recorded releases and its entry in the ledger."""

    def __init__(self, door: PrivateDoor, schema: Schema, account: FitAccount, recorder: Recorder, resumed: bool):
        self.door = door
        self.schema = schema
        self.resumed = resumed
        self._account = account
        self._recorder = recorder

    @property
    def record(self) -> FitRecord:
        """The fit's entry in the ledger."""
        return self._account.record

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """All releases so far, step by step."""
        return tuple(self._recorder.steps)


def read_column_names(data: Any, read: ReadOptions) -> tuple[str, ...]:
    """Return the column names of a table, which are public; no value is read.

    A first column without a name contains row names, as R and pandas write them, and is left out.
    """
    if is_spark_frame(data):
        return tuple(data.columns)
    with closing(open_source(data, schema=None, read=replace(read, progress=None, spark=None))) as source:
        names = tuple(source.column_names)
    return names[1:] if len(names) > 1 and not names[0].strip() else names


def text_dialect(data: Any, read: ReadOptions) -> tuple[str, str] | None:
    """Return (delimiter, encoding) of a text file, from options and its header line alone; None for other tables."""
    with closing(open_source(data, schema=None, read=replace(read, progress=None, spark=None))) as source:
        return getattr(source, "dialect", None)


@contextmanager
def hold_snapshot(data: Any, read: ReadOptions) -> Generator[Any]:
    """Yield the data for every opening in one fit: a table on a server is read as of one snapshot."""
    held = hold_source(data, read)
    try:
        yield held
    finally:
        if held is not data:
            held.close()


@contextmanager
def open_session(
    data: Any,
    schema: Schema,
    ledger: Ledger,
    reservation: Reservation,
    *,
    resume: bool,
    read: ReadOptions,
    noise: NoiseSource,
    conditions: Conditions,
) -> Generator[Session]:
    """Open the source, reserve the budget (or take up an unfinished fit of the same settings) and build the Door.

    On success the fit is closed in the ledger. On any error it stays open, its releases recorded, and can be resumed.
    """
    with closing(open_rows(data, schema, read)) as rows:
        # A file that cannot be read as a table is refused before any budget is reserved: it is encoded now, and
        # codes are kept if they fit into memory. Nothing is counted or leaves before the first charge at the Door.
        rows.keep_codes()
        if conditions.again:
            rows.require_repeatable()
        conditions.admit(rows.exact_persons if reservation.unit.neighbours == "replace" else None)
        account, old = _open_account(ledger, reservation, resume)
        path = None if ledger.path is None else releases_path(ledger.path, account.id)
        with account:
            recorder = Recorder(account, path, _read_recorded_steps(path, account.record) if old else ())
            doing = getattr(read.progress, "doing", None)
            door = PrivateDoor(rows, rows.schema, account.record.unit, recorder, noise, doing)
            try:
                yield Session(door, rows.schema, account, recorder, resumed=old)
            except KeyboardInterrupt as stop:
                if path is not None and not getattr(stop, "__notes__", ()):
                    stop.add_note(_describe_interruption(account.record))
                raise
            account.close()
            if path is not None:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def releases_path(ledger: Path, fit: str) -> Path:
    """Return the path of the side file with the releases of an unfinished fit."""
    return ledger.with_name(f"{ledger.name}.{fit}.releases")


def _open_account(ledger: Ledger, reservation: Reservation, resume: bool) -> tuple[FitAccount, bool]:
    if resume and ledger.path is not None and os.path.exists(ledger.path):
        for fit in reversed(read_ledger(ledger.path).unfinished):
            stored = {step.step for step in _read_recorded_steps(releases_path(ledger.path, fit.id), fit)}
            lost = [number for number in fit.digests if number not in stored]
            if fit.fingerprint == reservation.fingerprint and lost in ([], [len(fit.steps) - 1]):
                return ledger.resume(fit.id, lost=lost[0] if lost else None), True
    return ledger.reserve(**{field.name: getattr(reservation, field.name) for field in fields(reservation)}), False


def _describe_interruption(fit: FitRecord) -> str:
    """Describe what an interrupted fit has recorded, and how to continue it."""
    done, spent = len(fit.digests), min(fit.spent / fit.allowance.amount, 1.0)
    steps = f"{done} step{'' if done == 1 else 's'}"
    return (
        f"{steps} of this fit are recorded, for {spent:.0%} of its budget, and the rest of the budget stays reserved. "
        "Run the same command to continue from there; nothing is charged twice."
    )


def _read_recorded_steps(path: Path | None, fit: FitRecord) -> list[RecordedLine]:
    return [] if path is None else read_steps(path, fit.digests)

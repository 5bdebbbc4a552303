"""The ledger as a file: places it cannot be, full disks, races, kills, and ledgers in use that are tampered with."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.ledger import Ledger, create_ledger, ensure_ledger, ledger_totals, open_ledger, read_ledger
from sklar.accounting.ledger import file as file_module
from sklar.accounting.ledger.locks import lock_path
from sklar.accounting.unit import Unit
from sklar.errors import LedgerError, OverspendError

DIGEST = "cd" * 32


def test_a_ledger_is_never_overwritten(path: Path) -> None:
    create_ledger(path, "people")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="exists"):
        create_ledger(path, "others")
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_ensure_opens_what_is_there_and_makes_what_is_not(path: Path, reserve: Any) -> None:
    reserve(ensure_ledger(path, "people")).leave()
    assert len(ensure_ledger(path, "other name").fits) == 1
    assert read_ledger(path).header.cap is None
    with pytest.raises(LedgerError):
        ensure_ledger(path.parent / "no" / "such.ledger", "people")


def test_creation_without_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    create_ledger(path, "people")
    with pytest.raises(LedgerError, match="exists"):
        create_ledger(path, "people")
    assert read_ledger(path).header.name == "people"


def test_places_that_cannot_hold_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for place in ("folder", "pipe", "missing", "dangling", "folder/no/such", "nul\0byte", "x" * 300, "."):
        for use in (open_ledger, read_ledger):
            with pytest.raises(LedgerError):
                use(tmp_path / place)
    for place in ("folder", "pipe", "dangling", "folder/no/such", "nul\0byte", "x" * 300):
        with pytest.raises(LedgerError):
            create_ledger(tmp_path / place, "people")
    with pytest.raises(LedgerError, match="not a file"):
        open_ledger("/dev/full")


def deny(name: str) -> Any:
    """An os.open that refuses to write to files of this name, as a read-only disk does (we may run as root)."""
    real = os.open

    def opened(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if name in str(path) and flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *more, **options)

    return opened


def test_a_read_only_ledger_can_be_read_but_not_used(
    path: Path, reserve: Any, counts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = create_ledger(path, "people")
    account = reserve(ledger)
    before = path.read_bytes()
    monkeypatch.setattr(os, "open", deny("people.ledger"))
    assert len(read_ledger(path).fits) == 1
    for act in (
        lambda: open_ledger(path),
        lambda: reserve(ledger),
        lambda: account.charge([], "x"),
        lambda: create_ledger(path.with_name("new-people.ledger"), "people"),
        account.close,
    ):
        with pytest.raises(LedgerError, match="Permission denied"):
            act()
    assert path.read_bytes() == before


def test_a_read_only_folder_refuses_the_fit_before_it_is_reserved(
    path: Path, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = create_ledger(path, "people")
    monkeypatch.setattr(os, "open", deny(".lock"))
    with pytest.raises(LedgerError, match="beside the ledger"):
        reserve(ledger)
    assert len(read_ledger(path).fits) == 0


@pytest.mark.parametrize("written", [0, 1, 50])
@pytest.mark.parametrize("can_take_back", [True, False])
def test_a_full_disk_charges_nothing_silently(
    path: Path, reserve: Any, counts: Any, monkeypatch: pytest.MonkeyPatch, written: int, can_take_back: bool
) -> None:
    ledger = create_ledger(path, "people")
    account = reserve(ledger)
    events, before = counts(account), path.read_bytes()
    real_write, room = os.write, [written]

    def full(handle: int, data: Any) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        part, room[0] = bytes(data)[: room[0]], 0
        return real_write(handle, part)

    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        if not can_take_back:
            disk.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        with pytest.raises(LedgerError, match="No space left"):
            account.charge(events, "pairs")
    left_behind = path.read_bytes()
    assert left_behind.startswith(before)
    assert len(left_behind) == len(before) + (0 if can_take_back else written)
    assert read_ledger(path).fits[0].steps == ()
    assert account.charge(events, "pairs") == 0
    assert len(read_ledger(path).fits[0].steps) == 1


def test_a_failed_sync_charges_nothing_silently(
    path: Path, reserve: Any, counts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = reserve(create_ledger(path, "people"))
    events, before = counts(account), path.read_bytes()
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(LedgerError, match="Input/output"):
            account.charge(events, "pairs")
    assert path.read_bytes() == before


def test_a_full_disk_creates_no_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
    with pytest.raises(LedgerError, match="No space left"):
        create_ledger(path, "people")
    assert os.listdir(path.parent) == []


def test_every_entry_is_synced_before_the_call_returns(
    path: Path, reserve: Any, counts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_size), real(handle))[1])
    ledger = create_ledger(path, "people")
    assert len(synced) == 2, "file and folder"
    account = reserve(ledger)
    acts = [
        lambda: account.charge(counts(account), "pairs"),
        lambda: account.record_release(0, DIGEST),
        account.close,
    ]
    for act in acts:
        act()
        assert synced[-1] == path.stat().st_size


def test_a_ledger_that_changes_under_our_hands_is_refused(path: Path, reserve: Any, counts: Any) -> None:
    ledger = create_ledger(path, "people")
    account = reserve(ledger)
    events, whole = counts(account), path.read_bytes()
    for other in (b"", whole[:-300], whole.replace(b'"seed":7', b'"seed":8'), whole[:-9] + whole, b"x" + whole):
        path.write_bytes(other)
        with pytest.raises(LedgerError):
            account.charge(events, "pairs")
        assert path.read_bytes() == other
    path.unlink()
    with pytest.raises(LedgerError, match="no ledger"):
        account.charge(events, "pairs")
    other_ledger = create_ledger(path, "people, but others")
    for _ in range(3):
        reserve(other_ledger).leave()
    with pytest.raises(LedgerError, match="replaced or cut"):
        account.charge(events, "pairs")
    path.write_bytes(whole)
    assert account.charge(events, "pairs") == 0


def test_two_handles_of_one_file_see_each_other(path: Path, reserve: Any) -> None:
    first, second = create_ledger(path, "people", epsilon=1, delta=1e-9), open_ledger(path)
    reserve(first)
    with pytest.raises(OverspendError):
        reserve(second)
    assert [fit.id for fit in second.fits] == [fit.id for fit in first.fits]


def test_a_living_fit_cannot_be_resumed_and_its_lock_goes_with_it(path: Path, reserve: Any) -> None:
    ledger = create_ledger(path, "people")
    account = reserve(ledger)
    assert read_ledger(path).alive == {account.id}
    with pytest.raises(LedgerError, match="still running"):
        open_ledger(path).resume(account.id)
    with account:
        pass
    assert read_ledger(path).alive == frozenset()
    with open_ledger(path).resume(account.id) as again:
        assert read_ledger(path).unfinished == ()
        again.close()
    assert os.listdir(path.parent) == [path.name]


PRELUDE = """
import sys, time, os
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.events import CountEvent
from sklar.accounting.ledger import open_ledger
from sklar.accounting.unit import Unit
from sklar.errors import OverspendError
path, ONE = sys.argv[1], Unit(neighbours="add-remove")
def reserve(budget):
    return open_ledger(path).reserve(method="m", budget=budget, allowance=calibrate(budget, ONE), unit=ONE, seed=1,
                                     fingerprint="f")
"""

RACER = (
    PRELUDE
    + """
print("ready", flush=True)
sys.stdin.readline()
try:
    reserve(Budget(epsilon=0.5, delta=0)).leave()
    print("won", flush=True)
except OverspendError:
    print("lost", flush=True)
"""
)


def start(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_several_processes_exactly_one_gets_the_last_epsilon(path: Path, reserve: Any) -> None:
    reserve(create_ledger(path, "people", epsilon=1, delta=0.0), Budget(epsilon=0.5, delta=0)).leave()
    racers = [start(RACER, path) for _ in range(6)]
    try:
        assert [hear(racer) for racer in racers] == ["ready"] * 6
        for racer in racers:
            say(racer)
        results = sorted(hear(racer) for racer in racers)
    finally:
        for racer in racers:
            racer.communicate(timeout=600)
    assert results == ["lost"] * 5 + ["won"]
    view = read_ledger(path)
    assert len(view.fits) == 2
    assert view.totals().epsilon == pytest.approx(1)


WRITER = (
    PRELUDE
    + """
account = reserve(Budget(rho=0.1, delta=1e-9))
print(account.id, flush=True)
noise = account.record.allowance.part(1e-5).noise(ONE)
for step in range(100_000):
    account.charge([CountEvent(label="t", noise=noise, tables=1, unit=ONE)], "t")
    print(step, flush=True)
    account.record_release(step, "ab" * 32)
"""
)


@pytest.mark.parametrize("wait", [0.0, 0.013, 0.05])
def test_a_killed_fit_leaves_a_ledger_that_covers_all_it_did(path: Path, wait: float) -> None:
    create_ledger(path, "people")
    writer = start(WRITER, path)
    try:
        fit = hear(writer)
        for _ in range(5):
            hear(writer)
        assert read_ledger(path).alive == {fit}
        time.sleep(wait)
        os.kill(writer.pid, signal.SIGKILL)
        acted = [int(line) for line in writer.communicate(timeout=600)[0].split()]
    finally:
        writer.kill()
    view = read_ledger(path)
    assert view.alive == frozenset() and [f.id for f in view.unfinished] == [fit]
    assert len(view.fits[0].steps) > max(acted, default=4)
    assert lock_path(path, fit).exists()
    ledger = open_ledger(path)
    with ledger.resume(fit) as account:
        step = account.charge(view.fits[0].steps[0].events, "t")
        account.record_release(step, DIGEST)
        account.close()
    assert read_ledger(path).fits[0].closed
    assert os.listdir(path.parent) == [path.name]


def test_threads_share_a_ledger(path: Path) -> None:
    import threading

    ledger = create_ledger(path, "people", epsilon=1, delta=0.0)
    unit, budget, outcomes = Unit(neighbours="add-remove"), Budget(epsilon=0.125, delta=0), []

    def run() -> None:
        try:
            ledger.reserve(
                method="m", budget=budget, allowance=calibrate(budget, unit), unit=unit, seed=1, fingerprint="f"
            ).close()
            outcomes.append(True)
        except OverspendError:
            outcomes.append(False)

    threads = [threading.Thread(target=run) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 4 + [True] * 8
    assert read_ledger(path).left == ("epsilon", pytest.approx(0, abs=1e-12))


@pytest.mark.slow
def test_thousands_of_charges_stay_fast(path: Path, reserve: Any, counts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module.os, "fsync", lambda _: None)
    account = reserve(create_ledger(path, "people"))
    events = counts(account, share=1e-4)
    began = time.process_time()
    for step in range(2000):
        account.charge(events, "part")
        account.record_release(step, DIGEST)
    view = read_ledger(path)
    totals = view.totals()
    assert totals.epsilon == pytest.approx(1)
    assert ledger_totals(view.header, view.fits) == totals
    assert time.process_time() - began < 20


def interrupted(ledger: Ledger, reserve: Any, counts: Any) -> tuple[str, list[Any]]:
    """A fit that was charged for one request and ended before anything of its answer was noted."""
    account = reserve(ledger)
    events = counts(account)
    account.charge(events, "pairs", "a" * 64)
    account.leave()
    return account.id, events


def test_a_charge_that_was_never_answered_answers_the_same_request(path: Path, reserve: Any, counts: Any) -> None:
    ledger = create_ledger(path, "people")
    fit, events = interrupted(ledger, reserve, counts)
    before = path.read_bytes()
    for _ in range(3):
        with ledger.resume(fit) as account:
            assert account.charge(events, "pairs", "a" * 64) == 0
    assert path.read_bytes() == before
    with ledger.resume(fit) as account:
        account.record_release(account.charge(events, "pairs", "a" * 64), "0" * 64)
        assert account.charge(events, "pairs", "a" * 64) == 1  # a charge answers once
        assert not account.record.repeated and account.record.spent == 2 * sum(event.rho for event in events)


@pytest.mark.parametrize("other", ["label", "request", "no request", "noise"])
def test_it_answers_no_other_request(path: Path, reserve: Any, counts: Any, other: str) -> None:
    ledger = create_ledger(path, "people")
    fit, events = interrupted(ledger, reserve, counts)
    asked: list[Any] = [events, "pairs", "a" * 64]
    with ledger.resume(fit) as account:
        if other == "noise":
            asked[0] = counts(account, share=0.2)
        elif other == "label":
            asked[1] = "margins"
        else:
            asked[2] = "b" * 64 if other == "request" else None
        assert account.charge(*asked) == 1
        assert account.record.repeated and account.record.extra_rho > 0


def test_of_two_processes_that_hold_one_charge_one_may_answer(path: Path, reserve: Any, counts: Any) -> None:
    """Only if the lock of the fit is taken away; then the ledger itself decides, before anything is stored."""
    ledger = create_ledger(path, "people")
    fit, events = interrupted(ledger, reserve, counts)
    first = ledger.resume(fit)
    with pytest.raises(LedgerError, match="still running"):
        open_ledger(path).resume(fit)
    lock_path(path, fit).unlink()
    second = open_ledger(path).resume(fit)
    assert first.charge(events, "pairs", "a" * 64) == second.charge(events, "pairs", "a" * 64) == 0
    second.record_release(0, "1" * 64)
    with pytest.raises(LedgerError, match="not waiting"):
        first.record_release(0, "2" * 64)


def test_a_release_that_was_lost_after_its_hash_is_charged_again(path: Path, reserve: Any, counts: Any) -> None:
    ledger = create_ledger(path, "people")
    account = reserve(ledger)
    events = counts(account)
    account.record_release(account.charge(events, "pairs", "a" * 64), "0" * 64)
    account.leave()
    with ledger.resume(account.id, lost=0) as again:
        step = again.charge(events, "pairs", "a" * 64)
        again.record_release(step, "1" * 64)
        assert again.record.steps[step].repeats == 0 and again.record.digests == {1: "1" * 64}
        assert again.record.extra_rho > 0


def test_a_ledger_is_handed_over_where_its_path_can_be(path: Path) -> None:
    import sklar
    from sklar.accounting.ledger import memory_ledger

    ledger = create_ledger(path, "people", epsilon=3, delta=1e-8)
    assert os.fspath(ledger) == str(path)
    sklar.fit(
        {"x": [1, 2] * 50}, sklar.Schema({"x": sklar.Integer(0, 9)}), method="independent", epsilon=1.0, ledger=ledger
    )
    assert len(ledger.fits) == 1
    with pytest.raises(LedgerError, match="in memory has no file"):
        os.fspath(memory_ledger())

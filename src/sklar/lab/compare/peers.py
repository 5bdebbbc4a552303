"""Peers: external commands that make a synthetic table, run under limits of time and memory, and watched until gone.

A peer is told where train.parquet and schema.toml are, epsilon, delta, the number of rows wanted, and where its table
goes. Whatever it does, the outcome is a table or a plain reason why there is none.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sklar.errors import PeerError
from sklar.lab.compare.systems import PLACES

OUTPUT, PROMISE = "synthetic.parquet", "promise.txt"
LOG_BYTES = 1_000_000
"""What is kept of a peer's messages: enough for any traceback, and no peer fills the disk."""
PROMISE_CHARACTERS = 300
"""What is shown of a peer's promise: a sentence or two in a table."""
POLL, MEMORY_POLL = 0.05, 0.25
"""Seconds between looks at whether a peer has ended, and at its memory: shorter catches sooner and takes more time."""
PROC = Path("/proc")
ADOPT = 36
"""prctl's PR_SET_CHILD_SUBREAPER: children whose parents are gone become ours, so that none escapes."""
Processes = dict[int, tuple[int, int, int]]
"""(parent, group, resident bytes) by process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and bytes that a peer may take; None for no limit."""

    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """A peer that ended well.

    Attributes:
        output: Its table.
        seconds: How long it ran.
        peak: Most bytes of memory that were seen.
        promise: What it says of its own guarantee (in promise.txt beside its table).
    """

    output: Path
    seconds: float
    peak: int
    promise: str | None


def words_of(command: str, told: Mapping[str, str]) -> list[str]:
    """The command with its places filled; one without places gets all values at its end."""
    words = shlex.split(command)
    if not any(f"{{{place}}}" in word for word in words for place in PLACES):
        return [*words, *(told[place] for place in PLACES)]
    for place in PLACES:
        words = [word.replace(f"{{{place}}}", told[place]) for word in words]
    return words


def peer_facts(train: Path, schema: Path, rows: int, epsilon: float | None, delta: float) -> dict[str, str]:
    """What a peer is told, but for where its table goes."""
    budget = {"epsilon": "" if epsilon is None else f"{epsilon:g}", "delta": f"{delta:g}"}
    return {"train": str(train), "schema": str(schema), "rows": str(rows), **budget}


def run_peer(
    command: str,
    told: Mapping[str, str],
    folder: Path,
    log: Path,
    limits: Limits,
    began: Callable[[int], None] = lambda group: None,
) -> PeerRun:
    """Run a peer to its end: `told` goes to its places, its table and temporary files to `folder`, messages to `log`.

    `began` is told its process group.
    """
    output = folder / OUTPUT
    words = words_of(command, {**told, "output": str(output)})
    clock, before = time.monotonic(), children(os.getpid())
    peer = _start(words, folder)
    began(peer.pid)
    pump = threading.Thread(target=_keep_messages, args=(peer.stdout, log), daemon=True)
    pump.start()
    try:
        peak = _watch(peer, limits, clock, before)
    finally:
        end_all(peer.pid, os.getpid(), before)
        peer.wait()
        pump.join(2.0)
    seconds = time.monotonic() - clock
    _require_success(peer.returncode, log)
    _require_file(output)
    return PeerRun(output=output, seconds=seconds, peak=peak, promise=_promise(folder / PROMISE))


def _start(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    environment.pop("PYTHONPATH", None)  # Ours would shadow the libraries of its own environment.
    try:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or "it is not a command").lower()
        raise PeerError(f"it could not be started: {why}") from None


def _watch(peer: subprocess.Popen[bytes], limits: Limits, clock: float, before: frozenset[int]) -> int:
    """Wait for the end; the most memory that was seen."""
    peak, looked = 0, 0.0
    while peer.poll() is None:
        passed = time.monotonic()
        if limits.seconds is not None and passed - clock > limits.seconds:
            raise PeerError(f"it did not end within {limits.seconds:g} seconds and was stopped", "time")
        if passed - looked > MEMORY_POLL:
            looked = passed
            peak = max(peak, sum(members(peer.pid, os.getpid(), before).values()))
            if limits.memory is not None and peak > limits.memory:
                raise PeerError(f"it took more than {limits.memory / 1e9:.3g} GB of memory and was stopped", "memory")
        time.sleep(POLL)
    return peak


def _keep_messages(stream: IO[bytes], log: Path) -> None:
    """Keep the first megabyte of what it says; read on, so that it never waits for us."""
    left, handle = LOG_BYTES, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with stream, os.fdopen(handle, "wb", buffering=0) as file:
        while data := stream.read1(65_536):  # type: ignore[attr-defined]
            try:
                file.write(data[:left])
            except OSError:
                left = 0  # A full disk: the messages are lost, the peer is not.
            left -= min(left, len(data))


def _require_success(code: int, log: Path) -> None:
    if code:
        names = {-one.value: one.name for one in signal.Signals}
        how = f"was ended by signal {names.get(code, -code)}" if code < 0 else f"failed with exit code {code}"
        raise PeerError(f"it {how}; its messages are in logs/{log.name}")


def _require_file(output: Path) -> None:
    try:
        facts = output.lstat()
    except OSError:
        raise PeerError("it ended well but wrote no table") from None
    if not stat.S_ISREG(facts.st_mode):
        raise PeerError("what it wrote is not a plain file")
    if not facts.st_size:
        raise PeerError("it wrote an empty file")


def _promise(path: Path) -> str | None:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            text = file.read(4 * PROMISE_CHARACTERS).decode(errors="replace")
    except OSError:
        return None
    plain = "".join(c if c.isprintable() else " " for c in text).strip()
    return plain[:PROMISE_CHARACTERS] or None


def adopt_orphans() -> None:
    """Let processes that detach themselves stay below this one (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)


def children(root: int) -> frozenset[int]:
    """The processes right below `root`."""
    known = _processes()
    return frozenset(pid for pid, (parent, _, _) in known.items() if parent == root)


def members(group: int, root: int, spared: frozenset[int] = frozenset()) -> dict[int, int]:
    """Resident bytes by process: those of the group, and everything below `root` (which itself is no member).

    `root` started the peer and adopts its orphans; `spared` are its children from before, which are none of the peer's.
    """
    known = _processes()
    inside = {pid for pid, (_, its_group, _) in known.items() if its_group == group}
    while more := {pid for pid, (up, _, _) in known.items() if up in inside or up == root} - inside - spared:
        inside |= more
    return {pid: known[pid][2] for pid in inside if pid not in (root, os.getpid())}


def end_all(group: int, root: int, spared: frozenset[int] = frozenset()) -> None:
    """Kill the group, and all below `root` but who is spared, until nothing is left (or two seconds have passed)."""
    until = time.monotonic() + 2.0
    while True:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
        alive = members(group, root, spared)
        for pid in alive:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in alive:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)  # takes away the remains of adopted processes
        if not alive or time.monotonic() > until:
            return
        time.sleep(0.02)


def _processes() -> Processes:
    """Every process that is not just remains."""
    if not PROC.is_dir():
        table = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,rss="], capture_output=True, text=True, check=False)
        rows = [[int(word) for word in line.split()] for line in table.stdout.splitlines()]
        return {pid: (parent, group, resident * 1024) for pid, parent, group, resident in rows}
    page, out = os.sysconf("SC_PAGE_SIZE"), Processes()
    for entry in filter(str.isdigit, os.listdir(PROC)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may hold anything; the numbers come after it.
            fields = (PROC / entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                out[int(entry)] = (int(fields[1]), int(fields[2]), int(fields[21]) * page)
    return out

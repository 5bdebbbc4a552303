"""Peers: external commands that make a synthetic table, run with limits of time and memory until no process is left.

A peer receives the paths of train.parquet and schema.toml, epsilon, delta, the number of rows, and the path of the
table to write. The outcome is always a table or a plain reason why there is none.
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
from sklar.lab.compare.systems import PLACEHOLDERS

OUTPUT, PROMISE = "synthetic.parquet", "promise.txt"
MAX_LOG_BYTES = 1_000_000
"""Maximum size of a peer's log: enough for any traceback, and no peer can fill the disk."""
MAX_PROMISE_LENGTH = 300
"""Characters of a peer's promise that are shown: a sentence or two in a table."""
POLL_SECONDS, MEMORY_POLL_SECONDS = 0.05, 0.25
"""Seconds between checks whether a peer has ended, and of its memory: shorter reacts sooner and takes more time."""
PROC = Path("/proc")
PR_SET_CHILD_SUBREAPER = 36
"""Option of Linux's prctl: orphaned descendants become children of this process, so that none escapes."""
Processes = dict[int, tuple[int, int, int]]
"""(parent, group, resident bytes) by process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a peer in seconds and bytes; None for no limit."""

    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """A successful run of a peer.

    Attributes:
        output: Path of its table.
        seconds: Its run time.
        peak: Peak memory in bytes.
        promise: Its own statement of its guarantee (promise.txt next to its table).
    """

    output: Path
    seconds: float
    peak: int
    promise: str | None


def fill_command(command: str, facts: Mapping[str, str]) -> list[str]:
    """Split a command and fill its placeholders; without placeholders, append all values."""
    words = shlex.split(command)
    if not any(f"{{{name}}}" in word for word in words for name in PLACEHOLDERS):
        return [*words, *(facts[name] for name in PLACEHOLDERS)]
    for name in PLACEHOLDERS:
        words = [word.replace(f"{{{name}}}", facts[name]) for word in words]
    return words


def peer_facts(train: Path, schema: Path, rows: int, epsilon: float | None, delta: float) -> dict[str, str]:
    """Return the values of a peer's placeholders, except the path of its table."""
    budget = {"epsilon": "" if epsilon is None else f"{epsilon:g}", "delta": f"{delta:g}"}
    return {"train": str(train), "schema": str(schema), "rows": str(rows), **budget}


def run_peer(
    command: str,
    facts: Mapping[str, str],
    folder: Path,
    log: Path,
    limits: Limits,
    began: Callable[[int], None] = lambda group: None,
) -> PeerRun:
    """Run a peer to its end.

    `facts` fill its placeholders, its table and temporary files go to `folder`, its messages to `log`, and `began` is
    called with its process group.
    """
    output = folder / OUTPUT
    words = fill_command(command, {**facts, "output": str(output)})
    clock, before = time.monotonic(), list_children(os.getpid())
    peer = _start_process(words, folder)
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
    return PeerRun(output=output, seconds=seconds, peak=peak, promise=_read_promise(folder / PROMISE))


def _start_process(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    environment.pop("PYTHONPATH", None)  # ours would shadow the libraries of its own environment
    try:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or "it is not a command").lower()
        raise PeerError(f"it could not be started: {why}") from None


def _watch(peer: subprocess.Popen[bytes], limits: Limits, clock: float, before: frozenset[int]) -> int:
    """Wait for the end; return the peak memory."""
    peak, looked = 0, 0.0
    while peer.poll() is None:
        passed = time.monotonic()
        if limits.seconds is not None and passed - clock > limits.seconds:
            raise PeerError(f"it did not end within {limits.seconds:g} seconds and was stopped", "time")
        if passed - looked > MEMORY_POLL_SECONDS:
            looked = passed
            peak = max(peak, sum(list_members(peer.pid, os.getpid(), before).values()))
            if limits.memory is not None and peak > limits.memory:
                raise PeerError(f"it took more than {limits.memory / 1e9:.3g} GB of memory and was stopped", "memory")
        time.sleep(POLL_SECONDS)
    return peak


def _keep_messages(stream: IO[bytes], log: Path) -> None:
    """Keep the first megabyte of its messages; read on, so that the peer never blocks on a full pipe."""
    left, handle = MAX_LOG_BYTES, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with stream, os.fdopen(handle, "wb", buffering=0) as file:
        while data := stream.read1(65_536):  # type: ignore[attr-defined]
            try:
                file.write(data[:left])
            except OSError:
                left = 0  # on a full disk the messages are lost, but the peer continues
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
        raise PeerError("it succeeded but wrote no table") from None
    if not stat.S_ISREG(facts.st_mode):
        raise PeerError("its output is not a regular file")
    if not facts.st_size:
        raise PeerError("it wrote an empty file")


def _read_promise(path: Path) -> str | None:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            text = file.read(4 * MAX_PROMISE_LENGTH).decode(errors="replace")
    except OSError:
        return None
    plain = "".join(c if c.isprintable() else " " for c in text).strip()
    return plain[:MAX_PROMISE_LENGTH] or None


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def list_children(root: int) -> frozenset[int]:
    """Return the child processes of `root`."""
    return frozenset(pid for pid, (parent, _, _) in _list_processes().items() if parent == root)


def list_members(group: int, root: int, spared: frozenset[int] = frozenset()) -> dict[int, int]:
    """Return resident bytes by process: those of the group, and all descendants of `root` but not `root` itself.

    `root` started the peer and adopts its orphans; `spared` are its earlier children, which do not belong to the peer.
    """
    known = _list_processes()
    inside = {pid for pid, (_, its_group, _) in known.items() if its_group == group}
    while more := {pid for pid, (up, _, _) in known.items() if up in inside or up == root} - inside - spared:
        inside |= more
    return {pid: known[pid][2] for pid in inside if pid not in (root, os.getpid())}


def end_all(group: int, root: int, spared: frozenset[int] = frozenset()) -> None:
    """Kill the group and all descendants of `root` that are not spared, until none is left (or for two seconds)."""
    until = time.monotonic() + 2.0
    while True:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
        alive = list_members(group, root, spared)
        for pid in alive:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in alive:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)  # reaps adopted zombies
        if not alive or time.monotonic() > until:
            return
        time.sleep(0.02)


def _list_processes() -> Processes:
    """List all processes that are not zombies."""
    if not PROC.is_dir():
        table = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,rss="], capture_output=True, text=True, check=False)
        rows = [[int(word) for word in line.split()] for line in table.stdout.splitlines()]
        return {pid: (parent, group, resident * 1024) for pid, parent, group, resident in rows}
    page, out = os.sysconf("SC_PAGE_SIZE"), Processes()
    for entry in filter(str.isdigit, os.listdir(PROC)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may contain anything; the numbers follow it.
            fields = (PROC / entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                out[int(entry)] = (int(fields[1]), int(fields[2]), int(fields[21]) * page)
    return out

"""Processes of a peer: who belongs to it, what memory they take, and how all of them are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROC = Path("/proc")
ADOPT = 36
"""prctl's PR_SET_CHILD_SUBREAPER: children whose parents are gone become ours, so that none escapes."""


def adopt_orphans() -> None:
    """Let processes that detach themselves stay below this one (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)


def children(root: int) -> frozenset[int]:
    """The processes right below `root`."""
    known = _processes() if PROC.is_dir() else _processes_by_ps()
    return frozenset(pid for pid, (parent, _, _) in known.items() if parent == root)


def members(group: int, root: int, spared: frozenset[int] = frozenset()) -> dict[int, int]:
    """Resident bytes by process: those of the group, and everything below `root`.

    Args:
        group: Process group of the peer.
        root: The process that started it (and adopts its orphans); it is not a member itself.
        spared: Children of `root` that were there before the peer, which are none of its own.
    """
    known = _processes() if PROC.is_dir() else _processes_by_ps()
    inside = {pid for pid, (_, its_group, _) in known.items() if its_group == group}
    grown = True
    while grown:
        below = {pid for pid, (parent, _, _) in known.items() if parent in inside or parent == root}
        more = below - inside - spared
        inside |= more
        grown = bool(more)
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
        _collect(alive)
        if not alive or time.monotonic() > until:
            return
        time.sleep(0.02)


def _collect(pids: dict[int, int]) -> None:
    """Take away the remains of adopted processes."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.waitpid(pid, os.WNOHANG)


def _processes() -> dict[int, tuple[int, int, int]]:
    """(parent, group, resident bytes) of every process that is not just remains."""
    page, out = os.sysconf("SC_PAGE_SIZE"), dict[int, tuple[int, int, int]]()
    for entry in os.listdir(PROC):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may hold anything; the numbers come after it.
            fields = (PROC / entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                out[int(entry)] = (int(fields[1]), int(fields[2]), int(fields[21]) * page)
    return out


def _processes_by_ps() -> dict[int, tuple[int, int, int]]:
    """The same where there is no /proc."""
    text = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,rss="], capture_output=True, text=True, check=False).stdout
    rows = [[int(word) for word in line.split()] for line in text.splitlines()]
    return {pid: (parent, group, resident * 1024) for pid, parent, group, resident in rows}

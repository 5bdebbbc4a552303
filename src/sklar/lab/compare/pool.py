"""Worker processes of a comparison: each works off one cell at a time; one that dies costs its cell, not the run.

Both ends of the pipes are here, a line of JSON each way: `Worker` in the process of the comparison, and `main`, which
the worker runs. When its input ends, the comparison is over or its process is gone: whatever runs is ended at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sklar
from sklar.arrays import usable_cores
from sklar.lab.compare.cell import Bank, Result, failed, run_cell
from sklar.lab.compare.peers import Limits, adopt_orphans, end_all
from sklar.lab.compare.store import Store
from sklar.lab.compare.systems import Cell, CompareSettings, System, read_plain

PATIENCE = 3.0
"""Seconds that a worker has to end its peer and itself: an interrupt waits no longer."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Worker:
    """One worker process and the cell it works on."""

    def __init__(self, store: Store, settings: CompareSettings, limits: Limits, threads: int):
        log = os.open(store.folder / "logs" / "workers.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(log, "ab") as messages:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "sklar.lab.compare.pool"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=_environment(threads),
                start_new_session=True,
            )
        self.cell: Cell | None = None
        self.began = 0.0
        self._group = 0
        self._rest = b""
        self._tell(folder=str(store.folder), settings=asdict(settings), limits=asdict(limits))

    @property
    def handle(self) -> int:
        """Where its answers come from."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self, cell: Cell) -> None:
        """Give it a cell."""
        self.cell, self.began, self._group = cell, time.monotonic(), 0
        self._tell(cell=asdict(cell))

    def hear(self) -> Result | None:
        """Its answer, if there is one; a dead worker answers with the reason."""
        data = os.read(self.handle, 65_536)
        if not data:
            return self.end("its process ended unexpectedly")
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            facts = json.loads(line)
            self._group = facts.get("group", self._group)
            if "result" in facts:
                return facts["result"]
        return None

    @property
    def dead(self) -> bool:
        """Whether its process is gone."""
        return self._process.poll() is not None

    def end(self, reason: str, stopped: str | None = None) -> Result:
        """End it, its peer included, and say why its cell has no result."""
        self.close(patience=0.0 if self._process.poll() is not None else PATIENCE)
        code = self._process.returncode
        killed = code is not None and code == -signal.SIGKILL and stopped is None
        return failed(f"{reason} (killed, perhaps for want of memory)" if killed else reason, stopped)

    def close(self, patience: float = PATIENCE) -> None:
        """Close its input, which ends it; kill what does not end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._group:
            with contextlib.suppress(OSError):
                os.killpg(self._group, signal.SIGKILL)
        self._process.stdout.close()

    def _tell(self, **facts: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # Met again, with its reason, when its answer is read.
            self._process.stdin.write(json.dumps(facts).encode() + b"\n")
            self._process.stdin.flush()


def work_off(
    cells: Iterable[Cell], store: Store, settings: CompareSettings, limits: Limits, *, jobs: int, timeout: float | None
) -> Iterator[tuple[Cell, Result]]:
    """Each cell with its result, as they are finished; a cell may take `timeout` seconds in all."""
    waiting, workers = list(reversed(list(cells))), list[Worker]()
    threads = max(1, usable_cores() // jobs)
    try:
        while waiting or any(worker.cell for worker in workers):
            workers = [worker for worker in workers if worker.cell or not worker.dead]
            while waiting and sum(worker.cell is not None for worker in workers) < jobs:
                idle = next((worker for worker in workers if worker.cell is None), None)
                if idle is None:
                    idle = Worker(store, settings, limits, threads)
                    workers.append(idle)
                idle.start(waiting.pop())
            yield from _finished(workers, timeout)
    finally:
        for worker in workers:
            with contextlib.suppress(ValueError):  # closed already
                worker.close()


def _finished(workers: list[Worker], timeout: float | None) -> Iterator[tuple[Cell, Result]]:
    """Results that have come in; waits a moment for one."""
    with selectors.DefaultSelector() as selector:
        busy = [worker for worker in workers if worker.cell is not None]
        for worker in busy:
            selector.register(worker.handle, selectors.EVENT_READ, worker)
        heard = [key.data for key, _ in selector.select(0.2)]
    for worker in busy:
        result = worker.hear() if worker in heard else None
        if result is None and timeout is not None and time.monotonic() - worker.began > timeout:
            result = worker.end(f"it did not end within {timeout:g} seconds and was stopped", "time")
        if result is not None and worker.cell is not None:
            cell, worker.cell = worker.cell, None
            yield cell, result


def _environment(threads: int) -> dict[str, str]:
    """The worker finds the same package, and leaves room for the others."""
    home = str(Path(sklar.__file__).resolve().parents[1])
    path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **{name: os.environ.get(name, str(threads)) for name in THREADS}}


class _Voice:
    """Answers to the comparison. Libraries that print do so to standard error."""

    def __init__(self) -> None:
        self._handle = os.dup(1)
        os.dup2(2, 1)
        self.group = 0

    def say(self, **facts: Any) -> None:
        os.write(self._handle, json.dumps(facts).encode() + b"\n")

    def began(self, group: int) -> None:
        """A peer was started."""
        self.group = group
        self.say(group=group)


def _listen(tasks: queue.Queue[dict[str, Any]], voice: _Voice) -> None:
    for line in sys.stdin:
        tasks.put(json.loads(line))
    if voice.group:
        end_all(voice.group, os.getpid())
    os._exit(0)


def main() -> None:
    """Work until the input ends."""
    warnings.simplefilter("ignore")
    adopt_orphans()
    voice = _Voice()
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks, voice), daemon=True).start()
    start = tasks.get()
    store = Store(Path(start["folder"]))
    settings = read_plain(start["settings"])
    limits = Limits(**start["limits"])
    bank = Bank(store=store, schema=store.schema(), settings=settings, limits=limits, began=voice.began)
    while True:
        facts = tasks.get()["cell"]
        cell = Cell(system=System(**facts["system"]), epsilon=facts["epsilon"], fold=facts["fold"])
        result = run_cell(bank, cell)
        voice.group = 0
        voice.say(result=result)


if __name__ == "__main__":
    main()

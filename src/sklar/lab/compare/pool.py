"""Worker processes of a comparison: each runs one cell at a time; if one dies, only its cell is lost.

Both ends of the pipes are here, with one line of JSON per message: `Worker` in the process of the comparison, and
`main`, which the worker runs. When the input of a worker ends, the comparison has ended: the worker stops at once.
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
from sklar.lab.compare.cell import FoldTables, Result, failed_result, run_cell
from sklar.lab.compare.peers import Limits, adopt_orphans, end_all
from sklar.lab.compare.store import Store
from sklar.lab.compare.systems import Cell, CompareSettings, System, read_plain

SHUTDOWN_SECONDS = 3.0
"""Seconds that a worker has to end its peer and itself; then it is killed."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Worker:
    """One worker process and the cell it works on."""

    def __init__(self, store: Store, settings: CompareSettings, limits: Limits, threads: int):
        log = os.open(store.folder / "logs" / "workers.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(log, "ab") as messages:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "sklar.lab.compare.pool"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=messages, env=_worker_environment(threads), start_new_session=True,
            )  # fmt: skip
        self.cell: Cell | None = None
        self.began = 0.0
        self._group = 0
        self._rest = b""
        self._send(folder=str(store.folder), settings=asdict(settings), limits=asdict(limits))

    @property
    def handle(self) -> int:
        """Return the file descriptor of its answers."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self, cell: Cell) -> None:
        """Start work on a cell of the comparison."""
        self.cell, self.began, self._group = cell, time.monotonic(), 0
        self._send(cell=asdict(cell))

    def receive(self) -> Result | None:
        """Return its result, if there is one; for a dead worker, a failure with the reason."""
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
        """Check whether its process has ended."""
        return self._process.poll() is not None

    def end(self, reason: str, stopped: str | None = None) -> Result:
        """Stop it with its peer, and return a failure with the reason."""
        self.close(patience=0.0 if self._process.poll() is not None else SHUTDOWN_SECONDS)
        code = self._process.returncode
        killed = code is not None and code == -signal.SIGKILL and stopped is None
        return failed_result(f"{reason} (killed, perhaps for lack of memory)" if killed else reason, stopped)

    def close(self, patience: float = SHUTDOWN_SECONDS) -> None:
        """Close its input, which stops it; kill what does not stop."""
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

    def _send(self, **facts: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `receive` reports the reason
            self._process.stdin.write(json.dumps(facts).encode() + b"\n")
            self._process.stdin.flush()


def run_cells(
    cells: Iterable[Cell], store: Store, settings: CompareSettings, limits: Limits, *, jobs: int, timeout: float | None
) -> Iterator[tuple[Cell, Result]]:
    """Run the cells in workers; yield each with its result as it finishes. A cell may take `timeout` seconds."""
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
            yield from _collect_results(workers, timeout)
    finally:
        for worker in workers:
            with contextlib.suppress(ValueError):  # already closed
                worker.close()


def _collect_results(workers: list[Worker], timeout: float | None) -> Iterator[tuple[Cell, Result]]:
    """Yield the results that have arrived; wait briefly for one."""
    with selectors.DefaultSelector() as selector:
        busy = [worker for worker in workers if worker.cell is not None]
        for worker in busy:
            selector.register(worker.handle, selectors.EVENT_READ, worker)
        ready = [key.data for key, _ in selector.select(0.2)]
    for worker in busy:
        result = worker.receive() if worker in ready else None
        if result is None and timeout is not None and time.monotonic() - worker.began > timeout:
            result = worker.end(f"it did not end within {timeout:g} seconds and was stopped", "time")
        if result is not None and worker.cell is not None:
            cell, worker.cell = worker.cell, None
            yield cell, result


def _worker_environment(threads: int) -> dict[str, str]:
    """Return an environment in which a worker imports this package and uses its share of the cores."""
    home = str(Path(sklar.__file__).resolve().parents[1])
    path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **{name: os.environ.get(name, str(threads)) for name in THREAD_VARIABLES}}


class _Answers:
    """The pipe to the comparison. Prints of libraries go to standard error instead."""

    def __init__(self) -> None:
        self._handle = os.dup(1)
        os.dup2(2, 1)
        self.group = 0

    def send(self, **facts: Any) -> None:
        os.write(self._handle, json.dumps(facts).encode() + b"\n")

    def report_peer(self, group: int) -> None:
        """Report the process group of a peer that was started."""
        self.group = group
        self.send(group=group)


def _receive_tasks(tasks: queue.Queue[dict[str, Any]], answers: _Answers) -> None:
    for line in sys.stdin:
        tasks.put(json.loads(line))
    if answers.group:
        end_all(answers.group, os.getpid())
    os._exit(0)


def main() -> None:
    """Run cells until the input ends."""
    warnings.simplefilter("ignore")
    adopt_orphans()
    answers = _Answers()
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_receive_tasks, args=(tasks, answers), daemon=True).start()
    start = tasks.get()
    store = Store(Path(start["folder"]))
    settings = read_plain(start["settings"])
    limits = Limits(**start["limits"])
    bank = FoldTables(store=store, schema=store.schema(), settings=settings, limits=limits, began=answers.report_peer)
    while True:
        facts = tasks.get()["cell"]
        cell = Cell(system=System(**facts["system"]), epsilon=facts["epsilon"], fold=facts["fold"])
        result = run_cell(bank, cell)
        answers.group = 0
        answers.send(result=result)


if __name__ == "__main__":
    main()

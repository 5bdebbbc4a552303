"""Worker processes that share a model: each reads it once from a temporary file."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from sklar.pipeline.model_file import Stored, read_model, write_model

Done = TypeVar("Done")
_loaded: dict[str, Stored] = {}
"""The model of this worker process."""


@contextmanager
def model_workers(stored: Stored, processes: int) -> Generator[ProcessPoolExecutor]:
    """Open a pool of processes in which `worker_model` returns the model; pending work is cancelled at the end."""
    with tempfile.TemporaryDirectory() as private:
        path = os.path.join(private, "model.sklar")
        write_model(stored, path)
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker, initargs=(path,))
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def hand_in(
    pool: ProcessPoolExecutor, work: Callable[..., Done], arguments: Iterable[tuple[Any, ...]]
) -> list[Future[Done]]:
    """Submit the work on each of the arguments; this starts the processes."""
    with without_main_script():
        return [pool.submit(work, *one) for one in arguments]


@contextmanager
def without_main_script() -> Generator[None]:
    """Start workers that do not run the script of the caller, which then needs no main guard.

    A new process imports the file of `__main__`: a script that fits a model would fit it again in every worker.
    """
    main = vars(sys.modules["__main__"])
    kept = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.update(dict.fromkeys(kept))
    try:
        yield
    finally:
        main.update(kept)


def worker_model() -> Stored:
    """Return the model of this worker process."""
    return _loaded["model"]


def _start_worker(path: str) -> None:
    _loaded["model"] = read_model(path)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

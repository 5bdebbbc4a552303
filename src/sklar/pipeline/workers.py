"""Processes that share a model: fresh ones, each of which reads it once from a file of their own."""

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
    """A pool of processes, in each of which `worker_model` gives the model; work that did not begin ends with it."""
    with tempfile.TemporaryDirectory() as private:
        path = os.path.join(private, "model.sklar")
        write_model(stored, path)
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(path,))
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def hand_in(
    pool: ProcessPoolExecutor, work: Callable[..., Done], arguments: Iterable[tuple[Any, ...]]
) -> list[Future[Done]]:
    """The work on each of the arguments; this is when processes are started."""
    with main_left_alone():
        return [pool.submit(work, *one) for one in arguments]


@contextmanager
def main_left_alone() -> Generator[None]:
    """Workers that are started within it do not run the script of the caller, which needs no main guard then.

    A new process imports the file of `__main__`. A script that fits a model would fit it once more in every worker.
    """
    main = vars(sys.modules["__main__"])
    kept = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.update(dict.fromkeys(kept))
    try:
        yield
    finally:
        main.update(kept)


def worker_model() -> Stored:
    """The model, in a process of such a pool."""
    return _loaded["model"]


def _start(path: str) -> None:
    _loaded["model"] = read_model(path)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed must not go on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

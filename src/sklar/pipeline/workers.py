"""Processes that share a model: fresh ones, each of which reads it once from a file of their own."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from sklar.pipeline.model_file import Stored, read_model, write_model

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

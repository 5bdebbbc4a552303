"""Reading ahead: the next rows are read and decoded in a thread of their own while the last ones are worked on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, Full, Queue
from typing import Any, TypeVar

T = TypeVar("T")
AHEAD = 2
"""Batches that wait, besides the one in work: memory stays that of a few batches."""
_END = object()


def read_ahead(items: Iterator[T], depth: int = AHEAD) -> Iterator[T]:
    """The same items, taken by another thread; its errors are raised here, and it ends when this generator does."""
    ready: Queue[Any] = Queue(depth)
    stop = threading.Event()
    reader = threading.Thread(target=_fill, args=(items, ready, stop), daemon=True)
    reader.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stop.set()
        _drain(ready)
        reader.join()


def _fill(items: Iterator[Any], ready: Queue[Any], stop: threading.Event) -> None:
    try:
        for item in items:
            if not _put(ready, (item, None), stop):
                return
        _put(ready, (_END, None), stop)
    except BaseException as error:
        _put(ready, (None, error), stop)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()


def _put(ready: Queue[Any], item: Any, stop: threading.Event) -> bool:
    """Wait for room, but not for a consumer that is gone."""
    while not stop.is_set():
        try:
            ready.put(item, timeout=0.05)
            return True
        except Full:
            continue
    return False


def _drain(ready: Queue[Any]) -> None:
    while True:
        try:
            ready.get_nowait()
        except Empty:
            return

"""Keeping cells out of error messages: what a library says about data it could not read is never passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sklar.errors import SklarError, SourceError

T = TypeVar("T")


def shielded(message: str, call: Callable[..., T], *arguments: Any) -> T:
    """Call, and raise SourceError(message) for any failure, without a trace of the original one.

    The error is raised after the handler has ended, so that not even its context holds the library's message.
    """
    try:
        return call(*arguments)
    except (SklarError, MemoryError):
        raise
    except Exception:  # Any library error may quote a cell.
        pass
    raise SourceError(message)


def shielded_iterator(message: str, items: Iterator[T]) -> Iterator[T]:
    """The same for each step of an iterator."""
    end = object()
    while (item := shielded(message, next, items, end)) is not end:
        yield item  # type: ignore[misc]

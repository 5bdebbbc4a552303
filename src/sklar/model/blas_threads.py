"""One thread for small matrices: several that wait for each other cost more than they save on a busy machine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

SMALL = 400
"""Matrices of fewer lines are left to one thread."""


def calm(size: int) -> AbstractContextManager[Any]:
    """Within it BLAS uses one thread if matrices are small (threadpoolctl comes with scikit-learn)."""
    if size >= SMALL:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")

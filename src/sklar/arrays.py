"""Shared tools for arrays: types, compiled loops, the number of usable cores, and reproducible BLAS."""

from __future__ import annotations

import math
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

GROUPS, OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Paths of control groups on Linux, and of the groups of this process."""


def compiled(**options: Any) -> Any:
    """Return a decorator that compiles a loop at its first call, and caches it on disk.

    Only the loop and its Python wrapper are compiled, since a first fit has to wait for it.
    """
    from numba import njit  # slow to import: modules of compiled loops are imported where they are called

    settings: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True, **options}
    return njit(**settings)


def compiled_part(**options: Any) -> Any:
    """Return a decorator for functions that only compiled loops call."""
    return compiled(no_cpython_wrapper=True, **options)


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Restrict BLAS to one thread, since the last bits of a product depend on the number of threads.

    Fits and samples must be reproducible.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def usable_cores() -> int:
    """Return the number of cores that this process may use, within the limits of its container."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, math.ceil(min(_granted_cores(), allowed))))


def _granted_cores() -> float:
    """Return the smallest CPU limit, in cores, of the control groups of this process; infinite without one."""
    lines = _read_words(OWN_GROUP)
    own = next((line.removeprefix("0::").strip("/") for line in lines if line.startswith("0::")), "")
    places = (place for place in [GROUPS / own, *(GROUPS / own).parents] if place.is_relative_to(GROUPS))
    limits = [_read_words(place / "cpu.max") for place in places]
    limits.append(_read_words(GROUPS / "cpu/cpu.cfs_quota_us") + _read_words(GROUPS / "cpu/cpu.cfs_period_us"))
    shares = [int(words[0]) / int(words[1]) for words in limits if len(words) == 2 and words[0].isdigit()]
    return min(shares, default=math.inf)


def _read_words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except (OSError, ValueError):
        return []

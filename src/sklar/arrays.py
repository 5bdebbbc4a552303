"""What every room that works on arrays shares: types, compiled loops, how many cores to use, and bits that repeat."""

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
"""Where Linux shows control groups, and which of them this process belongs to."""


def compiled(**options: Any) -> Any:
    """A decorator: the loop is compiled when first called, and kept on disk for later processes.

    Nothing is compiled but the loop and the way to it from Python: a first fit waits for every bit of it.
    """
    from numba import njit  # slow to load: modules of compiled loops are imported where they are called

    settings: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True, **options}
    return njit(**settings)


def compiled_part(**options: Any) -> Any:
    """The same for what only other compiled loops call."""
    return compiled(no_cpython_wrapper=True, **options)


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Within it BLAS uses one thread: how many share a product decides its last bits, and fits and samples must come
    out the same for whoever makes them again."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def usable_cores() -> int:
    """Cores this process may run on, and no more than its container grants it time for."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, math.ceil(min(_granted_cores(), allowed))))


def _granted_cores() -> float:
    """The smallest share of time, in cores, that a control group around this process sets; infinite without one."""
    lines = _words(OWN_GROUP)
    own = next((line.removeprefix("0::").strip("/") for line in lines if line.startswith("0::")), "")
    places = (place for place in [GROUPS / own, *(GROUPS / own).parents] if place.is_relative_to(GROUPS))
    limits = [_words(place / "cpu.max") for place in places]
    limits.append(_words(GROUPS / "cpu/cpu.cfs_quota_us") + _words(GROUPS / "cpu/cpu.cfs_period_us"))
    shares = [int(words[0]) / int(words[1]) for words in limits if len(words) == 2 and words[0].isdigit()]
    return min(shares, default=math.inf)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except (OSError, ValueError):
        return []

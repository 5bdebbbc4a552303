"""Lookups from base codes to integers, by which queries recode columns: validated read-only copies of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import DoorError

Lookup = npt.NDArray[np.int32]
"""An integer for each base code of a column."""
Partition = Lookup
"""A lookup from base code to group 0, 1, 2, ..."""


def freeze_partition(array: object) -> Partition:
    """Return a read-only int32 partition, a copy unless it is one already, so that it cannot change once checked."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.ndim != 1 or not array.size:
        raise DoorError("a lookup must be a one-dimensional array of integers, one group for each base code")
    if array.min() < 0 or array.max() >= 2**31:
        raise DoorError("groups of a lookup must be numbered from 0")
    if array.dtype == np.int32 and not array.flags.writeable and array.flags.owndata:
        return array
    copy = np.array(array, dtype=np.int32)
    copy.setflags(write=False)
    return copy


def freeze_lookups(arrays: Iterable[npt.NDArray[Any]], what: str) -> tuple[Lookup, ...]:
    """Return read-only int32 copies of lookups, so that a query cannot change after its bound was computed."""
    copies = []
    for array in arrays:
        require_rule(array.ndim == 1 and array.size > 0, f"{what} are one-dimensional lookups with at least one entry")
        require_rule(np.issubdtype(array.dtype, np.integer), f"{what} are integer lookups")
        require_rule(int(array.min()) >= -(2**31) and int(array.max()) < 2**31, f"{what} must fit into 32 bits")
        copy = array.astype(np.int32)
        copy.flags.writeable = False
        copies.append(copy)
    return tuple(copies)


def code_counts(columns: tuple[str, ...], lookups: tuple[Lookup, ...]) -> tuple[tuple[str, int], ...]:
    """Return (column, number of base codes it must have) for every lookup."""
    return tuple((c, len(a)) for c, a in zip(columns, lookups, strict=True))


def require_rule(truth: object, rule: str) -> None:
    """Refuse a query that breaks a rule."""
    if not truth:
        raise DoorError(f"this query is refused: {rule}.")

"""Rows with equal codes brought together in bounded memory: one part of the table, by a hash of the codes, a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sklar.rows.codes.job import CodedPart, Codes

GROUP_BYTES = 256 << 20
"""Code matrices of about this size are held at once."""


def group_count(rows: int, columns: int) -> int:
    """Into how many parts the rows are cut."""
    return max(1, -(-rows * columns * 4 // GROUP_BYTES))


def grouped_codes(rows: CodedPart, columns: Sequence[str], groups: int) -> Iterator[Codes]:
    """Code matrices that together hold every row once; rows with equal codes are in the same one."""
    for group in range(groups):
        parts = [np.zeros((0, len(columns)), np.int32)]
        for codes in rows.code_matrix_batches(columns):
            parts.append(codes if groups == 1 else codes[groups_of(codes, groups) == group])
        yield np.concatenate(parts)


def groups_of(codes: Codes, groups: int) -> npt.NDArray[np.int64]:
    """Group of each row, by a hash of its codes alone: all of its bits depend on all codes, and collisions are fine."""
    words = np.full(len(codes), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in codes.T:
        words = (words ^ column.astype(np.uint64)) * np.uint64(0xD6E8FEB86659FD93)
        words ^= words >> np.uint64(32)
    return ((words >> np.uint64(32)) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)

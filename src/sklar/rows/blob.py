"""Codes of some rows as one run of bytes, column after column: what is kept on disk or travels inside a cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.rows.batch import CodeBatch, Codes, PackedBits


def blob_of(batch: CodeBatch) -> bytes:
    """The codes of all columns of a batch, one column after the other."""
    return b"".join(np.ascontiguousarray(_data(column)).tobytes() for column in batch.columns)


def column_bytes(rows: int, size: int) -> int:
    """Bytes that the codes of a column of `size` codes take: bits if there are two, else the smallest whole type."""
    return -(-rows // 8) if size == 2 else rows * np.min_scalar_type(max(size - 1, 0)).itemsize


def column_starts(rows: int, sizes: Sequence[int]) -> list[int]:
    """Where each column starts in a blob, and the end of the last."""
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + column_bytes(rows, size))
    return starts


def column_of(data: bytes | memoryview, rows: int, size: int) -> Codes | PackedBits:
    """The codes of one column from its bytes."""
    if size == 2:
        return PackedBits(rows=rows, data=np.frombuffer(data, dtype=np.uint8))
    return np.frombuffer(data, dtype=np.min_scalar_type(max(size - 1, 0)))


def batch_of(blob: bytes | memoryview, rows: int, sizes: Sequence[int], places: Sequence[int]) -> CodeBatch:
    """Some columns of a blob, without copying."""
    view, starts = memoryview(blob), column_starts(rows, sizes)
    columns = [column_of(view[starts[at] : starts[at + 1]], rows, sizes[at]) for at in places]
    return CodeBatch(rows=rows, columns=tuple(columns))


def _data(column: Codes | PackedBits) -> Codes:
    return column.data if isinstance(column, PackedBits) else column

"""Base codes of some rows, column by column; columns with two codes are kept as bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedBits:
    """Codes 0 and 1, eight to a byte, the first row in the lowest bit, bits beyond the last row zero."""

    rows: int
    data: npt.NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def codes(self, part: slice) -> Codes:
        """Return the codes of some rows, unpacked."""
        first, stop = part.start // 8 * 8, min(part.stop, self.rows)
        bits = np.unpackbits(self.data[first // 8 : -(-stop // 8)], count=stop - first, bitorder="little")
        return bits[part.start - first :]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeBatch:
    """Base codes of some rows, one entry per column, in the requested order of columns.

    Attributes:
        weight: Weight of each row, in parts of a vote where rows share one; else 1.
    """

    rows: int
    columns: tuple[Codes | PackedBits, ...]
    weight: int = 1

    @property
    def codes(self) -> tuple[Codes, ...]:
        """One plain array of codes per column."""
        return tuple(self.part(at, slice(0, self.rows)) for at in range(len(self.columns)))

    def part(self, at: int, part: slice) -> Codes:
        """Return the codes of one column for some rows."""
        column = self.columns[at]
        return column.codes(part) if isinstance(column, PackedBits) else column[part]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)


def encode_batch(batch: CodeBatch) -> bytes:
    """Return the codes of all columns of a batch as bytes, one column after the other."""
    arrays = (column.data if isinstance(column, PackedBits) else column for column in batch.columns)
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def count_column_bytes(rows: int, size: int) -> int:
    """Return the bytes of a column of `size` codes: bits if there are two, else the smallest integer type."""
    return -(-rows // 8) if size == 2 else rows * np.min_scalar_type(max(size - 1, 0)).itemsize


def find_column_starts(rows: int, sizes: Sequence[int]) -> list[int]:
    """Return where each column starts in an encoded batch, and the end of the last."""
    return list(accumulate((count_column_bytes(rows, size) for size in sizes), initial=0))


def decode_column(data: bytes | memoryview, rows: int, size: int) -> Codes | PackedBits:
    """Return the codes of one column from its bytes."""
    if size == 2:
        return PackedBits(rows=rows, data=np.frombuffer(data, dtype=np.uint8))
    return np.frombuffer(data, dtype=np.min_scalar_type(max(size - 1, 0)))


def decode_batch(
    blob: bytes | memoryview, rows: int, sizes: Sequence[int], places: Sequence[int], weight: int = 1
) -> CodeBatch:
    """Return some columns of an encoded batch, without copying."""
    view, starts = memoryview(blob), find_column_starts(rows, sizes)
    columns = [decode_column(view[starts[at] : starts[at + 1]], rows, sizes[at]) for at in places]
    return CodeBatch(rows=rows, columns=tuple(columns), weight=weight)

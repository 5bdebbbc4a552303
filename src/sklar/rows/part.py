"""A part of the rows as codes, to be passed over: a whole table here, or what one task of a cluster holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sklar.rows.batch import CodeBatch
from sklar.schema import Schema


class CodedPart(ABC):
    """Rows as base codes.

    Attributes:
        schema: The public facts.
        threads: Number of threads that may work on them.
    """

    schema: Schema
    threads: int

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the codes of the given columns."""

    def code_matrix_batches(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[npt.NDArray[np.int32]]:
        """One pass over the codes of the given columns as matrices, one row of codes per row, at most `rows` high."""
        for batch in self.batches(columns):
            for start in range(0, batch.rows, rows):
                matrix = np.empty((min(rows, batch.rows - start), len(columns)), dtype=np.int32)
                for place in range(len(columns)):
                    matrix[:, place] = batch.part(place, slice(start, min(start + rows, batch.rows)))
                yield matrix

"""Base codes in memory, by column: simulated rows, or those of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Ints
from sklar.counting.batches import CodeBatch
from sklar.counting.jobs import CodedPart, GroupJob, Job
from sklar.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeTable:
    """Base codes by column, all of one length."""

    columns: Mapping[str, np.ndarray]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def matrix(self, columns: Sequence[str]) -> np.ndarray:
        """Return the codes of some columns, one line a row."""
        return np.column_stack([self.columns[name] for name in columns]).astype(np.int32)

    def first(self, rows: int) -> CodeTable:
        """Return the first rows: simulated rows are in random order, so they are a sample."""
        return CodeTable(columns={name: codes[:rows] for name, codes in self.columns.items()})

    def last(self, rows: int) -> CodeTable:
        """Return the last `rows` rows."""
        return CodeTable(columns={name: codes[self.rows - rows :] for name, codes in self.columns.items()})

    def append_rows(self, others: CodeTable) -> CodeTable:
        """Return these rows and others below them."""
        return CodeTable(columns={name: np.concatenate([x, others.columns[name]]) for name, x in self.columns.items()})


class CountedTable(CodedPart):
    """Codes in memory as rows that queries can be evaluated on; each row counts once."""

    def __init__(self, schema: Schema, table: CodeTable, threads: int = 1):
        self.schema = schema
        self.threads = threads
        self._table = table

    @property
    def votes(self) -> bool:
        """Rows share no votes."""
        return False

    @property
    def exact_rows(self) -> int:
        """Number of rows."""
        return self._table.rows

    def read_codes(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """Yield all rows as one batch, in the types that codes of private rows have: loops are compiled for these."""
        kinds = [np.min_scalar_type(max(self.schema.size(name) - 1, 0)) for name in columns]
        coded = [self._table.columns[name].astype(kind) for name, kind in zip(columns, kinds, strict=True)]
        yield CodeBatch(rows=self._table.rows, columns=tuple(coded))

    def run_job(self, job: Job) -> tuple[Ints, ...]:
        """Return the answers of a job."""
        return job(self)

    def run_group_job(self, job: GroupJob) -> tuple[Ints, ...]:
        """Return the answers of a job that needs rows with equal codes together."""
        return job(self._table.matrix(job.columns))

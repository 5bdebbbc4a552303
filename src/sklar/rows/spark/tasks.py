"""What runs inside the tasks of a cluster: encoding rows, answering jobs from codes, and adding answers up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.arrays import Ints
from sklar.rows.codes.batch import CodeBatch, batch_of, blob_of
from sklar.rows.codes.job import CodedPart, GroupJob, Job
from sklar.rows.codes.table import EncodedRows
from sklar.rows.counting.tables import groups_of
from sklar.rows.sources.source import Source, SourceOptions
from sklar.rows.spark.connection import guarded_task
from sklar.rows.spark.parts import Part, read_part
from sklar.schema import Schema
from sklar.schema.coordinates import Coordinates

CHUNK_CELLS = 1 << 17
"""Answers travel in chunks of this many integers, so that no single value grows with the tables."""
CODES_TYPE = "rows long, codes binary"
SUMS_TYPE = "branch int, chunk int, sums binary"
GROUPS_TYPE = "part int, rows long, codes binary"
Task = Callable[[Iterator[Any]], Iterator[Any]]


class TaskRows(Source):
    """The batches of rows that a task is handed, or reads."""

    one_shot = True
    what = "a part of the rows"

    def __init__(self, batches: Iterator[Any], names: Sequence[str]):
        super().__init__(names)
        self._batches = batches

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        return self._batches


class TaskCodes(CodedPart):
    """The codes that a task is handed; they can be passed over once."""

    threads = 1

    def __init__(self, batches: Iterator[Any], schema: Schema):
        self.schema, self.seen = schema, 0
        self._batches = batches

    votes = False

    def coded(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        place = {name: at for at, name in enumerate(self.schema.modelled)}
        sizes, places = [self.schema[name].size for name in place], [place[name] for name in columns]
        for rows, blob in _blobs(self._batches):
            self.seen += rows
            yield batch_of(blob, rows, sizes, places)


def encoding_task(by: Coordinates, null_values: tuple[str, ...]) -> Task:
    """Rows to codes: one blob a batch."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        yield from _encoded(batches, by, null_values)

    return guarded_task(work)


def reading_task(parts: Sequence[Part], by: Coordinates, options: SourceOptions) -> Task:
    """Numbers of parts of files to the codes of their rows."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        names = by.sources_of(by.parts)
        rows = (rows for number in numbers for rows in read_part(parts[number], names, options))
        yield from _encoded(rows, by, tuple(options.null_values))

    return guarded_task(work)


def answering_task(job: Job, schema: Schema, branches: int) -> Task:
    """Codes to the answers of a job, after the number of rows they were worked out from."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        part = TaskCodes(batches, schema)
        answers = job(part)
        if part.seen:
            yield from _chunks(_partition() % branches, [np.array([part.seen], np.int64), *answers])

    return guarded_task(work)


def adding_task(branches: int) -> Task:
    """Answers to their sums, branch by branch and chunk by chunk."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        totals: dict[tuple[int, int], Ints] = {}
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("branch", "chunk", "sums"))
            for branch, chunk, sums in zip(*columns, strict=True):
                add_chunk(totals, (branch % branches, chunk), sums)
        for (branch, chunk), sums in totals.items():
            yield _message(branch, chunk, sums)

    return guarded_task(work)


def grouping_task(columns: Sequence[str], schema: Schema, groups: int) -> Task:
    """Codes of the given columns sorted into groups by a hash: equal codes are in equal groups."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for codes in TaskCodes(batches, schema).code_matrix_batches(columns):
            group = groups_of(codes, groups)
            for part in np.unique(group).tolist():
                mine = np.ascontiguousarray(codes[group == part])
                blob = pa.array([mine.tobytes()], pa.binary())
                yield pa.record_batch(
                    {"part": pa.array([part], pa.int32()), "rows": pa.array([len(mine)], pa.int64()), "codes": blob}
                )

    return guarded_task(work)


def group_answering_task(job: GroupJob, branches: int) -> Task:
    """Whole groups to the answers of a job."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        width = len(job.columns)
        parts = [np.frombuffer(blob, dtype=np.int32).reshape(-1, width) for _, blob in _blobs(batches)]
        if parts:
            codes = np.concatenate(parts)
            yield from _chunks(_partition() % branches, [np.array([len(codes)], np.int64), *job(codes)])

    return guarded_task(work)


def add_chunk(totals: dict[tuple[int, int], Ints], key: tuple[int, int], sums: bytes) -> None:
    """Add one chunk of answers to those seen before."""
    more = np.frombuffer(sums, dtype=np.int64)
    if key in totals:
        totals[key] += more
    else:
        totals[key] = more.copy()


def _encoded(batches: Iterator[Any], by: Coordinates, null_values: tuple[str, ...]) -> Iterator[Any]:
    source = TaskRows(batches, by.sources_of(by.parts))
    rows = EncodedRows(source, by, null_values=null_values, threads=1)
    for batch in rows.batches(by.schema.modelled):
        yield pa.record_batch({"rows": [batch.rows], "codes": pa.array([blob_of(batch)], pa.binary())})


def _blobs(batches: Iterator[Any]) -> Iterator[tuple[int, memoryview]]:
    for batch in batches:
        rows, codes = batch.column(batch.schema.get_field_index("rows")), batch.column(batch.num_columns - 1)
        for at in range(batch.num_rows):
            yield rows[at].as_py(), memoryview(codes[at].as_buffer())


def _chunks(branch: int, answers: Sequence[Ints]) -> Iterator[Any]:
    """Answers, one after the other, in chunks; those without a count need not travel."""
    flat = np.concatenate([answer.ravel() for answer in answers])
    for chunk, start in enumerate(range(0, len(flat), CHUNK_CELLS)):
        sums = flat[start : start + CHUNK_CELLS]
        if sums.any():
            yield _message(branch, chunk, sums)


def _message(branch: int, chunk: int, sums: Ints) -> Any:
    numbers = {"branch": pa.array([branch], pa.int32()), "chunk": pa.array([chunk], pa.int32())}
    return pa.record_batch({**numbers, "sums": pa.array([sums.tobytes()], pa.binary())})


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())

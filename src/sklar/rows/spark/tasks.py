"""What runs inside the tasks of a cluster: encoding rows, answering jobs from codes, and adding answers up.

Rows of persons are shared out once more, by keyed bits of their persons: never with a key or a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.arrays import Ints
from sklar.counting.batches import CodeBatch, decode_batch, encode_batch
from sklar.counting.jobs import CodedPart, GroupJob, Job
from sklar.counting.plans import assign_groups
from sklar.rows.codes.table import EncodedRows, stored_places, stored_tables
from sklar.rows.persons.gather import assign_slices
from sklar.rows.persons.keys import Secret
from sklar.rows.persons.linked import LinkedRows
from sklar.rows.persons.rows import PersonRows
from sklar.rows.sources.source import BATCH_ROWS, Source, SourceOptions
from sklar.rows.spark.connection import guarded_task
from sklar.rows.spark.parts import Part, read_part
from sklar.schema import Schema
from sklar.schema.coordinates import Coordinates

CHUNK_CELLS = 1 << 17
"""Answers travel in chunks of this many integers, so that no single value grows with the tables."""
CODES_TYPE = "rows long, persons long, table int, weight long, codes binary"
"""Spark schema of codes of rows with equal weight in one table, with the number of their persons."""
GATHERED_TYPE = "part int, rows long, types string, codes binary"
"""Spark schema of gathered rows of persons: their codes, one column after the other."""
SUMS_TYPE = "branch int, chunk int, sums binary"
GROUPS_TYPE = "part int, rows long, codes binary"
BLOB_BYTES = 256 << 10
"""Maximum size of one blob of gathered rows: a task is handed `PERSON_BATCH` of them at once."""
PERSON_BATCH = 256
"""Records per batch of a task while rows of persons are gathered: first rows, later blobs of rows."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How tasks make codes of rows.

    Attributes:
        secret: Where the schema says who a person is, by what rows of a person find each other; it stays inside the
            cluster. All attempts at a task have the same one, and so use the same rows of a person.
        parts: Between how many partitions persons are shared out.
    """

    by: Coordinates
    options: SourceOptions
    secret: Secret | None = None
    parts: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self.by.sources_of(self.by.parts) if self.secret is None else self.person_rows(iter(())).sources

    @property
    def type(self) -> str:
        """Type of the answers of the first tasks."""
        return CODES_TYPE if self.secret is None else GATHERED_TYPE

    def encoded(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Encode rows to codes, or to columns to be gathered by person: one blob per batch, or one for each part."""
        if self.secret is not None:
            yield from self._apart(batches)
            return
        source = TaskRows(batches, self.columns)
        rows = EncodedRows(source, self.by, null_values=tuple(self.options.null_values), threads=1)
        for batch in rows.batches(self.by.schema.modelled):
            yield _pack_codes(batch, persons=batch.rows)

    def person_rows(self, batches: Iterator[Any]) -> PersonRows:
        """Return the rows of persons, selected and weighted as in memory."""
        person = self.by.declared.person
        assert person is not None
        return (LinkedRows if self.by.views else PersonRows)(
            TaskRows(batches, ()), self.by, person, null_values=tuple(self.options.null_values), cache_bytes=0,
            threads=1, secret=self.secret,
        )  # fmt: skip

    def _apart(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the gathered columns of rows, sorted by persons."""
        for block in self.person_rows(_larger(batches)).gathered():
            # Inside a partition, other bits identify the persons.
            part = assign_slices(block, self.parts)
            types = ",".join(column.dtype.str for column in block)
            most = max(1, BLOB_BYTES // sum(column.dtype.itemsize for column in block))
            for at in np.unique(part).tolist():
                rows = np.flatnonzero(part == at)
                for mine in np.split(rows, range(most, len(rows), most)):
                    blob = b"".join(column[mine].tobytes() for column in block)
                    facts = {"part": pa.array([at], pa.int32()), "rows": pa.array([len(mine)], pa.int64())}
                    yield pa.record_batch({**facts, "types": [types], "codes": pa.array([blob], pa.binary())})


class TaskCodes(CodedPart):
    """The codes that a task is handed; they can be passed over once."""

    threads = 1

    def __init__(self, batches: Iterator[Any], schema: Schema, *, votes: bool):
        self.schema, self.seen = schema, 0
        self._batches, self._votes = batches, votes

    @property
    def votes(self) -> bool:
        return self._votes

    def read_codes(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        table, places = stored_places(self.schema, columns)
        sizes = [self.schema.size(name) for name in stored_tables(self.schema)[table]]
        for batch in self._batches:
            facts = batch.select(["rows", "table", "weight"]).to_pylist()
            for fact, blob in zip(facts, batch.column("codes"), strict=True):
                self.seen += fact["rows"]
                if fact["rows"] and fact["table"] == table:
                    yield decode_batch(memoryview(blob.as_buffer()), fact["rows"], sizes, places, fact["weight"])


def encoding_task(encoding: Encoding) -> Task:
    """Return the task that encodes rows, and the columns that it reads."""
    return guarded_task(encoding.encoded)


def reading_task(parts: Sequence[Part], encoding: Encoding) -> Task:
    """Return numbers of parts of files to the codes of their rows."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        names, options = encoding.columns, encoding.options
        yield from encoding.encoded(rows for number in numbers for rows in read_part(parts[number], names, options))

    return guarded_task(work)


def choosing_task(encoding: Encoding) -> Task:
    """Yield the codes of the rows that are used, from all that was gathered of some persons."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        rows = encoding.person_rows(iter(()))
        for table, batch in rows.used_codes(_read_gathered(batches)):
            yield _pack_codes(batch, table=table)
        yield _pack_codes(CodeBatch(rows=0, columns=()), persons=rows.persons_seen)

    return guarded_task(work)


def _larger(batches: Iterator[Any]) -> Iterator[Any]:
    """Join rows to fewer batches, since each has overhead."""
    held, rows = list[Any](), 0
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            yield batch
            continue
        held.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held, rows = [], 0
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def _read_gathered(batches: Iterator[Any]) -> Iterator[list[Any]]:
    for batch in batches:
        facts = batch.select(["rows", "types"]).to_pylist()
        for fact, blob in zip(facts, batch.column("codes"), strict=True):
            view, columns = memoryview(blob.as_buffer()), list[Any]()
            for kind in map(np.dtype, fact["types"].split(",")):
                columns.append(np.frombuffer(view, dtype=kind, count=fact["rows"]))
                view = view[fact["rows"] * kind.itemsize :]
            yield columns


def _pack_codes(batch: CodeBatch, table: int = 0, persons: int = 0) -> Any:
    numbers = {"rows": pa.array([batch.rows], pa.int64()), "persons": pa.array([persons], pa.int64())}
    sort = {"table": pa.array([table], pa.int32()), "weight": pa.array([batch.weight], pa.int64())}
    return pa.record_batch({**numbers, **sort, "codes": pa.array([encode_batch(batch)], pa.binary())})


def answering_task(job: Job, schema: Schema, branches: int, *, votes: bool) -> Task:
    """Return the codes to the answers of a job, after the number of rows they were worked out from."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        part = TaskCodes(batches, schema, votes=votes)
        answers = job(part)
        if part.seen:
            yield from _chunks(_get_partition() % branches, [np.array([part.seen], np.int64), *answers])

    return guarded_task(work)


def adding_task(branches: int) -> Task:
    """Return the task that adds up answers, branch by branch and chunk by chunk."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        totals: dict[tuple[int, int], Ints] = {}
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("branch", "chunk", "sums"))
            for branch, chunk, sums in zip(*columns, strict=True):
                add_chunk(totals, (branch % branches, chunk), sums)
        for (branch, chunk), sums in totals.items():
            yield _pack_sums(branch, chunk, sums)

    return guarded_task(work)


def grouping_task(columns: Sequence[str], schema: Schema, groups: int, *, votes: bool) -> Task:
    """Return the codes of the given columns sorted into groups by a hash: equal codes are in equal groups."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for codes in TaskCodes(batches, schema, votes=votes).code_matrix_batches(columns):
            group = assign_groups(codes, groups)
            for part in np.unique(group).tolist():
                mine = np.ascontiguousarray(codes[group == part])
                blob = pa.array([mine.tobytes()], pa.binary())
                yield pa.record_batch(
                    {"part": pa.array([part], pa.int32()), "rows": pa.array([len(mine)], pa.int64()), "codes": blob}
                )

    return guarded_task(work)


def group_answering_task(job: GroupJob, branches: int) -> Task:
    """Return the task from complete groups to the answers of a job."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        width = len(job.columns)
        blobs = (blob.as_buffer() for batch in batches for blob in batch.column("codes"))
        parts = [np.frombuffer(blob, dtype=np.int32).reshape(-1, width) for blob in blobs]
        if parts:
            codes = np.concatenate(parts)
            yield from _chunks(_get_partition() % branches, [np.array([len(codes)], np.int64), *job(codes)])

    return guarded_task(work)


def add_chunk(totals: dict[tuple[int, int], Ints], key: tuple[int, int], sums: bytes) -> None:
    """Add one chunk of answers to those seen before."""
    more = np.frombuffer(sums, dtype=np.int64)
    if key in totals:
        totals[key] += more
    else:
        totals[key] = more.copy()


def _chunks(branch: int, answers: Sequence[Ints]) -> Iterator[Any]:
    """Yield answers in chunks; chunks without a count are not sent."""
    flat = np.concatenate([answer.ravel() for answer in answers])
    for chunk, start in enumerate(range(0, len(flat), CHUNK_CELLS)):
        sums = flat[start : start + CHUNK_CELLS]
        if sums.any():
            yield _pack_sums(branch, chunk, sums)


def _pack_sums(branch: int, chunk: int, sums: Ints) -> Any:
    numbers = {"branch": pa.array([branch], pa.int32()), "chunk": pa.array([chunk], pa.int32())}
    return pa.record_batch({**numbers, "sums": pa.array([sums.tobytes()], pa.binary())})


def _get_partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())

"""Rows on a cluster: encoded once by its executors, kept there as compact codes, and counted where they are.

**Exactly once.** A task returns what it found; nothing is added to shared state. Spark takes one result for each
partition, from the attempt that finishes first, so lost tasks, retries and speculative duplicates never count twice.
Each answer also carries the number of rows behind it, and an answer from more or fewer rows than the first is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from sklar.arrays import Ints
from sklar.counting.jobs import GroupJob, Job
from sklar.counting.plans import count_groups
from sklar.errors import SourceError
from sklar.rows.persons.keys import Secret
from sklar.rows.sources import open_source
from sklar.rows.sources.source import Source, SourceOptions, require_columns
from sklar.rows.spark import tasks
from sklar.rows.spark.connection import connect, on_cluster, read_store, require_pyspark, require_version, run_watched
from sklar.rows.spark.parts import TASKS_PER_CORE, shared_out
from sklar.schema import Schema
from sklar.schema.coordinates import Coordinates
from sklar.schema.reading import ReadOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Rows that a cluster can read.

    Attributes:
        codes: Makes the Spark frame of the codes of all rows, which are not worked out yet.
        source: The files as the driver sees them; None for a data frame.
    """

    session: Any
    codes: Callable[[], Any]
    source: Source | None = None

    def require_unchanged(self) -> None:
        """Refuse files that changed, came or went since they were opened."""
        if self.source is not None:
            self.source.require_unchanged()

    def require_rows(self, rows: int) -> None:
        """Refuse a number of rows that is not the one of the footers, where there are any."""
        if self.source is not None and self.source.known_rows not in (None, rows):
            raise SourceError("the Parquet files do not have the number of rows that their footers state")


def frame_origin(frame: Any, by: Coordinates, options: SourceOptions) -> Origin:
    """Return the rows of any Spark data frame."""
    for name in ("delimiter", "encoding"):
        if getattr(options, name) is not None:
            raise SourceError(f"'{name}' is not for a Spark data frame: read the text with Spark as it should be read")
    require_columns(by.declared, tuple(frame.columns), "the Spark frame", options.also)
    encoding = _make_encoding(frame.sparkSession, by, options)
    task, names = tasks.encoding_task(encoding), encoding.columns
    return Origin(session=frame.sparkSession, codes=lambda: _met(_chosen(frame, by.declared, names), task, encoding))


def path_origin(session: Any, path: str, by: Coordinates, options: SourceOptions) -> Origin:
    """Return the rows of files that every machine finds under the same path; those of other stores are a data frame."""
    place = _local_path(path)
    if place is None:
        return frame_origin(read_store(session, path), by, options)
    source = open_source(place, schema=by.declared, read=options, also=options.also)
    parts = shared_out(source, session.sparkContext.defaultParallelism)
    encoding = _make_encoding(session, by, options)

    def codes() -> Any:
        numbers = session.range(0, len(parts), 1, max(len(parts), 1))
        return _met(numbers, tasks.reading_task(parts, encoding), encoding)

    return Origin(session=session, codes=codes, source=source)


MAX_PARTITIONS = 512
"""Most partitions of persons: each batch of rows is cut into one blob per partition."""


def _make_encoding(session: Any, by: Coordinates, options: SourceOptions) -> tasks.Encoding:
    if by.declared.person is None:
        return tasks.Encoding(by=by, options=options)
    parts = min(TASKS_PER_CORE * max(session.sparkContext.defaultParallelism, 1), MAX_PARTITIONS)
    return tasks.Encoding(by=by, options=options, secret=Secret(), parts=parts)


def _met(frame: Any, task: tasks.Task, encoding: tasks.Encoding) -> Any:
    """Return the codes of rows; those of persons after all rows of each have met in one partition."""
    found = frame.mapInArrow(task, encoding.type)
    if encoding.secret is None:
        return found
    return found.repartition(encoding.parts, "part").mapInArrow(tasks.choosing_task(encoding), tasks.CODES_TYPE)


def _chosen(frame: Any, schema: Schema, names: Sequence[str]) -> Any:
    """Return the columns of these names, by their places: Spark's own names may be ambiguous where only the case
    differs.

    Moments with a zone become what the clock of the column's zone shows, or else that of the session.
    """
    from pyspark.sql import functions

    kinds, there = [kind for _, kind in frame.dtypes], list(frame.columns)
    plain = frame.toDF(*(f"c{at}" for at in range(len(kinds))))

    def shown(name: str) -> Any:
        column = plain[f"c{there.index(name)}"]
        zone = getattr(schema[name], "zone", None) if name in schema else None
        if kinds[there.index(name)] != "timestamp":
            return column
        clock = column.cast("timestamp_ntz")
        return clock if zone is None else functions.convert_timezone(None, functions.lit(zone), clock)

    return plain.select([shown(name) for name in names])


def _local_path(path: str) -> str | None:
    """Return a path of the file system; None for the address of another store."""
    if "://" not in path:
        return path
    parts = urlsplit(path)
    return unquote(parts.path) if parts.scheme == "file" else None


FAN_IN = 32
"""Answers of this many tasks are added up by one task of the next level, and by the driver at the end."""
DRIVER_BYTES = 64 << 20
"""Larger answers come to the driver once, already added up."""
BATCH_CELLS = 1 << 22
"""Values that a task is handed at once when it encodes."""
MOST_TASKS = 200
"""Tasks of one level of the tree."""
BLOBS = 4
"""Blobs of codes, or chunks of answers, that a task is handed at once."""
BATCH_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"


def open_spark_rows(data: Any, by: Coordinates, read: ReadOptions) -> SparkRows:
    """Open a Spark frame, or a path that a cluster can read.

    With a `cache`, executors may keep codes on their disks when they outgrow their memory.
    """
    require_pyspark()
    # Tasks get the options that affect values; a progress bar stays with the driver.
    options = SourceOptions(
        schema=by.declared, delimiter=read.delimiter, encoding=read.encoding, null_values=read.null_values,
        also=() if by.declared.person is None else (by.declared.person.key,),
    )  # fmt: skip
    if isinstance(data, str | os.PathLike):
        session, started = connect(read.spark or "local[*]")
        try:
            return SparkRows(path_origin(session, os.fspath(data), by, options), by, read, owns_session=started)
        except BaseException:
            if started:
                session.stop()
            raise
    if not hasattr(data, "mapInArrow"):
        raise SourceError("rows on Spark must be a Spark data frame or the path of Parquet or CSV files")
    return SparkRows(frame_origin(data, by, options), by, read)


class SparkRows:
    """Private rows on a cluster. Made by `open_spark_rows`."""

    def __init__(self, origin: Origin, by: Coordinates, read: ReadOptions, *, owns_session: bool = False):
        self.schema, self.null_values, self.passes = by.schema, tuple(read.null_values), 0
        self._person = by.declared.person
        self._origin, self._session, self._owns_session = origin, origin.session, owns_session
        self._progress, self._to_disk = read.progress, read.cache is not None
        self._codes: Any = None
        self._exact_rows: int | None = None
        self._exact_persons, self._partitions = 0, 1
        require_version(self._session.version)

    @property
    def votes(self) -> bool:
        return self._person is not None and self._person.shares_vote

    @property
    def exact_persons(self) -> int:
        self.keep_codes()
        return self._exact_persons

    def require_repeatable(self) -> None:
        """Accept: a cluster can read its rows any number of times."""

    def require_labels(self) -> None:
        """Refuse: raw values do not come to the driver."""
        raise SourceError(
            "labels cannot be discovered in rows on Spark, since raw values do not leave the executors; list them in "
            "the schema, or measure them first with `sklar schema pay` on a file"
        )

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Refuse: raw values do not come to the driver."""
        self.require_labels()
        return iter(())

    @property
    def exact_rows(self) -> int:
        self.keep_codes()
        assert self._exact_rows is not None
        return self._exact_rows

    def keep_codes(self) -> None:
        """Encode all rows once; the executors keep the codes in memory, those that do not fit are encoded again."""
        if self._exact_rows is not None:
            return
        from pyspark import StorageLevel
        from pyspark.sql import functions

        self.passes += 1
        level = StorageLevel.MEMORY_AND_DISK if self._to_disk else StorageLevel.MEMORY_ONLY
        rows_at_once = min(max(BATCH_CELLS // max(len(self.schema.modelled), 1), 1024), 1 << 16)
        rows_at_once = rows_at_once if self._person is None else tasks.PERSON_BATCH
        self._origin.require_unchanged()
        with self._batches_of(rows_at_once):
            codes = on_cluster(lambda: self._origin.codes().persist(level))
            self._codes = codes  # known before they are made, so that a pass that fails leaves none on the cluster
            sums = [functions.sum(name) for name in ("rows", "persons")]
            counts = self._run(lambda: codes.groupBy(functions.spark_partition_id()).agg(*sums).collect(), begins=True)
        self._origin.require_unchanged()
        rows, self._exact_persons = (sum(int(row[at]) for row in counts) for at in (1, 2))
        if self._person is None:
            self._origin.require_rows(rows)
        self._exact_rows, self._partitions = rows, max(len(counts), 1)

    def run_job(self, job: Job) -> tuple[Ints, ...]:
        """Run a job and add up its answers in a tree of tasks."""
        self.keep_codes()

        def count(branches: int) -> Any:
            return self._codes.mapInArrow(
                tasks.answering_task(job, self.schema, branches, votes=self.votes), tasks.SUMS_TYPE
            )

        return self._tree(job.shapes, self._partitions, count)

    def run_group_job(self, job: GroupJob) -> tuple[Ints, ...]:
        """Return the codes are exchanged between executors."""
        groups = max(count_groups(16 * self.exact_rows, len(job.columns)), self._partitions)
        apart = tasks.grouping_task(job.columns, self.schema, groups, votes=self.votes)

        def count(branches: int) -> Any:
            sorted_out = self._codes.mapInArrow(apart, tasks.GROUPS_TYPE).repartition(groups, "part")
            return sorted_out.mapInArrow(tasks.group_answering_task(job, branches), tasks.SUMS_TYPE)

        return self._tree(job.shapes, groups, count)

    def close(self) -> None:
        """Let the executors forget the codes, and end a session that was started here."""
        if self._codes is not None:
            on_cluster(lambda: self._codes.unpersist())
            self._codes = None
        if self._owns_session:
            self._session.stop()
            self._owns_session = False

    def _tree(self, shapes: tuple[tuple[int, ...], ...], parts: int, count: Callable[[int], Any]) -> tuple[Ints, ...]:
        """Add answers level by level until few enough are left for the driver to add."""
        cells = 1 + sum(int(np.prod(shape)) for shape in shapes)
        with self._batches_of(BLOBS):
            rows = self._run(lambda: _add_up(count, parts, cells).collect())
        totals: dict[tuple[int, int], Ints] = {}
        for _, chunk, sums in rows:
            tasks.add_chunk(totals, (0, chunk), bytes(sums))
        flat = np.zeros(cells, dtype=np.int64)
        for (_, chunk), sums in totals.items():
            flat[chunk * tasks.CHUNK_CELLS :][: len(sums)] = sums
        if flat[0] != self._exact_rows:
            raise SourceError(
                "the rows on Spark are other rows than before; write the frame to files, or persist it, and run again"
            )
        answers = np.split(flat[1:], np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1])
        return tuple(answer.reshape(shape) for answer, shape in zip(answers, shapes, strict=True))

    def _run(self, call: Callable[[], Any], begins: bool = False) -> Any:
        """Run one Spark job, and report its progress."""
        return on_cluster(lambda: run_watched(self._session, call, self._progress, begins))

    @contextmanager
    def _batches_of(self, rows: int) -> Generator[None]:
        """Set the number of rows that tasks receive at once; restores the session's own setting afterwards."""
        before = self._session.conf.get(BATCH_SETTING)
        self._session.conf.set(BATCH_SETTING, str(rows))
        try:
            yield
        finally:
            self._session.conf.set(BATCH_SETTING, before)


def _add_up(count: Callable[[int], Any], parts: int, cells: int) -> Any:
    if _fits_driver(parts, cells):
        return count(1)
    width = -(-parts // FAN_IN)
    frame = _level(count(width), width, cells)
    while not _fits_driver(width, cells):
        width = -(-width // FAN_IN)
        frame = _level(frame, width, cells)
    return frame


def _fits_driver(parts: int, cells: int) -> bool:
    return parts == 1 or (parts <= FAN_IN and 8 * cells * parts <= DRIVER_BYTES)


def _level(frame: Any, width: int, cells: int) -> Any:
    """Return one level of the tree: all answers of a branch meet, chunk by chunk, and `width` of them are left.

    The branches of the next level are those of this one, taken modulo their number.
    """
    together = frame.repartition(min(width * -(-cells // tasks.CHUNK_CELLS), MOST_TASKS), "branch", "chunk")
    return together.mapInArrow(tasks.adding_task(-(-width // FAN_IN)), tasks.SUMS_TYPE)

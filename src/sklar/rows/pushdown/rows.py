"""Private rows that are counted inside their database; other jobs run here, with a warning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklar.arrays import Ints
from sklar.counting.jobs import GroupJob, Job
from sklar.counting.tables import CountJob
from sklar.errors import StreamedWarning, warn_user
from sklar.rows.codes.table import EncodedRows
from sklar.rows.pushdown.encoding import InexactError
from sklar.rows.pushdown.engines import Engine, engine_of
from sklar.rows.sources.source import Source
from sklar.schema import Schema
from sklar.schema.coordinates import Coordinates
from sklar.schema.reading import Progress


class PushedRows:
    """Rows of a table in a database, counted there."""

    def __init__(self, here: EncodedRows, engine: Engine, progress: Progress | None):
        self._here, self._engine, self._progress = here, engine, progress
        self.schema: Schema = here.schema
        self.null_values: tuple[str, ...] = here.null_values
        self._exact_rows: int | None = None

    @property
    def passes(self) -> int:
        return self._engine.scans + self._here.passes

    @property
    def exact_rows(self) -> int:
        if self._exact_rows is None:
            self._exact_rows = self._engine.rows()
        return self._exact_rows

    @property
    def exact_persons(self) -> int:
        return self.exact_rows

    @property
    def votes(self) -> bool:
        """Rows that share a vote are streamed."""
        return False

    def require_repeatable(self) -> None:
        """Accept: a table of a database can be read any number of times."""

    def keep_codes(self) -> None:
        """Compute or plan the codes in the database: a query that it refuses must fail before a charge."""
        self._engine.prepare()

    def require_labels(self) -> None:
        self._here.require_labels()

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        self._say("unlisted labels are discovered")
        return self._here.raw_batches(columns)

    def run_job(self, job: Job) -> tuple[Ints, ...]:
        if isinstance(job, CountJob):
            if self._progress:
                self._progress(0.0)
            return self._engine.counts(job.plan)
        self._say("this method needs the codes of whole rows")
        return self._here.run_job(job)

    def run_group_job(self, job: GroupJob) -> tuple[Ints, ...]:
        self._say("this method needs the codes of whole rows")
        return self._here.run_group_job(job)

    def close(self) -> None:
        self._here.close()

    def _say(self, reason: str) -> None:
        warn_of_streaming(reason)


def pushed_rows(
    source: Source, by: Coordinates, here: EncodedRows, most_bytes: int, progress: Progress | None
) -> PushedRows | EncodedRows:
    """Return the rows of a source counted in its database, if that can be done exactly; else here, with a warning."""
    try:
        engine = engine_of(source, by, here.null_values, most_bytes)
    except InexactError as reason:
        warn_of_streaming(str(reason))
        return here
    report = getattr(progress, "counted_in_database", None)
    if report is not None:
        report()
    return PushedRows(here, engine, progress)


def warn_of_streaming(reason: str) -> None:
    """Warn that rows leave the database although counts inside it were requested."""
    warn_user(
        f"{reason}, which the database cannot count exactly: rows are streamed to this machine instead.",
        StreamedWarning,
    )

"""What went wrong on a cluster, in plain words: Spark's own messages may quote cells and are never passed on."""

from __future__ import annotations

import re
import threading
import uuid
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from sklar.errors import SklarError, SourceError
from sklar.rows.sources.source import Progress

T = TypeVar("T")
OWN_FAULT = re.compile(r"^[ \t]*sklar\.errors\.\w+: ([^\n]+)", re.MULTILINE)
"""The last line of a traceback; inside a line the same words could be those of a cell that Spark quotes."""
MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")


def on_cluster(call: Callable[[], T]) -> T:
    """Run a job, and raise SourceError for any failure of Spark, without a trace of what it said.

    As in `shielded`, the error is raised after the handler has ended.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Spark says about other libraries is not for our users
            return call()
    except (SklarError, MemoryError):
        raise
    except Exception as error:
        fault = _fault(str(error))
    raise SourceError(fault)


def _fault(text: str) -> str:
    own = OWN_FAULT.search(text)
    if own is not None:  # our own messages quote no cell
        return own.group(1).strip()
    missing = MISSING_MODULE.search(text)
    if missing is not None:
        return (
            f"the Python of the Spark executors has no module '{missing.group(1).split('.')[0]}'; install sklar there, "
            "and point spark.pyspark.python or PYSPARK_PYTHON to it"
        )
    if "PYTHON_VERSION_MISMATCH" in text or "different version" in text:
        return "the Spark executors run another version of Python than this process; point PYSPARK_PYTHON to the same"
    if "maxResultSize" in text:
        return "the tables of counts are larger than spark.driver.maxResultSize; raise it, or use coarser grids (bins)"
    return (
        "a Spark job failed: an executor died, or a task failed as often as Spark allows. Nothing was released by it; "
        "see the log of the cluster, then run the same fit again: it resumes"
    )


def guarded_task(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A task whose failures reach Spark's log without the text of any library, which could quote a cell."""

    def run(batches: Any) -> Any:
        try:
            yield from work(batches)
        except (SklarError, ImportError, MemoryError, GeneratorExit):
            raise
        except Exception:
            failed = True
        else:
            failed = False
        if failed:
            raise SourceError("a part of the rows could not be worked on")

    return run


SECONDS = 0.3
LEAST = 0.001


def watched(session: Any, call: Callable[[], T], progress: Progress | None, begins: bool) -> T:
    """Run a job and tell how far it is, if anybody wants to know; one that reads the rows themselves begins a pass."""
    if progress is None:
        return call()
    progress(0.0 if begins else LEAST)
    context, group, done = session.sparkContext, f"sklar-{uuid.uuid4()}", threading.Event()
    context.setJobGroup(group, "sklar: counting")
    watcher = threading.Thread(target=_watch, args=(context, group, progress, done), daemon=True)
    watcher.start()
    try:
        found = call()
        progress(1.0)
        return found
    finally:
        done.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)


def _watch(context: Any, group: str, progress: Progress, done: threading.Event) -> None:
    tracker = context.statusTracker()
    while not done.wait(SECONDS):
        try:
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        except Exception:  # only a picture of progress is lost
            return
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage]
        total = sum(count for _, count in tasks)
        if total:
            progress(max(min(sum(finished for finished, _ in tasks) / total, 0.99), LEAST))

"""How far a Spark job is: finished tasks out of all, asked for now and then while it runs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from sklar.rows.sources.source import Progress

T = TypeVar("T")
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

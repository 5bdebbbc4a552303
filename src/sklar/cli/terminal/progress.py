"""Progress bars on standard error, if it is a terminal, or in a file for the studio."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRESS_FILE = "SKLAR_PROGRESS"
"""Environment variable with a file to which progress is written as JSON, instead of bars."""
WRITE_INTERVAL = 0.2
"""Seconds between two updates of that file: a page reads it once a second."""


class FileBar:
    """A bar in a file: `{"what": ..., "fraction": ..., "since": ...}`, replaced as a whole.

    `since` is the time, in seconds, at which the present pass or step began. Beginnings are also kept, one a line, in a
    file beside it, from which the time of a later run is estimated.
    """

    def __init__(self, path: str, text: str, total: float | None = 1.0):
        self._path, self._what, self._total, self._completed, self._last = path, text, total, 0.0, -WRITE_INTERVAL
        self._since = time.time()
        self._write()
        self._note_beginning()

    def reset(self, task: object, *, description: str, total: float) -> None:
        """Start a new task."""
        self._since = time.time()
        self._completed, self._total = 0.0, total
        self.update(task, description=description)

    def update(
        self, task: object, *, completed: float | None = None, description: str | None = None, advance: float = 0.0
    ) -> None:
        """Update the progress; a new description is written at once."""
        self._completed = (self._completed if completed is None else completed) + advance
        new = description is not None and description != self._what
        self._what = description or self._what
        if new:
            self._note_beginning()
        if new or time.monotonic() - self._last >= WRITE_INTERVAL:
            self._write()

    def _note_beginning(self) -> None:
        with Path(f"{self._path}.times").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"what": self._what, "at": time.time()}) + "\n")

    def _write(self) -> None:
        self._last = time.monotonic()
        fraction = min(1.0, self._completed / self._total) if self._total else 0.0
        beside = Path(f"{self._path}.new")
        beside.write_text(
            json.dumps({"what": self._what, "fraction": fraction, "since": self._since}), encoding="utf-8"
        )
        beside.replace(self._path)


class Passes:
    """Progress callback for passes over a source: counts the passes, and shows them if there is a bar.

    Attributes:
        count: Number of passes begun. It depends on the size of the table, so it is shown but never stored.
        where: Where rows are counted: here, or in their database.
    """

    def __init__(self, bar: Any = None, task: Any = None, text: str = "", size: float = 1.0):
        self.count, self.where = 0, "here"
        self._bar, self._task, self._text, self._size = bar, task, text, size

    def doing(self, what: str) -> None:
        """Describe the purpose of the following passes."""
        self._text = what
        if self._bar is not None:
            self._bar.update(self._task, description=what)

    def counted_in_database(self) -> None:
        """Record that rows are counted in their database."""
        self.where = "database"

    def __call__(self, fraction: float) -> None:
        if fraction == 0:
            self.count += 1
        if self._bar is None:
            return
        if fraction == 0:
            self._bar.reset(self._task, description=f"{self._text}, pass {self.count}", total=self._size)
        self._bar.update(self._task, completed=fraction * self._size)


@contextmanager
def pass_bar(text: str, path: str | None = None) -> Generator[Passes]:
    """Show a bar for passes over a source, with rate and time left; the callback takes the fraction of the pass.

    Args:
        text: Description of the work.
        path: The file or folder that is read; its size gives the rate in bytes.
    """
    size = _bytes_of(path) / 1e6
    with _bar(text, size or 1.0, "{:,.1f} MB/s" if size else "") as shown:
        yield Passes() if shown is None else Passes(*shown, text, size or 1.0)


@contextmanager
def row_bar(text: str, rows: int | None) -> Generator[Callable[[int], None] | None]:
    """Show a bar for rows, with rate and time left; the callback takes numbers of rows. None without a bar."""
    with _bar(text, rows, "{:,.0f} rows/s") as shown:
        yield None if shown is None else lambda more: shown[0].update(shown[1], advance=more)


@contextmanager
def step_bar(text: str) -> Generator[Callable[[str, float], None] | None]:
    """Show a bar for named steps; the callback takes the step and the fraction done. None without a bar."""
    with _bar(text, 1.0) as shown:

        def update(what: str, fraction: float) -> None:
            if shown is not None:
                shown[0].update(shown[1], completed=fraction, description=f"{text}: {what}")

        yield None if shown is None else update


@contextmanager
def _bar(text: str, total: float | None, rate: str = "") -> Generator[tuple[Any, Any] | None]:
    """Open a bar and its task, in the progress file or at the terminal; None if there is neither."""
    if path := os.environ.get(PROGRESS_FILE):
        yield FileBar(path, text, total), None
        return
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(rate.format(task.speed) if task.speed else "")

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar, bar.add_task(text, total=total)


def part_of(
    progress: Callable[[str, float], None] | None, name: str, at: int, count: int
) -> Callable[[str, float], None] | None:
    """Return a callback for one of several tasks that share a bar."""
    if progress is None:
        return None
    return lambda what, fraction: progress(f"{name}, {what}", (at + fraction) / count)


def _bytes_of(path: str | None) -> int:
    """Return the size of a file, or of all files below a folder; 0 if it cannot be read."""
    if path is None:
        return 0
    try:
        if not os.path.isdir(path):
            return os.path.getsize(path)
        return sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(path) for f in files)
    except OSError:
        return 0

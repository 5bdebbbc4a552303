"""Progress bars on standard error, shown only when it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def pass_bar(text: str) -> Generator[Callable[[float], None] | None]:
    """A bar for passes over a source: told the fraction of the present pass. None when nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


@contextmanager
def row_bar(text: str, rows: int | None) -> Generator[Callable[[int], None] | None]:
    """A bar for rows written: told how many more there are. None when nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=rows)
        yield lambda more: bar.update(task, advance=more)


@contextmanager
def step_bar(text: str) -> Generator[Callable[[str, float], None] | None]:
    """A bar for work in named steps: told the step and the fraction done. None when nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda what, fraction: bar.update(task, completed=fraction, description=f"{text}: {what}")

"""HTML representations of results in notebooks, and progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

LINE = "1px solid rgba(128,128,128,.45)"
"""Style of lines that are visible on light and dark pages; texts have the colour of the page."""
MAX_TABLE_ROWS = 60
"""Maximum number of rows of a table; the number of the others is shown."""
MAX_UNBROKEN_LETTERS = 16
"""Cells with fewer letters are not broken, which leaves room for longer ones."""
BAR_DELAY = 1.0
"""Seconds before a progress bar is shown."""
BAR_INTERVAL = 0.2
"""Seconds between two updates of a progress bar."""


def make_card(title: str, *parts: str) -> str:
    """Return a box with a title around HTML parts."""
    head = f'<div style="font-weight:600;margin-bottom:.3em">{escape(title)}</div>'
    style = f"border:{LINE};border-radius:6px;padding:.6em .9em;margin:.4em 0;max-width:60em;overflow-x:auto"
    return f'<div class="sklar" style="{style}">{head}{"".join(parts)}</div>'


def make_paragraph(text: str) -> str:
    """Return a paragraph of text."""
    return f'<p style="margin:.3em 0">{escape(text)}</p>'


def make_bullets(texts: Iterable[str]) -> str:
    """Return a list of sentences; empty if there are none."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul style="margin:.3em 0;padding-left:1.2em">{items}</ul>' if items else ""


def make_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with numbers aligned to the right; long tables are cut."""
    listed = [list(row) for row in rows]
    cell = f"padding:.15em .7em;border-bottom:{LINE};vertical-align:top;text-align:"
    head = "".join(f'<th scope="col" style="{cell}left">{escape(heading)}</th>' for heading in headings)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{cell}{_choose_alignment(value)}">{escape(cell_text(value))}</td>' for value in row)
        + "</tr>"
        for row in listed[:MAX_TABLE_ROWS]
    )
    more = make_paragraph(f"and {len(listed) - MAX_TABLE_ROWS:,} more") if len(listed) > MAX_TABLE_ROWS else ""
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _choose_alignment(value: object) -> str:
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f"{side};white-space:nowrap" if len(cell_text(value)) < MAX_UNBROKEN_LETTERS else side


def cell_text(value: object) -> str:
    """Return the text of a table cell: numbers with a few digits, a dash for None."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def interval_text(found: Any) -> str:
    """Return a number with its interval (`value`, `low`, `high`), or a dash."""
    if found is None:
        return "-"
    value = f"{found.value:.3f}"
    return value if found.low == found.high else f"{value} ({found.low:.3f} to {found.high:.3f})"


Show = Callable[[str], None]
"""Displays HTML in place of what it displayed before."""


class NotebookBar:
    """A progress bar that appears once the work takes long.

    It is called with (what, fraction) for named steps, or with (fraction) and `doing` for passes over rows; the step
    "done" removes it.
    """

    def __init__(self, text: str, show: Show, clock: Callable[[], float] = time.monotonic):
        self._text, self._what, self._show, self._clock = text, "", show, clock
        self._next = clock() + BAR_DELAY

    def __call__(self, what: str | float, fraction: float | None = None) -> None:
        if isinstance(what, str):
            self._what = what
        if what == "done":
            self.close()
            return
        self._draw(float(what) if fraction is None else fraction)

    def doing(self, what: str) -> None:
        """Describe the purpose of the following passes."""
        self._what = what

    def _draw(self, fraction: float) -> None:
        if self._clock() < self._next:
            return
        self._next = self._clock() + BAR_INTERVAL
        share = min(max(fraction, 0.0), 1.0)
        words = f"{self._text}: {self._what}" if self._what else self._text
        bar = f'<progress max="1" value="{share:.3f}" style="vertical-align:middle"></progress>'
        self._show(f"<div>{bar} {escape(words)} ({share:.0%})</div>")

    def close(self) -> None:
        """Remove the bar."""
        self._show("")


def duration_text(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def notebook_bar(text: str) -> NotebookBar | None:
    """Return a progress bar below the running cell; None outside of notebooks."""
    ipython: Any = sys.modules.get("IPython")  # already imported in any notebook
    if ipython is None or not getattr(ipython.get_ipython(), "kernel", None):
        return None
    display, handle = ipython.display, list[Any]()

    def show(html: str) -> None:
        if not handle and html:
            handle.append(display.display(display.HTML(html), display_id=True))
        elif handle:
            handle[0].update(display.HTML(html))

    return NotebookBar(text, show)


def notebook_rows(text: str, rows: int) -> Callable[[int], None] | None:
    """Return a callback for numbers of rows that shows a progress bar; None outside of notebooks."""
    bar = notebook_bar(text)
    return None if bar is None else count_rows(bar, rows)


def count_rows(bar: NotebookBar, rows: int) -> Callable[[int], None]:
    """Return a callback that adds up numbers of rows and updates a bar."""
    written = 0

    def update(more: int) -> None:
        nonlocal written
        written += more
        bar("done" if written >= rows else f"{written:,} of {rows:,} rows", written / max(rows, 1))

    return update

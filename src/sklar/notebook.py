"""How results look in a notebook: plain HTML in the colours of the page it stands in, and a bar for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

LINE = "1px solid rgba(128,128,128,.45)"
"""Seen on light and dark pages alike; texts take the colour of the page itself."""
MOST_ROWS = 60
"""Rows of a table that are shown; the rest is told by its number."""
SHORT = 16
"""Letters of a cell that stays on one line: the longer ones beside it have the room to break."""
PATIENCE = 1.0
"""Seconds before a bar is shown: what is done sooner needs none."""
EVERY = 0.2
"""Seconds between two pictures of a bar."""


def card(title: str, *parts: str) -> str:
    """A box with a title around parts that are HTML already."""
    head = f'<div style="font-weight:600;margin-bottom:.3em">{escape(title)}</div>'
    style = f"border:{LINE};border-radius:6px;padding:.6em .9em;margin:.4em 0;max-width:60em;overflow-x:auto"
    return f'<div class="sklar" style="{style}">{head}{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """A text."""
    return f'<p style="margin:.3em 0">{escape(text)}</p>'


def bullets(texts: Iterable[str]) -> str:
    """Sentences one below the other; nothing if there are none."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul style="margin:.3em 0;padding-left:1.2em">{items}</ul>' if items else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers stand to the right, and what is too long is cut with a word about the rest."""
    listed = [list(row) for row in rows]
    cell = f"padding:.15em .7em;border-bottom:{LINE};vertical-align:top;text-align:"
    head = "".join(f'<th scope="col" style="{cell}left">{escape(heading)}</th>' for heading in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="{cell}{_side(value)}">{escape(cell_text(value))}</td>' for value in row) + "</tr>"
        for row in listed[:MOST_ROWS]
    )
    more = paragraph(f"and {len(listed) - MOST_ROWS:,} more") if len(listed) > MOST_ROWS else ""
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _side(value: object) -> str:
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f"{side};white-space:nowrap" if len(cell_text(value)) < SHORT else side


def cell_text(value: object) -> str:
    """What stands in a cell of a table: numbers with a few digits, a dash for nothing."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def interval_text(found: Any) -> str:
    """A number with its interval (`value`, `low`, `high`), or a dash."""
    if found is None:
        return "-"
    value = f"{found.value:.3f}"
    return value if found.low == found.high else f"{value} ({found.low:.3f} to {found.high:.3f})"


Show = Callable[[str], None]
"""Puts HTML in the place of what it showed before."""


class NotebookBar:
    """Told what is being done and how far it is; shows it once it takes long.

    It is told by calls (what, fraction) of work in named steps, or (fraction) and `doing` of passes over rows; with the
    step "done" it goes away.
    """

    def __init__(self, text: str, show: Show, clock: Callable[[], float] = time.monotonic):
        self._text, self._what, self._show, self._clock = text, "", show, clock
        self._next = clock() + PATIENCE

    def __call__(self, what: str | float, fraction: float | None = None) -> None:
        if isinstance(what, str):
            self._what = what
        if what == "done":
            self.close()
            return
        self._draw(float(what) if fraction is None else fraction)

    def doing(self, what: str) -> None:
        """What the passes that follow are for."""
        self._what = what

    def _draw(self, fraction: float) -> None:
        if self._clock() < self._next:
            return
        self._next = self._clock() + EVERY
        share = min(max(fraction, 0.0), 1.0)
        words = f"{self._text}: {self._what}" if self._what else self._text
        bar = f'<progress max="1" value="{share:.3f}" style="vertical-align:middle"></progress>'
        self._show(f"<div>{bar} {escape(words)} ({share:.0%})</div>")

    def close(self) -> None:
        """Take it away."""
        self._show("")


def duration_text(seconds: float) -> str:
    """How long something takes, for people who wait."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def notebook_bar(text: str) -> NotebookBar | None:
    """A bar below the cell that is running; None outside of notebooks."""
    ipython: Any = sys.modules.get("IPython")  # whoever runs in a notebook has it
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
    """A bar that is told how many more rows there are, and goes away with the last; None outside of notebooks."""
    bar = notebook_bar(text)
    return None if bar is None else count_rows(bar, rows)


def count_rows(bar: NotebookBar, rows: int) -> Callable[[int], None]:
    """Tells a bar of rows by their number."""
    written = 0

    def tell(more: int) -> None:
        nonlocal written
        written += more
        bar("done" if written >= rows else f"{written:,} of {rows:,} rows", written / max(rows, 1))

    return tell

"""Output of commands: lines and tables, or JSON."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar, cast

import typer

from sklar.errors import OutputError
from sklar.notebook import cell_text

if TYPE_CHECKING:
    from sklar.accounting.claim import Claim

PIPE_WIDTH = 10_000
JSON_WANTED: ContextVar[bool] = ContextVar("JSON_WANTED", default=False)
"""Whether the running command has --json."""


def print_line(text: str = "") -> None:
    """Print one line on standard output."""
    try:
        typer.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {(error.strerror or 'it failed').lower()}.") from None


def note(text: str) -> None:
    """Print one line on standard error."""
    complain("note", text)


def complain(kind: Literal["error", "warning", "note"], text: str, **facts: Any) -> None:
    """Print a message on standard error: as text, or as one line of JSON for a command with --json."""
    if JSON_WANTED.get():
        typer.echo(json.dumps({kind: text, **facts}), err=True)
    else:
        typer.echo(text if kind == "note" else f"{kind.capitalize()}: {text}", err=True)


def as_json(value: Any) -> None:
    """Print plain data as JSON on standard output."""
    print_line(json.dumps(_plain(value), indent=2, ensure_ascii=not writes_unicode(sys.stdout), allow_nan=False))


def writes_unicode(stream: Any) -> bool:
    """Return whether a stream can write every character; a Windows console in cp1252 cannot."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def print_result(as_data: bool, data: Any, *lines: str) -> None:
    """Print the result of a command: data as JSON, or lines."""
    if as_data:
        as_json(data)
    else:
        for text in lines:
            print_line(text)


def print_paragraph(text: str) -> None:
    """Print text wrapped to the width of the terminal; one long line without a terminal."""
    if not sys.stdout.isatty():
        print_line(text)
        return
    import textwrap

    print_line(textwrap.fill(text, min(shutil.get_terminal_size().columns, 100)))


def print_claim(stated: Claim) -> None:
    """Print a claim: one paragraph, and a table of what it rests on."""
    print_paragraph(stated.summary)
    print_line()
    print_table(["The claim rests on", "stated"], stated.basis)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table without lines: folded to the terminal, or as wide as its content in a pipe."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    listed = [[cell_text(value) for value in row] for row in rows]
    for i, heading in enumerate(headings):
        numeric = bool(listed) and all(_looks_numeric(row[i]) for row in listed)
        grid.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        grid.add_row(*row)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    text = io.StringIO()
    Console(file=text, markup=False, highlight=False, emoji=False, width=width).print(grid)
    for row in text.getvalue().splitlines():
        print_line(row.rstrip())


def format_number(value: float | None) -> str:
    """Return a number with a few digits."""
    return "-" if value is None else f"{value:.4g}"


def _looks_numeric(text: str) -> bool:
    return text == "-" or text.replace(",", "").replace(".", "").replace("-", "").replace("e+", "").isdigit()


def _plain(value: Any) -> Any:
    """Return data for JSON, which has no infinity: it becomes the text "inf"."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    item = getattr(value, "item", None)
    return _plain(item()) if callable(item) else str(value)


def name_report(value: str | None) -> str | None:
    """Return the name of a report on real rows, with the ending .custodian.html."""
    if value is None:
        return None
    from sklar.report.page import custodian_name

    return custodian_name(value)


Report = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE", callback=name_report, help="HTML report; x.html is written as x.custodian.html."
    ),
]


class Finding(Protocol):
    """An evaluation or an attack."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        ...


T = TypeVar("T", bound=Finding)


def require_reportable(report: str | None) -> None:
    """Refuse an unusable path of the report before any work is done."""
    from sklar.report.page import require_report

    if report is not None:
        require_report(report)


def hand_over(
    found: Sequence[T],
    *,
    print_one: Callable[[T], None],
    report: str | None,
    write: Callable[[Sequence[T], str], None],
    json: bool,
) -> None:
    """Write the report, if any, and print the findings, or JSON: an object, or a list of several."""
    from sklar.report.page import NOTICE

    if report is not None:
        write(found, report)
    if json:
        plain = [one.to_dict() for one in found]
        as_json(plain if len(plain) > 1 else plain[0])
        return
    print_line(NOTICE)
    for one in found:
        print_one(one)
    if report is not None:
        print_line(f"Written, readable by its owner only: {report}")

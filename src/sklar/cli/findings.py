"""Handing over what was found on real rows: a report, JSON, and words on the terminal. For the custodian only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar

import typer

from sklar.cli import show

Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="HTML report; its name ends in .custodian.html.")
]


class Finding(Protocol):
    """An evaluation or an attack."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        ...


T = TypeVar("T", bound=Finding)


def require_reportable(report: str | None) -> None:
    """Refuse a place for the report before any work is done."""
    from sklar.pipeline.custodian import require_report

    if report is not None:
        require_report(report)


def hand_over(
    found: Sequence[T],
    *,
    tell: Callable[[T], None],
    report: str | None,
    write: Callable[[Sequence[T], str], None],
    json: bool,
) -> None:
    """Write the report if it was asked for, and tell the rest; JSON stands alone: an object, or a list of several."""
    from sklar.pipeline.custodian import NOTICE

    if report is not None:
        write(found, report)
    if json:
        plain = [one.to_dict() for one in found]
        show.as_json(plain if len(plain) > 1 else plain[0])
        return
    show.line(NOTICE)
    for one in found:
        tell(one)
    if report is not None:
        show.line(f"Written, for its owner only: {report}")

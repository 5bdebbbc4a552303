"""Handing over what was found on real rows: a report, JSON, and words on the terminal. For the custodian only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from sklar.cli import show
from sklar.cli.options import STANDARD_OUTPUT


class Finding(Protocol):
    """An evaluation or an attack."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        ...


T = TypeVar("T", bound=Finding)


def hand_over(
    found: Sequence[T],
    *,
    notice: str,
    tell: Callable[[T], None],
    report: tuple[str | None, Callable[[Sequence[T], str], None]],
    json: tuple[str | None, Callable[[Sequence[T], str], None]],
) -> None:
    """Write what was asked for, each path with its writer, and tell the rest; JSON on standard output stands alone."""
    for path, write in (report, json):
        if path is not None and path != STANDARD_OUTPUT:
            write(found, path)
    if json[0] == STANDARD_OUTPUT:
        plain = [one.to_dict() for one in found]
        show.as_json(plain if len(plain) > 1 else plain[0])
        return
    show.line(notice)
    for one in found:
        tell(one)
    for path in (report[0], json[0]):
        if path is not None:
            show.line(f"Written, for its owner only: {path}")

"""The paper's value, ours as published and ours by default, side by side: how every script ends."""

from __future__ import annotations

from dataclasses import dataclass, field

HEADS = ("what", "paper", "as published", "ours")
ABSENT = "-"
"""Where the paper has no number, or a form does not exist or was not run."""


@dataclass(slots=True)
class Beside:
    """Lines of a table: what is measured, the paper's value, and both of ours."""

    lines: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])

    def add(self, what: str, paper: object = None, published: object = None, ours: object = None) -> None:
        """Add a line; numbers are shown with four digits, None as absent."""
        self.lines.append((what, _shown(paper), _shown(published), _shown(ours)))

    def show(self) -> None:
        """Print the table with columns of equal width."""
        widths = [max(len(line[at]) for line in (HEADS, *self.lines)) for at in range(len(HEADS))]
        for line in (HEADS, *self.lines):
            print("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip(), flush=True)


def _shown(value: object) -> str:
    return ABSENT if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

"""Releases with what is known about their noise, and the model beside them: one column, or the dependence of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sklar.report.charts.canvas import Canvas, Label, Path, Picture, Shape, outline, rectangle
from sklar.report.charts.compared import GAP, PANEL, ROOM, Grid, Ticks, shortened, ticks_below
from sklar.report.charts.plots import LETTER, Frame
from sklar.report.colours import REAL, SYNTHETIC, diverge

LEAST_TOP = 1e-6
"""Dependence smaller than this, as a share of rows, has the colour of none."""


class ColumnShown(Protocol):
    """One column: released shares with half widths of their intervals, and the model's shares."""

    @property
    def column(self) -> str: ...
    @property
    def released(self) -> Sequence[float]: ...
    @property
    def bands(self) -> Sequence[float]: ...
    @property
    def model(self) -> Sequence[float]: ...
    @property
    def numeric(self) -> bool: ...
    @property
    def ticks(self) -> Ticks: ...
    @property
    def seen(self) -> str: ...


class DependenceShown(Protocol):
    """Two columns: by how much shares of rows exceed those of independent columns, as released and in the model."""

    @property
    def columns(self) -> tuple[str, str]: ...
    @property
    def released(self) -> Grid: ...
    @property
    def model(self) -> Grid: ...
    @property
    def ticks(self) -> tuple[Ticks, Ticks]: ...
    @property
    def seen(self) -> str: ...


def band_chart(shown: ColumnShown) -> Canvas:
    """The model's shares filled, and over each the interval in which the true share lies."""
    both = zip(shown.released, shown.bands, strict=True)
    ends = [(max(value - band, 0.0), max(value + band, 0.0)) for value, band in both]
    top = max([*shown.model, *(high for _, high in ends), 1e-12])
    frame = Frame(left=34, right=278, top=14, bottom=106, up=(0.0, top))
    step = (frame.right - frame.left) / max(1, len(shown.model))
    gap = 0.0 if shown.numeric else min(step * 0.2, 6)
    left = [frame.left + i * step for i in range(len(shown.model))]
    bars = tuple(
        rectangle(x + gap / 2, frame.bottom, x + step - gap / 2, frame.y(share))
        for x, share in zip(left, shown.model, strict=True)
        if share > 0
    )
    bands = tuple(
        ((x + step / 2, frame.y(low)), (x + step / 2, frame.y(high))) for x, (low, high) in zip(left, ends, strict=True)
    )
    shapes: list[Shape] = [
        Path(pieces=bars, fill=SYNTHETIC, opacity=0.4),
        Path(pieces=bands, colour=REAL, width=max(1.5, min(4.0, step / 3))),
        *frame.axes("", [], [(frame.top, f"{top:.1%}" if top < 0.1 else f"{top:.0%}"), (frame.bottom, "0")])[:3],
        *ticks_below(shown.ticks, frame.left, frame.right, frame.bottom),
    ]
    return Canvas(width=284, height=126, title=f"{shown.column}: {shown.seen}", shapes=tuple(shapes))


def dependence_chart(shown: DependenceShown) -> Canvas:
    """Both on one scale: orange where there are more rows than if the columns were independent, blue where fewer."""
    both = (("released", shown.released), ("model", shown.model))
    top = max([abs(value) for _, grid in both for row in grid for value in row] + [LEAST_TOP])
    shapes: list[Shape] = []
    for at, (name, grid) in enumerate(both):
        x = ROOM + at * (PANEL + GAP)
        pixels = tuple(tuple(diverge(float(value), top) for value in row) for row in grid)[::-1]
        shapes += [
            Picture(x=x, y=16, width=PANEL, height=PANEL, rows=pixels),
            outline(x, 16.0, PANEL),
            Label(x=x + PANEL / 2, y=11, text=name, anchor="middle"),
            *ticks_below(shown.ticks[1], x, x + PANEL, 16 + PANEL),
        ]
    for place, text in shown.ticks[0]:
        y = 16 + PANEL * (1 - place)
        shapes.append(Label(x=ROOM - 4, y=y + 4, text=shortened(text, (ROOM - 6) / LETTER), anchor="end"))
    width = ROOM + 2 * PANEL + GAP + 6
    return Canvas(width=width, height=154, title=f"{' and '.join(shown.columns)}: {shown.seen}", shapes=tuple(shapes))

"""Charts of two tables, or of a release and its model: cells of a column, joint cells of a pair, correlations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from sklar.report.charts.canvas import Canvas, Label, Path, Picture, Shape, make_outline, make_rectangle
from sklar.report.charts.plots import LETTER, Frame
from sklar.report.colours import AXIS, REAL, SYNTHETIC, Colour, diverge, shade
from sklar.report.seen import correlations_seen

MIN_LABEL_LETTERS = 7
"""Minimum number of letters of a shortened label."""
PANEL, ROOM, GAP = 118.0, 62.0, 12.0
"""Pixels of either picture of a pair, of the texts left of them, and between them."""
CELL, LEAST_MATRIX = 13.0, 190.0
"""Pixels of a cell of a matrix with named columns, and of a whole small matrix."""
MAX_NAMED_COLUMNS, MAX_NAME_LETTERS = 40, 14
"""Maximum number of columns that a matrix names (more are numbered, every tenth), and of letters of a name."""
MAX_TOOLTIP_COLUMNS = 24
"""Maximum number of columns of a matrix whose cells have tooltips: each takes a hundred bytes."""
MIN_DEPENDENCE = 1e-6
"""Dependence smaller than this, as a share of rows, is drawn as none."""
Grid = Sequence[Sequence[float]]
Ticks = Sequence[tuple[float, str]]


class ColumnDrawn(Protocol):
    """One column of a chart."""

    @property
    def column(self) -> str: ...
    @property
    def numeric(self) -> bool: ...
    @property
    def ticks(self) -> Ticks: ...
    @property
    def seen(self) -> str: ...


class MarginShown(ColumnDrawn, Protocol):
    """One column of two tables."""

    @property
    def real(self) -> Sequence[float]: ...
    @property
    def synthetic(self) -> Sequence[float]: ...


class ReleaseShown(ColumnDrawn, Protocol):
    """One column: released shares with half widths of their intervals, and the model's shares."""

    @property
    def released(self) -> Sequence[float]: ...
    @property
    def bands(self) -> Sequence[float]: ...
    @property
    def model(self) -> Sequence[float]: ...


class PairDrawn(Protocol):
    """Two columns of a chart, the first one upwards, the second one to the right."""

    @property
    def columns(self) -> tuple[str, str]: ...
    @property
    def ticks(self) -> tuple[Ticks, Ticks]: ...
    @property
    def seen(self) -> str: ...


class PairShown(PairDrawn, Protocol):
    """Joint shares of two tables."""

    @property
    def real(self) -> Grid: ...
    @property
    def synthetic(self) -> Grid: ...


class DependenceShown(PairDrawn, Protocol):
    """Shares of rows minus those of independent columns, as released and in the model."""

    @property
    def released(self) -> Grid: ...
    @property
    def model(self) -> Grid: ...


def margin_chart(margin: MarginShown) -> Canvas:
    """Draw the cells of a column: the real shares filled, the synthetic ones as a line with marks.

    A bar much higher than all others is cut, with its share on top, so that the others are visible.
    """
    real, synthetic = margin.real, margin.synthetic
    cut = _cut_level(real) if margin.numeric else None
    frame, ends, shapes = _bars(margin, real, cut or max([*real, *synthetic, 1e-12]), REAL)
    marks = tuple(((a, frame.y(s)), (b, frame.y(s))) for (a, b), s in zip(ends, synthetic, strict=True))
    shapes.insert(1, Path(pieces=marks, colour=SYNTHETIC, width=2.5))
    if cut is not None:
        at = max(range(len(real)), key=lambda i: real[i])
        anchor, x = ("start", ends[at][0]) if at < len(real) / 2 else ("end", ends[at][1])
        text = f"↑ {real[at]:.0%} / {synthetic[at]:.0%}"
        shapes.append(Label(x=x, y=9, text=text, anchor=anchor))
    return Canvas(width=284, height=126, title=f"{margin.column}: {margin.seen}", shapes=tuple(shapes))


def band_chart(shown: ReleaseShown) -> Canvas:
    """Draw the model's shares filled, and the interval of each true share."""
    both = zip(shown.released, shown.bands, strict=True)
    limits = [(max(value - band, 0.0), max(value + band, 0.0)) for value, band in both]
    frame, ends, shapes = _bars(
        shown, shown.model, max([*shown.model, *(high for _, high in limits), 1e-12]), SYNTHETIC
    )
    middles = [(a + b) / 2 for a, b in ends]
    bands = tuple(((x, frame.y(low)), (x, frame.y(high))) for x, (low, high) in zip(middles, limits, strict=True))
    width = (frame.right - frame.left) / max(1, len(ends)) / 3
    shapes.insert(1, Path(pieces=bands, colour=REAL, width=max(1.5, min(4.0, width))))
    return Canvas(width=284, height=126, title=f"{shown.column}: {shown.seen}", shapes=tuple(shapes))


def _bars(
    shown: ColumnDrawn, shares: Sequence[float], top: float, colour: str
) -> tuple[Frame, list[tuple[float, float]], list[Shape]]:
    """Return the frame of a column with its axis up to `top`, both ends of each cell, and the bars and axes."""
    frame = Frame(left=34, right=278, top=14, bottom=106, up=(0.0, top))
    step = (frame.right - frame.left) / max(1, len(shares))
    gap = 0.0 if shown.numeric else min(step * 0.2, 6)
    ends = [(frame.left + i * step + gap / 2, frame.left + (i + 1) * step - gap / 2) for i in range(len(shares))]
    bars = tuple(
        make_rectangle(a, frame.bottom, b, frame.y(s)) for (a, b), s in zip(ends, shares, strict=True) if s > 0
    )
    shapes: list[Shape] = [
        Path(pieces=bars, fill=colour, opacity=0.4),
        *frame.axes("", [], [(frame.top, f"{top:.1%}" if top < 0.1 else f"{top:.0%}"), (frame.bottom, "0")])[:3],
        *ticks_below(shown.ticks, frame.left, frame.right, frame.bottom),
    ]
    return frame, ends, shapes


def pair_chart(pair: PairShown) -> Canvas:
    """Draw joint shares of both tables on the scale of the real ones, by square roots to show rare cells."""
    top = math.sqrt(max((x for row in pair.real for x in row), default=0.0))
    return _panels(pair, {"real": pair.real, "synthetic": pair.synthetic}, lambda value: shade(value**0.5, top))


def dependence_chart(shown: DependenceShown) -> Canvas:
    """Draw both on one scale: orange for more rows than under independence, blue for fewer."""
    grids = {"released": shown.released, "model": shown.model}
    top = max([abs(value) for grid in grids.values() for row in grid for value in row] + [MIN_DEPENDENCE])
    return _panels(shown, grids, lambda value: diverge(float(value), top))


def _panels(pair: PairDrawn, grids: Mapping[str, Grid], colour: Callable[[float], Colour]) -> Canvas:
    """Draw two grids of cells side by side, each below its name."""
    shapes: list[Shape] = []
    for at, (name, grid) in enumerate(grids.items()):
        x = ROOM + at * (PANEL + GAP)
        pixels = tuple(tuple(colour(value) for value in row) for row in grid)[::-1]
        shapes += [
            Picture(x=x, y=16, width=PANEL, height=PANEL, rows=pixels),
            make_outline(x, 16.0, PANEL),
            Label(x=x + PANEL / 2, y=11, text=name, anchor="middle"),
            *ticks_below(pair.ticks[1], x, x + PANEL, 16 + PANEL),
        ]
    for place, text in pair.ticks[0]:
        y = 16 + PANEL * (1 - place)
        shapes.append(Label(x=ROOM - 4, y=y + 4, text=shorten_text(text, (ROOM - 6) / LETTER), anchor="end"))
    width = ROOM + 2 * PANEL + GAP + 6
    return Canvas(width=width, height=154, title=f"{' and '.join(pair.columns)}: {pair.seen}", shapes=tuple(shapes))


def matrix_chart(what: str, columns: Sequence[str], real: Grid, synthetic: Grid, shown: str) -> Canvas:
    """Draw correlations of the real or the synthetic table, or their difference in strength (`shown`)."""
    count = len(columns)
    size = max(LEAST_MATRIX, CELL * min(count, MAX_NAMED_COLUMNS))
    cell = size / max(1, count)
    names = [shorten_text(name, MAX_NAME_LETTERS) for name in columns]
    room = 8 + LETTER * max((len(name) for name in names), default=0) if count <= MAX_NAMED_COLUMNS else 34.0
    drawn = {"real": real, "synthetic": synthetic, "difference": real}[shown]
    colours: tuple[tuple[Colour, ...], ...] = tuple(
        tuple(
            diverge(abs(b) - abs(a), 0.5) if shown == "difference" else shade(abs(c))
            for a, b, c in zip(*rows, strict=True)
        )
        for rows in zip(real, synthetic, drawn, strict=True)
    )
    titles = _make_titles(columns, real, synthetic) if count <= MAX_TOOLTIP_COLUMNS else ()
    shapes: list[Shape] = [
        Picture(x=room, y=4, width=size, height=size, rows=colours, titles=titles),
        make_outline(room, 4.0, size),
    ]
    text = min(11.0, cell)
    for at, name in enumerate(names):
        if count > MAX_NAMED_COLUMNS and (at + 1) % 10:
            continue
        label, middle = name if count <= MAX_NAMED_COLUMNS else str(at + 1), (at + 0.5) * cell
        size_of = text if count <= MAX_NAMED_COLUMNS else 11.0
        shapes += [
            Label(x=room - 4, y=4 + middle + size_of / 3, text=label, size=size_of, anchor="end"),
            Label(x=room + middle + size_of / 3, y=size + 8, text=label, size=size_of, anchor="end", turned=True),
        ]
    title = f"{what}, {shown}: {correlations_seen(columns, real, synthetic)}"
    return Canvas(width=room + size + 4, height=size + room + 6, title=title, shapes=tuple(shapes))


def _make_titles(columns: Sequence[str], real: Grid, synthetic: Grid) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(
            f"{columns[i]}, {columns[j]}: {real[i][j]:.2f} real, {synthetic[i][j]:.2f} synthetic"
            for j in range(len(columns))
        )
        for i in range(len(columns))
    )


def ticks_below(ticks: Ticks, left: float, right: float, bottom: float) -> list[Shape]:
    """Return texts below an axis, each cut to the available room, none beyond the ends.

    If too little of them is left, every other text is shown.
    """
    widths = [(b - a) * (right - left) for (a, _), (b, _) in pairwise(ticks)]
    letters = int((min(widths, default=right - left) - 3) / LETTER)
    texts = _placed(ticks, left, right, letters)
    while letters > 1 and any(b[0] - a[0] < (len(a[1]) + len(b[1])) * LETTER / 2 for a, b in pairwise(texts)):
        letters -= 1  # those at the ends were moved inwards
        texts = _placed(ticks, left, right, letters)
    if len(ticks) > 2 and letters < min(max(len(text) for _, text in ticks), MIN_LABEL_LETTERS):
        return ticks_below(ticks[::2], left, right, bottom)
    marks = tuple(((x, bottom), (x, bottom + 4)) for x in (left + place * (right - left) for place, _ in ticks))
    labels = [Label(x=x, y=bottom + 15, text=text, anchor="middle") for x, text in texts]
    return [Path(pieces=marks, colour=AXIS), *labels] if marks else []


def _placed(ticks: Ticks, left: float, right: float, letters: int) -> list[tuple[float, str]]:
    """Return the centres of texts that are cut to `letters` letters and kept on the axis."""
    out: list[tuple[float, str]] = []
    for place, text in ticks:
        shown = shorten_text(text, letters)
        half = len(shown) * LETTER / 2
        out.append((min(max(left + place * (right - left), left + half - 6), right - half + 6), shown))
    return out


def shorten_text(text: str, letters: float) -> str:
    return text if len(text) <= letters else text[: max(1, int(letters) - 1)] + "…"


def _cut_level(shares: Sequence[float]) -> float | None:
    """Return the share at which a very high bar is cut so that the others are visible; None if no bar is."""
    tall = sorted(shares, reverse=True)
    return 1.3 * tall[1] if len(tall) > 2 and tall[0] > 0.4 and 0 < tall[1] < tall[0] / 4 else None

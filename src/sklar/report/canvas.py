"""A drawing as plain shapes, and its two forms: SVG text, and PNG through matplotlib where that is installed."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from sklar.errors import UsageError

FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
INK, GRAY, PAPER, FRAME = "#1a1a1a", "#595959", "#ffffff", "#8c8c8c"
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A path of straight pieces."""

    points: tuple[tuple[float, float], ...]
    width: float
    color: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A framed rectangle with a text in its middle."""

    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text; y is its base line."""

    x: float
    y: float
    text: str
    size: float = 11.0
    anchor: Anchor = "start"
    color: str = INK
    bold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """Shapes in the order in which they are drawn, in pixels from the upper left corner."""

    width: float
    height: float
    title: str
    shapes: tuple[Line | Box | Label, ...]


def to_svg(canvas: Canvas) -> str:
    """The drawing as one SVG element; all texts are escaped."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {canvas.width:.0f} {canvas.height:.0f}" '
        f'width="{canvas.width:.0f}" height="{canvas.height:.0f}" role="img" aria-label="{escape(canvas.title)}" '
        f'font-family="{FONT}"><rect width="100%" height="100%" fill="{PAPER}"/>'
    )
    return head + "".join(_svg(shape) for shape in canvas.shapes) + "</svg>\n"


def _svg(shape: Line | Box | Label) -> str:
    if isinstance(shape, Line):
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in shape.points)
        look = f'stroke="{shape.color}" stroke-width="{shape.width:.1f}" stroke-linejoin="round"'
        return f'<path d="{path}" fill="none" {look}/>'
    if isinstance(shape, Box):
        place = f'x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}" rx="5"'
        frame = f'<rect {place} fill="{PAPER}" stroke="{FRAME}"/>'
        return frame + _svg(_caption(shape))
    look = f'font-size="{shape.size:g}" text-anchor="{shape.anchor}" fill="{shape.color}"'
    weight = ' font-weight="bold"' if shape.bold else ""
    return f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" {look}{weight}>{escape(shape.text)}</text>'


def _caption(box: Box) -> Label:
    return Label(x=box.x + box.width / 2, y=box.y + box.height / 2 + 4, text=box.text, anchor="middle")


def write_picture(canvas: Canvas, path: str | Path) -> None:
    """Write the drawing; the name's ending, .svg or .png, tells the form."""
    ending = Path(path).suffix.lower()
    if ending == ".svg":
        Path(path).write_text(to_svg(canvas), encoding="utf-8")
    elif ending == ".png":
        _write_png(canvas, Path(path))
    else:
        raise UsageError(f"a picture is written as .svg or .png; '{path}' ends in neither.")


def _write_png(canvas: Canvas, path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise UsageError("a .png picture needs matplotlib: pip install 'sklar[eval]', or ask for .svg.") from missing
    inch = 72.0  # one font point a pixel, as in the SVG
    figure = Figure(figsize=(canvas.width / inch, canvas.height / inch), dpi=min(144.0, 20_000 / canvas.height * inch))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, canvas.width)
    axes.set_ylim(canvas.height, 0)
    axes.axis("off")
    for shape in canvas.shapes:
        _draw(axes, shape)
    figure.savefig(path, format="png", facecolor=PAPER)


def _draw(axes: Any, shape: Line | Box | Label) -> None:
    from matplotlib.patches import FancyBboxPatch

    if isinstance(shape, Line):
        xs, ys = zip(*shape.points, strict=True)
        axes.plot(xs, ys, color=shape.color, linewidth=shape.width, solid_joinstyle="round", zorder=1)
    elif isinstance(shape, Box):
        frame = FancyBboxPatch(
            (shape.x, shape.y), shape.width, shape.height, boxstyle="round,pad=0,rounding_size=5", zorder=2,
            facecolor=PAPER, edgecolor=FRAME,
        )  # fmt: skip
        axes.add_patch(frame)
        _draw(axes, _caption(shape))
    else:
        sides = {"start": "left", "middle": "center", "end": "right"}
        axes.text(
            shape.x, shape.y, shape.text.replace("$", r"\$"), fontsize=shape.size, color=shape.color, zorder=3,
            ha=sides[shape.anchor], va="baseline", fontweight="bold" if shape.bold else "normal",
        )  # fmt: skip

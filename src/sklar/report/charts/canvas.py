"""A drawing as shapes, and its two output formats: SVG text, and PNG by matplotlib if that is installed."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from os import PathLike, fspath
from typing import Any, Literal

from sklar.errors import MissingExtraError, UsageError
from sklar.report.colours import AXIS, INK, PAPER, SOFT, Colour, theme_colour

FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
ENDINGS = (".svg", ".png")
GAP = 12.0
"""Pixels between pictures of a grid."""
MAX_PNG_SIDE = 20_000
"""Maximum number of pixels of a side of a PNG image."""
PAINT = re.compile(r'((?:fill|stroke)=")(#[0-9a-fA-F]{6})')
"""Pattern of the colour of a shape. It cannot match in texts, whose quotes are escaped."""
Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Straight lines, in one or several pieces; with a fill, pieces are closed areas."""

    pieces: tuple[tuple[Point, ...], ...]
    colour: str = "none"
    width: float = 1.0
    dash: str = ""
    fill: str = "none"
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A round mark."""

    x: float
    y: float
    radius: float
    fill: str
    colour: str = "none"
    title: str = ""


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
    """A text; y is its base line. Turned texts read upwards; the default size is that of the page, or 11."""

    x: float
    y: float
    text: str
    size: float = 0.0
    anchor: Anchor = "start"
    colour: str = ""
    bold: bool = False
    turned: bool = False
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A grid of coloured cells, the first row on top; each may have a tooltip."""

    x: float
    y: float
    width: float
    height: float
    rows: tuple[tuple[Colour, ...], ...]
    titles: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Shapes that share a tooltip."""

    shapes: tuple[Shape, ...]
    title: str


Shape = Path | Dot | Box | Label | Picture | Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """Shapes in the order in which they are drawn, in pixels from the upper left corner.

    Attributes:
        title: Its text alternative.
        role: Its CSS class in the page.
        style: Its own CSS.
    """

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]
    role: str = ""
    style: str = ""

    def _repr_svg_(self) -> str:
        return to_svg(self)


def side_by_side(parts: Mapping[str, Canvas], title: str, across: int = 3) -> Canvas:
    """Return pictures in a grid, each below its name."""
    wide, high = max(p.width for p in parts.values()) + 2 * GAP, max(p.height for p in parts.values()) + 3 * GAP
    shapes: list[Shape] = [Label(x=GAP, y=GAP + 2, text=title, colour=SOFT)]
    for at, (name, part) in enumerate(parts.items()):
        x, y = at % across * wide + GAP, at // across * high + 3 * GAP
        shapes.append(Label(x=x, y=y, text=name, bold=True))
        shapes += [_move_shape(shape, x, y + GAP / 2) for shape in part.shapes]
    rows = -(-len(parts) // across)
    return Canvas(width=across * wide, height=rows * high + 3 * GAP, title=title, shapes=tuple(shapes))


def _move_shape(shape: Shape, dx: float, dy: float) -> Shape:
    if isinstance(shape, Path):
        return replace(shape, pieces=tuple(tuple((x + dx, y + dy) for x, y in piece) for piece in shape.pieces))
    if isinstance(shape, Group):
        return replace(shape, shapes=tuple(_move_shape(inner, dx, dy) for inner in shape.shapes))
    return replace(shape, x=shape.x + dx, y=shape.y + dy)


def make_rectangle(x0: float, y0: float, x1: float, y1: float) -> tuple[Point, ...]:
    """Return the four corners, for a piece of a path."""
    return (x0, y0), (x0, y1), (x1, y1), (x1, y0)


def make_outline(x: float, y: float, side: float) -> Path:
    """Return a square around a picture."""
    corners = make_rectangle(x, y, x + side, y + side)
    return Path(pieces=((*corners, corners[0]),), colour=AXIS)


def to_svg(canvas: Canvas, *, inline: bool = False) -> str:
    """Return the drawing as one SVG element with escaped texts; inline, it has size, fonts and theme of its page."""
    size = f'viewBox="0 0 {canvas.width:.0f} {canvas.height:.0f}"'
    head = f'{size} role="img" aria-label="{escape(canvas.title)}"' + (f' class="{canvas.role}"' if canvas.role else "")
    body = (f"<style>{canvas.style}</style>" if canvas.style else "") + "".join(map(_to_svg_element, canvas.shapes))
    if inline:
        return f"<svg {head}>{PAINT.sub(lambda found: found[1] + theme_colour(found[2]), body)}</svg>"
    paper = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    plain = f'width="{canvas.width:.0f}" height="{canvas.height:.0f}" font-family="{FONT}" font-size="11" fill="{INK}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head} {plain}>{paper}{body}</svg>\n'


def _to_svg_element(shape: Shape) -> str:
    match shape:
        case Path():
            return _make_element("path", _format_path(shape), shape.title)
        case Dot():
            ring = f' stroke="{shape.colour}" stroke-width="2"' if shape.colour != "none" else ""
            place = f'cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}"'
            return _make_element("circle", f'{place} fill="{shape.fill}"{ring}', shape.title)
        case Box():
            place = f'{_format_place(shape)} rx="5" fill="{PAPER}" stroke="{AXIS}"'
            return f"<rect {place}/>{_to_svg_element(_make_caption(shape))}"
        case Label():
            return f"<text {_label_look(shape)}>{escape(shape.text)}</text>"
        case Picture():
            look = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
            return f'<image {_format_place(shape)} href="{image_address(shape.rows)}" {look}/>{_pointed(shape)}'
        case Group():
            inside = "".join(map(_to_svg_element, shape.shapes))
            return f'<g class="point" tabindex="0"><title>{escape(shape.title)}</title>{inside}</g>'


def _pointed(picture: Picture) -> str:
    """Return invisible cells with tooltips."""
    if not picture.titles:
        return ""
    wide, high = picture.width / len(picture.titles[0]), picture.height / len(picture.titles)
    return '<g fill-opacity="0">' + "".join(
        _make_element("rect", f'x="{_n(picture.x + j * wide)}" y="{_n(picture.y + i * high)}" '
                 f'width="{_n(wide)}" height="{_n(high)}"', title)
        for i, row in enumerate(picture.titles) for j, title in enumerate(row)
    ) + "</g>"  # fmt: skip


def _make_element(name: str, look: str, title: str) -> str:
    return f"<{name} {look}><title>{escape(title)}</title></{name}>" if title else f"<{name} {look}/>"


def _format_place(shape: Box | Picture) -> str:
    return f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" height="{_n(shape.height)}"'


def _format_path(path: Path) -> str:
    close = "" if path.fill == "none" else "Z"
    words = "".join("M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in piece) + close for piece in path.pieces)
    look = [f'd="{words}" fill="{path.fill}"']
    if path.colour != "none":
        look.append(f'stroke="{path.colour}" stroke-width="{_n(path.width)}" stroke-linejoin="round"')
    look += [f'stroke-dasharray="{path.dash}"'] if path.dash else []
    look += [f'opacity="{path.opacity:g}"'] if path.opacity < 1 else []
    return " ".join(look)


def _label_look(label: Label) -> str:
    x, y = _n(label.x), _n(label.y)
    look = [f'x="{x}" y="{y}" text-anchor="{label.anchor}"']
    look += [f'font-size="{label.size:g}"'] if label.size else []
    look += [f'fill="{label.colour}"'] if label.colour else []
    look += ['font-weight="bold"'] if label.bold else []
    look += [f'transform="rotate(-90 {x} {y})"'] if label.turned else []
    look += [f'class="{label.role}"'] if label.role else []
    return " ".join(look)


def _n(value: float) -> str:
    """Format a coordinate with few digits."""
    return f"{value:.1f}".removesuffix(".0")


def _make_caption(box: Box) -> Label:
    return Label(x=box.x + box.width / 2, y=box.y + box.height / 2 + 4, text=box.text, anchor="middle")


def image_address(rows: Sequence[Sequence[Colour]]) -> str:
    """Return a data URL of a PNG image with one pixel per cell; a hundred columns squared take a few kilobytes."""
    height, width = len(rows), len(rows[0]) if rows else 0
    raw = b"".join(b"\0" + b"".join(map(bytes, row)) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (
        _make_png_chunk(b"IHDR", header)
        + _make_png_chunk(b"IDAT", zlib.compress(raw, 9))
        + _make_png_chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def _make_png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def require_picture(path: str | PathLike[str]) -> None:
    """Refuse a name without the ending of a format."""
    if not fspath(path).lower().endswith(ENDINGS):
        raise UsageError(f"the name of a picture must end in .svg or .png; got '{fspath(path)}'.")


def write_picture(canvas: Canvas, path: str | PathLike[str], *, mode: int | None = None) -> None:
    """Write the drawing; the ending of the name, .svg or .png, determines the format."""
    from sklar.export.atomic import write_bytes

    require_picture(path)
    data = to_png(canvas) if fspath(path).lower().endswith(".png") else to_svg(canvas).encode()
    write_bytes(path, data, mode=mode)


def to_png(canvas: Canvas) -> bytes:
    """Return the drawing as a PNG image."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "a .png picture needs matplotlib: pip install '.[eval]' in the folder of Sklar, or ask for .svg."
        ) from None
    inch = 72.0  # one font point a pixel, as in the SVG
    dots = min(144.0, MAX_PNG_SIDE / max(canvas.width, canvas.height) * inch)
    figure = Figure(figsize=(canvas.width / inch, canvas.height / inch), dpi=dots)
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.axis("off")
    for order, shape in enumerate(_flatten(canvas.shapes)):
        _draw(axes, shape, order)
    axes.set_xlim(0, canvas.width)
    axes.set_ylim(canvas.height, 0)
    out = io.BytesIO()
    figure.savefig(out, format="png", facecolor=PAPER)
    return out.getvalue()


def _flatten(shapes: Sequence[Shape]) -> Iterator[Path | Dot | Box | Label | Picture]:
    for shape in shapes:
        if isinstance(shape, Group):
            yield from _flatten(shape.shapes)
        else:
            yield shape


def _draw(axes: Any, shape: Path | Dot | Box | Label | Picture, order: int) -> None:
    match shape:
        case Path():
            style = (0, tuple(float(x) for x in shape.dash.split())) if shape.dash else "-"
            for piece in shape.pieces:
                xs, ys = zip(*piece, strict=True)
                if shape.fill != "none":
                    axes.fill(xs, ys, color=shape.fill, alpha=shape.opacity, linewidth=0, zorder=order)
                if shape.colour != "none":
                    look: dict[str, Any] = {"linewidth": shape.width, "linestyle": style, "alpha": shape.opacity}
                    axes.plot(xs, ys, color=shape.colour, solid_joinstyle="round", zorder=order, **look)
        case Dot():
            ring = shape.fill if shape.colour == "none" else shape.colour
            axes.plot(
                shape.x, shape.y, "o", markersize=2 * shape.radius, markerfacecolor=shape.fill, markeredgecolor=ring,
                markeredgewidth=2 if shape.colour != "none" else 0, zorder=order,
            )  # fmt: skip
        case Box():
            from matplotlib.patches import FancyBboxPatch

            rounded = "round,pad=0,rounding_size=5"
            corner = (shape.x, shape.y)
            look = {"boxstyle": rounded, "facecolor": PAPER, "edgecolor": AXIS, "zorder": order}
            axes.add_patch(FancyBboxPatch(corner, shape.width, shape.height, **look))
            _draw(axes, _make_caption(shape), order)
        case Label():
            axes.text(
                shape.x, shape.y, shape.text.replace("$", r"\$"), fontsize=shape.size or 11, zorder=order,
                color=shape.colour or INK, rotation=90 if shape.turned else 0,
                ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor], va="baseline",
                rotation_mode="anchor", fontweight="bold" if shape.bold else "normal",
            )  # fmt: skip
        case Picture():
            ends = (shape.x, shape.x + shape.width, shape.y + shape.height, shape.y)
            axes.imshow(shape.rows, extent=ends, interpolation="nearest", aspect="auto", zorder=order)

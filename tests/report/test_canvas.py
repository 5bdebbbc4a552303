"""One set of shapes, two forms: what SVG says in words, PNG shows in pixels."""

from __future__ import annotations

import ast
import base64
import io
import os
import stat
import xml.etree.ElementTree as ElementTree
from pathlib import Path as File

import numpy as np
import pytest

import sklar
from sklar.errors import UsageError
from sklar.report.charts.canvas import (
    MAX_PNG_SIDE,
    Box,
    Canvas,
    Dot,
    Group,
    Label,
    Path,
    Picture,
    Shape,
    image_address,
    make_rectangle,
    to_png,
    to_svg,
    write_picture,
)
from sklar.report.colours import INK, PAPER, THEME

RED, BLUE = "#ff0000", "#0000ff"
SHAPES: dict[str, Shape] = {
    "path": Path(pieces=(make_rectangle(20, 10, 60, 30),), fill=RED),
    "line": Path(pieces=(((20.0, 20.0), (60.0, 20.0)),), colour=RED, width=20),
    "dot": Dot(x=40, y=20, radius=8, fill=RED),
    "picture": Picture(x=20, y=10, width=40, height=20, rows=(((255, 0, 0),),)),
    "group": Group(shapes=(Dot(x=40, y=20, radius=8, fill=RED),), title="<told>"),
}


def pixels(canvas: Canvas) -> np.ndarray:
    from matplotlib.image import imread

    return np.round(imread(io.BytesIO(to_png(canvas)))[:, :, :3] * 255).astype(int)


def drawn(*shapes: Shape) -> Canvas:
    return Canvas(width=80, height=40, title="t", shapes=shapes)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_where_it_says(name: str) -> None:
    found = pixels(drawn(SHAPES[name]))
    height, width, _ = found.shape
    assert (width, height) == (160, 80)
    assert found[40, 80].tolist() == [255, 0, 0] and found[4, 4].tolist() == [255, 255, 255]


def test_later_shapes_lie_above_earlier_ones() -> None:
    above = Dot(x=40, y=20, radius=4, fill=BLUE)
    for shape in SHAPES.values():
        assert pixels(drawn(shape, above))[40, 80].tolist() == [0, 0, 255]
        assert to_svg(drawn(shape, above)).rindex(BLUE) > 0


def test_the_first_row_of_a_picture_is_on_top() -> None:
    red, blue = (255, 0, 0), (0, 0, 255)
    found = pixels(drawn(Picture(x=0, y=0, width=80, height=40, rows=((red, red), (blue, red)))))
    assert found[20, 40].tolist() == [*red] and found[60, 40].tolist() == [*blue] and found[60, 120].tolist() == [*red]
    raw = base64.b64decode(image_address(((red, red), (blue, red))).partition(",")[2])
    from matplotlib.image import imread

    assert np.round(imread(io.BytesIO(raw)) * 255).astype(int).tolist() == [[[*red], [*red]], [[*blue], [*red]]]


def test_texts_are_escaped_and_dollars_are_no_formulas() -> None:
    label = Label(x=5, y=20, text="<a> & $x$ \\", bold=True, turned=True, role="name", colour=RED, size=9, anchor="end")
    text = ElementTree.fromstring(to_svg(drawn(label))).findall("{*}text")[0]
    assert text.text == label.text
    assert text.attrib["transform"] == "rotate(-90 5 20)" and text.attrib["fill"] == RED
    to_png(drawn(label, Box(x=10, y=5, width=30, height=20, text="$_$")))


def test_an_inline_drawing_takes_size_and_fonts_from_its_page() -> None:
    canvas = Canvas(width=80, height=40, title='"t" <', shapes=(SHAPES["group"],), role="bar", style=".bar{fill:red}")
    inline, alone = to_svg(canvas, inline=True), to_svg(canvas)
    assert "font" not in inline and PAPER not in inline and "font-family" in alone
    for text in (inline, alone):
        root = ElementTree.fromstring(text)
        assert (root.attrib["aria-label"], root.attrib["class"]) == ('"t" <', "bar")
        assert [node.text for node in root.iter() if node.tag.endswith("title")] == ["<told>"]


def test_an_inline_drawing_follows_the_theme_of_its_page_and_texts_do_not_pass_for_colours() -> None:
    words = f'fill="{INK}"'
    canvas = drawn(Dot(x=1, y=1, radius=1, fill=INK, title=words), Path(pieces=(((0, 0), (1, 1)),), colour=RED))
    inline = to_svg(canvas, inline=True)
    assert 'fill="var(--ink)"' in inline and f'stroke="{RED}"' in inline and "var(" not in to_svg(canvas)
    assert [node.text for node in ElementTree.fromstring(inline).iter() if node.tag.endswith("title")] == [words]
    assert len({light for light, _ in THEME.values()}) == len(THEME)  # else a colour would not tell its name


def test_cells_of_a_picture_tell_their_texts() -> None:
    cells = (((255, 0, 0), (0, 0, 255)),)
    svg = to_svg(drawn(Picture(x=10, y=0, width=40, height=20, rows=cells, titles=(("a <", "b"),))))
    found = ElementTree.fromstring(svg).findall("{*}g/{*}rect")
    assert [(node.attrib["x"], node[0].text) for node in found] == [("10", "a <"), ("30", "b")]


def test_a_huge_drawing_becomes_an_image_of_bounded_size() -> None:
    assert max(pixels(Canvas(width=2 * MAX_PNG_SIDE, height=40, title="t", shapes=())).shape) <= MAX_PNG_SIDE


def test_files_take_their_form_from_their_name_and_may_be_for_the_owner_only(tmp_path: File) -> None:
    for name, start in (("a.SVG", b"<svg"), ("a.png", b"\x89PNG")):
        write_picture(drawn(), tmp_path / name, mode=0o600)
        assert (tmp_path / name).read_bytes().startswith(start)
        assert os.name == "nt" or stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    with pytest.raises(UsageError, match=r"must end in \.svg or \.png"):
        write_picture(drawn(), tmp_path / "a.pdf")


@pytest.mark.slow
def test_nothing_but_the_canvas_writes_svg() -> None:
    """Every drawing is made of its shapes, so that it can be escaped, described and written as PNG in one place.

    The bars beside the columns of a draft are numbers only, and drawn by the studio's own template.
    """
    root = File(sklar.__file__).parent
    writers = set[str]()
    for file in root.rglob("*.py"):
        texts = [n.value for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Constant)]
        if any(isinstance(text, str) and ("<svg" in text or "<path" in text) for text in texts):
            writers.add(str(file.relative_to(root)))
    writers |= {str(f.relative_to(root)) for f in root.rglob("*.html") if "<svg" in f.read_text()}
    bars = os.path.join("studio", "templates", "columns.html")
    assert writers == {os.path.join("report", "charts", "canvas.py"), bars}

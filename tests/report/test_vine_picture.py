"""The picture of a vine: every column once, every edge with its labels, nothing overlaps, texts are escaped."""

import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.report.charts.canvas import Box, Label, Path, to_svg, write_picture
from sklar.report.charts.trees import DEEPER_PAIRS, compute_thickness, draw_vine, lay_out_forest


def random_tree(size, rng):
    return [(f"c{rng.integers(0, j)}", f"c{j}") for j in range(1, size)]


def picture(size, seed=0):
    rng = np.random.default_rng(seed)
    names = tuple(f"c{j}" for j in range(size))
    first = [edge(a, b, tau=rng.uniform(-1, 1)) for a, b in random_tree(size, rng)]
    deeper = [edge(names[0], name, tau=0.2, given=[names[1]]) for name in names[2:]]
    return draw_vine(names, [first, deeper])


def edge(first, second, family="gaussian", tau=0.5, given=()):
    return {"first": first, "second": second, "given": list(given), "family": family, "tau": tau}


@pytest.mark.parametrize("size", [1, 2, 5, 20, 40])
def test_parents_and_children_are_one_step_apart_and_no_two_nodes_share_a_place(size):
    edges = random_tree(size, np.random.default_rng(size))
    places = lay_out_forest([f"c{j}" for j in range(size)], edges)
    assert len(places) == size
    assert all(abs(places[a].depth - places[b].depth) == 1 for a, b in edges)
    for one, two in combinations(places.values(), 2):
        assert one.depth != two.depth or abs(one.row - two.row) >= 1


def test_a_chain_hangs_from_its_middle():
    places = lay_out_forest(list("abcdefg"), [*zip("abcdef", "bcdefg", strict=True)])
    assert places["d"].depth == 0
    assert max(place.depth for place in places.values()) == 3


def test_a_long_chain_does_not_exhaust_the_stack():
    names = [str(j) for j in range(3_000)]
    assert len(lay_out_forest(names, pairwise(names))) == 3_000


@pytest.mark.parametrize("size", [5, 40])
def test_boxes_do_not_overlap_and_lie_inside(size):
    canvas = picture(size)
    boxes = [shape for shape in canvas.shapes if isinstance(shape, Box)]
    assert len(boxes) == size + 2 * min(size - 2, DEEPER_PAIRS)
    for box in boxes:
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= canvas.width and box.y + box.height <= canvas.height
    for one, two in combinations(boxes, 2):
        apart = abs(one.x - two.x) >= min(one.width, two.width) or abs(one.y - two.y) >= one.height
        assert apart


def test_edges_carry_family_and_tau_and_stronger_ones_are_thicker():
    canvas = draw_vine("abc", [[edge("a", "b", "clayton", 0.6), edge("b", "c", "frank", -0.1)]])
    texts = {shape.text for shape in canvas.shapes if isinstance(shape, Label)}
    assert {"clayton", "+0.60", "frank", "-0.10"} <= texts
    weak, strong = (shape for shape in canvas.shapes if isinstance(shape, Path))
    assert strong.width > weak.width
    assert strong.colour != weak.colour


def test_svg_is_well_formed_whatever_the_names():
    names = ('<b>"&', "x" * 80, "ü…")
    root = ET.fromstring(to_svg(draw_vine(names, [[edge(names[0], names[1], "<i>")]], title="<&>")))
    assert '<b>"&' in {text.text for text in root.iter() if text.tag.endswith("text")}


def test_a_strength_that_is_told_counts_more_than_tau():
    assert compute_thickness({**edge("a", "b", tau=0.3), "strength": 0.9}) == pytest.approx(1 + 8 * 0.9)
    assert compute_thickness(edge("a", "b", tau=-0.3)) == pytest.approx(1 + 8 * 0.3)


def test_files(tmp_path):
    write_picture(picture(4), tmp_path / "vine.svg")
    assert (tmp_path / "vine.svg").read_text().startswith("<svg")
    with pytest.raises(UsageError, match="svg or"):
        write_picture(picture(4), tmp_path / "vine.pdf")


def test_png(tmp_path):
    write_picture(picture(6), tmp_path / "vine.png")
    assert (tmp_path / "vine.png").read_bytes().startswith(b"\x89PNG")

"""Chart of a vine: tree one as a tree of columns, deeper trees as pairs of columns given others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklar.report.charts.canvas import Box, Canvas, Label, Path, Shape
from sklar.report.colours import REAL, SOFT, SYNTHETIC, SYNTHETIC_TEXT

MARGIN, HEAD = 24.0, 58.0
ROW, BOX_HEIGHT, GAP = 40.0, 24.0, 158.0
PAIR_ROW, PAIR_GAP = 50.0, 128.0
"""Pixels around and above all; of tree one, a row, a box, between boxes; of deeper trees, a row, between pairs."""
LETTER, LONGEST_NAME = 6.7, 22
"""Average width in pixels of a letter, and maximum number of letters of a name."""
DEEPER_TREES, DEEPER_PAIRS, PAIRS_ACROSS = 5, 12, 3
"""Maximum numbers of deeper trees, of pairs of each, and of pairs side by side; the rest is counted but not drawn."""
Edge = Mapping[str, Any]
"""A pair copula from `inspect`: first, second, given, family, tau, and optionally a strength from 0 to 1."""


def draw_vine(columns: Sequence[str], trees: Sequence[Sequence[Edge]], title: str = "Vine") -> Canvas:
    """Draw a vine: tree one from left to right, below it the strongest pairs of the next trees.

    `trees` are the edges of every tree; independent ones may be omitted.
    """
    names = {column: shorten(column) for column in columns}
    box = max((len(name) for name in names.values()), default=4) * LETTER + 18
    first = trees[0] if trees else ()
    places = lay_out_forest(columns, [(edge["first"], edge["second"]) for edge in first])
    depth = 1 + max((place.depth for place in places.values()), default=0)
    rows = 1 + max((place.row for place in places.values()), default=0)
    most = max((len(tree) for tree in trees[1:]), default=1)
    pairs = min(most, PAIRS_ACROSS) * (2 * box + PAIR_GAP + 30) - 30
    width = max(2 * MARGIN + depth * box + (depth - 1) * GAP, 2 * MARGIN + pairs, 560.0)
    shapes: list[Shape] = _draw_heading(title)
    for edge in sorted(first, key=compute_thickness):
        shapes += _branch(edge, places, box)
    for column, place in places.items():
        x, y = _place_box(place, box)
        shapes.append(Box(x=x, y=y, width=box, height=BOX_HEIGHT, text=names[column]))
    bottom = HEAD + rows * ROW + 10
    deeper = [(level, tree) for level, tree in enumerate(trees[1:], start=2) if tree]
    for level, tree in deeper[:DEEPER_TREES]:
        more, bottom = _draw_pairs(level, tree, names, box, width, bottom)
        shapes += more
    if len(deeper) > DEEPER_TREES:
        left = f"{len(deeper) - DEEPER_TREES} more trees are not drawn; `sklar inspect` lists them."
        shapes.append(Label(x=MARGIN, y=bottom + 22, text=left, colour=SOFT))
        bottom += 30
    return Canvas(width=width, height=bottom + MARGIN, title=title, shapes=tuple(shapes))


def compute_thickness(edge: Edge) -> float:
    """Return the width of a line, 1 to 9 pixels, by strength, or by |tau| without one."""
    strength = edge.get("strength")
    return 1.0 + 8.0 * min(abs(edge["tau"]) if strength is None else strength, 1.0)


def shorten(name: str) -> str:
    """Return a name that fits into its box."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _choose_colour(tau: float) -> str:
    return SYNTHETIC if tau >= 0 else REAL


def _draw_heading(title: str) -> list[Shape]:
    words = "Lines: family and Kendall's tau; thicker is stronger;"
    return [
        Label(x=MARGIN, y=26, text=title, size=15, bold=True),
        Label(x=MARGIN, y=46, text=words, size=10, colour=SOFT),
        Label(x=MARGIN + 268, y=46, text="orange positive,", size=10, colour=SYNTHETIC_TEXT),
        Label(x=MARGIN + 354, y=46, text="blue negative.", size=10, colour=REAL),
    ]


def _place_box(place: Placed, box: float) -> tuple[float, float]:
    return MARGIN + place.depth * (box + GAP), HEAD + place.row * ROW + (ROW - BOX_HEIGHT) / 2


def _branch(edge: Edge, places: Mapping[str, Placed], box: float) -> list[Shape]:
    """Draw the line from a column to its child, with labels on the last, horizontal piece."""
    upper, lower = sorted((places[edge["first"]], places[edge["second"]]), key=lambda place: place.depth)
    (x0, y0), (x1, y1) = _place_box(upper, box), _place_box(lower, box)
    start, end, turn = y0 + BOX_HEIGHT / 2, y1 + BOX_HEIGHT / 2, x0 + box + 18
    points = ((x0 + box, start), (turn, start), (turn, end), (x1, end))
    return [
        Path(pieces=(points,), width=compute_thickness(edge), colour=_choose_colour(edge["tau"])),
        *_draw_labels(edge, (turn + x1) / 2, end),
    ]


def _draw_labels(edge: Edge, x: float, y: float) -> list[Shape]:
    half = compute_thickness(edge) / 2
    return [
        Label(x=x, y=y - half - 2, text=f"{edge['tau']:+.2f}", size=10, anchor="middle", bold=True),
        Label(x=x, y=y + half + 9, text=edge["family"], size=8.5, anchor="middle", colour=SOFT),
    ]


def _draw_pairs(
    level: int, tree: Sequence[Edge], names: Mapping[str, str], box: float, width: float, top: float
) -> tuple[list[Shape], float]:
    """Draw the edges of a deeper tree side by side; return also where they end."""
    given = "one column" if level == 2 else f"{level - 1} columns"
    left = len(tree) - DEEPER_PAIRS
    heading = f"Tree {level}: given {given}" + (f" ({left} weaker pairs not drawn)" if left > 0 else "")
    shapes: list[Shape] = [Label(x=MARGIN, y=top + 22, text=heading, bold=True)]
    shown = sorted(tree, key=compute_thickness, reverse=True)[:DEEPER_PAIRS]
    each = 2 * box + PAIR_GAP + 30
    across = max(int((width - 2 * MARGIN + 30) // each), 1)
    for number, edge in enumerate(shown):
        x, y = MARGIN + number % across * each, top + 36 + number // across * PAIR_ROW
        shapes += _draw_pair(edge, names, box, x, y)
    return shapes, top + 36 + -(-len(shown) // across) * PAIR_ROW


def _draw_pair(edge: Edge, names: Mapping[str, str], box: float, x: float, y: float) -> list[Shape]:
    middle, right = y + BOX_HEIGHT / 2, x + box + PAIR_GAP
    given = ", ".join(names.get(name, name) for name in edge["given"])
    room = int((2 * box + PAIR_GAP) / 5.0)
    text = f"given {given}" if len(given) + 6 <= room else f"given {given}"[: room - 1] + "…"
    return [
        Path(
            pieces=(((x + box, middle), (right, middle)),),
            width=compute_thickness(edge),
            colour=_choose_colour(edge["tau"]),
        ),
        *_draw_labels(edge, (x + box + right) / 2, middle),
        Box(x=x, y=y, width=box, height=BOX_HEIGHT, text=names.get(edge["first"], edge["first"])),
        Box(x=right, y=y, width=box, height=BOX_HEIGHT, text=names.get(edge["second"], edge["second"])),
        Label(x=x, y=y + BOX_HEIGHT + 12, text=text, size=9, colour=SOFT),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Position of a node: its depth, and its row (a parent may be between rows)."""

    depth: int
    row: float


def lay_out_forest(nodes: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, Placed]:
    """Return the positions of all nodes; trees are stacked, the largest first, each rooted at its centre."""
    near: dict[str, list[str]] = {node: [] for node in nodes}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    trees: list[dict[str, str]] = []
    for node in nodes:
        if not any(node in tree for tree in trees):
            trees.append(_walk(node, near))
    places: dict[str, Placed] = {}
    row = 0
    for tree in sorted(trees, key=len, reverse=True):
        row = _place_tree(_centre(next(iter(tree)), near), near, places, row)
    return places


def _walk(start: str, near: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the parent of each reachable node (the start is its own parent), in order of distance."""
    parents = {start: start}
    order = [start]
    for node in order:
        found = [other for other in near[node] if other not in parents]
        parents.update(dict.fromkeys(found, node))
        order += found
    return parents


def _centre(start: str, near: Mapping[str, Sequence[str]]) -> str:
    """Return the middle of a longest path of a tree: the root of least depth."""
    parents = _walk([*_walk(start, near)][-1], near)
    path = [[*parents][-1]]
    while parents[path[-1]] != path[-1]:
        path.append(parents[path[-1]])
    return path[len(path) // 2]


def _place_tree(root: str, near: Mapping[str, Sequence[str]], places: dict[str, Placed], row: int) -> int:
    """Place a tree from a row on and return the next free row; without recursion, since chains may be long."""
    parents, depths = _walk(root, near), {root: 0}
    below = {node: [other for other in near[node] if parents[other] == node] for node in parents}
    order, waiting = list[str](), [root]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(below[order[-1]])
    for node in order[1:]:
        depths[node] = depths[parents[node]] + 1
    leaves = [node for node in order if not below[node]]
    rows: dict[str, float] = {leaf: row + at for at, leaf in enumerate(leaves)}
    for node in reversed(order):
        if below[node]:
            among = [rows[other] for other in below[node]]
            rows[node] = (min(among) + max(among)) / 2
    places.update({node: Placed(depth=depths[node], row=rows[node]) for node in order})
    return row + len(leaves)

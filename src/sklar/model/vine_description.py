"""What can be told about a fitted vine: its trees as plain data and as a drawing in text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklar.model.checkerboard import Checkerboard
from sklar.model.denoise import mutual_information
from sklar.model.paircopula import GaussianPair, IndependentPair
from sklar.model.vine import Edge, Vine


def describe_trees(vine: Vine, names: Sequence[str]) -> list[dict[str, Any]]:
    """Edges of every tree with their family, Kendall's tau and strength; independent edges are only counted."""
    trees: list[dict[str, Any]] = []
    for level, tree in enumerate(vine.trees, start=1):
        told = [_edge(edge, names) for edge in tree if edge.family != "independent"]
        told.sort(key=lambda edge: -edge["strength"])
        trees.append({"tree": level, "edges": told, "independent": len(tree) - len(told)})
    return trees


def _edge(edge: Edge, names: Sequence[str]) -> dict[str, Any]:
    return {
        "first": names[edge.first],
        "second": names[edge.second],
        "given": [names[column] for column in edge.given],
        "family": edge.family,
        "tau": round(edge.tau, 4),
        "strength": round(strength(edge.copula), 4),
    }


def strength(copula: Checkerboard | GaussianPair | IndependentPair) -> float:
    """Dependence of any shape on the scale of a correlation: sqrt(1 - exp(-2 I)), with I the mutual information.

    For the Gaussian copula this is |correlation| (Joe, JASA 1989); unlike Kendall's tau it means something for nominal
    columns too.
    """
    if isinstance(copula, GaussianPair):
        return abs(copula.corr)
    if isinstance(copula, IndependentPair):
        return 0.0
    return float(np.sqrt(-np.expm1(-2 * max(mutual_information(copula.mass), 0.0))))


def draw_first_tree(vine: Vine, names: Sequence[str]) -> str:
    """Tree one as indented text: each column under the one it hangs from, with family and Kendall's tau.

    Every group of dependent columns starts at the column with most neighbors; columns that depend on none come last.
    """
    near: dict[int, list[tuple[int, Edge]]] = {column: [] for column in range(vine.size)}
    for edge in vine.trees[0] if vine.trees else ():
        if edge.family != "independent":
            near[edge.first].append((edge.second, edge))
            near[edge.second].append((edge.first, edge))
    lines: list[str] = []
    seen: set[int] = set()
    for root in sorted(near, key=lambda column: (-len(near[column]), column)):
        if root not in seen:
            seen.add(root)
            lines.append(names[root])
            _draw_below(root, "", near, names, seen, lines)
    return "\n".join(lines)


def _draw_below(
    column: int,
    indent: str,
    near: dict[int, list[tuple[int, Edge]]],
    names: Sequence[str],
    seen: set[int],
    lines: list[str],
) -> None:
    below = [(other, edge) for other, edge in near[column] if other not in seen]
    seen.update(other for other, _ in below)
    for place, (other, edge) in enumerate(below, start=1):
        last = place == len(below)
        lines.append(f"{indent}{'└─' if last else '├─'} {names[other]}  [{edge.family}, tau {edge.tau:+.2f}]")
        _draw_below(other, indent + ("   " if last else "│  "), near, names, seen, lines)

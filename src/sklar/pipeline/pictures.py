"""Pictures of a fitted model by name: its trees, truncation levels, strongest pairs, scatter plots. No row is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.pipeline.fitted import Model
from sklar.pipeline.inspection import draw_structure
from sklar.pipeline.levels import at_level, candidate_levels, levels
from sklar.pipeline.scatter import scatter
from sklar.report.canvas import require_picture, write_picture
from sklar.report.level_pictures import draw_contours, draw_levels
from sklar.sample.rng import generator

ROWS = 5_000
"""Synthetic rows of each level whose correlations are drawn."""
SCATTERED = 20_000
"""Synthetic rows that a scatter grid shows."""


def draw_model(model: Model, path: str | PathLike[str], picture: str = "trees") -> None:
    """Draw one picture into a file whose name ends in .svg or .png.

    Args:
        model: Any model for its trees; levels and pairs are those of `tvine`, `rvine`, `rvine-star1` and `plain-vine`.
        path: Where to.
        picture: "trees", "levels" (rank correlations level by level), "pairs" (contours of the strongest pairs) or
            "scatter" (all pairs of the first columns of numbers, of synthetic rows).
    """
    if picture not in PICTURES:
        raise UsageError(f"there is no picture '{picture}'; the pictures are: {', '.join(PICTURES)}")
    PICTURES[picture](model, path)


def plot_levels(
    model: Model, path: str | PathLike[str], *, chosen: Sequence[int] | None = None, seed: int | None = None
) -> None:
    """Rank correlations of synthetic rows level by level (as figures 10 and 24 of Griesbauer et al. 2025).

    Columns stand in the order of the vine, sensitive ones first and the response last; all that varies with the level
    is how many trees were sampled.
    """
    from scipy.stats import rankdata

    require_picture(path)
    levels(model)  # refuses models without any
    record: Any = model.table_model
    names = model.schema.modelled
    order = list(reversed(record.roots)) or list(range(len(names)))
    matrices: dict[str, Any] = {}
    for level in candidate_levels(model) if chosen is None else chosen:
        codes = at_level(model, level).table_model.simulate(ROWS, generator(seed))[:, order]
        matrices[f"level {level}"] = np.corrcoef(rankdata(codes, axis=0).T)
    columns = [names[column] for column in order]
    write_picture(draw_levels(matrices, columns, label=model.claim.label), path)


def plot_pairs(model: Model, path: str | PathLike[str], *, most: int = 12) -> None:
    """Contours of the strongest pair copulas of a vine (of its largest part, if there is one for each response)."""
    levels(model)
    record: Any = model.table_model
    part = record.parts[int(np.argmax(record.shares))] if hasattr(record, "parts") else record
    columns = [margin.column for margin in part.margins]
    edges = [edge for tree in part.vine.truncate(part.level).to_vinecop().get_trees() for edge in tree]
    edges = [edge for edge in edges if edge["pair_copula"].family.name != "indep"]
    edges.sort(key=lambda edge: -abs(edge["pair_copula"].tau))
    shown = {_title(edge, columns): edge["pair_copula"] for edge in edges[:most]}
    write_picture(draw_contours(shown, label=model.claim.label), path)


def _title(edge: dict[str, Any], columns: list[str]) -> str:
    first, second = (columns[label - 1] for label in edge["conditioned"])
    given = ", ".join(columns[label - 1] for label in edge["conditioning"][:3])
    more = ", ..." if len(edge["conditioning"]) > 3 else ""
    return f"{first}, {second}" + (f" | {given}{more}" if given else "") + f"\n{edge['pair_copula'].family.name}"


PICTURES: dict[str, Callable[[Model, str | PathLike[str]], None]] = {
    "trees": lambda model, path: draw_structure(model.inspect(), path),
    "levels": plot_levels,
    "pairs": plot_pairs,
    "scatter": lambda model, path: scatter(model.sample(SCATTERED, seed=0), model.schema, path),
}

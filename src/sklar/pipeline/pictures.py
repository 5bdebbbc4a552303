"""Pictures of a fitted model by name: its trees, truncation levels, strongest pairs, scatter plots. No row is read."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from sklar.errors import UsageError
from sklar.pipeline.fitted import Model
from sklar.pipeline.inspection import draw_structure


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


def _trees(model: Model, path: str | PathLike[str]) -> None:
    draw_structure(model.inspect(), path)


def _levels(model: Model, path: str | PathLike[str]) -> None:
    from sklar.pipeline.level_plot import plot_levels
    from sklar.pipeline.levels import levels

    levels(model)  # refuses models without any
    plot_levels(model, path)


def _pairs(model: Model, path: str | PathLike[str]) -> None:
    from sklar.pipeline.level_plot import plot_pairs
    from sklar.pipeline.levels import levels

    levels(model)
    plot_pairs(model, path)


def _scatter(model: Model, path: str | PathLike[str]) -> None:
    from sklar.pipeline.scatter import scatter

    scatter(model.sample(SCATTERED, seed=0), model.schema, path)


SCATTERED = 20_000
"""Synthetic rows that a scatter grid of a model shows."""
PICTURES: dict[str, Callable[[Model, str | PathLike[str]], None]] = {
    "trees": _trees,
    "levels": _levels,
    "pairs": _pairs,
    "scatter": _scatter,
}

"""Pictures of truncated vines: correlation matrices level by level, and contours of pair copulas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklar.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import pyvinecopulib as pv

Floats = NDArray[np.float64]
ACROSS = 4
POINTS = 81


def draw_levels(
    matrices: Mapping[str, Floats], names: Sequence[str], path: str | PathLike[str], *, label: str = ""
) -> None:
    """One correlation matrix for each title (a level, or the real table), on a common scale from -1 to 1.

    Args:
        matrices: Title to matrix, in the order of the picture.
        names: Columns, in the order of the matrices.
        path: An .svg or .png file.
        label: A line below the picture, as the claim of a model.
    """
    if not matrices or any(np.shape(matrix) != (len(names), len(names)) for matrix in matrices.values()):
        raise UsageError("every level needs a square matrix with one line for each column")
    figure, axes = _panels(len(matrices), 2.8)
    shown: Any = None
    for panel, (title, matrix) in zip(axes, matrices.items(), strict=False):
        shown = panel.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu_r", interpolation="nearest")
        panel.set_title(title, fontsize=9)
        panel.set_xticks(range(len(names)), names, rotation=90, fontsize=max(3, 7 - len(names) // 12))
        panel.set_yticks(range(len(names)), names, fontsize=max(3, 7 - len(names) // 12))
    figure.colorbar(shown, ax=axes, shrink=0.6)
    _write(figure, path, label)


def draw_contours(copulas: Mapping[str, pv.Bicop], path: str | PathLike[str], *, label: str = "") -> None:
    """Contours of pair copulas with standard normal margins, one panel for each title."""
    from scipy.special import ndtr

    if not copulas:
        raise UsageError("there is no pair copula to draw: all edges are independent")
    scores = np.linspace(-3, 3, POINTS)
    first, second = np.meshgrid(scores, scores, indexing="ij")
    at = np.asfortranarray(ndtr(np.column_stack([first.ravel(), second.ravel()])))
    normal = np.exp(-(first**2 + second**2) / 2) / (2 * np.pi)
    figure, axes = _panels(len(copulas), 2.4)
    for panel, (title, copula) in zip(axes, copulas.items(), strict=False):
        density = copula.with_var_types(["c", "c"]).pdf(at).reshape(first.shape) * normal
        panel.contour(first, second, density, levels=[0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3], linewidths=0.8)
        panel.set_title(title, fontsize=8)
    _write(figure, path, label)


def _panels(count: int, inches: float) -> tuple[Any, list[Any]]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("pictures of levels need matplotlib: pip install 'sklar[eval]'.") from None
    across = min(count, ACROSS)
    down = math.ceil(count / across)
    figure = Figure(figsize=(inches * across + 1, inches * down + 0.5), layout="constrained")
    axes = np.atleast_1d(figure.subplots(down, across)).ravel().tolist()
    for panel in axes[count:]:
        panel.set_axis_off()
    return figure, axes[:count]


def _write(figure: Any, path: str | PathLike[str], label: str) -> None:
    if not str(path).endswith((".svg", ".png")):
        raise UsageError("a picture is written to a file that ends in .svg or .png")
    if label:
        figure.supxlabel(label, fontsize=7)
    figure.savefig(path, dpi=150)

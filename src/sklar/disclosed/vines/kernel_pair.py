"""Kernel estimates of a pair copula as one more candidate beside the parametric families."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklar.disclosed.vines.nodes import Node, cells_as_points, rows_as_points
from sklar.disclosed.vines.pairs import CELLS, FittedPair, penalty, point_loglik

Floats = NDArray[np.float64]
MOST_ROWS = 10_000
"""Rows a kernel estimate is made of at most; more are thinned evenly. Its grid has 30 x 30 points anyway."""


def or_kernel(best: FittedPair, first: Node, second: Node, selection: str, *, grid: bool) -> FittedPair:
    """The kernel estimate if AIC or BIC, with its effective number of parameters, prefers it to the best family.

    Where most rows lie on common points of a column taken as continuous there is no density to estimate: a family that
    was found is kept.
    """
    if best.family != "indep" and on_common_points(first, second):
        return best
    kernel, size = kernel_pair(first, second)
    points = cells_as_points(first, second, CELLS) if grid else rows_as_points(first, second)
    price = penalty(selection, len(first.u))
    gained = point_loglik(kernel, points)
    had = 0.0 if best.family == "indep" else point_loglik(best, points)
    if price * size - 2 * gained >= price * len(best.parameters) - 2 * had:
        return best
    return FittedPair(family="tll", rotation=0, parameters=kernel.parameters, loglik=gained)


def on_common_points(first: Node, second: Node) -> bool:
    """Whether most rows of a continuous pair agree exactly with others."""
    return first.kind == second.kind == "c" and rows_as_points(first, second).weights is not None


def kernel_pair(first: Node, second: Node) -> tuple[FittedPair, float]:
    """Transformation local likelihood (Geenens et al. 2017), ties spread over their steps; and its effective size."""
    import pyvinecopulib as pv

    step = -(-len(first.u) // MOST_ROWS)
    rows = np.column_stack([first.spread()[::step], second.spread()[::step]])
    controls = pv.FitControlsBicop(family_set=[pv.BicopFamily.tll])
    found = pv.Bicop.from_data(np.asfortranarray(np.clip(rows, 1e-10, 1 - 1e-10)), controls)
    values = np.asarray(found.parameters, dtype=np.float64).ravel()
    return FittedPair(family="tll", rotation=0, parameters=values, loglik=0.0), float(found.npars)

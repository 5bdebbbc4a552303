"""Fit a vine copula to pseudo-observations: one function for all methods without a guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.errors import UsageError
from sklar.lab.vines.members import UNIFORM_MARGIN, Node
from sklar.lab.vines.pairs import COUNT_CELLS
from sklar.lab.vines.trees import Chooser, GrowSettings, grow_trees, spanning_pairs, star_pairs
from sklar.model.rvine.vine import (
    FAMILIES,
    FamilyMember,
    RegularVine,
    VineEdge,
    from_edges,
    from_vinecop,
    import_pyvinecopulib,
)

if TYPE_CHECKING:
    import pyvinecopulib as pv

CRITERIA = {"spearman": "rho", "rho": "rho", "kendall": "tau", "tau": "tau", "hoeffd": "hoeffd", "mcor": "mcor"}
"""Names of tree criteria, and their names in pyvinecopulib."""
TWO_PARAMETER = tuple(name for name in FAMILIES if name not in ("tawn", "tll"))
FAMILY_SETS = {
    "parametric": (*TWO_PARAMETER, "tawn"),
    "two-parameter": TWO_PARAMETER,
    "two-parameter-or-kernel": (*TWO_PARAMETER, "tll"),
    "gaussian": ("gaussian",),
    "elliptical": ("indep", "gaussian", "student"),
    "one-parameter": ("indep", "gaussian", "clayton", "gumbel", "frank", "joe"),
    "itau": ("indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe"),
    "nonparametric": ("indep", "tll"),
    "all": FAMILIES,
}
"""Families with at most two parameters are all parametric ones of vinecopulib before Tawn was added: TVineSynth and,
with kernel estimates, COPULA-SHIRLEY were published with them."""
SELECTIONS = ("aic", "bic", "loglik")
STRUCTURES = ("dissmann", "star", "cvine")
MAX_ROWWISE_ROWS = 10 * COUNT_CELLS**2
"""With more rows (ten per cell), pair copulas are fitted to counts of cells: time no longer grows with the rows."""


def fit_rvine(
    u: Floats,
    *,
    lower: Floats | None = None,
    discrete: Sequence[bool] | None = None,
    families: str = "parametric",
    criterion: str = "spearman",
    selection: str = "aic",
    truncation: int | str | None = None,
    structure: str = "dissmann",
    order: Sequence[int] | None = None,
    threads: int = 2,
    engine: str = "fast",
) -> RegularVine:
    """Fit a vine copula to rows of pseudo-observations; the result is plain arrays that can be saved.

    The fast engine finds each pair copula from counts of cells, and refines it on the rows if these are few; beyond
    10 x 32^2 rows it uses counts only, so that time hardly grows with rows. Kernel estimates ("tll") use at most 10,000
    rows. "mcor" and automatic truncation use pyvinecopulib's own fit.

    Args:
        u: Pseudo-observations, rows x columns, inside (0, 1); F(x) in discrete columns.
        lower: F(x-) of the same shape; only discrete columns are used. Needed if any column is discrete.
        discrete: Mask of columns with atoms, which are fitted by discrete pair copulas; none by default.
        families: A key of FAMILY_SETS, or the name of a family.
        criterion: Association that the spanning trees maximize: "spearman", "tau", "hoeffd" or "mcor".
        selection: Families are selected by "aic", "bic" or "loglik".
        truncation: Number of trees; None for all, "auto" for pyvinecopulib's choice by mBICv.
        structure: "dissmann" (spanning trees), "star" (first tree a star on the last of `order`, then spanning
            trees), or "cvine" (the last of `order` is the root of tree one, the one before it of tree two...).
        order: Columns 0..d-1 for "star" and "cvine".
        threads: Threads of pyvinecopulib's engine.
        engine: "fast", or "pyvinecopulib" for its own row-wise fit.
    """
    checked = _check_observations(u)
    size = checked.shape[1]
    kinds = np.zeros(size, bool) if discrete is None else np.asarray(discrete, dtype=bool)
    check_settings(families, criterion, selection)
    _check_trees(truncation, structure, order, size)
    limits = _lower_limits(lower, kinds)
    places = [] if structure == "dissmann" or order is None else list(order)
    if engine == "fast" and criterion != "mcor" and truncation != "auto":
        grid = len(checked) > MAX_ROWWISE_ROWS
        settings = GrowSettings(families=family_names(families), selection=selection, grid=grid)
        trees = size - 1 if truncation is None else min(int(truncation), size - 1)
        nodes = [Node(u=np.ascontiguousarray(checked[:, j]), lower=limits.get(j)) for j in range(size)]
        choose = _choose_pairs(size, criterion, structure, places)
        edges = orient_edges(grow_trees(nodes, settings, trees, choose), size)
        loglik = float(sum(edge.pair.loglik for edge in edges))
        return from_edges(edges, size=size, discrete=kinds, loglik=loglik, rows=len(checked))
    pv = import_pyvinecopulib()
    members = [getattr(pv.BicopFamily, name) for name in family_names(families)]
    controls = pv.FitControlsVinecop(members, tree_criterion=CRITERIA[criterion], selection_criterion=selection)
    controls.num_threads, controls.select_trunc_lvl = threads, truncation == "auto"
    if isinstance(truncation, int):
        controls.trunc_lvl = truncation
    # The layout of pyvinecopulib: F(x) of all columns, then F(x-) of the discrete ones.
    data = np.asfortranarray(np.column_stack([checked, *limits.values()]))
    vine = _fit_by_pyvinecopulib(data, controls, structure, places, ["d" if kind else "c" for kind in kinds])
    return from_vinecop(vine, kinds, float(vine.loglik(data)), len(checked))


def check_settings(families: str, criterion: str, selection: str) -> None:
    """Reject unknown names of families, tree criterion and selection."""
    family_names(families)
    if criterion not in CRITERIA:
        raise UsageError(f"the tree criterion must be one of {', '.join(CRITERIA)}; found '{criterion}'")
    if selection not in SELECTIONS:
        raise UsageError(f"selection must be one of {', '.join(SELECTIONS)}; found '{selection}'")


def family_names(families: str) -> tuple[str, ...]:
    """Return the families of a set, or independence and the family of this name."""
    if str(families) in FAMILY_SETS:  # str(), because a list (which is rejected below) is not hashable
        return FAMILY_SETS[families]
    if families in FAMILIES:
        return ("indep", families)
    known = ", ".join((*FAMILY_SETS, *FAMILIES))
    raise UsageError(f"families must be one of {known}; found '{families}'")


def _check_trees(truncation: int | str | None, structure: str, order: Sequence[int] | None, size: int) -> None:
    if isinstance(truncation, str) and truncation != "auto":
        raise UsageError(f"truncation must be a whole number, None or 'auto'; found '{truncation}'")
    if structure not in STRUCTURES:
        raise UsageError(f"structure must be one of {', '.join(STRUCTURES)}; found '{structure}'")
    if structure != "dissmann" and (order is None or sorted(order) != list(range(size))):
        raise UsageError(f"structure '{structure}' needs an order with every column once")


def _check_observations(u: Floats) -> Floats:
    values = np.asarray(u, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1:
        raise UsageError("a vine needs a table of pseudo-observations with two rows or more")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        raise UsageError("pseudo-observations must be between 0 and 1")
    return np.clip(values, UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)


def _lower_limits(lower: Floats | None, kinds: Mask) -> Mapping[int, Floats]:
    """Return F(x-) of the discrete columns, by column."""
    columns = np.flatnonzero(kinds).tolist()
    if lower is None and columns:
        raise UsageError("discrete columns need their lower limits F(x-)")
    values = np.asarray(lower)
    return {j: np.clip(np.ascontiguousarray(values[:, j]), UNIFORM_MARGIN, 1 - UNIFORM_MARGIN) for j in columns}


def _choose_pairs(size: int, criterion: str, structure: str, order: list[int]) -> Chooser:
    """Return the function that chooses the pairs of each tree of the fast engine."""
    wdm = import_pyvinecopulib().utils.wdm
    if structure == "cvine":
        return star_pairs(order)
    return spanning_pairs(size, lambda a, b: wdm(a, b, CRITERIA[criterion]), order or None)


def _fit_by_pyvinecopulib(
    data: Floats, controls: pv.FitControlsVinecop, structure: str, order: list[int], kinds: list[str]
) -> pv.Vinecop:
    pv = import_pyvinecopulib()
    labels = [column + 1 for column in order]
    if structure == "star":
        vine = pv.Vinecop.from_structure(structure=pv.CVineStructure(labels, 1), var_types=kinds)
        vine.select(data, controls)
        return vine
    given: dict[str, Any] = {"structure": pv.CVineStructure(labels)} if structure == "cvine" else {}
    return pv.Vinecop.from_data(data, controls, **given, var_types=kinds)


def orient_edges(grown: list[list[VineEdge]], size: int) -> list[VineEdge]:
    """Order the edges of each tree by the column that can be removed next, and put that column first.

    A column can be removed if it is in one edge of each tree and in no condition; the rest is again a vine. A sampler
    draws the columns in reverse order.
    """
    left = [list(tree) for tree in grown]
    columns = list(range(size))
    result: list[list[VineEdge]] = [[] for _ in grown]
    while len(columns) > 1:
        column = next(c for c in columns if _is_removable(left, c))
        columns.remove(column)
        for level, tree in enumerate(left):
            mine = next((edge for edge in tree if column in (edge.first, edge.second)), None)
            if mine is not None:
                tree.remove(mine)
                if mine.first != column:
                    mine = replace(mine, first=mine.second, second=mine.first, pair=flip_pair(mine.pair))
                result[level].append(mine)
    return [edge for tree in result for edge in tree]


def _is_removable(left: list[list[VineEdge]], column: int) -> bool:
    for tree in left:
        touching = [edge for edge in tree if column in (edge.first, edge.second) or column in edge.given]
        if tree and (len(touching) != 1 or column in touching[0].given):
            return False
    return True


def flip_pair(pair: FamilyMember) -> FamilyMember:
    """Exchange the columns of a pair."""
    if pair.family == "indep":
        return pair
    turned = pair.bicop().flip()
    values = np.asarray(turned.parameters, dtype=np.float64).ravel()
    return replace(pair, rotation=int(turned.rotation), parameters=values)

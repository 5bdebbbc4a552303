"""Fitting a vine copula to pseudo-observations: one function for all systems without a guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.errors import UsageError
from sklar.lab.vines.members import EPSILON, Node
from sklar.lab.vines.pairs import CELLS
from sklar.lab.vines.trees import Chooser, GrowSettings, grow, spanning_pairs, star_pairs
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
"""Names of tree criteria, and what pyvinecopulib calls them."""
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
"""Families of at most two parameters are all parametric ones that vinecopulib had before Tawn's: TVineSynth and, with
kernel estimates, COPULA-SHIRLEY were published with them."""
SELECTIONS = ("aic", "bic", "loglik")
STRUCTURES = ("dissmann", "star", "cvine")
GRID_ROWS = 10 * CELLS**2
"""Beyond this many rows, ten a cell, pair copulas are fitted to counts of cells: time no longer grows with the rows."""


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
    """A vine copula of rows of pseudo-observations, as plain arrays that can be saved.

    The fast engine finds each pair copula from counts of cells, polished on the rows where these are few; beyond
    10 x 32^2 rows it works on counts alone, so that time hardly grows with rows. Kernel estimates ("tll") are made
    of at most 10,000 rows. "mcor" and an automatic truncation are left to pyvinecopulib's own.

    Args:
        u: Pseudo-observations, rows x columns, inside (0, 1); F(x) in discrete columns.
        lower: F(x-) of the same shape; only its discrete columns are looked at. Needed if any column is discrete.
        discrete: Which columns have atoms and are fitted by discrete pair copulas; none by default.
        families: A key of FAMILY_SETS, or a family's own name.
        criterion: What the spanning trees maximize: "spearman", "tau", "hoeffd" or "mcor".
        selection: Families are chosen by "aic", "bic" or "loglik".
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
        settings = GrowSettings(families=family_names(families), selection=selection, grid=len(checked) > GRID_ROWS)
        trees = size - 1 if truncation is None else min(int(truncation), size - 1)
        nodes = [Node(u=np.ascontiguousarray(checked[:, j]), lower=limits.get(j)) for j in range(size)]
        edges = orient_edges(grow(nodes, settings, trees, _chooser(size, criterion, structure, places)), size)
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
    vine = _select(data, controls, structure, places, ["d" if kind else "c" for kind in kinds])
    return from_vinecop(vine, kinds, float(vine.loglik(data)), len(checked))


def check_settings(families: str, criterion: str, selection: str) -> None:
    """Refuse unknown names of families, tree criterion and selection."""
    family_names(families)
    if criterion not in CRITERIA:
        raise UsageError(f"the tree criterion must be one of {', '.join(CRITERIA)}; found '{criterion}'")
    if selection not in SELECTIONS:
        raise UsageError(f"families are chosen by one of {', '.join(SELECTIONS)}; found '{selection}'")


def family_names(families: str) -> tuple[str, ...]:
    """Families of a set, or the one family of this name beside independence."""
    if str(families) in FAMILY_SETS:  # a list, which nobody may ask for, cannot be looked up
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
        raise UsageError(f"structure '{structure}' needs the order of all columns, each once")


def _check_observations(u: Floats) -> Floats:
    values = np.asarray(u, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1:
        raise UsageError("a vine is fitted to a table of pseudo-observations with two rows or more")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        raise UsageError("pseudo-observations lie between 0 and 1")
    return np.clip(values, EPSILON, 1 - EPSILON)


def _lower_limits(lower: Floats | None, kinds: Mask) -> Mapping[int, Floats]:
    """F(x-) of the discrete columns, by column."""
    columns = np.flatnonzero(kinds).tolist()
    if lower is None and columns:
        raise UsageError("discrete columns need their lower limits F(x-)")
    values = np.asarray(lower)
    return {j: np.clip(np.ascontiguousarray(values[:, j]), EPSILON, 1 - EPSILON) for j in columns}


def _chooser(size: int, criterion: str, structure: str, order: list[int]) -> Chooser:
    """How each tree of the fast engine picks its pairs."""
    wdm = import_pyvinecopulib().utils.wdm
    if structure == "cvine":
        return star_pairs(order)
    return spanning_pairs(size, lambda a, b: wdm(a, b, CRITERIA[criterion]), order or None)


def _select(
    data: Floats, controls: pv.FitControlsVinecop, structure: str, order: list[int], kinds: list[str]
) -> pv.Vinecop:
    """pyvinecopulib's own fit."""
    pv = import_pyvinecopulib()
    labels = [column + 1 for column in order]
    if structure == "star":
        vine = pv.Vinecop.from_structure(structure=pv.CVineStructure(labels, 1), var_types=kinds)
        vine.select(data, controls)
        return vine
    given: dict[str, Any] = {"structure": pv.CVineStructure(labels)} if structure == "cvine" else {}
    return pv.Vinecop.from_data(data, controls, **given, var_types=kinds)


def orient_edges(grown: list[list[VineEdge]], size: int) -> list[VineEdge]:
    """Edges tree by tree, in the order in which columns can be taken away and beginning with that column, which a
    sampler draws last. A column can be taken away if it is in one edge of each tree and in no condition; the rest is a
    vine again."""
    left = [list(tree) for tree in grown]
    columns = list(range(size))
    result: list[list[VineEdge]] = [[] for _ in grown]
    while len(columns) > 1:
        column = next(c for c in columns if _can_leave(left, c))
        columns.remove(column)
        for level, tree in enumerate(left):
            mine = next((edge for edge in tree if column in (edge.first, edge.second)), None)
            if mine is not None:
                tree.remove(mine)
                if mine.first != column:
                    mine = replace(mine, first=mine.second, second=mine.first, pair=flip(mine.pair))
                result[level].append(mine)
    return [edge for tree in result for edge in tree]


def _can_leave(left: list[list[VineEdge]], column: int) -> bool:
    for tree in left:
        touching = [edge for edge in tree if column in (edge.first, edge.second) or column in edge.given]
        if tree and (len(touching) != 1 or column in touching[0].given):
            return False
    return True


def flip(pair: FamilyMember) -> FamilyMember:
    """The pair with its columns exchanged."""
    if pair.family == "indep":
        return pair
    turned = pair.bicop().flip()
    values = np.asarray(turned.parameters, dtype=np.float64).ravel()
    return replace(pair, rotation=int(turned.rotation), parameters=values)

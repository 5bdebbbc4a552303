"""Fitting a vine copula to pseudo-observations: one function for all systems without a guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.errors import UsageError
from sklar.lab.vines.members import Node, bicop
from sklar.lab.vines.pairs import FittedMember
from sklar.lab.vines.trees import GrownEdge, GrowSettings, grow, spanning_pairs, star_pairs
from sklar.model.rvine.vine import FAMILIES, RegularVine, from_vinecop

if TYPE_CHECKING:
    import pyvinecopulib as pv


CRITERIA = {"spearman": "rho", "rho": "rho", "kendall": "tau", "tau": "tau", "hoeffd": "hoeffd", "mcor": "mcor"}
"""Names of tree criteria, and what pyvinecopulib calls them."""
FAMILY_SETS = {
    "parametric": (
        "indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe", "bb1", "bb6", "bb7", "bb8", "tawn",
    ),
    "gaussian": ("gaussian",),
    "elliptical": ("indep", "gaussian", "student"),
    "one-parameter": ("indep", "gaussian", "clayton", "gumbel", "frank", "joe"),
    "itau": ("indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe"),
    "nonparametric": ("indep", "tll"),
    "all": (
        "indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe", "bb1", "bb6", "bb7", "bb8", "tawn", "tll",
    ),
}  # fmt: skip
SELECTIONS = ("aic", "bic", "loglik")
STRUCTURES = ("dissmann", "star", "cvine")
GRID_ROWS = 10 * 32**2
"""Beyond this many rows pair copulas are fitted to counts of 32 x 32 cells."""


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
    """A vine copula of rows of pseudo-observations.

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

    Returns:
        The vine as plain arrays that can be saved.
    """
    checked = _checked(u)
    kinds = np.zeros(checked.shape[1], bool) if discrete is None else np.asarray(discrete, dtype=bool)
    _check_settings(criterion, selection, truncation, structure, order, len(kinds))
    data = _with_limits(checked, lower, kinds)
    if engine == "fast" and criterion != "mcor" and truncation != "auto":
        settings = GrowSettings(families=family_names(families), selection=selection, grid=len(checked) > GRID_ROWS)
        trees = len(kinds) - 1 if truncation is None else min(int(truncation), len(kinds) - 1)
        choose = _chooser(len(kinds), criterion, structure, order)
        return _grow(checked, lower, kinds, settings, trees, choose)
    controls = _controls(families, criterion, selection, truncation, threads)
    vine = _select(data, kinds, controls, structure, order)
    return from_vinecop(vine, kinds, float(vine.loglik(data)), len(checked))


def _chooser(size: int, criterion: str, structure: str, order: Sequence[int] | None) -> Any:
    """How each tree of the fast engine picks its pairs."""
    from pyvinecopulib.utils import wdm

    if structure == "cvine":
        return star_pairs([] if order is None else list(order))
    center = None if structure == "dissmann" or order is None else list(order)
    return spanning_pairs(size, lambda a, b: wdm(a, b, CRITERIA[criterion]), center)


def _grow(
    u: Floats, lower: Floats | None, kinds: Mask, settings: GrowSettings, trees: int, choose: Any
) -> RegularVine:
    """The fast engine."""
    size = u.shape[1]
    nodes = [
        Node(u=np.ascontiguousarray(u[:, j]), lower=None if lower is None or not kinds[j] else _column(lower, j))
        for j in range(size)
    ]
    return assemble(grow(nodes, settings, trees, choose), size, kinds, len(u))


def _column(values: Floats, column: int) -> Floats:
    return np.clip(np.ascontiguousarray(np.asarray(values)[:, column]), 1e-10, 1 - 1e-10)


def _check_settings(
    criterion: str,
    selection: str,
    truncation: int | str | None,
    structure: str,
    order: Sequence[int] | None,
    size: int,
) -> None:
    if criterion not in CRITERIA:
        raise UsageError(f"the tree criterion must be one of {', '.join(CRITERIA)}; found '{criterion}'")
    if selection not in SELECTIONS:
        raise UsageError(f"families are chosen by one of {', '.join(SELECTIONS)}; found '{selection}'")
    if isinstance(truncation, str) and truncation != "auto":
        raise UsageError(f"truncation must be a whole number, None or 'auto'; found '{truncation}'")
    if structure not in STRUCTURES:
        raise UsageError(f"structure must be one of {', '.join(STRUCTURES)}; found '{structure}'")
    if structure != "dissmann" and (order is None or sorted(order) != list(range(size))):
        raise UsageError(f"structure '{structure}' needs the order of all columns, each once")


def family_names(families: str) -> tuple[str, ...]:
    """Families of a set, or the one family of this name beside independence."""
    if str(families) in FAMILY_SETS:  # a list, which nobody may ask for, cannot be looked up
        return FAMILY_SETS[families]
    if families in FAMILY_SETS["all"]:
        return ("indep", families)
    known = ", ".join((*FAMILY_SETS, *FAMILY_SETS["all"]))
    raise UsageError(f"families must be one of {known}; found '{families}'")


def _checked(u: Floats) -> Floats:
    values = np.asarray(u, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1:
        raise UsageError("a vine is fitted to a table of pseudo-observations with two rows or more")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        raise UsageError("pseudo-observations lie between 0 and 1")
    return np.clip(values, 1e-10, 1 - 1e-10)


def _with_limits(u: Floats, lower: Floats | None, kinds: Mask) -> Floats:
    """The layout of pyvinecopulib: F(x) of all columns, then F(x-) of the discrete ones."""
    if not kinds.any():
        return np.asfortranarray(u)
    if lower is None:
        raise UsageError("discrete columns need their lower limits F(x-)")
    return np.asfortranarray(np.column_stack([u, np.clip(np.asarray(lower)[:, kinds], 1e-10, 1 - 1e-10)]))


def _controls(
    families: str, criterion: str, selection: str, truncation: int | str | None, threads: int
) -> pv.FitControlsVinecop:
    import pyvinecopulib as pv

    settings: dict[str, Any] = {
        "family_set": [getattr(pv.BicopFamily, name) for name in family_names(families)],
        "tree_criterion": CRITERIA[criterion],
        "selection_criterion": selection,
        "num_threads": threads,
    }
    if truncation == "auto":
        settings["select_trunc_lvl"] = True
    elif truncation is not None:
        settings["trunc_lvl"] = int(truncation)
    return pv.FitControlsVinecop(**settings)


def _select(
    data: Floats,
    kinds: Mask,
    controls: pv.FitControlsVinecop,
    structure: str,
    order: Sequence[int] | None,
) -> pv.Vinecop:
    import pyvinecopulib as pv

    types = ["d" if kind else "c" for kind in kinds]
    if structure == "dissmann":
        return pv.Vinecop.from_data(data, controls, var_types=types)
    labels = [column + 1 for column in order or ()]
    if structure == "cvine":
        return pv.Vinecop.from_data(data, controls, structure=pv.CVineStructure(labels), var_types=types)
    vine = pv.Vinecop.from_structure(structure=pv.CVineStructure(labels, 1), var_types=types)
    vine.select(data, controls)
    return vine


def assemble(grown: list[list[GrownEdge]], size: int, discrete: Mask, rows: int) -> RegularVine:
    """Arrays of all edges, every edge beginning with the column that a sampler draws last."""
    edges = [edge for tree in oriented(grown, size) for edge in tree]
    values = [np.asarray(edge.pair.parameters, dtype=np.float64) for edge in edges]
    return RegularVine(
        size=size,
        first=np.array([edge.first for edge in edges], dtype=np.int64),
        second=np.array([edge.second for edge in edges], dtype=np.int64),
        given=np.array([column for edge in edges for column in sorted(edge.given)], dtype=np.int64),
        family=np.array([FAMILIES.index(edge.pair.family) for edge in edges], dtype=np.int64),
        rotation=np.array([edge.pair.rotation for edge in edges], dtype=np.int64),
        parameters=np.concatenate([*values, np.zeros(0)]),
        counts=np.array([len(value) for value in values], dtype=np.int64),
        tau=np.array([_tau(edge.pair) for edge in edges], dtype=np.float64),
        discrete=discrete,
        loglik=float(sum(edge.pair.loglik for edge in edges)),
        rows=rows,
    )


def oriented(grown: list[list[GrownEdge]], size: int) -> list[list[GrownEdge]]:
    """The trees with edges in the order in which columns can be taken away, that column first.

    A column can be taken away if it is in one edge of each tree and in no condition; the rest is a vine again.
    """
    left = [list(tree) for tree in grown]
    columns = list(range(size))
    result: list[list[GrownEdge]] = [[] for _ in grown]
    while len(columns) > 1:
        column = next(c for c in columns if _can_leave(left, c))
        columns.remove(column)
        for level, tree in enumerate(left):
            mine = [edge for edge in tree if column in (edge.first, edge.second)]
            if mine:
                result[level].append(_begin_with(mine[0], column))
                tree.remove(mine[0])
    return result


def _can_leave(left: list[list[GrownEdge]], column: int) -> bool:
    for tree in left:
        touching = [edge for edge in tree if column in (edge.first, edge.second) or column in edge.given]
        if tree and (len(touching) != 1 or column in touching[0].given):
            return False
    return True


def _begin_with(edge: GrownEdge, column: int) -> GrownEdge:
    if edge.first == column:
        return edge
    return GrownEdge(first=edge.second, second=edge.first, given=edge.given, pair=flip(edge.pair))


def flip(pair: FittedMember) -> FittedMember:
    """The pair with its columns exchanged."""
    if pair.family == "indep":
        return pair
    turned = bicop(pair.family, pair.parameters, pair.rotation).flip()
    values = np.asarray(turned.parameters, dtype=np.float64).ravel()
    return FittedMember(family=pair.family, rotation=int(turned.rotation), parameters=values, loglik=pair.loglik)


def _tau(pair: FittedMember) -> float:
    return 0.0 if pair.family == "indep" else float(bicop(pair.family, pair.parameters, pair.rotation).tau)

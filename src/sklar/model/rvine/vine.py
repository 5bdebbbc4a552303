"""A regular vine copula learned without noise, as plain arrays: its trees, pair copulas, sampling and truncation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import pyvinecopulib as pv

FAMILIES = (
    "indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe", "bb1", "bb6", "bb7", "bb8", "tawn", "tll",
)  # fmt: skip
"""Names of the families as pyvinecopulib spells them; an edge stores the position here."""


def import_pyvinecopulib() -> ModuleType:
    """Imports pyvinecopulib, which only the baselines without a privacy guarantee need."""
    try:
        import pyvinecopulib
    except ImportError:
        words = "this method needs pyvinecopulib: pip install '.[disclosed]' in the folder of Sklar."
        raise MissingExtraError(words) from None
    return pyvinecopulib


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegularVine:
    """A regular vine on columns 0..size-1.

    Edges are listed tree by tree, size - 1 in tree one, one less in each further tree, for all modelled trees.

    Attributes:
        first: One end of the conditioned pair of each edge.
        second: The other end; pair copulas take (first, second) in this order.
        given: Conditioning columns of all edges one after the other: none for edges of tree one, one for tree two...
        family: Position of each edge's family in FAMILIES.
        parameters: Parameters of all edges one after the other.
        counts: Number of parameters of each edge.
        tau: Kendall's tau of each edge.
        discrete: Whether each column was fitted as discrete.
    """

    size: int
    first: Ints
    second: Ints
    given: Ints
    family: Ints
    rotation: Ints
    parameters: Floats
    counts: Ints
    tau: Floats
    discrete: Mask
    loglik: float
    rows: int

    @property
    def trees(self) -> list[range]:
        """Positions of the edges of each tree."""
        bounds: list[range] = []
        while (start := bounds[-1].stop if bounds else 0) < len(self.first):
            bounds.append(range(start, start + self.size - 1 - len(bounds)))
        return bounds

    @property
    def levels(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def free_parameters(self) -> int:
        """Number of parameters of the parametric edges."""
        return int(self.counts[self.family != FAMILIES.index("tll")].sum())

    def truncate(self, level: int) -> RegularVine:
        """Return the first `level` trees; the edges of all others become independent. Nothing is fitted again."""
        if level < 0:
            raise UsageError(f"a vine is truncated at a level of 0 or more; found {level}")
        if level >= self.levels:
            return self
        edges = sum(self.size - 1 - tree for tree in range(level))
        givens = sum(tree * (self.size - 1 - tree) for tree in range(level))
        cut = {name: getattr(self, name)[:edges] for name in ("first", "second", "family", "rotation", "counts", "tau")}
        parameters = self.parameters[: int(cut["counts"].sum())]
        return dataclasses.replace(self, **cut, given=self.given[:givens], parameters=parameters, loglik=float("nan"))

    def simulate(self, rows: int, rng: np.random.Generator) -> Floats:
        """Return rows of dependent uniforms, shape (rows, size)."""
        return self.from_independent(rng.random((rows, self.size)))

    def from_independent(self, w: Floats) -> Floats:
        """Return independent uniforms, one a column, turned into dependent ones (inverse Rosenblatt transform)."""
        inside = np.asfortranarray(np.clip(w, 1e-12, 1 - 1e-12))
        return inverse_rosenblatt(self.to_vinecop(), inside) if len(self.first) else inside

    def to_independent(self, u: Floats) -> Floats:
        """Return dependent uniforms turned into independent ones: column by column, in `sampling_order`."""
        inside = np.asfortranarray(np.clip(u, 1e-12, 1 - 1e-12))
        return self.to_vinecop().rosenblatt(inside) if len(self.first) else inside

    def sampling_order(self) -> list[int]:
        """Return columns in the order in which `from_independent` draws them, each given the ones before."""
        if not len(self.first):
            return list(range(self.size))
        return [int(column) - 1 for column in reversed(self.to_vinecop().order)]

    def to_vinecop(self, *, discrete: bool = False) -> pv.Vinecop:
        """Return the vine in pyvinecopulib; all columns continuous, as for sampling, unless `discrete`."""
        pv = import_pyvinecopulib()
        kinds = ["d" if kind and discrete else "c" for kind in self.discrete]
        labels = [
            [(int(self.first[e]) + 1, int(self.second[e]) + 1, [int(g) + 1 for g in self.given_of(e)]) for e in tree]
            for tree in self.trees
        ]
        copulas = [
            [self.pair_of(e).bicop((kinds[self.first[e]], kinds[self.second[e]])) for e in tree] for tree in self.trees
        ]
        structure = pv.RVineStructure.from_trees(self.size, labels)
        return pv.Vinecop.from_structure(structure=structure, pair_copulas=copulas, var_types=kinds)

    def given_of(self, edge: int) -> Ints:
        """Return conditioning columns of an edge."""
        start = 0
        for tree, edges in enumerate(self.trees):
            if edge in edges:
                at = start + tree * (edge - edges.start)
                return self.given[at : at + tree]
            start += tree * len(edges)
        raise UsageError(f"the vine has no edge {edge}")

    def pair_of(self, edge: int) -> FamilyMember:
        """Return the pair copula of an edge."""
        start = int(self.counts[:edge].sum())
        values = self.parameters[start : start + int(self.counts[edge])]
        return FamilyMember(family=FAMILIES[self.family[edge]], rotation=int(self.rotation[edge]), parameters=values)

    def describe(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return edges of every tree with their family and Kendall's tau; independent edges are only counted."""
        trees: list[dict[str, Any]] = []
        for level, edges in enumerate(self.trees, start=1):
            shown = [self.describe_edge(edge, names) for edge in edges if FAMILIES[self.family[edge]] != "indep"]
            shown.sort(key=lambda edge: -abs(edge["tau"]))
            trees.append({"tree": level, "edges": shown, "independent": len(edges) - len(shown)})
        return trees

    def describe_edge(self, edge: int, names: Sequence[str]) -> dict[str, Any]:
        """Its columns, condition, family and Kendall's tau, as plain data."""
        turn = f" {self.rotation[edge]}" if self.rotation[edge] else ""
        return {
            "first": names[self.first[edge]],
            "second": names[self.second[edge]],
            "given": [names[column] for column in self.given_of(edge)],
            "family": FAMILIES[int(self.family[edge])] + turn,
            "tau": round(float(self.tau[edge]), 4),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FamilyMember:
    """A pair copula: a member of one of FAMILIES, and the log-likelihood it was fitted with."""

    family: str
    rotation: int = 0
    parameters: Floats
    loglik: float = 0.0

    def bicop(self, kinds: tuple[str, str] = ("c", "c")) -> pv.Bicop:
        """It in pyvinecopulib; `kinds` says which of its columns are continuous ("c") or discrete ("d")."""
        pv = import_pyvinecopulib()
        if self.family == "indep":
            return pv.Bicop.from_family(pv.BicopFamily.indep, var_types=list(kinds))
        size = len(self.parameters)
        lines = round(size**0.5) if self.family == "tll" else size  # a kernel estimate is a square of values
        shaped = np.asfortranarray(self.parameters.reshape(lines, -1))
        return pv.Bicop.from_family(getattr(pv.BicopFamily, self.family), self.rotation, shaped, var_types=list(kinds))

    @property
    def tau(self) -> float:
        """Kendall's tau."""
        return 0.0 if self.family == "indep" else float(self.bicop().tau)


INDEPENDENT = FamilyMember(family="indep", parameters=np.zeros(0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineEdge:
    """Columns `first` and `second` given the columns of `given`, joined by a pair copula."""

    first: int
    second: int
    given: frozenset[int]
    pair: FamilyMember


def from_edges(edges: Sequence[VineEdge], *, size: int, discrete: Mask, loglik: float, rows: int) -> RegularVine:
    """Return the vine with these edges, which are listed tree by tree."""
    return RegularVine(
        size=size,
        first=np.array([edge.first for edge in edges], dtype=np.int64),
        second=np.array([edge.second for edge in edges], dtype=np.int64),
        given=np.array([column for edge in edges for column in sorted(edge.given)], dtype=np.int64),
        family=np.array([FAMILIES.index(edge.pair.family) for edge in edges], dtype=np.int64),
        rotation=np.array([edge.pair.rotation for edge in edges], dtype=np.int64),
        parameters=np.concatenate([*(edge.pair.parameters for edge in edges), np.zeros(0)]),
        counts=np.array([len(edge.pair.parameters) for edge in edges], dtype=np.int64),
        tau=np.array([edge.pair.tau for edge in edges], dtype=np.float64),
        discrete=np.asarray(discrete, dtype=bool),
        loglik=loglik,
        rows=rows,
    )


def from_vinecop(vine: pv.Vinecop, discrete: Mask, loglik: float, rows: int) -> RegularVine:
    """Return plain arrays of a fitted pyvinecopulib vine."""
    edges: list[VineEdge] = []
    for edge in (edge for tree in vine.get_trees() for edge in tree):
        (first, second), copula = edge["conditioned"], edge["pair_copula"]
        values = np.asarray(copula.parameters, dtype=np.float64).ravel()
        pair = FamilyMember(family=copula.family.name, rotation=copula.rotation, parameters=values)
        given = frozenset(column - 1 for column in edge["conditioning"])
        edges.append(VineEdge(first=first - 1, second=second - 1, given=given, pair=pair))
    return from_edges(edges, size=int(vine.dim), discrete=discrete, loglik=loglik, rows=rows)


BISECTED_FAMILIES = ("frank", "bb1", "bb6", "bb7", "bb8", "tawn")
"""Families whose conditional quantiles pyvinecopulib finds by bisection, twenty to forty evaluations a row."""
UNIFORM_MARGIN = 1e-10
"""Uniforms stay this far from 0 and 1, where densities may not be finite."""
MAX_SEARCH_ROUNDS = 100
"""Most rounds of the search; bisections alone would be done after half of them."""
NEWTON_ROUNDS = 8
"""Rounds of Newton's method alone; from then on every other one halves the interval."""
CLOSE, NARROW = 1e-10, 1e-14
"""A row is done when its conditional probability is this close, or the interval around its quantile this narrow."""


def inverse_rosenblatt(vine: pv.Vinecop, w: Floats) -> Floats:
    """Return independent uniforms as dependent ones, column by column from the last of the vine's order to the first.

    With columns numbered by that order, x[t, j] is column j given its t conditioning columns of tree t: x[t, j] is the
    quantile of pair copula (t, j) at probability x[t + 1, j], given its second column, which is x[t, k] or, where k's
    condition holds one column more, the forward step y[t, k].

    Reference: Dissmann, Brechmann, Czado, Kurowicka (2013), "Selecting and estimating regular vine copulae and
    application to financial returns", algorithm 2.2.
    """
    structure, order = vine.structure, [int(column) - 1 for column in vine.order]
    size, depth = len(order), int(vine.trunc_lvl)
    result = np.empty_like(w, order="F")
    x: dict[tuple[int, int], Floats] = {}
    y: dict[tuple[int, int], Floats] = {}
    for j in reversed(range(size)):
        trees = min(depth, size - 1 - j)
        x[trees, j] = w[:, order[j]]
        for tree in reversed(range(trees)):
            least = int(structure.min_array(tree, j))
            direct = least == int(structure.struct_array(tree, j, True))
            beside = (x if direct else y)[tree, least - 1]
            copula = vine.get_pair_copula(tree, j)
            x[tree, j] = quantile_given_second(copula, x[tree + 1, j], beside)
            if structure.needed_hfunc1(tree, j):
                y[tree + 1, j] = _keep_inside(copula.hfunc1(_pairs(x[tree, j], beside)))
        result[:, order[j]] = x[0, j]
    return result


def quantile_given_second(copula: pv.Bicop, level: Floats, second: Floats) -> Floats:
    """Return x with P(U <= x | V = second) = level.

    With z the normal score of x, Newton's method goes to the zero of Phi^-1(h(x, v)) - Phi^-1(level), which is a
    straight line in z for the Gaussian copula; it starts from that copula's solution at the same Kendall's tau. A step
    that leaves the interval known to hold the solution is replaced by a bisection, and so is every other one of a row
    that takes long.
    """
    if copula.family.name not in BISECTED_FAMILIES:
        return _keep_inside(copula.hinv2(_pairs(level, second)))
    level, second = _keep_inside(level), _keep_inside(second)
    if copula.family.name == "frank":
        return _keep_inside(_frank(float(copula.parameters[0, 0]), level, second))
    goal = ndtri(level)
    corr = np.sin(np.pi / 2 * np.clip(copula.tau, -0.99, 0.99))
    z = corr * ndtri(second) + np.sqrt(1 - corr**2) * goal
    x = _keep_inside(ndtr(z))
    low, high = np.zeros(len(x)), np.ones(len(x))
    active = np.arange(len(x))
    for round_ in range(MAX_SEARCH_ROUNDS):
        at = _pairs(x[active], second[active])
        reached = copula.hfunc2(at)
        miss = reached - level[active]
        low[active] = np.where(miss < 0, x[active], low[active])
        high[active] = np.where(miss < 0, high[active], x[active])
        go_on = (np.abs(miss) > CLOSE) & (high[active] - low[active] > NARROW)
        if not go_on.any():
            break
        active, at, reached = active[go_on], np.asfortranarray(at[go_on]), reached[go_on]
        middle = (low[active] + high[active]) / 2
        if round_ > NEWTON_ROUNDS and round_ % 2:
            x[active] = middle
            continue
        moved = _newton_step(x[active], reached, goal[active], copula.pdf(at))
        x[active] = np.where((moved > low[active]) & (moved < high[active]), moved, middle)
    return _keep_inside(x)


def _frank(theta: float, level: Floats, second: Floats) -> Floats:
    """Return the quantile of Frank's copula: h(x, v) = level solved for x, with only positive terms.

    x = -log((a (1 - w) + w exp(-theta)) / (a (1 - w) + w)) / theta with a = exp(-theta v), w = level and theta > 0;
    for theta < 0, h(x, v) of theta is 1 - h(1 - x, v) of -theta.
    """
    if abs(theta) < 1e-6:
        return level
    turned = 1 - level if theta < 0 else level
    size = abs(theta)
    other = np.exp(-size * second) * (1 - turned)
    found = -np.log((other + turned * np.exp(-size)) / (other + turned)) / size
    return 1 - found if theta < 0 else found


def _newton_step(x: Floats, reached: Floats, goal: Floats, density: Floats) -> Floats:
    """Return one step of Newton's method on the scale of normal scores; the slope is c(x, v) phi(z) /
    phi(Phi^-1(h))."""
    z, score = ndtri(x), ndtri(_keep_inside(reached))
    slope = density * np.exp(np.clip((score**2 - z**2) / 2, -700, 700))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return ndtr(z - (score - goal) / slope)


def _pairs(first: Floats, second: Floats) -> Floats:
    return np.asfortranarray(np.column_stack([first, second]))


def _keep_inside(values: Floats) -> Floats:
    return np.clip(values, UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)

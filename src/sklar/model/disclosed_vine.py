"""A vine copula learned without noise, as plain arrays: its trees, pair copulas, sampling and truncation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UsageError
from sklar.model.disclosed_inverse import inverse_rosenblatt

if TYPE_CHECKING:
    import pyvinecopulib as pv

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FAMILIES = (
    "indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe", "bb1", "bb6", "bb7", "bb8", "tawn", "tll",
)  # fmt: skip
"""Names of the families as pyvinecopulib spells them; an edge stores the position here."""
LABELS = {"indep": "independent"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisclosedVine:
    """A regular vine on columns 0..size-1.

    Edges are listed tree by tree, size - 1 in tree one, one less in each further tree, as many trees as are modelled.

    Attributes:
        size: Number of columns.
        first: One end of the conditioned pair of each edge.
        second: The other end; pair copulas take (first, second) in this order.
        given: Conditioning columns of all edges one after the other: none for edges of tree one, one for tree two...
        family: Position of each edge's family in FAMILIES.
        rotation: 0, 90, 180 or 270.
        parameters: Parameters of all edges one after the other.
        counts: Number of parameters of each edge.
        tau: Kendall's tau of each edge.
        discrete: Whether each column was fitted as discrete.
        loglik: Log-likelihood of the fit.
        rows: Rows it was fitted to.
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
    discrete: NDArray[np.bool_]
    loglik: float
    rows: int

    @property
    def levels(self) -> int:
        """Number of trees."""
        return len(tree_bounds(self.size, len(self.first)))

    @property
    def free_parameters(self) -> int:
        """Number of parameters of the parametric edges."""
        return int(self.counts[self.family != FAMILIES.index("tll")].sum())

    def truncate(self, level: int) -> DisclosedVine:
        """The first `level` trees; the edges of all others become independent. Nothing is fitted again."""
        if level < 0:
            raise UsageError(f"a vine is truncated at a level of 0 or more; found {level}")
        if level >= self.levels:
            return self
        edges = sum(self.size - 1 - tree for tree in range(level))
        givens = sum(tree * (self.size - 1 - tree) for tree in range(level))
        return DisclosedVine(
            size=self.size,
            first=self.first[:edges],
            second=self.second[:edges],
            given=self.given[:givens],
            family=self.family[:edges],
            rotation=self.rotation[:edges],
            parameters=self.parameters[: int(self.counts[:edges].sum())],
            counts=self.counts[:edges],
            tau=self.tau[:edges],
            discrete=self.discrete,
            loglik=float("nan"),
            rows=self.rows,
        )

    def simulate(self, rows: int, rng: np.random.Generator) -> Floats:
        """Rows of dependent uniforms, shape (rows, size)."""
        return self.from_independent(rng.random((rows, self.size)))

    def from_independent(self, w: Floats) -> Floats:
        """Independent uniforms, one a column, turned into dependent ones (inverse Rosenblatt transform)."""
        inside = np.asfortranarray(np.clip(w, 1e-12, 1 - 1e-12))
        if self.size == 1 or not len(self.first):
            return inside
        return inverse_rosenblatt(self.to_vinecop(), inside)

    def to_independent(self, u: Floats) -> Floats:
        """Dependent uniforms turned into independent ones: column by column, in `sampling_order`."""
        inside = np.asfortranarray(np.clip(u, 1e-12, 1 - 1e-12))
        if self.size == 1 or not len(self.first):
            return inside
        return self.to_vinecop().rosenblatt(inside)

    def sampling_order(self) -> list[int]:
        """Columns in the order in which `from_independent` draws them, each given the ones before."""
        if self.size == 1 or not len(self.first):
            return list(range(self.size))
        return [int(column) - 1 for column in reversed(self.to_vinecop().order)]

    def to_vinecop(self, *, discrete: bool = False) -> pv.Vinecop:
        """The same vine in pyvinecopulib; all columns continuous, as for sampling, unless `discrete`."""
        import pyvinecopulib as pv

        kinds = ["d" if kind and discrete else "c" for kind in self.discrete]
        labels = [
            [(int(self.first[e]) + 1, int(self.second[e]) + 1, [int(g) + 1 for g in self.given_of(e)]) for e in tree]
            for tree in self._trees()
        ]
        copulas = [
            [self._bicop(e, [kinds[self.first[e]], kinds[self.second[e]]]) for e in tree] for tree in self._trees()
        ]
        structure = pv.RVineStructure.from_trees(self.size, labels)
        return pv.Vinecop.from_structure(structure=structure, pair_copulas=copulas, var_types=kinds)

    def given_of(self, edge: int) -> Ints:
        """Conditioning columns of an edge."""
        start = 0
        for tree, edges in enumerate(self._trees()):
            if edge in edges:
                at = start + tree * (edge - edges.start)
                return self.given[at : at + tree]
            start += tree * len(edges)
        raise UsageError(f"the vine has no edge {edge}")

    def describe(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Edges of every tree with their family and Kendall's tau; independent edges are only counted."""
        trees: list[dict[str, Any]] = []
        for level, edges in enumerate(self._trees(), start=1):
            told = [self._tell(edge, names) for edge in edges if FAMILIES[self.family[edge]] != "indep"]
            told.sort(key=lambda edge: -abs(edge["tau"]))
            trees.append({"tree": level, "edges": told, "independent": len(edges) - len(told)})
        return trees

    def _trees(self) -> list[range]:
        return tree_bounds(self.size, len(self.first))

    def _tell(self, edge: int, names: Sequence[str]) -> dict[str, Any]:
        name = FAMILIES[int(self.family[edge])]
        turn = f" {self.rotation[edge]}" if self.rotation[edge] else ""
        return {
            "first": names[self.first[edge]],
            "second": names[self.second[edge]],
            "given": [names[column] for column in self.given_of(edge)],
            "family": LABELS.get(name, name) + turn,
            "tau": round(float(self.tau[edge]), 4),
        }

    def _bicop(self, edge: int, kinds: list[str]) -> pv.Bicop:
        import pyvinecopulib as pv

        name = FAMILIES[int(self.family[edge])]
        start = int(self.counts[:edge].sum())
        values = self.parameters[start : start + int(self.counts[edge])]
        side = round(len(values) ** 0.5)
        shaped = values.reshape(side, side) if name == "tll" else values.reshape(-1, 1)
        family = getattr(pv.BicopFamily, name)
        if name == "indep":
            return pv.Bicop.from_family(family, var_types=kinds)
        return pv.Bicop.from_family(family, int(self.rotation[edge]), np.asfortranarray(shaped), var_types=kinds)


def tree_bounds(size: int, edges: int) -> list[range]:
    """Positions of the edges of each tree."""
    bounds: list[range] = []
    start = 0
    while start < edges:
        stop = start + size - 1 - len(bounds)
        bounds.append(range(start, stop))
        start = stop
    return bounds


def from_vinecop(vine: pv.Vinecop, discrete: NDArray[np.bool_], loglik: float, rows: int) -> DisclosedVine:
    """Plain arrays of a fitted pyvinecopulib vine."""
    edges = [edge for tree in vine.get_trees() for edge in tree]
    copulas = [edge["pair_copula"] for edge in edges]
    values = [np.asarray(copula.parameters, dtype=np.float64).ravel() for copula in copulas]
    return DisclosedVine(
        size=int(vine.dim),
        first=np.array([edge["conditioned"][0] - 1 for edge in edges], dtype=np.int64),
        second=np.array([edge["conditioned"][1] - 1 for edge in edges], dtype=np.int64),
        given=np.array([g - 1 for edge in edges for g in edge["conditioning"]], dtype=np.int64),
        family=np.array([FAMILIES.index(copula.family.name) for copula in copulas], dtype=np.int64),
        rotation=np.array([copula.rotation for copula in copulas], dtype=np.int64),
        parameters=np.concatenate([*values, np.zeros(0)]),
        counts=np.array([len(value) for value in values], dtype=np.int64),
        tau=np.array([copula.tau for copula in copulas], dtype=np.float64),
        discrete=np.asarray(discrete, dtype=bool),
        loglik=loglik,
        rows=rows,
    )

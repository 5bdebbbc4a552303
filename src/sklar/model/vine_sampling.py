"""Drawing uniforms from a vine, column by column, with the conditional uniforms that deeper trees need."""

from __future__ import annotations

import numpy as np

from sklar.model.paircopula import PairCopula
from sklar.model.scale import clip_open
from sklar.model.vine import Edge, Step, Vine, sampling_order

BLOCK = 20_000
"""Particles carried through the trees at a time: all their conditional uniforms are held together."""


class Uniforms:
    """Uniforms of particles: u of a column given a set of columns, computed when asked for and then kept."""

    def __init__(self, vine: Vine):
        self._by_column: dict[tuple[int, tuple[int, ...]], Edge] = {}
        for tree in vine.trees:
            for edge in tree:
                for column in (edge.first, edge.second):
                    given = tuple(sorted((*edge.given, edge.partner(column))))
                    self._by_column[column, given] = edge
        self._known: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}

    def put(self, column: int, given: tuple[int, ...], u: np.ndarray) -> None:
        """Record u of `column` given `given` (increasing)."""
        self._known[column, given] = u

    def get(self, column: int, given: tuple[int, ...] = ()) -> np.ndarray:
        """u of `column` given `given`: h-functions applied up the trees."""
        key = column, given
        if key not in self._known:
            edge = self._by_column[key]
            self._known[key] = forward(
                edge, column, self.get(column, edge.given), self.get(edge.partner(column), edge.given)
            )
        return self._known[key]

    def __len__(self) -> int:
        return len(self._known)


def forward(edge: Edge, column: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """u of `column` given also its partner on the edge, whose uniform is v."""
    copula: PairCopula = edge.copula
    return copula.hfunc2(u, v) if column == edge.first else copula.hfunc1(v, u)


def backward(edge: Edge, column: int, p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Inverse of `forward` in u."""
    copula: PairCopula = edge.copula
    return copula.hinv2(p, v) if column == edge.first else copula.hinv1(v, p)


def draw_step(step: Step, uniforms: Uniforms, p: np.ndarray) -> None:
    """Draw one column from its conditional distribution at level p, recording every conditional uniform."""
    u = p
    for edge in reversed(step.chain):
        partner = edge.partner(step.column)
        uniforms.put(step.column, tuple(sorted((*edge.given, partner))), u)
        u = backward(edge, step.column, u, uniforms.get(partner, edge.given))
    uniforms.put(step.column, (), u)


def draw_levels(columns: int, rows: int, rng: np.random.Generator, *, stratified: bool = False) -> np.ndarray:
    """Independent uniform levels, shape (rows, columns) in Fortran order.

    Stratified levels put one particle into each of `rows` equal strata of every column: less Monte Carlo noise, but
    particles are then not independent.
    """
    levels = np.empty((rows, columns), order="F")
    for column in range(columns):
        u = rng.random(rows)
        levels[:, column] = clip_open((rng.permutation(rows) + u) / rows if stratified else u)
    return levels


def transform(vine: Vine, steps: tuple[Step, ...], levels: np.ndarray) -> Uniforms:
    """Turn uniform levels (one column per column of the vine) into particles of the vine."""
    uniforms = Uniforms(vine)
    for step in steps:
        draw_step(step, uniforms, levels[:, step.column])
    return uniforms


def simulate_vine(vine: Vine, rows: int, rng: np.random.Generator, *, stratified: bool = False) -> np.ndarray:
    """Draw particles from the vine: uniforms of shape (rows, columns), Fortran order, in bounded extra memory."""
    levels = draw_levels(vine.size, rows, rng, stratified=stratified)
    steps = sampling_order(vine)
    for start in range(0, rows, BLOCK):
        block = slice(start, min(start + BLOCK, rows))
        uniforms = transform(vine, steps, levels[block])
        for column in range(vine.size):
            levels[block, column] = uniforms.get(column)
    return levels

"""Trees two and up, without rows: Gaussian pair copulas chosen to explain pair tables that are already released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.model.axis import interval_of
from sklar.model.pairs.copula import GaussianPair, IndependentPair, gaussian_density
from sklar.model.pairs.hints import Hint
from sklar.model.vine.sampling import Uniforms, draw_levels, transform
from sklar.model.vine.vine import Edge, EdgeCandidate, Vine, candidates, maximum_spanning_tree, sampling_order

CORRELATIONS = np.sin(np.linspace(-1, 1, 21) * np.arcsin(0.95))
"""Correlations tried for an edge, with 0 in the middle; parabolas through three points find what lies between."""
PARTICLES = 20_000
"""Particles of the truncated vine: their own noise in a predicted table against the time of every candidate edge."""
NEARER = (0.03, 0.01)
"""Distances of the points of the two later parabolas."""
PROMISING = 1.0
"""Edges that a score test gives less chi-square than this are not searched, to save time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTable:
    """A released table of two columns: noisy counts on groups of their axes, and what else tells their correlation."""

    observed: np.ndarray
    sigma: float
    edges1: np.ndarray
    edges2: np.ndarray
    hint: Hint | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeGuess:
    """A Gaussian correlation for a candidate edge, its noise variance and the chi-square it gains."""

    corr: float
    variance: float
    gain: float


NOTHING = EdgeGuess(corr=0.0, variance=1.0, gain=0.0)
Tables = Mapping[tuple[int, int], PairTable]


def grow(
    vine: Vine, tables: Tables, eligible: Mapping[int, float], rows: float, depth: int, rng: np.random.Generator
) -> Vine:
    """Add trees to a vine with at least one, up to `depth`; stops early when a tree would hold no dependence.

    Args:
        tables: released tables by column pair (smaller column first).
        eligible: columns whose order has a meaning (a Gaussian copula says nothing about nominal ones), each with the
            chi-square that an edge must gain to be believed.
    """
    while len(vine.trees) < min(depth, vine.size - 1):
        tree = next_tree(vine, tables, eligible, rows, rng)
        if all(isinstance(edge.copula, IndependentPair) for edge in tree):
            break
        vine = Vine(size=vine.size, trees=(*vine.trees, tree))
    return vine


def next_tree(
    vine: Vine, tables: Tables, eligible: Mapping[int, float], rows: float, rng: np.random.Generator
) -> tuple[Edge, ...]:
    """The next tree: the spanning tree of largest total gain among the edges the proximity condition allows."""
    levels = draw_levels(vine.size, PARTICLES, rng, stratified=True)
    particles = _Particles(transform(vine, sampling_order(vine), levels))
    allowed = list(candidates(vine.trees[-1]))
    guesses = [_guess(edge, particles, tables, eligible, rows) for edge in allowed]
    ends, gains = [(c.left, c.right) for c in allowed], [max(guess.gain, 0.0) for guess in guesses]
    chosen = maximum_spanning_tree(len(vine.trees[-1]), ends, gains)
    return tuple(_edge(allowed[i], guesses[i]) for i in chosen)


class _Particles:
    """Particles of the truncated vine with normal scores and group numbers, each computed once."""

    def __init__(self, uniforms: Uniforms):
        self.uniforms = uniforms
        self._places: dict[tuple[int, int], np.ndarray] = {}

    def place(self, column: int, edges: np.ndarray) -> np.ndarray:
        key = column, id(edges)  # the same array object is used in all tables of a column
        if key not in self._places:
            self._places[key] = interval_of(edges, self.uniforms.get(column))
        return self._places[key]


def _guess(
    edge: EdgeCandidate, particles: _Particles, tables: Tables, eligible: Mapping[int, float], rows: float
) -> EdgeGuess:
    low, high = sorted((edge.first, edge.second))
    table = tables.get((low, high))
    if table is None or low not in eligible or high not in eligible:
        return NOTHING
    cell = particles.place(low, table.edges1) * (len(table.edges2) - 1) + particles.place(high, table.edges2)
    x, y = particles.uniforms.score(edge.first, edge.given), particles.uniforms.score(edge.second, edge.given)
    guess = fit_correlation(cell, x, y, table, rows)
    return guess if guess.gain > max(eligible[low], eligible[high]) else NOTHING


def fit_correlation(cell: np.ndarray, x: np.ndarray, y: np.ndarray, table: PairTable, rows: float) -> EdgeGuess:
    """Fit a Gaussian pair copula of two conditional uniforms to a released table of their columns.

    Weighting the particles of a truncated vine by the density of one more pair copula c(u_a|D, u_b|D) gives exactly
    the (a, b) margin of the vine with that edge added, so the table it would produce is a weighted histogram. Least
    squares over the correlation (a hint is one more term), by parabolas through three points, ever nearer. `cell` is
    the cell of the table that each particle falls in, x and y the normal scores of its two conditional uniforms.
    """
    observed = table.observed.ravel()
    size = len(observed)

    def predicted(corr: float) -> np.ndarray:
        counts = np.bincount(cell, gaussian_density(corr, x, y), size)
        return rows * counts / counts.sum()

    plain = np.bincount(cell, minlength=size) * (rows / len(cell))
    variance = table.sigma**2 + np.maximum(plain, 0.5)
    # d/dr of the Gaussian copula density at r = 0 is x y: a score test tells cheaply which edges deserve a search.
    slope = np.bincount(cell, x * y, size) * (rows / len(cell))
    information = float(np.sum(slope**2 / variance))
    score = float(np.sum(slope * (observed - plain) / variance))
    if table.hint is not None:
        line = table.hint.weights.ravel() / rows
        information += float(line @ slope) ** 2 / table.hint.variance
        score += float(line @ slope) * (table.hint.value - float(line @ plain)) / table.hint.variance
    promise = score**2 / max(information, 1e-9)
    if promise < PROMISING:
        return NOTHING

    def distance(corr: float) -> float:
        expected = predicted(corr)
        more = 0.0 if table.hint is None else table.hint.misfit(expected / rows)
        return float(np.sum((observed - expected) ** 2 / variance)) + more

    misfit = np.array([distance(corr) for corr in CORRELATIONS])
    best = int(np.clip(np.argmin(misfit), 1, len(misfit) - 2))
    corr = parabola_minimum(CORRELATIONS[best - 1 : best + 2], misfit[best - 1 : best + 2])
    for width in NEARER:
        near = corr + width * np.array([-1.0, 0.0, 1.0])
        corr = parabola_minimum(near, np.array([distance(float(c)) for c in near]))
    gain = float(misfit[len(misfit) // 2] - misfit[best])
    return EdgeGuess(corr=corr, variance=1.0 / max(information, 1e-9), gain=gain)


def parabola_minimum(x: np.ndarray, y: np.ndarray) -> float:
    """Where the parabola through three points is lowest, kept between the outer two."""
    curve, slope, _ = np.polyfit(x, y, 2)
    return float(np.clip(-slope / (2 * curve), x[0], x[2])) if curve > 0 else float(x[1])


def _edge(candidate: EdgeCandidate, guess: EdgeGuess) -> Edge:
    """The edge of a candidate, its correlation shrunken by the share of its square that noise alone would give."""
    corr = guess.corr * max(0.0, 1 - guess.variance / max(guess.corr**2, 1e-9))
    independent = abs(corr) < 0.004  # no visible effect, and identity h-functions are faster
    return Edge(
        first=candidate.first,
        second=candidate.second,
        given=candidate.given,
        copula=IndependentPair() if independent else GaussianPair(corr=corr),
        family="independent" if independent else "gaussian",
        tau=0.0 if independent else float(2 / np.pi * np.arcsin(corr)),
    )

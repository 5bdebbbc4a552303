"""Trees two and up, without rows: Gaussian pair copulas chosen to explain pair tables that are already released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import interval_of
from sklar.model.pairs.copula import ClassPairs, GaussianPair, IndependentPair, gaussian_density
from sklar.model.pairs.families import PARAMETER_PRICE
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.vine.sampling import draw_levels, transform
from sklar.model.vine.vine import Edge, EdgeCandidate, Vine, list_candidate_edges, maximum_spanning_tree, sampling_order

TRIED_CORRELATIONS = np.sin(np.linspace(-1, 1, 21) * np.arcsin(0.95))
"""Correlations tried for an edge, with 0 in the middle; parabolas through three points find what lies between."""
PARTICLES = 2**14
"""Particles of the truncated vine: their own noise in a predicted table against the time of every candidate edge."""
PARABOLA_DISTANCES = (0.03, 0.01)
"""Distances of the points of the two later parabolas."""
MIN_SCORE_CHI_SQUARE = 1.0
"""Edges that a score test gives less chi-square than this are not searched, to save time."""
MAX_CORRELATION = 0.97
"""Correlations of a class are kept within this: a common one and what the class adds may exceed 1."""
MIN_VISIBLE_CORRELATION = 0.004
"""Correlations below this have no visible effect, and identity h-functions are faster."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeGuess:
    """A Gaussian correlation for a candidate edge, its noise variance and the chi-square it gains."""

    corr: float
    variance: float
    gain: float


NO_EDGE = EdgeGuess(corr=0.0, variance=np.inf, gain=0.0)
Tables = Mapping[tuple[int, int], MeasuredTable]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassTables:
    """Released tables of pairs within each class of a column; classes are intervals of its axis between `edges`.

    The column is one that all edges of the next trees are conditioned on.
    """

    column: int
    edges: Floats
    tables: tuple[Tables, ...]

    @property
    def mass(self) -> Floats:
        """The probability of each class."""
        return np.diff(self.edges)


def grow(
    vine: Vine,
    tables: Tables,
    eligible: frozenset[int],
    rows: float,
    depth: int,
    rng: np.random.Generator,
    classes: ClassTables | None = None,
) -> Vine:
    """Add trees to a vine with at least one, up to `depth`; stops early when a tree would hold no dependence.

    Args:
        tables: released tables by column pair (smaller column first).
        eligible: columns whose order has a meaning; a Gaussian copula says nothing about nominal ones.
        classes: tables within the classes of a column, by which correlations may differ; or None.
    """
    while len(vine.trees) < min(depth, vine.size - 1):
        tree = next_tree(vine, tables, eligible, rows, rng, classes)
        if all(isinstance(edge.copula, IndependentPair) for edge in tree):
            break
        vine = Vine(size=vine.size, trees=(*vine.trees, tree))
    return vine


def next_tree(
    vine: Vine,
    tables: Tables,
    eligible: frozenset[int],
    rows: float,
    rng: np.random.Generator,
    classes: ClassTables | None = None,
) -> tuple[Edge, ...]:
    """Return the next tree: the spanning tree of largest total gain among the edges the proximity condition allows."""
    particles = _Particles(vine, rng, classes)
    allowed = list(list_candidate_edges(vine.trees[-1]))
    rough = [
        _guess(edge, particles, tables, rows) if edge.first in eligible and edge.second in eligible else NO_EDGE
        for edge in allowed
    ]
    guesses = [guess if guess.gain > PARAMETER_PRICE else NO_EDGE for guess in rough]
    gains = np.array([guess.gain for guess in guesses])
    shifts: Sequence[Floats | None] = [None] * len(allowed)
    if classes is not None:
        more, moved = _class_shifts(allowed, rough, particles, classes, rows)
        gains += np.where(more > PARAMETER_PRICE, more, 0.0)
        shifts = [shift if gain > PARAMETER_PRICE else None for shift, gain in zip(moved, more, strict=True)]
    chosen = maximum_spanning_tree(len(vine.trees[-1]), [(c.left, c.right) for c in allowed], gains.tolist())
    return tuple(_edge(allowed[i], guesses[i], shifts[i], classes) for i in chosen)


def _class_shifts(
    allowed: Sequence[EdgeCandidate],
    common: Sequence[EdgeGuess],
    particles: _Particles,
    classes: ClassTables,
    rows: float,
) -> tuple[Floats, Floats]:
    """Return what correlations within classes add to the common one: the chi-square each edge gains by it, and the
    shifts.

    The difference d of a class has variance v by its noise and that of the common correlation, and tau^2 more where
    classes differ. tau^2 is estimated by empirical Bayes from all edges of the tree, weighted by precision, and d is
    shrunken by tau^2 / (tau^2 + v).
    """
    shape = len(allowed), len(classes.tables)
    far, variance = np.zeros(shape), np.full(shape, np.inf)
    for place, (edge, guess) in enumerate(zip(allowed, common, strict=True)):
        for number, (tables, mass) in enumerate(zip(classes.tables, classes.mass.tolist(), strict=True)):
            if np.isfinite(guess.variance):
                own = _guess(edge, particles, tables, rows * mass, number)
                far[place, number] = own.corr - guess.corr
                variance[place, number] = own.variance + guess.variance
    precision = 1.0 / variance
    excess = float(np.sum(far**2 * precision - (precision > 0)))
    spread = max(excess, 0.0) / max(float(precision.sum()), 1e-12)
    kept = spread / (spread + variance)
    return np.sum(kept * far**2 * precision, axis=1), kept * far


class _Particles:
    """Particles of the truncated vine with normal scores and group numbers, each computed once.

    Every class has equally many, which weigh as much as the class does.
    """

    def __init__(self, vine: Vine, rng: np.random.Generator, classes: ClassTables | None):
        levels = draw_levels(vine.size, PARTICLES, rng, even=True)
        self.weights: Floats | None = None
        self.inside: list[np.ndarray] = []
        if classes is not None:
            even, column = np.linspace(0.0, 1.0, len(classes.edges)), classes.column
            levels[:, column] = np.interp(levels[:, column], even, classes.edges)
            number = interval_of(classes.edges, levels[:, column])
            self.weights = classes.mass[number] * len(classes.mass)
            self.inside = [np.flatnonzero(number == c) for c in range(len(classes.mass))]
        first = () if classes is None else (classes.column,)
        self.uniforms = transform(vine, sampling_order(vine, first=first), levels)
        self._places: dict[tuple[int, int], np.ndarray] = {}

    def place(self, column: int, edges: np.ndarray) -> np.ndarray:
        key = column, id(edges)  # the same array object is used in all tables of a column
        if key not in self._places:
            self._places[key] = interval_of(edges, self.uniforms.get(column))
        return self._places[key]


def _guess(
    edge: EdgeCandidate, particles: _Particles, tables: Tables, rows: float, number: int | None = None
) -> EdgeGuess:
    """Return the correlation of an edge by its released table, of all rows or of one class."""
    low, high = sorted((edge.first, edge.second))
    table = tables.get((low, high))
    if table is None:
        return NO_EDGE
    edges1, edges2 = table.edges
    cell = particles.place(low, edges1) * (len(edges2) - 1) + particles.place(high, edges2)
    x, y = particles.uniforms.score(edge.first, edge.given), particles.uniforms.score(edge.second, edge.given)
    if number is None:
        return fit_correlation(cell, x, y, table, rows, particles.weights)
    at = particles.inside[number]
    return fit_correlation(cell[at], x[at], y[at], table, rows)


def fit_correlation(
    cell: np.ndarray, x: np.ndarray, y: np.ndarray, table: MeasuredTable, rows: float, weights: Floats | None = None
) -> EdgeGuess:
    """Fit a Gaussian pair copula of two conditional uniforms to a released table of their columns.

    Weighting the particles of a truncated vine by the density of one more pair copula c(u_a|D, u_b|D) gives exactly
    the (a, b) margin of the vine with that edge added, so the table it would produce is a weighted histogram. Least
    squares over the correlation (a hint is one more term), by parabolas through three points, ever nearer. `cell` is
    the cell of the table that each particle falls in, x and y the normal scores of its two conditional uniforms; the
    weights of particles have mean one.
    """
    observed = table.possible_counts.ravel()
    size = len(observed)

    def predicted(corr: float) -> np.ndarray:
        density = gaussian_density(corr, x, y)
        counts = np.bincount(cell, density if weights is None else weights * density, size)
        return rows * counts / counts.sum()

    plain = np.bincount(cell, weights, size) * (rows / len(cell))
    variance = table.sigma**2 + np.maximum(plain, 0.5)
    # d/dr of the Gaussian copula density at r = 0 is x y: a score test cheaply finds the edges to search.
    slope = np.bincount(cell, x * y if weights is None else weights * x * y, size) * (rows / len(cell))
    information = float(np.sum(slope**2 / variance))
    score = float(np.sum(slope * (observed - plain) / variance))
    if table.hint is not None:
        line = table.hint.weights.ravel() / rows
        information += float(line @ slope) ** 2 / table.hint.variance
        score += float(line @ slope) * (table.hint.value - float(line @ plain)) / table.hint.variance
    promise = score**2 / max(information, 1e-9)
    if promise < MIN_SCORE_CHI_SQUARE:
        near = float(np.clip(score / max(information, 1e-9), -MAX_CORRELATION, MAX_CORRELATION))
        return EdgeGuess(corr=near, variance=1.0 / max(information, 1e-9), gain=0.0)

    def distance(corr: float) -> float:
        expected = predicted(corr)
        more = 0.0 if table.hint is None else table.hint.misfit(expected / rows)
        return float(np.sum((observed - expected) ** 2 / variance)) + more

    misfit = np.array([distance(corr) for corr in TRIED_CORRELATIONS])
    best = int(np.clip(np.argmin(misfit), 1, len(misfit) - 2))
    corr = parabola_minimum(TRIED_CORRELATIONS[best - 1 : best + 2], misfit[best - 1 : best + 2])
    for width in PARABOLA_DISTANCES:
        near = corr + width * np.array([-1.0, 0.0, 1.0])
        corr = parabola_minimum(near, np.array([distance(float(c)) for c in near]))
    gain = float(misfit[len(misfit) // 2] - misfit[best])
    return EdgeGuess(corr=corr, variance=1.0 / max(information, 1e-9), gain=gain)


def parabola_minimum(x: np.ndarray, y: np.ndarray) -> float:
    """Return where the parabola through three points is lowest, kept between the outer two."""
    curve, slope, _ = np.polyfit(x, y, 2)
    return float(np.clip(-slope / (2 * curve), x[0], x[2])) if curve > 0 else float(x[1])


def _edge(
    candidate: EdgeCandidate, guess: EdgeGuess, shifts: Floats | None = None, classes: ClassTables | None = None
) -> Edge:
    """Return the edge of a candidate, its correlation shrunken by the share of its square that noise alone would give.

    Shifts of classes are added to it.
    """
    corr = guess.corr * max(0.0, 1 - guess.variance / max(guess.corr**2, 1e-9))
    copula = IndependentPair() if abs(corr) < MIN_VISIBLE_CORRELATION else GaussianPair(corr=corr)
    family = "independent" if abs(corr) < MIN_VISIBLE_CORRELATION else "gaussian"
    if shifts is not None and classes is not None and np.abs(shifts).max() >= MIN_VISIBLE_CORRELATION:
        corrs = np.clip(corr + shifts, -MAX_CORRELATION, MAX_CORRELATION)
        pairs = tuple(GaussianPair(corr=each) for each in corrs.tolist())
        corr, family = float(classes.mass @ corrs), "gaussian by class"
        copula = ClassPairs(column=classes.column, edges=classes.edges, pairs=pairs)
    return Edge(
        first=candidate.first,
        second=candidate.second,
        given=candidate.given,
        copula=copula,
        family=family,
        tau=0.0 if family == "independent" else float(2 / np.pi * np.arcsin(corr)),
    )

"""Drawing uniforms from a vine, column by column, with the conditional uniforms that deeper trees need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from sklar.model.axis import UNIFORM_MARGIN, Scale, clip_open, code_edges, codes_at, even_levels, interval_of
from sklar.model.conditioning import Proposals, Runs, merge_intervals, place_inside
from sklar.model.pairs.copula import Checkerboard, ClassPairs, GaussianPair, IndependentPair, Tabulated, tabulate
from sklar.model.protocol import RowProposals
from sklar.model.vine.calibration import Calibration, make_weigher
from sklar.model.vine.vine import Edge, Step, Vine, sampling_order

BLOCK_PARTICLES = 20_000
"""Particles carried through the trees at a time: all their conditional uniforms are held together."""
MAX_NORMAL_SCORE = float(ndtri(1.0 - UNIFORM_MARGIN))
"""Normal scores of uniforms that are kept inside the open unit interval."""

Key = tuple[int, tuple[int, ...]]
Tables = Mapping[int, Tabulated]


def tabulate_vine(vine: Vine) -> Tables:
    """Return prepared h-functions of the checkerboards of a vine, by the identity of the copula."""
    copulas = [edge.copula for tree in vine.trees for edge in tree]
    pairs = [pair for copula in copulas for pair in (copula.pairs if isinstance(copula, ClassPairs) else (copula,))]
    return {id(pair): tabulate(pair) for pair in pairs if isinstance(pair, Checkerboard)}


class Uniforms:
    """Uniforms of particles: u of a column given a set of columns, computed when needed and then kept.

    A uniform is kept as itself, as its normal score or as both: h-functions of Gaussian pairs are linear in scores, so
    a chain of them needs no normal CDF between its links.
    """

    def __init__(self, vine: Vine, tables: Tables | None = None):
        edges = [edge for tree in vine.trees for edge in tree]
        self._size = vine.size
        self._by_column = {_beyond(edge, column): edge for edge in edges for column in (edge.first, edge.second)}
        self._tables = tabulate_vine(vine) if tables is None else tables
        self._levels: dict[Key, np.ndarray] = {}
        self._scores: dict[Key, np.ndarray] = {}
        self._known_classes: dict[tuple[int, bytes], np.ndarray] = {}

    def put(self, column: int, given: tuple[int, ...], u: np.ndarray) -> None:
        """Record u of `column` given `given` (increasing)."""
        self._levels[column, given] = u
        self._scores.pop((column, given), None)

    def get(self, column: int, given: tuple[int, ...] = ()) -> np.ndarray:
        """Return u of `column` given `given`: h-functions applied up the trees."""
        key = column, given
        if key not in self._levels:
            if key not in self._scores:
                self._compute(column, given)
            if key not in self._levels:
                self._levels[key] = clip_open(ndtr(self._scores[key]))
        return self._levels[key]

    def score(self, column: int, given: tuple[int, ...] = ()) -> np.ndarray:
        """Return normal score of u of `column` given `given`."""
        key = column, given
        if key not in self._scores:
            if key not in self._levels:
                self._compute(column, given)
            if key not in self._scores:
                self._scores[key] = ndtri(self._levels[key])
        return self._scores[key]

    def particles(self) -> np.ndarray:
        """Return u of every column, shape (rows, columns) in Fortran order."""
        return np.array([self.get(column) for column in range(self._size)]).T

    def descend(self, edge: Edge, column: int) -> None:
        """From u of `column` given all columns of an edge to the one without its partner (inverse h-function)."""
        beyond, given = _beyond(edge, column), edge.given
        if isinstance(edge.copula, IndependentPair):
            self._share(beyond, (column, given))
        elif (corr := self._corr(edge)) is not None:
            z = self.score(*beyond) * np.sqrt(1 - corr**2) + corr * self.score(edge.partner(column), given)
            self._scores[column, given] = np.clip(z, -MAX_NORMAL_SCORE, MAX_NORMAL_SCORE)
        else:
            p, v = self.get(*beyond), self.get(edge.partner(column), given)
            name = "hinv2" if column == edge.first else "hinv1"
            self.put(column, given, self._by_table(edge, name, *((p, v) if column == edge.first else (v, p))))

    def forward(self, edge: Edge, column: int, u: np.ndarray) -> np.ndarray:
        """Return u of `column` given also its partner on the edge, from any u given the other columns of the edge."""
        if isinstance(edge.copula, IndependentPair):
            return u
        v = self.get(edge.partner(column), edge.given)
        if (corr := self._corr(edge)) is not None:
            return clip_open(ndtr((ndtri(u) - corr * ndtri(v)) / np.sqrt(1 - corr**2)))
        return self._by_table(edge, "hfunc2", u, v) if column == edge.first else self._by_table(edge, "hfunc1", v, u)

    def _corr(self, edge: Edge) -> float | np.ndarray | None:
        """Return the correlation of a Gaussian pair, of each particle where it differs by class; None of other
        pairs."""
        if isinstance(edge.copula, GaussianPair):
            return edge.copula.corr
        if not isinstance(edge.copula, ClassPairs) or edge.copula.corrs is None:
            return None
        return edge.copula.corrs[self._classes(edge.copula)]

    def _classes(self, copula: ClassPairs) -> np.ndarray:
        """Return the class of each particle."""
        key = copula.column, copula.edges.tobytes()
        if key not in self._known_classes:
            self._known_classes[key] = interval_of(copula.edges, self.get(copula.column))
        return self._known_classes[key]

    def _by_table(self, edge: Edge, name: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return an h-function of a checkerboard, or of the one of each particle's class."""
        if not isinstance(edge.copula, ClassPairs):
            return getattr(self._tables[id(edge.copula)], name)(first, second)
        classes, result = self._classes(edge.copula), np.empty(len(first))
        for number, pair in enumerate(edge.copula.pairs):
            at = np.flatnonzero(classes == number)
            result[at] = getattr(self._tables[id(pair)], name)(first[at], second[at])
        return result

    def _compute(self, column: int, given: tuple[int, ...]) -> None:
        edge = self._by_column[column, given]
        if isinstance(edge.copula, IndependentPair):
            self.get(column, edge.given)
            self._share((column, edge.given), (column, given))
        elif (corr := self._corr(edge)) is not None:
            z = self.score(column, edge.given) - corr * self.score(edge.partner(column), edge.given)
            self._scores[column, given] = np.clip(z / np.sqrt(1 - corr**2), -MAX_NORMAL_SCORE, MAX_NORMAL_SCORE)
        else:
            self._levels[column, given] = self.forward(edge, column, self.get(column, edge.given))

    def _share(self, source: Key, target: Key) -> None:
        """What is known of one uniform holds for another that equals it."""
        for known in (self._levels, self._scores):
            known.pop(target, None)
            if source in known:
                known[target] = known[source]


def _beyond(edge: Edge, column: int) -> Key:
    """Return the uniform of `column` given all other columns of an edge."""
    return column, tuple(sorted((*edge.given, edge.partner(column))))


def draw_step(step: Step, uniforms: Uniforms, p: np.ndarray) -> None:
    """Draw one column from its conditional distribution at level p, recording every conditional uniform."""
    uniforms.put(*(_beyond(step.chain[-1], step.column) if step.chain else (step.column, ())), p)
    for edge in reversed(step.chain):
        uniforms.descend(edge, step.column)


def draw_levels(columns: int, rows: int, rng: np.random.Generator, *, even: bool = False) -> np.ndarray:
    """Return independent uniform levels, shape (rows, columns) in Fortran order.

    Even ones (`even_levels`) have far less Monte Carlo noise, but particles are then not independent.
    """
    if even:
        return even_levels(rows, columns, rng)
    levels = np.empty((rows, columns), order="F")
    for column in range(columns):
        levels[:, column] = clip_open(rng.random(rows))
    return levels


def transform(vine: Vine, steps: tuple[Step, ...], levels: np.ndarray, tables: Tables | None = None) -> Uniforms:
    """Turn uniform levels (one column per column of the vine) into particles of the vine."""
    uniforms = Uniforms(vine, tables)
    for step in steps:
        draw_step(step, uniforms, levels[:, step.column])
    return uniforms


def simulate_vine(vine: Vine, rows: int, rng: np.random.Generator, *, even: bool = False) -> np.ndarray:
    """Draw particles from the vine: uniforms of shape (rows, columns), Fortran order, in bounded extra memory."""
    levels = draw_levels(vine.size, rows, rng, even=even)
    steps, tables = sampling_order(vine), tabulate_vine(vine)
    for start in range(0, rows, BLOCK_PARTICLES):
        block = slice(start, min(start + BLOCK_PARTICLES, rows))
        levels[block] = transform(vine, steps, levels[block], tables).particles()
    return levels


def vine_proposals(
    vine: Vine, scales: Sequence[Scale], calibration: Calibration, allowed: Mapping[int, np.ndarray]
) -> Proposals:
    """Return particles of the vine with columns inside their sets, weighted also by their calibration.

    Weighted by the result, particles follow the vine conditioned on the sets: the proposal draws each column from its
    conditional distribution (restricted, where requested), so the weight is the product of the probabilities of the
    sets given the columns drawn before.
    """
    runs = {column: runs_of(scales[column], mask) for column, mask in allowed.items()}
    steps, tables, weigh = sampling_order(vine, first=runs), tabulate_vine(vine), make_weigher(calibration, scales)

    def propose(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        uniforms, log = Uniforms(vine, tables), np.zeros(rows)
        for step in steps:
            level = clip_open(rng.random(rows))
            if step.column in runs:
                with np.errstate(divide="ignore"):
                    log += np.log(draw_inside(step, uniforms, runs[step.column], level))
            else:
                draw_step(step, uniforms, level)
        particles = uniforms.particles()
        codes = np.column_stack([codes_at(scale, particles[:, j]) for j, scale in enumerate(scales)])
        return codes, log + weigh(particles)

    return propose


def vine_row_proposals(
    vine: Vine, scales: Sequence[Scale], calibration: Calibration, first: Sequence[int]
) -> RowProposals:
    """As `vine_proposals`, for rows that have each their own known codes."""
    steps, tables, weigh = sampling_order(vine, first=first), tabulate_vine(vine), make_weigher(calibration, scales)
    ends = [code_edges(scale) for scale in scales]

    def propose(known: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        uniforms, log = Uniforms(vine, tables), np.zeros(len(known))
        for step in steps:
            level, codes = clip_open(rng.random(len(known))), known[:, step.column]
            if (codes >= 0).any():
                with np.errstate(divide="ignore"):
                    log += np.log(draw_inside(step, uniforms, own_runs(ends[step.column], codes), level))
            else:
                draw_step(step, uniforms, level)
        particles = uniforms.particles()
        drawn = np.column_stack([codes_at(scale, particles[:, j]) for j, scale in enumerate(scales)])
        return np.where(known >= 0, known, drawn), log + weigh(particles)

    return propose


def own_runs(ends: tuple[np.ndarray, np.ndarray], codes: np.ndarray) -> Runs:
    """Return for each row the interval of its code, or the whole axis where that is to be drawn."""
    known = codes >= 0
    low, high = (np.where(known, end[codes], whole) for end, whole in zip(ends, (0.0, 1.0), strict=True))
    return Runs(low=low[None], high=high[None])


def runs_of(scale: Scale, allowed: np.ndarray) -> Runs:
    """Return intervals of the axis that cover what the allowed base codes own."""
    low, high = code_edges(scale)
    keep = allowed & (high > low)
    return merge_intervals(low[keep], high[keep])


def draw_inside(step: Step, uniforms: Uniforms, runs: Runs, level: np.ndarray) -> np.ndarray:
    """Draw a column from its conditional distribution restricted to the runs, the same or (by column) each its own.

    Returned is the probability of the runs given the columns drawn before: the importance weight of each particle.
    """

    def conditional(x: np.ndarray) -> np.ndarray:
        """Return P(U <= x | columns drawn before) of every particle."""
        u = clip_open(np.full(len(level), x))
        for edge in step.chain:
            u = uniforms.forward(edge, step.column, u)
        return u

    low, high = (np.stack([conditional(x) for x in ends]) for ends in (runs.low, runs.high))
    run, place, total = place_inside(low, high, level)
    draw_step(step, uniforms, clip_open(place))
    # Rounding in the h-functions may end slightly outside.
    at = (run,) if runs.low.ndim == 1 else (run, np.arange(len(level)))
    inside = np.clip(uniforms.get(step.column), runs.low[at], np.nextafter(runs.high[at], 0.0))
    uniforms.put(step.column, (), clip_open(inside))
    return total

"""Rows of which some codes are known: the others drawn from the model given these, for every row its own.

Each row gets a few particles, drawn with its known codes and weighted by the model's probability over that of the draw;
one of them is taken by its weight (sampling, importance resampling; Rubin 1987). Its distribution is that of the model
given the known codes as the particles grow in number, and how many of them count is Kish's effective size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.conditioning import even_batches
from sklar.model.kept import KeptModel, without_copies
from sklar.model.protocol import Codes, RowProposals, RowwiseModel, TableModel

PARTICLES, MORE_PARTICLES = 16, 256
"""Particles for each row, and for rows where too few of the first count: nearer to the distribution, and slower."""
MIN_EFFECTIVE_PARTICLES = 6.0
"""Rows whose particles count for fewer, in Kish's size, get more of them."""
DISTRIBUTION_PARTICLES = 128
"""Particles that estimate the distribution of one column given others: a probability of a half is known to a tenth of
it."""
PARTICLES_AT_ONCE = 20_000
"""Particles held at a time: their conditional uniforms in all trees are."""
MIN_PATTERN_ROWS = 2_000
"""Rows that know the same columns, from this number on, are drawn by themselves: the known ones can then come first,
which makes weights even. It pays from about here on, since every order of the columns has to be prepared."""
POOL_ROWS = 200_000
"""Rows of a model to look for known codes in, where it has no better way."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Completion:
    """Completed rows.

    Attributes:
        codes: The known codes and the drawn ones.
        effective: For each row how many of its particles count; 0 where none has the known codes, and the others were
            drawn as if nothing were known.
        particles: How many each row had.
    """

    codes: Codes
    effective: Floats
    particles: Ints


Accept = Callable[[Codes, Ints], Mask]
"""Returns which proposals are accepted, from their codes and the rows that they are for."""


def complete_codes(model: TableModel, known: Codes, rng: np.random.Generator, more: int = MORE_PARTICLES) -> Completion:
    """Draw what is UNKNOWN in rows of codes; rows of which too few particles count get `more`."""
    if isinstance(model, KeptModel):
        done = complete_codes(model.base, model.keep(known, rng), rng, more)
        lost = np.flatnonzero(done.effective == 0)  # what was copied may not go with the rest
        if len(lost):
            again = complete_codes(model.base, known[lost], rng, more)
            done.codes[lost], done.effective[lost], done.particles[lost] = again.codes, again.effective, again.particles
        return done
    codes = np.empty(known.shape, dtype=np.int32, order="F")
    effective, particles = np.full(len(known), float(PARTICLES)), np.full(len(known), PARTICLES)
    shared = None if isinstance(model, RowwiseModel) else matching_rows(model)
    for rows, first in _patterns(known):
        propose = shared or _proposals(model, first)
        codes[rows], effective[rows] = _resample(propose, known[rows], PARTICLES, rng)
        again = rows[effective[rows] < MIN_EFFECTIVE_PARTICLES]
        if len(again):
            codes[again], effective[again] = _resample(propose, known[again], more, rng)
            particles[again] = more
    lost = np.flatnonzero(effective == 0)
    if len(lost):
        codes[lost] = np.where(known[lost] >= 0, known[lost], model.simulate(len(lost), rng))
    return Completion(codes=codes, effective=effective, particles=particles)


def complete_accepted(
    model: TableModel, known: Codes, rng: np.random.Generator, particles: int, accept: Accept
) -> Completion:
    """Draw rows with a number of particles each, of which only those that are accepted count; nothing is copied."""
    model = without_copies(model)
    codes, effective = np.empty(known.shape, dtype=np.int32, order="F"), np.zeros(len(known))
    for rows, first in _patterns(known):

        def of_these(drawn: Codes, at: Ints, rows: Ints = rows) -> Mask:
            return accept(drawn, rows[at])

        codes[rows], effective[rows] = _resample(_proposals(model, first), known[rows], particles, rng, of_these)
    return Completion(codes=codes, effective=effective, particles=np.full(len(known), particles))


def distribution_of_column(model: TableModel, known: Codes, column: int, rng: np.random.Generator) -> Floats:
    """Return for each row the probabilities of the codes of one column given the known ones, from weighted particles.

    A code that no particle has is given a part of one: a row may have it all the same.
    """
    model = without_copies(model)
    distribution = np.full((len(known), model.margins[column].size), 0.5 / DISTRIBUTION_PARTICLES)
    for rows, first in _patterns(known):
        propose = _proposals(model, first)
        for part in even_batches(len(rows), max(PARTICLES_AT_ONCE // DISTRIBUTION_PARTICLES, 1)):
            at = np.repeat(rows[part], DISTRIBUTION_PARTICLES)
            drawn, log = propose(known[at], rng)
            log = log.reshape(-1, DISTRIBUTION_PARTICLES)
            top = log.max(axis=1, keepdims=True)
            weights = np.exp(log - np.where(np.isfinite(top), top, 0.0))
            weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
            np.add.at(distribution, (at, drawn[:, column]), weights.ravel())
    return distribution / distribution.sum(axis=1, keepdims=True)


def _proposals(model: TableModel, first: Ints) -> RowProposals:
    return model.row_proposals(first.tolist()) if isinstance(model, RowwiseModel) else matching_rows(model)


def matching_rows(model: TableModel) -> RowProposals:
    """Return rows of the model that happen to have the known codes, from one pool that all rows share: rejection."""
    pool: list[Codes] = []

    def propose(known: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
        if not pool:
            pool.append(model.simulate(POOL_ROWS, rng))
        found, log = np.zeros(len(known), dtype=np.int64), np.full(len(known), -np.inf)
        for rows, columns in _known_columns(known):
            found[rows], log[rows] = _matches(pool[0][:, columns], known[np.ix_(rows, columns)], rng)
        return np.where(known >= 0, known, pool[0][found]), log

    return propose


def _patterns(known: Codes) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows that are drawn together, and the columns that they know, of the most rows first."""
    others: list[Ints] = []
    for rows, columns in _known_columns(known):
        if len(rows) >= MIN_PATTERN_ROWS:
            yield rows, columns
        else:
            others.append(rows)
    if others:
        rows = np.sort(np.concatenate(others))
        share = (known[rows] >= 0).mean(axis=0)
        yield rows, np.argsort(-share, kind="stable")[: int((share > 0).sum())]


def _known_columns(known: Codes) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows that know the same columns, and these."""
    patterns, which = np.unique(known >= 0, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))
    for rows, pattern in zip(np.split(order, ends[:-1]), patterns, strict=True):
        yield rows, np.flatnonzero(pattern)


def _resample(
    propose: RowProposals, known: Codes, particles: int, rng: np.random.Generator, accept: Accept | None = None
) -> tuple[Codes, Floats]:
    """Return one of some particles for each row, by weight, and their effective sizes."""
    codes, effective = np.empty(known.shape, dtype=np.int32), np.empty(len(known))
    for part in even_batches(len(known), max(PARTICLES_AT_ONCE // particles, 1)):
        rows = part.stop - part.start
        drawn, log = propose(np.repeat(known[part], particles, axis=0), rng)
        if accept is not None:
            log = np.where(accept(drawn, np.repeat(np.arange(part.start, part.stop), particles)), log, -np.inf)
        log = log.reshape(rows, particles)
        top = log.max(axis=1, keepdims=True)
        weights = np.exp(log - np.where(np.isfinite(top), top, 0.0))
        reach = np.cumsum(weights, axis=1)
        chosen = (reach <= rng.random((rows, 1)) * reach[:, -1:]).sum(axis=1)
        codes[part] = drawn[np.arange(rows) * particles + np.minimum(chosen, particles - 1)]
        effective[part] = reach[:, -1] ** 2 / np.maximum((weights**2).sum(axis=1), 1e-300)
    return codes, effective


def _matches(pool: Codes, wanted: Codes, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return for each wanted line a line of the pool that equals it, at random, and 0; or any, and minus infinity."""
    both = np.unique(np.concatenate([pool, wanted]), axis=0, return_inverse=True)[1].ravel()
    have, want = both[: len(pool)], both[len(pool) :]
    order = np.argsort(have, kind="stable")
    low, high = (np.searchsorted(have[order], want, side=side) for side in ("left", "right"))
    place = low + (rng.random(len(want)) * (high - low)).astype(np.int64)
    with np.errstate(divide="ignore"):
        return order[np.minimum(place, len(pool) - 1)], np.log((high > low).astype(float))

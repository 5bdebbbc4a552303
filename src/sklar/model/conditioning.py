"""Rows of a model with some columns inside given sets: weighted proposals, gathered to an effective size, resampled.

A model offers proposals: rows drawn from a distribution that it can sample, each with the logarithm of its weight,
which is the row's probability under the model over its probability as a proposal, up to one factor (importance
sampling). Sequential importance sampling, the sampler of Geweke, Hajivassiliou and Keane (GHK) and rejection, whose
weights are 0 and 1, differ in their proposals only; everything else stands here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import UnsupportedConditionError
from sklar.model.margins.margin import Margin
from sklar.model.protocol import Codes, Proposals, TableModel

MIN_EFFECTIVE_PROPOSALS = 30.0
"""Fewer proposals than this, in Kish's effective size, say too little about the distribution: the condition is
refused."""
MAX_PROPOSALS = 2_000_000
"""Proposals for one batch of rows: sets of a probability below about 1e-5 are out of reach of rejection."""
MAX_PROPOSED_CODES = 40_000_000
"""Codes of proposals held at a time (160 MB), for any number of columns."""
BATCH_ROWS = 40_000
"""Rows that are picked from one pool of proposals."""
FEWEST_PROPOSALS, MOST_AT_ONCE, MOST_CODES_AT_ONCE = 5_000, 20_000, 1 << 22
"""Proposals drawn at a time: enough for weights to mean something, and few enough to stay small in memory."""
MAX_INTERVALS = 64
"""Intervals that stand for a set; the work of a proposal grows with them."""


def simulate_given(
    model: TableModel, rows: int, shares: Mapping[int, Mask | Floats], rng: np.random.Generator
) -> tuple[Codes, float]:
    """Return rows inside given sets, and their effective number of independent rows, at most their own number.

    Where proposals are scarce some appear several times. The effective number is Kish's size of how often each proposal
    was taken: systematic resampling adds to the variance of a mean just what makes this the size of an independent
    sample of the same variance.

    Args:
        shares: By position of the column, whether a base code is allowed, or which part of it (from 0 to 1).

    Raises:
        UnsupportedConditionError: A set has no mass, or the effective size of the proposals stays below 30.
    """
    if not shares:
        return model.simulate(rows, rng), float(rows)
    allowed = {column: np.asarray(share) > 0 for column, share in shares.items()}
    for column, mask in allowed.items():
        if not mass_of_sets(model.margins, {column: mask}) > 0:
            raise UnsupportedConditionError(
                f"no row of the model has column '{model.margins[column].column}' inside the given set; "
                "ask for values that the model gives some mass."
            )
    propose = model.proposals(allowed)
    codes = np.empty((rows, len(model.margins)), dtype=np.int32, order="F")
    squares = 0.0
    for part in even_batches(rows, int(np.clip(MAX_PROPOSED_CODES // (10 * codes.shape[1]), 1_000, BATCH_ROWS))):
        pool, weights = _pool(propose, part.stop - part.start, model, shares, rng)
        chosen = resample_systematically(weights, part.stop - part.start, rng)
        codes[part] = pool[chosen]
        squares += float((np.bincount(chosen) ** 2).sum())
    return codes, rows**2 / max(squares, 1.0)


def resample_systematically(weights: Floats, rows: int, rng: np.random.Generator) -> Ints:
    """Return indices of `rows` particles: particle i appears floor or ceiling of rows w_i / sum w times; shuffled."""
    reach = np.cumsum(weights)
    places = (np.arange(rows) + rng.random()) / rows * reach[-1]
    return rng.permutation(np.minimum(np.searchsorted(reach, places, side="right"), len(weights) - 1))


def kish_size(weights: Floats) -> float:
    """Return Kish's effective sample size (sum w)^2 / sum w^2."""
    square = float(weights @ weights)
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


def mass_of_sets(margins: Sequence[Margin], allowed: Mapping[int, Mask]) -> float:
    """Return what the probability of the sets would be if columns were independent."""
    return math.prod(float(margins[column].dense()[mask].sum()) for column, mask in allowed.items())


def by_rejection(model: TableModel, allowed: Mapping[int, Mask]) -> Proposals:
    """Return the model's own rows, all of one weight. Hopeless searches are not begun.

    Raises:
        UnsupportedConditionError: One of the sets alone is too rare.
    """
    for column, mask in allowed.items():
        if MAX_PROPOSALS * mass_of_sets(model.margins, {column: mask}) < MIN_EFFECTIVE_PROPOSALS / 3:
            raise UnsupportedConditionError(
                f"too little of the model lies inside the given set of '{model.margins[column].column}': less than one "
                f"row in {round(3 * MAX_PROPOSALS / MIN_EFFECTIVE_PROPOSALS):,}. Give a wider set."
            )
    return lambda rows, rng: (model.simulate(rows, rng), np.zeros(rows))


def mix_proposals(shares: Floats, guesses: Floats, parts: Sequence[Proposals | None]) -> Proposals:
    """Return proposals of a mixture: a part is drawn by a guess at its mass inside the sets, and its weight makes up
    for it.

    Args:
        shares: Probability of each part.
        guesses: About the probability of each part and of the sets inside it; 0 only where that is 0.
        parts: Proposals of each part, whose mean weight is the probability of the sets inside it; None if that is 0.

    Raises:
        UnsupportedConditionError: No part has any mass inside the sets.
    """
    if not guesses.sum() > 0:
        raise UnsupportedConditionError(
            "no row of the model lies inside the given sets; ask for values that the model gives some mass."
        )
    chances = guesses / guesses.sum()

    def propose(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
        codes: list[Codes] = []
        logs: list[Floats] = []
        for part, count in enumerate(rng.multinomial(rows, chances)):
            if count and (draw := parts[part]) is not None:
                found, log = draw(int(count), rng)
                codes.append(found)
                logs.append(log + np.log(shares[part] / chances[part]))
        mixed = rng.permutation(rows)  # rows in the order of the parts would be resampled too evenly
        return np.concatenate(codes)[mixed], np.concatenate(logs)[mixed]

    return propose


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Disjoint intervals of an axis, increasing; of two dimensions if each row (by column) has its own."""

    low: Floats
    high: Floats


def merge_intervals(low: Floats, high: Floats) -> Runs:
    """At most 64 intervals that cover the given ones: touching ones are joined, and the smallest spaces closed.

    What falls into a closed gap is outside the set and is left out later. Of no intervals one of no length is made.
    """
    if not len(low):
        return Runs(low=np.zeros(1), high=np.zeros(1))
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    spaces = low[1:] - high[:-1]
    smallest = np.sort(spaces)[-MAX_INTERVALS] if len(spaces) >= MAX_INTERVALS else 0.0
    cut = np.flatnonzero(spaces > max(smallest, 1e-12))
    return Runs(low=low[np.concatenate([[0], cut + 1])], high=high[np.concatenate([cut, [len(high) - 1]])])


def place_inside(low: Floats, high: Floats, level: Floats) -> tuple[Ints, Floats, Floats]:
    """Return where a fraction `level` of the length of some intervals is reached: in which, at which place, of what
    length.

    Intervals are by line, one case a column; the length is that of all of them together.
    """
    reach = np.cumsum(np.maximum(high - low, 0.0), axis=0)
    wanted = level * reach[-1]
    run = np.minimum((reach <= wanted).sum(axis=0), len(low) - 1)
    case = np.arange(len(level))
    before = np.where(run > 0, reach[np.maximum(run - 1, 0), case], 0.0)
    return run, low[run, case] + wanted - before, reach[-1]


def even_batches(rows: int, most: int) -> Iterator[slice]:
    """Return rows in batches of about the same size, none above `most`."""
    edges = np.linspace(0, rows, -(-rows // most) + 1).astype(int).tolist()
    return (slice(start, stop) for start, stop in pairwise(edges))


def _pool(
    propose: Proposals, rows: int, model: TableModel, shares: Mapping[int, Mask | Floats], rng: np.random.Generator
) -> tuple[Codes, Floats]:
    """Return proposals inside the sets, and their weights, until they suffice for the rows or too many were drawn."""
    columns = len(model.margins)
    at_once = int(np.clip(MOST_CODES_AT_ONCE // columns, 1_000, MOST_AT_ONCE))
    size, tried = int(min(max(rows, FEWEST_PROPOSALS), at_once)), 0
    codes, logs, weights = np.empty((0, columns), np.int32), np.empty(0), np.empty(0)
    while not _suffice(weights, rows) and tried < MAX_PROPOSALS and codes.size < MAX_PROPOSED_CODES:
        fresh, log = propose(size, rng)
        log = log + _log_shares(fresh, shares)
        inside = log > -np.inf
        codes, logs = np.concatenate([codes, fresh[inside]]), np.concatenate([logs, log[inside]])
        weights = np.exp(logs - logs.max(initial=-np.inf))
        tried, size = tried + size, min(2 * size, at_once)
    if (effective := kish_size(weights)) < MIN_EFFECTIVE_PROPOSALS:
        named = ", ".join(f"'{model.margins[column].column}'" for column in shares)
        raise UnsupportedConditionError(
            f"too little of the model lies inside the given sets of {named}: the effective sample size is "
            f"{effective:.1f}, and {MIN_EFFECTIVE_PROPOSALS:.0f} is needed. Give fewer columns or wider sets."
        )
    return codes, weights


def _suffice(weights: Floats, rows: int) -> bool:
    """Return whether no proposal would be taken twice, or their effective size is twice the number of rows."""
    effective = kish_size(weights)
    if effective < MIN_EFFECTIVE_PROPOSALS:
        return False
    return effective >= 2 * rows or rows * float(weights.max()) <= float(weights.sum())


def _log_shares(codes: Codes, shares: Mapping[int, Mask | Floats]) -> Floats:
    """Return the logarithm of the part of each row that is wanted; minus infinity outside the sets."""
    parts = [np.asarray(share, dtype=np.float64)[codes[:, column]] for column, share in shares.items()]
    with np.errstate(divide="ignore"):
        return np.log(parts).sum(axis=0)

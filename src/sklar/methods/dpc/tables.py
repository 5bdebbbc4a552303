"""From tables of counts of all pairs, noisy or not, to the Gaussian copula over values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import UsageError
from sklar.model.margins.bins import lay_out_column
from sklar.model.margins.fit import spread
from sklar.model.margins.margin import Margin, margin_from_dense
from sklar.model.margins.transforms import clip_and_normalize, project_to_simplex
from sklar.model.onehot.decoding import Decoding
from sklar.model.onehot.fit import PairBatch, batches_of, combined_margins, consistent_tables, fit_onehot, shrunk_excess
from sklar.model.onehot.model import OneHotModel, ScoreLayout, lay_out_scores, score_values
from sklar.schema.table import Schema

Margins = Literal["pooled", "raw"]
MIN_SIGMAS = 2.0
"""A nominal value with a released count of at most this many standard deviations of its noise may be made of it."""
MAX_TOTAL_SCORES = 10_000
"""Values of all columns: their correlations are a matrix of 800 MB, and finding the nearest one takes hours."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """One histogram a column and one table a pair of columns.

    Attributes:
        schema: The public facts.
        bins: For each modelled column, base code -> group.
        histograms: Counts of the groups of each column.
        rest: For each modelled column, counts of the base codes that share its last group (see `merge_values`); none
            if groups are runs of codes. Empty if this is so in all columns.
        counts: Tables of the pairs (0, 1), (0, 2), ..., one after the other.
        std: Standard deviation of the noise on each count.
        rows: The number of rows; None if it is private.
    """

    schema: Schema
    bins: tuple[NDArray[np.int32], ...]
    histograms: tuple[Floats, ...]
    counts: Ints
    std: float
    rows: float | None
    rest: tuple[Floats, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of groups of each column."""
        return tuple(map(len, self.histograms))

    def rest_codes(self) -> tuple[Ints, ...]:
        """Return the base codes behind `rest`."""
        joined = zip(self.bins, self.rest, strict=False)
        return tuple(np.flatnonzero(b == b.max()) if len(counts) else np.zeros(0, np.int64) for b, counts in joined)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """What the counts say.

    Attributes:
        shares: Probabilities of the groups of each column; they sum to 1 unless the margins are raw.
        joint: Joint probability of the values of each two scores of different columns.
        rows: The number of rows, or an estimate of it.
    """

    shares: tuple[Floats, ...]
    joint: Floats
    rows: float


def fit_counted(
    counted: Counted, margins: Margins, shrink: float, decoding: Decoding, rng: np.random.Generator
) -> OneHotModel:
    """Return the copula of values behind the counts."""
    layout = lay_out_scores(counted.sizes)
    found = estimate_probabilities(counted, layout, margins, shrink)
    model = fit_onehot(
        layout,
        score_probabilities(layout, found.shares),
        found.joint,
        value_margins(counted, found),
        first_codes(counted),
        max(round(found.rows), 1),
        decoding,
        rng,
    )
    return replace(model, rest=counted.rest_codes())


def require_scores(sizes: Sequence[int]) -> None:
    """Refuse more scores than a correlation matrix can be found for."""
    scores = sum(len(score_values(size)) for size in sizes)
    if scores > MAX_TOTAL_SCORES:
        raise UsageError(
            f"the values of all columns make {scores:,} scores, and {MAX_TOTAL_SCORES:,} are the most: list fewer "
            "values or set fewer bins (dpc without published=True lets rare values share a score)"
        )


def values_below_noise(counts: Floats, std: float, most: int) -> Mask:
    """Return which values may be made of noise alone, or are not among the `most` largest; the counts are released
    ones."""
    below_noise = counts <= MIN_SIGMAS * std
    below_noise[np.argsort(-counts, kind="stable")[most:]] = True
    return below_noise


def merge_values(lookup: NDArray[np.int32], merged: Mask) -> NDArray[np.int32]:
    """Return the base code -> group where the merged values share the last group, the rest; all other codes stay alone,
    in order.

    A rest of one value is a group like any other.
    """
    if merged.sum() < 2:
        return lookup
    rest = np.append(merged, np.zeros(len(lookup) - len(merged), bool))
    return np.where(rest, len(lookup) - rest.sum(), np.cumsum(~rest) - 1).astype(np.int32)


def estimate_probabilities(counted: Counted, layout: ScoreLayout, margins: Margins, shrink: float) -> Estimates:
    """Return probabilities of values and pairs: "pooled" out of all tables that contain them, or "raw", each from its
    own."""
    summed = [np.ones(size) for size in counted.sizes]
    for often, counts in zip(summed, counted.rest, strict=False):
        often[-1] = max(len(counts), 1)
    shares, rows = combined_margins(list(counted.histograms), counted.sizes, counted.counts, counted.rows, summed)
    if margins == "raw":
        shares = [np.clip(histogram / rows, 0.0, 1.0) for histogram in counted.histograms]
    joint = np.zeros((len(layout.owner), len(layout.owner)))
    for batch in batches_of(counted.sizes, counted.counts):
        _place(joint, layout, batch, _tables(batch, shares, rows, counted.std / rows, margins, shrink))
    joint = np.maximum(joint, 0.0)
    return Estimates(shares=tuple(shares), joint=joint + joint.T, rows=rows)


def score_probabilities(layout: ScoreLayout, shares: tuple[Floats, ...]) -> Floats:
    """Return the probability of each score's value."""
    return np.array([shares[j][v] for j, v in zip(layout.owner, layout.value, strict=True)])


def value_margins(counted: Counted, found: Estimates) -> tuple[Margin, ...]:
    """Return margins over base codes: the mass of a group is spread over its codes, that of a rest by their own
    counts."""
    rest = counted.rest or [np.zeros(0)] * len(counted.bins)
    margins: list[Margin] = []
    for name, bins, raw, counts in zip(counted.schema.modelled, counted.bins, found.shares, rest, strict=True):
        share = clip_and_normalize(raw)
        if len(counts):
            p = share[bins]
            p[bins == bins.max()] *= project_to_simplex(counts, share[-1] * found.rows)
            margins.append(margin_from_dense(name, p))
        else:
            margins.append(spread(name, lay_out_column(counted.schema[name]), bins.astype(np.int64), share))
    return tuple(margins)


def first_codes(counted: Counted) -> tuple[Ints, ...]:
    """Return the first base code of every group, for each column."""
    return tuple(np.unique(b, return_index=True)[1] for b in counted.bins)


def _tables(batch: PairBatch, shares: list[Floats], rows: float, std: float, margins: Margins, shrink: float) -> Floats:
    """Return joint probabilities of all tables of one shape."""
    tables = batch.tables / rows if margins == "raw" else consistent_tables(batch, shares, rows)
    if shrink <= 0:
        return tables
    left, right = (np.stack([shares[j] for j in side]) for side in (batch.first, batch.second))
    return shrunk_excess(tables, left, right, std, shrink)


def _place(joint: Floats, layout: ScoreLayout, batch: PairBatch, tables: Floats) -> None:
    """Put the cells of values that have a score where they belong, above the diagonal."""
    rows_at, cols_at = (score_values(size) for size in tables.shape[1:])
    if len(rows_at) and len(cols_at):
        first = layout.starts[batch.first][:, None] + np.arange(len(rows_at))
        second = layout.starts[batch.second][:, None] + np.arange(len(cols_at))
        joint[first[:, :, None], second[:, None, :]] = tables[:, rows_at][:, :, cols_at]

"""From tables of counts of all pairs, noisy or not, to the Gaussian copula over values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints
from sklar.model.margins.bins import lay_out_column
from sklar.model.margins.fit import spread
from sklar.model.margins.margin import Margin
from sklar.model.margins.transforms import clip_and_normalize
from sklar.model.onehot.decoding import Decoding
from sklar.model.onehot.fit import PairBatch, batches_of, combined_margins, consistent_tables, fit_onehot, shrunk_excess
from sklar.model.onehot.model import OneHotModel, ScoreLayout, lay_out_scores, score_values
from sklar.schema.table import Schema

Margins = Literal["pooled", "raw"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """One histogram a column and one table a pair of columns.

    Attributes:
        schema: The public facts.
        bins: For each modelled column, base code -> group.
        histograms: Counts of the groups of each column.
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

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of groups of each column."""
        return tuple(map(len, self.histograms))


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
    """The copula of values behind the counts."""
    layout = lay_out_scores(counted.sizes)
    found = estimates(counted, layout, margins, shrink)
    return fit_onehot(
        layout,
        score_probabilities(layout, found.shares),
        found.joint,
        value_margins(counted, found.shares),
        first_codes(counted),
        max(round(found.rows), 1),
        decoding,
        rng,
    )


def estimates(counted: Counted, layout: ScoreLayout, margins: Margins, shrink: float) -> Estimates:
    """Probabilities of values and pairs: "pooled" out of all tables that tell of them, or "raw", each from its own."""
    shares, rows = combined_margins(list(counted.histograms), counted.sizes, counted.counts, counted.rows)
    if margins == "raw":
        shares = [np.clip(histogram / rows, 0.0, 1.0) for histogram in counted.histograms]
    joint = np.zeros((len(layout.owner), len(layout.owner)))
    for batch in batches_of(counted.sizes, counted.counts):
        _place(joint, layout, batch, _tables(batch, shares, rows, counted.std / rows, margins, shrink))
    joint = np.maximum(joint, 0.0)
    return Estimates(shares=tuple(shares), joint=joint + joint.T, rows=rows)


def score_probabilities(layout: ScoreLayout, shares: tuple[Floats, ...]) -> Floats:
    """The probability of each score's value."""
    return np.array([shares[j][v] for j, v in zip(layout.owner, layout.value, strict=True)])


def value_margins(counted: Counted, shares: tuple[Floats, ...]) -> tuple[Margin, ...]:
    """Margins over base codes: the mass of a group is spread over its codes."""
    names = counted.schema.modelled
    read = zip(names, counted.bins, shares, strict=True)
    return tuple(
        spread(name, lay_out_column(counted.schema[name]), b.astype(np.int64), clip_and_normalize(share))
        for name, b, share in read
    )


def first_codes(counted: Counted) -> tuple[Ints, ...]:
    """The first base code of every group, for each column."""
    return tuple(np.flatnonzero(np.diff(b, prepend=-1)) for b in counted.bins)


def _tables(batch: PairBatch, shares: list[Floats], rows: float, std: float, margins: Margins, shrink: float) -> Floats:
    """Joint probabilities of all tables of one shape."""
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

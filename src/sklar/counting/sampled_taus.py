"""Exact numerators of Kendall's tau-a over a sample of rows; their meaning and bounds are in `sklar.release.taus`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, Mask
from sklar.counting.blocks import Words, row_keys, row_words
from sklar.counting.jobs import CountedRows
from sklar.counting.taus import PASS_BYTES, exact_order
from sklar.release.taus import SampledTaus

DIGIT = 16
"""Bits of a key that are looked at in one pass: one or two passes find the last row of most samples."""


def exact_sampled_orders(feature: SampledTaus, rows: CountedRows) -> Ints:
    """Concordant minus discordant pairs of rows of the sample, for every pair of columns."""
    last = _last_key(feature, rows)
    pairs = list(combinations(range(len(feature.columns)), 2))
    largest = 8 * max(int(np.prod(_shape(feature, pair))) for pair in pairs)
    step = max(1, PASS_BYTES // largest)
    found: list[int] = []
    for start in range(0, len(pairs), step):
        job = _TableJob(feature=feature, last=last, pairs=tuple(pairs[start : start + step]))
        found += [exact_order(table) for table in rows.summed_groups(job)]
    return np.array(found, dtype=np.int64)


def _last_key(feature: SampledTaus, rows: CountedRows) -> tuple[int, ...]:
    """The first digits of the largest key in the sample, as many as tell it from the keys beyond."""
    last, missing = (), feature.rows
    while True:
        (counts,) = rows.summed_groups(_DigitJob(feature=feature, before=last))
        upto = np.cumsum(counts)
        digit = int(np.searchsorted(upto, missing))
        last, missing = (*last, digit), missing - int(upto[digit] - counts[digit])
        if counts[digit] == missing:
            return last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _DigitJob:
    """How many rows whose keys begin with `before` have each next digit."""

    feature: SampledTaus
    before: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.feature.columns

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((1 << DIGIT,),)

    def __call__(self, codes: npt.NDArray[np.int32]) -> tuple[Ints, ...]:
        keys = _keys(self.feature, codes)
        _, equal = _compared(keys, self.before)
        return (np.bincount(_digit(keys, len(self.before))[equal], minlength=1 << DIGIT),)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _TableJob:
    """Two-way tables of ranks of the rows whose keys are at most `last`."""

    feature: SampledTaus
    last: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.feature.columns

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(_shape(self.feature, pair) for pair in self.pairs)

    def __call__(self, codes: npt.NDArray[np.int32]) -> tuple[Ints, ...]:
        less, equal = _compared(_keys(self.feature, codes), self.last)
        taken = codes[less | equal]
        ranks = [lookup[taken[:, j]].astype(np.int64) for j, lookup in enumerate(self.feature.lookups)]
        return tuple(
            np.bincount(ranks[j] * width + ranks[k], minlength=height * width).reshape(height, width)
            for (j, k), (height, width) in zip(self.pairs, self.shapes, strict=True)
        )


def _shape(feature: SampledTaus, pair: tuple[int, int]) -> tuple[int, int]:
    first, second = (int(feature.lookups[j].max()) + 1 for j in pair)
    return first, second


def _keys(feature: SampledTaus, codes: npt.NDArray[np.int32]) -> Words:
    """Keys of rows as lines of 64-bit words, the first line the most significant."""
    words = row_words(codes, [len(lookup) for lookup in feature.lookups])
    mixed, number = row_keys(words, feature.seed)
    return np.vstack([mixed, words, number])


def _digit(keys: Words, place: int) -> Ints:
    line, part = divmod(place * DIGIT, 64)
    return ((keys[line] >> np.uint64(64 - DIGIT - part)) & np.uint64((1 << DIGIT) - 1)).astype(np.int64)


def _compared(keys: Words, digits: tuple[int, ...]) -> tuple[Mask, Mask]:
    """Whether keys come before these first digits, and whether they begin with them."""
    less, equal = np.zeros(keys.shape[1], dtype=bool), np.ones(keys.shape[1], dtype=bool)
    for place, digit in enumerate(digits):
        found = _digit(keys, place)
        less |= equal & (found < digit)
        equal &= found == digit
    return less, equal

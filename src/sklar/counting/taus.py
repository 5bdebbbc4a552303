"""Exact numerators of Kendall's tau-a, over all rows or a sample; defined, with bounds, in `sklar.release.taus`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, Mask
from sklar.counting.blocks import Words, mix_row_keys, pack_rows
from sklar.counting.jobs import CountedRows
from sklar.counting.plans import TableSpec
from sklar.counting.tables import exact_counts
from sklar.release.taus import SampledTaus, TauVector

PASS_BYTES = 512 << 20
"""Two-way tables are counted in passes of at most this size."""


def exact_concordances(feature: TauVector, rows: CountedRows) -> Ints:
    """Return concordant minus discordant pairs of rows, for every pair of columns."""
    found: list[int] = []
    for specs in _split_passes(feature):
        found += [exact_concordance(table) for table in exact_counts(rows, specs)]
    return np.array(found, dtype=np.int64)


def exact_concordance(table: Ints) -> int:
    """Return concordant minus discordant pairs of rows of a two-way table, by 2-D prefix sums.

    Each row is compared with the rows of smaller first rank: those of smaller second rank count +1, of larger -1.
    """
    upto = np.zeros((table.shape[0], table.shape[1] + 1), dtype=np.int64)
    np.cumsum(np.cumsum(table[:-1], axis=0), axis=1, out=upto[1:, 1:])
    # upto[i, j]: rows with first rank below i and second rank below j
    return int((table * (upto[:, :-1] + upto[:, 1:] - upto[:, -1:])).sum())


def _split_passes(feature: TauVector) -> Iterator[list[TableSpec]]:
    specs: list[TableSpec] = []
    used = 0
    for j, k in combinations(range(len(feature.columns)), 2):
        size = 8 * (int(feature.lookups[j].max()) + 1) * (int(feature.lookups[k].max()) + 1)
        if specs and used + size > PASS_BYTES:
            yield specs
            specs, used = [], 0
        specs.append(((feature.columns[j], feature.columns[k]), (feature.lookups[j], feature.lookups[k])))
        used += size
    yield specs


DIGIT_BITS = 16
"""Bits of a key that one pass examines: one or two passes find the last row of most samples."""


def exact_sampled_concordances(feature: SampledTaus, rows: CountedRows) -> Ints:
    """Return concordant minus discordant pairs of rows of the sample, for every pair of columns."""
    last = _find_last_key(feature, rows)
    pairs = list(combinations(range(len(feature.columns)), 2))
    largest = 8 * max(int(np.prod(_count_ranks(feature, pair))) for pair in pairs)
    step = max(1, PASS_BYTES // largest)
    found: list[int] = []
    for start in range(0, len(pairs), step):
        job = _TableJob(feature=feature, last=last, pairs=tuple(pairs[start : start + step]))
        found += [exact_concordance(table) for table in rows.run_group_job(job)]
    return np.array(found, dtype=np.int64)


def _find_last_key(feature: SampledTaus, rows: CountedRows) -> tuple[int, ...]:
    """Return the shortest first digits of the largest key in the sample that no key outside the sample shares."""
    last, missing = (), feature.rows
    while True:
        (counts,) = rows.run_group_job(_DigitJob(feature=feature, before=last))
        upto = np.cumsum(counts)
        digit = int(np.searchsorted(upto, missing))
        last, missing = (*last, digit), missing - int(upto[digit] - counts[digit])
        if counts[digit] == missing:
            return last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _DigitJob:
    """Counts the rows whose keys begin with `before` by their next digit."""

    feature: SampledTaus
    before: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.feature.columns

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((1 << DIGIT_BITS,),)

    def __call__(self, codes: npt.NDArray[np.int32]) -> tuple[Ints, ...]:
        keys = _make_keys(self.feature, codes)
        _, equal = _compare_keys(keys, self.before)
        return (np.bincount(_extract_digit(keys, len(self.before))[equal], minlength=1 << DIGIT_BITS),)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _TableJob:
    """Counts two-way tables of ranks of the rows whose keys are at most `last`."""

    feature: SampledTaus
    last: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.feature.columns

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(_count_ranks(self.feature, pair) for pair in self.pairs)

    def __call__(self, codes: npt.NDArray[np.int32]) -> tuple[Ints, ...]:
        less, equal = _compare_keys(_make_keys(self.feature, codes), self.last)
        taken = codes[less | equal]
        ranks = [lookup[taken[:, j]].astype(np.int64) for j, lookup in enumerate(self.feature.lookups)]
        return tuple(
            np.bincount(ranks[j] * width + ranks[k], minlength=height * width).reshape(height, width)
            for (j, k), (height, width) in zip(self.pairs, self.shapes, strict=True)
        )


def _count_ranks(feature: SampledTaus, pair: tuple[int, int]) -> tuple[int, int]:
    first, second = (int(feature.lookups[j].max()) + 1 for j in pair)
    return first, second


def _make_keys(feature: SampledTaus, codes: npt.NDArray[np.int32]) -> Words:
    """Return the keys of rows as lines of 64-bit words, the first line the most significant."""
    words = pack_rows(codes, [len(lookup) for lookup in feature.lookups])
    mixed, number = mix_row_keys(words, feature.seed)
    return np.vstack([mixed, words, number])


def _extract_digit(keys: Words, place: int) -> Ints:
    line, part = divmod(place * DIGIT_BITS, 64)
    return ((keys[line] >> np.uint64(64 - DIGIT_BITS - part)) & np.uint64((1 << DIGIT_BITS) - 1)).astype(np.int64)


def _compare_keys(keys: Words, digits: tuple[int, ...]) -> tuple[Mask, Mask]:
    """Return whether keys come before these first digits, and whether they begin with them."""
    less, equal = np.zeros(keys.shape[1], dtype=bool), np.ones(keys.shape[1], dtype=bool)
    for place, digit in enumerate(digits):
        found = _extract_digit(keys, place)
        less |= equal & (found < digit)
        equal &= found == digit
    return less, equal

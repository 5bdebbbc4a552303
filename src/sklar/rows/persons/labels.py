"""Exact counts of labels where persons have many rows: each person has at most one label of a column.

A keyed hash selects it among all rows of the person, every row being equally likely; so it depends on the rows of that
person alone, and one person moves one count of a column by one, for any number of rows. With one vote per person this
is the table that the proof of `sklar.accounting.composition.discovery` is about, with k = 1.

Labels are gathered and counted as 128 keyed bits of their texts; a second pass reads the texts of the few that at least
`floor` persons named. Listed labels are always counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from sklar.rows.codes.label_counts import decode_labels, label_texts
from sklar.rows.codes.table import EncodedRows, RowEncoder
from sklar.rows.persons.choice import Words
from sklar.rows.persons.gather import MEMORY_BYTES, Gathering
from sklar.rows.persons.keys import Secret, key_encoders, label_encoders
from sklar.rows.persons.used import RowChoice, read_selected_rows

BUCKET_BITS = 22
"""Bits of the buckets in which labels are first counted; only those of large buckets are then counted exactly."""

Named = dict[tuple[int, int], int]
"""Number of persons with each label, by its words."""


def exact_named_labels(
    rows: EncodedRows,
    key: str,
    secret: Secret,
    floors: Mapping[str, int],
    listed: Mapping[str, tuple[str, ...]],
    folder: str,
) -> dict[str, dict[str, int]]:
    """Return the labels of each column with at least `floor` persons, and listed ones, with their counts of persons."""
    gatherings = [Gathering(folder, MEMORY_BYTES // len(floors)) for _ in floors]
    encoders = [label_encoders(name, secret, rows.null_values) for name in floors]
    choice = RowChoice(bound=1, ordered=False, mixing=secret.mixing)
    try:
        keys = key_encoders(key, secret, rows.null_values)
        for batch in rows.read_by([*keys, *(one for both in encoders for one in both)]):
            columns = batch.codes
            for at, gathering in enumerate(gatherings):
                gathering.add([*columns[:2], *columns[2 + 2 * at : 4 + 2 * at]])
        known = [_hash_listed(listed.get(name, ()), its) for name, its in zip(floors, encoders, strict=True)]
        named = [
            _count_labels(held, choice, floor, words)
            for held, floor, words in zip(gatherings, floors.values(), known, strict=True)
        ]
    finally:
        for gathering in gatherings:
            gathering.close()
    return _add_texts(rows, dict(zip(floors, named, strict=True)), listed, secret)


def _hash_listed(labels: Sequence[str], encoders: Sequence[RowEncoder]) -> set[tuple[int, int]]:
    """Return the words of listed labels."""
    one, other = (encoder.encode(pa.array(labels, pa.large_string())).tolist() for encoder in encoders)
    return set(zip(one, other, strict=True)) - {(0, 0)}  # a text that stands for null is no label


def _count_labels(gathering: Gathering, choice: RowChoice, floor: int, known: set[tuple[int, int]]) -> Named:
    """Count labels with at least `floor` persons, by buckets first, so that memory does not grow with the others."""
    buckets = np.zeros(1 << BUCKET_BITS, dtype=np.int64)
    for one, _ in _read_label_words(gathering, choice):
        places, counts = np.unique(_assign_buckets(one), return_counts=True)
        buckets[places] += counts
    if known:
        buckets[_assign_buckets(np.array([one for one, _ in known], dtype=np.uint64))] = floor  # counted in any case
    found: Named = {}
    for one, other in _read_label_words(gathering, choice):
        full = buckets[_assign_buckets(one)] >= floor
        pairs, counts = np.unique(np.stack([one[full], other[full]]), axis=1, return_counts=True)
        for first, second, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            found[first, second] = found.get((first, second), 0) + count
    return {words: count for words, count in found.items() if count >= floor or words in known}


def _assign_buckets(words: Words) -> Words:
    return words >> np.uint64(64 - BUCKET_BITS)


def _read_label_words(gathering: Gathering, choice: RowChoice) -> Iterator[tuple[Words, Words]]:
    """Yield the words of the label of each person that has one."""
    for parts in gathering.parts():
        for persons, columns in read_selected_rows(gathering, parts, choice):
            one, other = (column[persons.rows] for column in columns[2:])
            some = (one != 0) | (other != 0)
            yield one[some], other[some]


def _add_texts(
    rows: EncodedRows, named: Mapping[str, Named], listed: Mapping[str, tuple[str, ...]], secret: Secret
) -> dict[str, dict[str, int]]:
    """Read the texts of the frequent labels in a separate pass."""
    wanted = {name: np.array(sorted({one for one, _ in words}), dtype=np.uint64) for name, words in named.items()}
    hashes = {name: [one.encode for one in label_encoders(name, secret, rows.null_values)] for name in named}
    found: dict[str, dict[bytes, int]] = {name: {} for name in named}
    for arrays in rows.raw_batches(tuple(named)):
        for name, array in zip(named, arrays, strict=True):
            for texts in label_texts(array):
                one, other = (encode(texts) for encode in hashes[name])
                places = np.flatnonzero(np.isin(one, wanted[name]))
                places = places[np.unique(one[places], return_index=True)[1]]
                chosen = texts.take(pa.array(places)).cast(pa.large_binary()).to_pylist()
                for text, *words in zip(chosen, one[places].tolist(), other[places].tolist(), strict=True):
                    if tuple(words) in named[name]:
                        found[name][text] = named[name][tuple(words)]
    return {name: decode_labels(labels, listed.get(name, ())) for name, labels in found.items()}

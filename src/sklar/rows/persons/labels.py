"""Exact counts of labels where persons have many rows: each person names one label of a column, or none.

Which one is told by a keyed hash among all rows of the person, every row being as likely as any other; so it depends on
the rows of that person alone, and one person moves one count of a column by one, whatever the number of rows. With one
vote a person this is the table that the proof of `sklar.accounting.composition.discovery` is about, with k = 1.

Labels are gathered and counted as 128 keyed bits of their texts; a second pass reads the texts of the few that at least
`floor` persons named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sklar.rows.codes.label_counts import as_text, label_texts
from sklar.rows.codes.table import EncodedRows
from sklar.rows.persons.choice import Words
from sklar.rows.persons.gather import MEMORY_BYTES, Gathering
from sklar.rows.persons.keys import Secret, key_encoders, label_encoders
from sklar.rows.persons.used import RowChoice, chosen_rows

BUCKET_BITS = 22
"""Labels are first counted by so many bits of their words, and only those in full buckets once more, by all bits."""

Named = dict[tuple[int, int], int]
"""How many persons named each label, by its words."""


def exact_named_labels(
    rows: EncodedRows, key: str, secret: Secret, floors: Mapping[str, int], folder: str
) -> dict[str, dict[str, int]]:
    """For each column the labels that at least `floor` persons named, and how many did."""
    gatherings = [Gathering(folder, MEMORY_BYTES // len(floors)) for _ in floors]
    encoders = [label_encoders(name, secret, rows.null_values) for name in floors]
    choice = RowChoice(bound=1, ordered=False, mixing=secret.mixing)
    try:
        keys = key_encoders(key, secret, rows.null_values)
        for batch in rows.read_by([*keys, *(one for both in encoders for one in both)]):
            columns = batch.codes
            for at, gathering in enumerate(gatherings):
                gathering.add([*columns[:2], *columns[2 + 2 * at : 4 + 2 * at]])
        named = [_named(held, choice, floor) for held, floor in zip(gatherings, floors.values(), strict=True)]
    finally:
        for gathering in gatherings:
            gathering.close()
    return _with_texts(rows, dict(zip(floors, named, strict=True)), secret)


def _named(gathering: Gathering, choice: RowChoice, floor: int) -> Named:
    """Labels with at least `floor` persons: counted by buckets first, so that memory does not grow with the others."""
    buckets = np.zeros(1 << BUCKET_BITS, dtype=np.int64)
    for one, _ in _words(gathering, choice):
        places, counts = np.unique(_bucket(one), return_counts=True)
        buckets[places] += counts
    found: Named = {}
    for one, other in _words(gathering, choice):
        full = buckets[_bucket(one)] >= floor
        pairs, counts = np.unique(np.stack([one[full], other[full]]), axis=1, return_counts=True)
        for first, second, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            found[first, second] = found.get((first, second), 0) + count
    return {words: count for words, count in found.items() if count >= floor}


def _bucket(words: Words) -> Words:
    return words >> np.uint64(64 - BUCKET_BITS)


def _words(gathering: Gathering, choice: RowChoice) -> Iterator[tuple[Words, Words]]:
    """The label that each person names, by its words; not those of persons who name none."""
    for parts in gathering.parts():
        for persons, columns in chosen_rows(gathering, parts, choice):
            one, other = (column[persons.rows] for column in columns[2:])
            some = (one != 0) | (other != 0)
            yield one[some], other[some]


def _with_texts(rows: EncodedRows, named: Mapping[str, Named], secret: Secret) -> dict[str, dict[str, int]]:
    """The texts of the labels that were named often enough, in a pass of their own."""
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
    return {name: as_text(labels) for name, labels in found.items()}

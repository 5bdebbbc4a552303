"""Exact counts of all labels of a column with at least `floor` rows, in memory that does not grow with the others.

A first pass counts rows by hash buckets of the texts. A label with `floor` rows is in a bucket of at least `floor`, so
later passes count, exactly and by the texts themselves, only labels of such buckets. The answer does not depend on the
hash or on the order of rows: it is precisely the labels with `floor` rows and more. If many labels are left, as when
every row has a text of its own, they are counted a part at a time, in further passes. Listed labels are always counted,
and are part of the answer also if no row has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Mask
from sklar.rows.codes.protocol import Rows
from sklar.rows.encode.arrays import is_too_long, union_parts, unwrap_array
from sklar.rows.encode.spelling import spell_values
from sklar.rows.encode.text import Text, text_of

MAX_BUCKET_COUNT = 2**32 - 1
"""Rows at which a bucket stops counting."""
MAX_LABEL_BYTES = 200
"""Longest label in bytes of UTF-8; a longer text is not a label."""
BUCKET_BYTES = 128 << 20
"""Memory for the buckets of all columns together."""
LABELS_PER_PASS = 1_000_000
"""About the number of distinct texts of a column in memory at one time."""

Buckets = npt.NDArray[np.uint32]
Parts = npt.NDArray[np.uint16]


def exact_label_counts(
    rows: Rows, floors: Mapping[str, int], listed: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, dict[str, int]]:
    """Return the labels of each column with at least `floor` rows, and listed ones, with their numbers of rows.

    Null, the empty text, texts that stand for null, texts beyond MAX_LABEL_BYTES bytes and bytes that are not UTF-8 are
    not labels; so each row has at most one label, which depends on the row alone.
    """
    listed = listed or {}
    own = getattr(rows, "exact_label_counts", None)
    if own is not None:  # rows of persons, each of whom has one label
        return own(floors, listed)
    bits = min(24, int(math.log2(BUCKET_BYTES // 4 // len(floors))))  # the number of buckets that fit
    buckets = _count_buckets(rows, tuple(floors), bits)
    parts = {name: _assign_passes(buckets.pop(name), floor) for name, floor in floors.items()}
    for name, labels in listed.items():
        places = _hash_texts(text_of(pa.array(labels, pa.large_string())), bits)
        parts[name][places] = np.maximum(parts[name][places], 1)
    found: dict[str, dict[bytes, int]] = {name: {} for name in floors}
    for part in range(1, max((int(p.max()) for p in parts.values()), default=0) + 1):
        for name, counts in _count_part(rows, parts, bits, part).items():
            known = {label.encode() for label in listed.get(name, ())}
            found[name] |= {label: n for label, n in counts.items() if n >= floors[name] or label in known}
    return {name: decode_labels(counts, listed.get(name, ())) for name, counts in found.items()}


def _count_buckets(rows: Rows, columns: tuple[str, ...], bits: int) -> dict[str, Buckets]:
    from sklar.counting.tallies import tally_buckets

    counts = {name: np.zeros(1 << bits, dtype=np.uint32) for name in columns}
    for name, _, places in _hash_batches(rows, columns, bits):
        tally_buckets(places, counts[name])
    return counts


def _hash_batches(rows: Rows, columns: tuple[str, ...], bits: int) -> Iterator[tuple[str, Any, npt.NDArray[np.int32]]]:
    """Yield one pass: column, texts and their buckets, batch by batch."""
    for arrays in rows.raw_batches(columns):
        for name, array in zip(columns, arrays, strict=True):
            for texts in label_texts(array):
                yield name, texts, _hash_texts(text_of(texts, rows.null_values), bits)


def _hash_texts(texts: Text, bits: int) -> npt.NDArray[np.int32]:
    """Return the bucket of each label, -1 for texts that are no labels."""
    from sklar.counting.tallies import hash_texts

    places = np.empty(len(texts), dtype=np.int32)
    hash_texts(texts.data, texts.begins, texts.ends, texts.valid, MAX_LABEL_BYTES, (1 << bits) - 1, places)
    return places


def is_label(text: Text) -> Mask:
    """Return which texts are labels: not null, not empty, not too long."""
    return text.valid & (text.ends > text.begins) & (text.ends - text.begins <= MAX_LABEL_BYTES)


def _assign_passes(buckets: Buckets, floor: int) -> Parts:
    """Return the pass in which each bucket is counted, from 1; 0 for buckets with fewer than `floor` rows."""
    mean = float(buckets.sum(dtype=np.int64)) / len(buckets)
    eligible = np.flatnonzero(buckets >= min(floor, MAX_BUCKET_COUNT))  # a full bucket may contain any number of rows
    # A bucket far above the mean contains a few frequent labels rather than many rare ones. Only memory depends on
    # this.
    texts = np.minimum(buckets[eligible], mean + 10 * math.sqrt(mean) + 20)
    parts = np.zeros(len(buckets), dtype=np.uint16)
    parts[eligible] = np.minimum(1 + np.cumsum(texts) // LABELS_PER_PASS, 2**16 - 1)
    return parts


def _count_part(rows: Rows, parts: Mapping[str, Parts], bits: int, part: int) -> dict[str, dict[bytes, int]]:
    columns = tuple(name for name, its in parts.items() if part <= int(its.max()))
    counts: dict[str, dict[bytes, int]] = {name: {} for name in columns}
    for name, texts, places in _hash_batches(rows, columns, bits):
        wanted = (places >= 0) & (parts[name][places] == part)
        chosen = texts.filter(pa.array(wanted)).cast(pa.large_binary())
        known = counts[name]
        found = pc.call_function("value_counts", [chosen])
        for label, count in zip(*(found.field(name).to_pylist() for name in ("values", "counts")), strict=True):
            known[label] = known.get(label, 0) + count
    return counts


def decode_labels(counts: Mapping[bytes, int], listed: Sequence[str]) -> dict[str, int]:
    """Return counts by text, in alphabetical order, without labels that are not UTF-8; 0 for absent listed ones."""
    counts = {**dict.fromkeys((label.encode() for label in listed), 0), **counts}
    texts: dict[str, int] = {}
    for label in sorted(counts):
        try:
            texts[label.decode()] = counts[label]
        except UnicodeDecodeError:
            continue
    return texts


def label_texts(array: Any) -> Iterator[Any]:
    """Yield plain Arrow arrays of strings or bytes, one text per row in any order; null where a value has no text."""
    array = unwrap_array(array)
    if pa.types.is_union(array.type):
        for _, values in union_parts(array):
            yield from label_texts(values)
    elif pa.types.is_dictionary(array.type):
        yield from label_texts(_decode_dictionary(array))
    elif is_too_long(array):
        half = len(array) // 2
        yield from label_texts(array[:half])
        yield from label_texts(array[half:])
    else:
        yield spell_values(array)


def _decode_dictionary(array: Any) -> Any:
    """Return a dictionary's values row by row, in a type for any amount of text."""
    values = unwrap_array(array.dictionary)
    if pa.types.is_string(values.type):
        values = values.cast(pa.large_string())
    return values.take(array.indices)

"""Exact counts of all labels of a column that at least `floor` rows have, in memory that does not grow with the rest.

A first pass counts rows by hash buckets of the texts. A label with `floor` rows is in a bucket of at least as many, so
later passes count, exactly and by the texts themselves, only labels of such buckets. The answer does not depend on the
hash or on the order of rows: it is precisely the labels with `floor` rows and more. If many labels are left, as when
every row has a text of its own, they are counted a part at a time, in further passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Mask
from sklar.rows.codes.protocol import Rows
from sklar.rows.encode.arrays import is_too_long, union_parts, unwrapped
from sklar.rows.encode.spelling import spelled
from sklar.rows.encode.text import Text, text_of

FULL = 2**32 - 1
"""Rows at which a bucket stops counting."""
LONGEST_LABEL = 200
"""Bytes of UTF-8; a longer text is no label, whoever's it is."""
BUCKET_BYTES = 128 << 20
"""Memory for the buckets of all columns together."""
LABELS_AT_ONCE = 1_000_000
"""About how many distinct texts of a column are held in memory at once."""

Buckets = npt.NDArray[np.uint32]
Parts = npt.NDArray[np.uint16]


def exact_label_counts(rows: Rows, floors: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """For each column its labels with at least `floor` rows, and how many rows have them.

    Null, the empty text, texts that stand for null, texts beyond LONGEST_LABEL bytes and bytes that are not UTF-8 are
    no labels; so each row has at most one label, which depends on nothing but the row.
    """
    own = getattr(rows, "exact_label_counts", None)
    if own is not None:  # rows of persons, each of whom names one label
        return own(floors)
    bits = min(24, int(math.log2(BUCKET_BYTES // 4 // len(floors))))  # as many buckets as fit
    buckets = _bucket_counts(rows, tuple(floors), bits)
    parts = {name: _parts(buckets.pop(name), floor) for name, floor in floors.items()}
    found: dict[str, dict[bytes, int]] = {name: {} for name in floors}
    for part in range(1, max((int(p.max()) for p in parts.values()), default=0) + 1):
        for name, counts in _part_counts(rows, parts, bits, part).items():
            found[name] |= {label: count for label, count in counts.items() if count >= floors[name]}
    return {name: as_text(counts) for name, counts in found.items()}


def _bucket_counts(rows: Rows, columns: tuple[str, ...], bits: int) -> dict[str, Buckets]:
    from sklar.counting.tallies import tally_buckets

    counts = {name: np.zeros(1 << bits, dtype=np.uint32) for name in columns}
    for name, _, places in _buckets(rows, columns, bits):
        tally_buckets(places, counts[name])
    return counts


def _buckets(rows: Rows, columns: tuple[str, ...], bits: int) -> Iterator[tuple[str, Any, npt.NDArray[np.int32]]]:
    """One pass: column, texts and their buckets, batch by batch."""
    from sklar.counting.tallies import text_buckets

    for arrays in rows.raw_batches(columns):
        for name, array in zip(columns, arrays, strict=True):
            for texts in label_texts(array):
                flat = text_of(texts, rows.null_values)
                places = np.empty(len(flat), dtype=np.int32)
                text_buckets(flat.data, flat.begins, flat.ends, flat.valid, LONGEST_LABEL, (1 << bits) - 1, places)
                yield name, texts, places


def is_label(text: Text) -> Mask:
    """Which texts are labels: not null, not empty, not too long."""
    return text.valid & (text.ends > text.begins) & (text.ends - text.begins <= LONGEST_LABEL)


def _parts(buckets: Buckets, floor: int) -> Parts:
    """In which pass each bucket is counted, from 1; 0 for buckets too small to hold a label with `floor` rows."""
    mean = float(buckets.sum(dtype=np.int64)) / len(buckets)
    eligible = np.flatnonzero(buckets >= min(floor, FULL))  # a full bucket may hold any number of rows
    # A bucket far above the mean holds a few frequent labels rather than many rare ones. Only memory depends on this.
    texts = np.minimum(buckets[eligible], mean + 10 * math.sqrt(mean) + 20)
    parts = np.zeros(len(buckets), dtype=np.uint16)
    parts[eligible] = np.minimum(1 + np.cumsum(texts) // LABELS_AT_ONCE, 2**16 - 1)
    return parts


def _part_counts(rows: Rows, parts: Mapping[str, Parts], bits: int, part: int) -> dict[str, dict[bytes, int]]:
    columns = tuple(name for name, its in parts.items() if part <= int(its.max()))
    counts: dict[str, dict[bytes, int]] = {name: {} for name in columns}
    for name, texts, places in _buckets(rows, columns, bits):
        wanted = (places >= 0) & (parts[name][places] == part)
        chosen = texts.filter(pa.array(wanted)).cast(pa.large_binary())
        known = counts[name]
        found = pc.call_function("value_counts", [chosen])
        for label, count in zip(*(found.field(name).to_pylist() for name in ("values", "counts")), strict=True):
            known[label] = known.get(label, 0) + count
    return counts


def as_text(counts: Mapping[bytes, int]) -> dict[str, int]:
    """Alphabetical, without what is not UTF-8."""
    texts: dict[str, int] = {}
    for label in sorted(counts):
        try:
            texts[label.decode()] = counts[label]
        except UnicodeDecodeError:
            continue
    return texts


def label_texts(array: Any) -> Iterator[Any]:
    """Plain Arrow arrays of strings or bytes, one text a row in no stated order; null where a value has no text."""
    array = unwrapped(array)
    if pa.types.is_union(array.type):
        for _, values in union_parts(array):
            yield from label_texts(values)
    elif pa.types.is_dictionary(array.type):
        yield from label_texts(_decoded(array))
    elif is_too_long(array):
        half = len(array) // 2
        yield from label_texts(array[:half])
        yield from label_texts(array[half:])
    else:
        yield spelled(array)


def _decoded(array: Any) -> Any:
    """A dictionary's values row by row, in a type that holds any amount of text."""
    values = unwrapped(array.dictionary)
    if pa.types.is_string(values.type):
        values = values.cast(pa.large_string())
    return values.take(array.indices)

"""Tables of all pairs at once equal the tables one by one, whether counted by bits or row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sklar.counting.tables import count_pair_cells, exact_pair_counts, require_pair_memory
from sklar.errors import TableTooLargeError
from sklar.rows import exact_counts, open_rows
from sklar.rows.encode.labels import packed_flags
from sklar.schema import Boolean, Integer, Schema


@pytest.mark.parametrize("kind", ["bits", "mixed"])
def test_all_pairs_equal_single_tables(kind):
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(6)]
    if kind == "bits":
        schema = Schema({name: Boolean() for name in names})
        table = pa.table({name: rng.random(203) < 0.3 for name in names})
    else:
        schema = Schema({name: Integer(0, j + 1) for j, name in enumerate(names)})
        table = pa.table({name: rng.integers(0, j + 2, 203) for j, name in enumerate(names)})
    lookups = [np.arange(schema.size(name), dtype=np.int32) for name in names]
    if kind == "mixed":
        lookups[5] = np.array([0, 0, 1, 1, 2, 2, 2], dtype=np.int32)
    rows = open_rows(table, schema)
    flat = exact_pair_counts(rows, names, lookups)
    pairs = itertools.combinations(range(6), 2)
    slow = exact_counts(rows, [((names[j], names[k]), (lookups[j], lookups[k])) for j, k in pairs])
    np.testing.assert_array_equal(flat, np.concatenate([t.ravel() for t in slow]))
    assert len(flat) == count_pair_cells([int(x.max()) + 1 for x in lookups])


def test_too_many_cells_are_refused_with_names():
    with pytest.raises(TableTooLargeError, match=r"'income' \(40,000\)"):
        require_pair_memory(["age", "income"], [40_000, 40_000])
    require_pair_memory(["age", "income"], [100, 40_000])


@pytest.mark.parametrize("rows", [1, 7, 64, 65, 300])
@pytest.mark.parametrize("offset", [0, 1, 8, 13])
def test_bits_of_arrow_are_taken_as_they_are(rows, offset):
    flags = np.random.default_rng(rows).random(rows + offset + 5) < 0.6
    array = pa.array(flags)[offset : offset + rows]
    expected = np.packbits(flags[offset : offset + rows], bitorder="little")
    np.testing.assert_array_equal(packed_flags(array), expected)
    # What lies behind a buffer's last bit need not be zero.
    dirty = pa.BooleanArray.from_buffers(pa.bool_(), rows, [None, pa.py_buffer(b"\xff" * (rows // 8 + 1))])
    np.testing.assert_array_equal(packed_flags(dirty), np.packbits(np.ones(rows, bool), bitorder="little"))


@pytest.mark.parametrize(
    "array", [pa.array([True, None]), pa.array([1, 0]), pa.array(["true"]), pa.array([], pa.bool_())]
)
def test_other_arrays_are_encoded_one_by_one(array):
    assert packed_flags(array) is None
    rows = open_rows(pa.table({"a": array}), Schema({"a": Boolean(missing_value=True)}))
    (counts,) = exact_counts(rows, [(("a",), None)])
    assert counts.sum() == len(array) and counts[1] == sum(x is None or x in (True, "true") for x in array.to_pylist())


def test_histograms_of_bits_need_no_pass_once_pairs_are_counted(tmp_path):
    rng, names = np.random.default_rng(1), [f"x{j}" for j in range(5)]
    table = pa.table({name: rng.random(1_003) < 0.3 for name in names})
    pq.write_table(table, tmp_path / "bits.parquet")
    schema, lookups = Schema(dict.fromkeys(names, Boolean())), [np.arange(2, dtype=np.int32)] * 5
    specs = [((name,), (lookup,)) for name, lookup in zip(names, lookups, strict=True)]
    rows = open_rows(tmp_path / "bits.parquet", schema, cache_bytes=0)
    counted = exact_counts(rows, specs)
    exact_pair_counts(rows, names, lookups)
    passes = rows.passes
    told = exact_counts(rows, specs)
    assert rows.passes == passes
    np.testing.assert_array_equal(told, counted)
    np.testing.assert_array_equal(counted, [[(~table[n].to_numpy()).sum(), table[n].to_numpy().sum()] for n in names])
    flipped = exact_counts(rows, [(("x0",), (np.array([1, 0], dtype=np.int32),)), (("x1",), None)])
    assert rows.passes == passes + 1
    np.testing.assert_array_equal(flipped[0], counted[0][::-1])

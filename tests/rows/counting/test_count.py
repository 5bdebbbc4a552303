"""Exact counts agree with counting in numpy, for any tables, lookups, widths, batches and threads."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import TableTooLargeError, UsageError
from sklar.rows import exact_counts, exact_ones, open_rows
from sklar.rows.codes.table import EncodedRows
from sklar.schema import Boolean, Category, Id, Integer, Schema

SIZES = {"bit": 2, "flag": 2, "few": 5, "many": 300, "huge": 70_000, "mid": 90}


def table(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: np.minimum(rng.geometric(min(0.6, 3 / size), rows) - 1, size - 1) for name, size in SIZES.items()}


def opened(codes: dict[str, np.ndarray], **options: Any) -> EncodedRows:
    schema = Schema({name: Integer(0, size - 1) for name, size in SIZES.items()})
    return open_rows(pa.table(codes), schema, **options)


def slow(codes: dict[str, np.ndarray], columns: Any, lookups: Any) -> np.ndarray:
    axes = [codes[c] if lookups is None else lookups[i][codes[c]] for i, c in enumerate(columns)]
    shape = [SIZES[c] if lookups is None else int(lookups[i].max()) + 1 for i, c in enumerate(columns)]
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(axes), 1) if axes else counts.__iadd__(len(next(iter(codes.values()))))
    return counts


def same(found: Any, expected: Any) -> bool:
    return len(found) == len(expected) and all(
        a.dtype == np.int64 and a.shape == b.shape and np.array_equal(a, b)
        for a, b in zip(found, expected, strict=True)
    )


@st.composite
def specs(draw: st.DrawFn) -> list[Any]:
    asked: list[Any] = []
    for _ in range(draw(st.integers(0, 6))):
        small = [n for n in SIZES if n != "huge"]
        columns = tuple(draw(st.lists(st.sampled_from(small), max_size=3)))
        if draw(st.booleans()):
            lookups = tuple(
                draw(st.sampled_from([np.arange(SIZES[c]) % k for k in (1, 2, 3, 200)])).astype(
                    draw(st.sampled_from([np.int32, np.uint8]))
                )
                for c in columns
            )
            asked.append((columns, lookups))
        else:
            asked.append((columns, None))
    return asked


@given(specs(), st.sampled_from([0, 1, 3, 1000]), st.integers(1, 3))
def test_any_tables(asked: list[Any], rows: int, threads: int) -> None:
    asked = [s for s in asked if np.prod([SIZES[c] for c in s[0]], dtype=float) < 1e6]
    codes = table(rows)
    assert same(exact_counts(opened(codes, threads=threads), asked), [slow(codes, *s) for s in asked])


def test_every_pair_and_triple_of_every_width_over_several_batches() -> None:
    codes = table(300_000)
    asked: list[Any] = [((a,), None) for a in SIZES] + [
        ((a, b), None) for a, b in combinations(SIZES, 2) if "huge" not in (a, b)
    ]
    asked += [(("bit", "huge"), None), (("few", "mid", "bit"), None), (("few", "few"), None), ((), None)]
    asked += [(("huge", "few"), (np.arange(70_000) // 700, np.array([0, 1, 1, 0, 2])))]
    expected = [slow(codes, *s) for s in asked]
    for threads in (1, 2, 5):
        assert same(exact_counts(opened(codes, threads=threads), asked), expected)
    rescanned = opened(codes, cache_bytes=0)
    assert same(exact_counts(rescanned, asked), expected) and rescanned.passes == 1


def test_one_call_is_one_pass() -> None:
    rows = opened(table(1000), cache_bytes=0)
    exact_counts(rows, [(("few",), None)])
    before = rows.passes
    exact_counts(rows, [((a, b), None) for a, b in combinations(["bit", "few", "mid", "many"], 2)])
    assert rows.passes == before + 1


def test_answers_do_not_share_memory() -> None:
    first, second = exact_counts(opened(table(10)), [(("few",), None), (("few",), None)])
    first[:] = -1
    assert second.sum() == 10


def test_many_binary_columns() -> None:
    rng = np.random.default_rng(3)
    n, d = 5003, 70
    bits = rng.random((n, d)) < rng.random(d)
    names = [f"b{j}" for j in range(d)]
    schema = Schema(
        {name: Boolean() for name in names[:-2]} | {names[-2]: Boolean(nullable=True), names[-1]: Category(("a",))}
    )
    columns = {name: pa.array(bits[:, j]) for j, name in enumerate(names[:-2])}
    columns[names[-2]] = pa.array(bits[:, -2], mask=rng.random(n) < 0.1)
    columns[names[-1]] = pa.array(np.where(bits[:, -1], "b", "a"))
    data = pa.table(columns)
    pairs = [((a, b), None) for a, b in combinations(names, 2)] + [
        ((b, a), None) for a, b in combinations(names[:5], 2)
    ]
    asked = pairs + [((a,), None) for a in names] + [((names[3], names[3]), None)]
    for cache in (None, 0):
        found = exact_counts(open_rows(data, schema, cache_bytes=cache), asked)
        codes = next(iter(open_rows(data, schema).code_matrix_batches(names, rows=n)))
        for (columns_, _), counts in zip(asked, found, strict=True):
            expected = np.zeros(counts.shape, dtype=np.int64)
            np.add.at(expected, tuple(codes[:, names.index(c)] for c in columns_), 1)
            assert np.array_equal(counts, expected) and counts.dtype == np.int64
        chosen = [names[4], names[-1], names[0], names[4]]
        ones = codes[:, [names.index(c) for c in chosen]].astype(np.int64)
        assert np.array_equal(exact_ones(open_rows(data, schema, cache_bytes=cache), chosen), ones.T @ ones)
    with pytest.raises(UsageError):
        exact_ones(open_rows(data, schema), names)


def test_refusal_names_the_columns_before_any_row_is_read() -> None:
    rows = opened(table(5))
    with pytest.raises(TableTooLargeError, match=r"'huge' \(70,000\).*'many' \(300\)"):
        exact_counts(rows, [(("few",), None), (("huge", "many", "few", "mid"), None)])
    with pytest.raises(TableTooLargeError, match=r"2 tables.*'huge'"):
        exact_counts(rows, [(("huge", "few"), None), (("huge", "bit"), None)], max_bytes=3_000_000)
    assert rows.passes == 0


def test_sizes_far_beyond_int64_are_refused() -> None:
    schema = Schema({f"c{i}": Integer(0, 199_999) for i in range(30)})
    rows = open_rows({name: [1] for name in schema.names}, schema)
    with pytest.raises(TableTooLargeError):
        exact_counts(rows, [(schema.names, None)])


@pytest.mark.parametrize(
    "spec",
    [
        (("nope",), None),
        (("key",), None),
        (("x",), (np.array([0, 1]),)),
        (("x",), (np.array([0, -1, 2]),)),
        (("x",), (np.zeros(3),)),
        (("x",), (np.zeros((3, 1), int),)),
        (("x",), ()),
    ],
)
def test_requests_that_do_not_fit_the_schema(spec: Any) -> None:
    rows = open_rows({"x": [1], "key": [1]}, Schema({"x": Integer(0, 2), "key": Id()}))
    with pytest.raises(UsageError):
        exact_counts(rows, [spec])
    assert rows.passes == 0


def test_code_matrices() -> None:
    codes = table(200_001)
    names = ["mid", "huge", "bit"]
    blocks = list(opened(codes).code_matrix_batches(names))
    assert max(len(b) for b in blocks) <= 1 << 16 and blocks[0].dtype == np.int32
    expected = np.stack([codes[n] for n in names], axis=1)
    assert np.array_equal(np.concatenate(blocks), expected)
    assert np.array_equal(np.concatenate(list(opened(codes).code_matrix_batches(names, rows=12_345))), expected)


@pytest.mark.slow
def test_wide_table() -> None:
    names = [f"c{i}" for i in range(10_000)]
    schema = Schema({name: Integer(0, 2) for name in names})
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3, (10_000, 50))
    rows = open_rows(pa.table(list(values), names=names), schema)
    found = exact_counts(rows, [((name,), None) for name in names])
    assert all(np.array_equal(counts, np.bincount(v, minlength=3)) for counts, v in zip(found, values, strict=True))

"""Search with an index agrees with plain binary search, also where intervals are empty or tiny."""

import numpy as np
import pytest

from sklar.model.axis import MIN_INDEXED_NUMBERS, interval_of, make_search_guide, make_search_guides


def plain(edges, u):
    return np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(edges) - 2)


def awkward_edges(rng, size):
    mass = rng.gamma(0.05, size=size)
    mass[rng.random(size) < 0.2] = 0.0
    edges = np.concatenate([[0.0], np.cumsum(mass)])
    edges = np.minimum(edges / edges[-1], 1.0)
    edges[-1] = 1.0
    return edges


@pytest.mark.parametrize("size", [1, 2, 7, 100, 3_000])
def test_agrees_with_binary_search(size):
    rng = np.random.default_rng(size)
    edges = awkward_edges(rng, size)
    u = np.concatenate(
        [rng.random(2 * MIN_INDEXED_NUMBERS), edges, np.nextafter(edges, 0), np.nextafter(edges, 1), [0.0, 1.0]]
    )
    assert np.array_equal(interval_of(edges, u), plain(edges, u))


def test_the_index_never_starts_to_the_right_of_the_answer():
    edges = awkward_edges(np.random.default_rng(1), 50)
    index = make_search_guide(edges)
    assert np.array_equal(index, plain(edges, np.arange(len(index)) / len(index)))


def test_rows_have_their_own_index():
    rng = np.random.default_rng(2)
    rows = np.stack([awkward_edges(rng, 20) for _ in range(5)])
    assert np.array_equal(make_search_guides(rows), np.stack([make_search_guide(row) for row in rows]))

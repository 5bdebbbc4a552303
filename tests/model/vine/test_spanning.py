"""Maximum spanning trees."""

from itertools import combinations

import numpy as np

from sklar.model.vine.vine import maximum_spanning_tree


def is_tree(nodes, edges):
    seen = {0}
    for _ in range(nodes):
        seen |= {b for a, b in edges if a in seen} | {a for a, b in edges if b in seen}
    return len(edges) == nodes - 1 and len(seen) == nodes


def test_weight_equals_the_best_of_all_spanning_trees():
    rng = np.random.default_rng(0)
    ends = list(combinations(range(5), 2))
    weights = rng.random(len(ends))
    best = max(
        sum(weights[i] for i in choice)
        for choice in combinations(range(len(ends)), 4)
        if is_tree(5, [ends[i] for i in choice])
    )
    kept = maximum_spanning_tree(5, ends, weights)
    assert is_tree(5, [ends[i] for i in kept])
    assert np.isclose(sum(weights[i] for i in kept), best)


def test_disconnected_nodes_give_a_forest():
    assert maximum_spanning_tree(4, [(0, 1), (2, 3), (0, 1)], [1.0, 2.0, 3.0]) == (2, 1)


def test_no_edges():
    assert maximum_spanning_tree(1, [], []) == ()

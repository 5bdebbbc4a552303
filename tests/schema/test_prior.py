"""The counts of a public table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sklar.schema.prior import PublicColumn, PublicPrior


def prior() -> PublicPrior:
    columns = (
        PublicColumn(name="a", counts=np.array([1, 2, 3]), groups=np.array([0, 1, 1])),
        PublicColumn(name="b", counts=np.array([4, 2]), groups=np.array([0, 1])),
        PublicColumn(name="c", counts=np.array([6]), groups=np.array([0])),
    )
    return PublicPrior(name="census", by="the office", rows=6, columns=columns, pairs=np.arange(4 + 2 + 2))


def test_a_pair_is_found_in_both_orders() -> None:
    np.testing.assert_array_equal(prior().table("a", "b"), [[0, 1], [2, 3]])
    np.testing.assert_array_equal(prior().table("b", "a"), [[0, 2], [1, 3]])
    np.testing.assert_array_equal(prior().table("b", "c"), [[6], [7]])
    assert prior().table("a", "nobody") is None


def test_the_digest_tells_any_other_prior() -> None:
    one = prior()
    assert one.digest == prior().digest
    others = [
        replace(one, name="other"),
        replace(one, by=""),
        replace(one, rows=7),
        replace(one, pairs=one.pairs + 1),
        replace(one, columns=one.columns[:2]),
        replace(one, columns=(replace(one.columns[0], counts=np.array([2, 1, 3])), *one.columns[1:])),
    ]
    assert len({other.digest for other in (one, *others)}) == 1 + len(others)

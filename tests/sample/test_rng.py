import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.sample.rng import generator, seed_entropy, substream, substreams


def test_same_seed_gives_the_same_numbers():
    assert np.array_equal(generator(7).random(5), generator(7).random(5))
    assert not np.array_equal(generator(7).random(5), generator(8).random(5))


def test_no_seed_gives_fresh_numbers():
    assert seed_entropy(None) != seed_entropy(None)


def test_substreams_do_not_depend_on_how_many_there_are():
    few, many = substreams(3, 2), substreams(3, 5)
    for a, b in zip(few, many, strict=False):
        assert np.array_equal(a.random(4), b.random(4))
    assert np.array_equal(substream(3, 4).random(4), substreams(3, 5)[4].random(4))


def test_substreams_differ_from_each_other_and_from_the_whole():
    draws = {tuple(rng.random(2)) for rng in (*substreams(3, 4), generator(3))}
    assert len(draws) == 5


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", np.float64(2)])
def test_a_seed_is_a_whole_number(seed: object):
    with pytest.raises(UsageError, match="seed must be a whole number"):
        generator(seed)  # type: ignore[arg-type]


def test_numpy_integers_and_huge_seeds_are_seeds():
    assert generator(np.int64(5)).random() == generator(5).random()
    assert generator(2**200).random() == generator(2**200).random()

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from sklar.errors import UnsupportedConditionError, UsageError
from sklar.sample import draw as stream_module
from sklar.sample.decode import concatenate, row_count
from sklar.sample.draw import draw_sample, stream_tables
from sklar.schema import AtMost, Id, Integer, Real, Schema

SCHEMA = Schema(
    {"k": Id(), "a": Integer(0, 99), "b": Integer(0, 99), "x": Real(0, 1)}, rules=[AtMost(low="a", high="b")]
)
FREE = Schema({"a": Integer(0, 99), "x": Real(0, 1)})


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_module, "BLOCK_ROWS", 100)


def same(one, two) -> bool:
    return all(np.array_equal(one[n].data, two[n].data) for n in one)


def test_rows_do_not_depend_on_the_size_of_batches(fake_model):
    model = fake_model(SCHEMA)
    whole = [
        concatenate(stream_tables(model, SCHEMA, 1234, seed=5, batch_rows=b)) for b in (1234, 1, 7, 100, 350, 9999)
    ]
    assert all(same(whole[0], other) for other in whole[1:])
    assert whole[0]["k"].data.tolist() == list(range(1, 1235))


def test_batches_have_the_size_asked_for(fake_model):
    sizes = [row_count(t) for t in stream_tables(fake_model(SCHEMA), SCHEMA, 1000, seed=5, batch_rows=330)]
    assert sizes == [330, 330, 330, 10]


def test_a_stream_cut_short_has_the_same_rows(fake_model):
    model = fake_model(SCHEMA)
    cut = concatenate(islice(stream_tables(model, SCHEMA, 1000, seed=5, batch_rows=150), 2))
    longer = concatenate(islice(stream_tables(model, SCHEMA, 10_000, seed=5, batch_rows=300), 1))
    assert same(cut, longer)


def test_without_a_seed_streams_differ_and_blocks_differ(fake_model):
    model = fake_model(SCHEMA)
    one, two = (concatenate(stream_tables(model, SCHEMA, 200, batch_rows=200)) for _ in range(2))
    assert not np.array_equal(one["x"].data, two["x"].data)
    assert not np.array_equal(one["x"].data[:100], one["x"].data[100:])


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, None, "9"])
def test_rows_must_be_a_number_of_at_least_one(fake_model, rows):
    model = fake_model(SCHEMA)
    with pytest.raises(UsageError, match="at least 1"):
        stream_tables(model, SCHEMA, rows)
    with pytest.raises(UsageError, match="at least 1"):
        draw_sample(model, SCHEMA, rows)
    with pytest.raises(UsageError, match="batch_rows"):
        stream_tables(model, SCHEMA, 10, batch_rows=rows)


def test_too_many_rows_for_memory_are_refused_at_once(fake_model):
    with pytest.raises(UsageError, match="stream"):
        draw_sample(fake_model(SCHEMA), SCHEMA, 10**12)


def test_same_seed_same_sample(fake_model):
    model = fake_model(SCHEMA)
    one, two, other = (draw_sample(model, SCHEMA, 500, seed=s)[0] for s in (7, 7, 8))
    assert same(one, two) and not same(one, other)


def weighing(model, log_weights):
    """The model with other weights of its proposals."""

    class Weighing(model):
        def proposals(self, allowed):
            return lambda rows, rng: (super(Weighing, self).proposals(allowed)(rows, rng)[0], log_weights(rows))

    return Weighing(FREE)


def test_a_model_without_support_is_told(fake_model, monkeypatch):
    monkeypatch.setattr("sklar.model.conditioning.MAX_PROPOSALS", 5_000)
    model = weighing(fake_model, lambda rows: np.where(np.arange(rows) % 500 == 0, 0.0, -np.inf))
    with pytest.raises(UnsupportedConditionError, match=r"'a'.*10\.0, and 30"):
        draw_sample(model, FREE, 10, given={"a": 3})


def test_what_a_conditional_sample_is_worth_is_told(fake_model, monkeypatch):
    monkeypatch.setattr("sklar.model.conditioning.MAX_PROPOSALS", 5_000)
    model = weighing(fake_model, lambda rows: np.where(np.arange(rows) % 50 == 0, 0.0, -np.inf))
    assert draw_sample(model, FREE, 400)[1] == 400
    assert draw_sample(model, FREE, 200, given={"a": (3, 9)})[1] == 100
    assert draw_sample(model, FREE, 100, given={"a": (3, 9)})[1] == 100
    assert 80 < draw_sample(model, FREE, 200, given={"x": (0.20001, 0.6)})[1] <= 100

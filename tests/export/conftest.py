"""A sampled table with every kind of column and every awkward text."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.sample.decode import decode, with_keys
from sklar.sample.rng import generator
from sklar.schema import Boolean, Category, Datetime, Id, Ignore, Integer, Ordinal, Real, Schema

AWKWARD = [
    "",
    "a,b",
    'say "hi"',
    "two\nlines",
    "\ttab",
    "=1+1",
    "+x",
    "-x",
    "@x",
    "007",
    "NULL",
    " padded ",
    "ü✓",
    "\rcr",
]


@pytest.fixture
def schema() -> Schema:
    return Schema(
        {
            "key": Id(),
            "name": Id(prefix="p-"),
            "skip": Ignore(),
            "text": Category(AWKWARD, nullable=True),
            "number": Category([3, 1, 2], nullable=True),
            "rank": Ordinal(["low", "high"]),
            "count": Integer(-(2**62), 2**62, nullable=True),
            "real": Real(-1e9, 1e9, nullable=True),
            "money": Real(0, 1000, decimals=2),
            "whole": Real(0, 1000, decimals=0),
            "flag": Boolean(nullable=True),
            "day": Datetime("1800-01-01", "2099-12-31", nullable=True),
            "german": Datetime("2020-01-01", "2024-12-31", format="%d.%m.%Y"),
            "second": Datetime("2020-01-01T00:00:00", "2024-12-31T00:00:00", nullable=True),
            "hour": Datetime("2020-01-01", "2024-12-31", resolution="hour"),
            "milli": Datetime("2020-01-01", "2024-12-31", resolution="millisecond"),
            "micro": Datetime("2020-01-01", "2024-12-31", resolution="microsecond", format="%d/%m/%y %H:%M:%S.%f"),
        }
    )


@pytest.fixture
def sampled(schema: Schema):
    rng = generator(1)
    codes = np.column_stack([rng.integers(0, schema.size(n), 400) for n in schema.modelled]).astype(np.int32)
    return with_keys(schema, decode(schema, np.asfortranarray(codes), rng), 400)

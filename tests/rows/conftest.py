"""A small mixed table in every form it can come in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sklar.schema import Boolean, Category, Datetime, Id, Ignore, Integer, Real, Schema


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema(
        {
            "key": Id(),
            "age": Integer(16, 100, nullable=True),
            "income": Real(0, 50_000, bins=64),
            "sex": Category(("F", "M"), nullable=True),
            "note": Ignore(),
            "smoker": Boolean(nullable=True),
            "seen": Datetime("2020-01-01", "2022-12-31", calendar=[]),
        }
    )


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 3001
    sex = rng.choice(np.array(["F", "M", "X", None], dtype=object), n)
    return pd.DataFrame(
        {
            "key": [f"CANARY_7f3a{i}" for i in range(n)],
            "extra": "CANARY_7f3a",
            "age": pd.array(rng.integers(0, 120, n), dtype="Int64"),
            "seen": np.datetime64("2019-12-01") + rng.integers(0, 1200, n).astype("timedelta64[D]"),
            "income": np.round(rng.lognormal(9, 1, n), 2),
            "sex": sex,
            "smoker": rng.random(n) < 0.3,
            "note": 'a "quoted", note\nwith a line break',
        }
    )


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write bytes or text to a new file."""

    def put(content: bytes | str, name: str = "table.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path_factory.mktemp("files") / name
        path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture(scope="session")
def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def codes_of(rows: Any) -> dict[str, list[int]]:
    """All codes of all modelled columns, in the order of the rows."""
    names = rows.schema.modelled
    found: dict[str, list[int]] = {name: [] for name in names}
    for batch in rows.batches(names):
        for name, codes in zip(names, batch.codes, strict=True):
            found[name] += codes.tolist()
    return found


def assert_silent(error: BaseException) -> None:
    """Neither the error nor anything it was raised from speaks of the planted cell."""
    chain: BaseException | None = error
    while chain is not None:
        assert "CANARY" not in f"{chain} {chain!r} {chain.args}"
        chain = chain.__cause__ or chain.__context__

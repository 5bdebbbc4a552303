"""What every hostile case must come to: a plain refusal, or a model whose rows are inside the schema's domain."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import sklar
from sklar.errors import SklarError

CANARY = "CANARY_7f3a"
"""Planted in cells; no message may show it."""
QUICK = {"method": "independent", "epsilon": 1.0, "delta": 0.0, "repair": "clip"}
SCHEMA = sklar.Schema({"x": sklar.Integer(0, 9, nullable=True), "c": sklar.Category(["a", "b"])})


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(*words: object) -> Ended:
    """The command inside this process."""
    from typer.testing import CliRunner

    from sklar.cli.main import app

    result = CliRunner().invoke(app, [str(word) for word in words])
    return Ended(result.exit_code, result.stdout, result.stderr)


def refused(call: Callable[[], Any], kind: type[SklarError] = SklarError) -> str:
    """The message of the refusal, after a look that it is plain, short and silent about cells."""
    try:
        result = call()
    except kind as error:
        assert_silent(error)
        message = str(error)
        assert 10 < len(message) < 600, message
        assert "Error" not in message and "object at 0x" not in message, message
        return message
    raise AssertionError(f"not refused: {result!r:.200}")


def assert_silent(error: BaseException) -> None:
    """Neither the error nor anything it was raised from shows the planted cell."""
    chain: BaseException | None = error
    while chain is not None:
        assert CANARY not in f"{chain} {chain!r} {chain.args}"
        chain = chain.__cause__ or chain.__context__


def assert_sane(model: sklar.Model, rows: int = 30) -> None:
    """Rows can be drawn, independent or not, and every value is inside the schema's domain."""
    assert model.rows_estimate >= 1
    for iid in (False, True):
        table = model.sample(rows, seed=1, iid=iid)
        assert table.num_rows == rows
        for name in model.schema.modelled:
            for value in set(table[name].to_pylist()):
                assert _inside(model.schema[name], value), (name, value)


def _inside(column: Any, value: Any) -> bool:
    if value is None:
        return column.nullable
    if column.kind in ("integer", "real"):
        return column.lower <= value <= column.upper  # false for NaN
    if column.kind in ("category", "ordinal"):
        return value in (*column.values, column.other)
    if column.kind == "datetime":
        return date.fromisoformat(column.lower) <= value <= date.fromisoformat(column.upper)
    return isinstance(value, bool)


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """As if the disk were full: no file can grow beyond `size` bytes.

    Modules that are imported first in here keep no bytecode: it would be cut, and read by every later test.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with patch.object(sys, "dont_write_bytecode", True), patch.dict(os.environ, PYTHONDONTWRITEBYTECODE="1"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names_in(folder: Path) -> set[str]:
    """Names of everything in a folder."""
    return set(os.listdir(folder))

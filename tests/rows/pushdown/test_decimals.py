"""Decimals of every width and scale have the codes in a database that they have here."""

from __future__ import annotations

from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from sklar.rows import exact_counts, open_rows
from sklar.rows.pushdown.engines import MAX_DUCKDB_DIGITS
from sklar.rows.pushdown.rows import PushedRows
from sklar.schema import Boolean, Category, Column, Integer, Ordinal, Real, Schema
from sklar.schema.reading import ReadOptions
from tests.tiers import slow_unless

KINDS: dict[str, Column] = {
    "words": Category(("0", "0.5", "-0.5", "1", ".5", "", "0.1", "-1.5", "100", "-0"), nullable=True),
    "ordered": Ordinal((0, 1, -9, 100), nullable=True),
    "truth": Boolean(nullable=True),
    "whole": Integer(-100, 100, nullable=True),
    "coarse": Integer(-(10**17), 10**17, bins=50, missing_value=7),
    "real": Real(-2, 2, bins=80, nullable=True),
    "wide": Real(-1e12, 1e12, bins=40),
}
AT_ONCE = 12
NARROWEST = ("1 0", "1 1", "3 2", "3 3", "9 9", "18 0", "18 17", "18 18")
"""Widths and scales where something ends."""
NULLS = ("-9", "0.1", "1.50", ".5")


def values(width: int, scale: int, seed: int) -> list[str]:
    """The ends of a type, what lies about zero and about halves, and some at random."""
    top = 10**width - 1
    one = 10 ** max(scale, 0)
    wanted = [0, 1, -1, top, -top, *(n * one for n in (1, -1, -9, 100)),
              *(n * one // 10 for n in (1, 5, -5, 15, -15, 25)), 5 * one // 10 + 1,
              *np.random.default_rng(seed).integers(-min(top, 2**62), min(top, 2**62), 6).tolist()]  # fmt: skip
    with localcontext(prec=60):
        return [f"{Decimal(int(n)).scaleb(-scale):f}" for n in wanted if abs(n) <= top]


def created(types: dict[str, str], columns: dict[str, list[str]]) -> list[str]:
    """Statements for one table with a column of each type; what is missing in a column is null."""
    declared = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    most = max(map(len, columns.values()))
    padded = [[*(f"'{x}'" for x in own), *["NULL"] * (most + 1 - len(own))] for own in columns.values()]
    lines = ", ".join(f"({', '.join(line)})" for line in zip(*padded, strict=True))
    return [f"CREATE TABLE decimals ({declared})", f"INSERT INTO decimals VALUES {lines}"]


def require_same_counts(address: str, names: list[str], column: Column, nulls: tuple[str, ...]) -> None:
    """Some columns at a time: cells are found by joins, and many at once take DuckDB long to plan."""
    for first in range(0, len(names), AT_ONCE):
        _require_same_counts(address, names[first : first + AT_ONCE], column, nulls)


def _require_same_counts(address: str, names: list[str], column: Column, nulls: tuple[str, ...]) -> None:
    schema = Schema(dict.fromkeys(names, column))
    here = open_rows(address, schema, ReadOptions(null_values=nulls))
    there = open_rows(address, schema, ReadOptions(null_values=nulls, counts="database"))
    assert isinstance(there, PushedRows)
    specs = [((name,), None) for name in names]
    for name, own, other in zip(names, exact_counts(there, specs), exact_counts(here, specs), strict=True):
        assert own.tolist() == other.tolist(), name
    here.close()
    there.close()


@pytest.fixture(scope="module")
def duckdb_decimals(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    pairs = [(width, scale) for width in range(1, MAX_DUCKDB_DIGITS + 1) for scale in range(width + 1)]
    types = {f"{width} {scale}": f"DECIMAL({width},{scale})" for width, scale in pairs}
    columns = {f"{width} {scale}": values(width, scale, 7 * width + scale) for width, scale in pairs}
    place: Path = tmp_path_factory.mktemp("decimals") / "d.duckdb"
    with duckdb.connect(str(place)) as connection:
        for statement in created(types, columns):
            connection.execute(statement)
    return f"duckdb://{place}?table=decimals", list(types)


@pytest.fixture(scope="module")
def postgres_decimals(postgres: Any) -> tuple[str, list[str]]:
    from adbc_driver_postgresql import dbapi

    pairs = [(width, scale) for width in (1, 2, 3, 9, 18, 19, 38) for scale in (-2, 0, 1, width - 1, width, width + 2)]
    types = {f"{width} {scale}": f"numeric({width},{scale})" for width, scale in pairs}
    columns = {f"{width} {scale}": values(width, scale, 7 * width + scale) for width, scale in pairs}
    with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
        for statement in created(types, columns):
            cursor.execute(statement)
    return f"{postgres.get_uri()}&table=decimals", list(types)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", slow_unless("duckdb".__eq__, ["duckdb", "postgres"]))
def test_decimals_without_and_with_digits_before_the_point(where: str, kind: str, request: Any) -> None:
    address, names = request.getfixturevalue(f"{where}_decimals")
    _require_same_counts(address, [name for name in names if name in NARROWEST], KINDS[kind], NULLS)


@pytest.mark.slow
@pytest.mark.parametrize("nulls", [(), NULLS], ids=["no nulls", "nulls"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["duckdb", "postgres"])
def test_decimals_of_every_width_and_scale(where: str, kind: str, nulls: tuple[str, ...], request: Any) -> None:
    address, names = request.getfixturevalue(f"{where}_decimals")
    require_same_counts(address, names, KINDS[kind], nulls)

"""Arguments nobody should pass: refused in a plain sentence, before a ledger is touched or a row is read."""

from __future__ import annotations

import json
import math
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sklar
from sklar.accounting.ledger import create_ledger, read_ledger
from sklar.errors import BudgetError, LedgerError, OverspendError, SchemaError, UsageError
from sklar.pipeline.plan import plan
from tests.hostile.checks import CANARY, QUICK, SCHEMA, assert_sane, names_in, refused, run

ROWS = {"x": [1, 2, 3], "c": ["a", "b", CANARY]}


def named(value: object) -> str:
    """A name for a case that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize("name", ["epsilon", "rho"])
@pytest.mark.parametrize(
    "value",
    [0, -1, math.nan, math.inf, -math.inf, 1e-300, 1e300, 10**400, True, "1", 1j, [1], Decimal(1)],
    ids=repr,
)
def test_unusable_budgets(name: str, value: Any) -> None:
    settings = {**QUICK, "epsilon": None, name: value}
    refused(lambda: sklar.fit(ROWS, SCHEMA, **settings), BudgetError)
    if (name, value) != ("epsilon", [1]):  # a plan tells several side by side
        refused(lambda: plan(SCHEMA, "independent", **{"epsilon": None, name: value}), BudgetError)


@pytest.mark.parametrize("delta", [1, 1.0, 2, -1e-9, math.nan, math.inf, None, "0", True, 10**400], ids=repr)
def test_unusable_deltas(delta: Any) -> None:
    refused(lambda: sklar.fit(ROWS, SCHEMA, **{**QUICK, "delta": delta}), BudgetError)


@pytest.mark.parametrize("settings", [
    {"method": 5}, {"method": "nope"}, {"neighbours": "x"}, {"rows_per_person": 0}, {"rows_per_person": 1.5},
    {"rows_per_person": 10**400}, {"target": "x"}, {"seed": 1}, {"no_guarantee": True}, {"bogus": 1},
    {"ledger": 5}, {"new_ledger": True}, {"reader": 5}, {"reader": {"bogus": 1}},
    {"repair": None},
    {"noise": 5}, {"rho": 1.0},
], ids=str)  # fmt: skip
def test_unusable_settings(settings: dict[str, Any]) -> None:
    refused(lambda: sklar.fit(ROWS, SCHEMA, **{**QUICK, **settings}))


@pytest.mark.parametrize("options", [
    {"shares": "x"}, {"shares": 5}, {"shares": [1, 2]}, {"shares": ["a", "b", "c"]}, {"shares": [math.nan] * 3},
    {"shares": [1e308] * 3}, {"shares": [1, 2, 0]}, {"depth": "x"}, {"depth": 1.5}, {"depth": 0},
    {"sums": 1.0}, {"sums": -0.1}, {"sums": True}, {"sums": "x"}, {"sums": math.nan},
    {"groups": 5}, {"groups": [2]}, {"groups": ["a", "b"]}, {"groups": [1, 1]}, {"calibration": "no"},
    {"target": 5}, {"target": "nope"}, {"target": ""},
], ids=str)  # fmt: skip
def test_senseless_options_of_the_vine_reserve_nothing(options: dict[str, Any], tmp_path: Path) -> None:
    create_ledger(tmp_path / "l", "t", epsilon=1.0, delta=1e-9)
    refused(lambda: sklar.fit(ROWS, SCHEMA, method="vine", epsilon=1.0, ledger=tmp_path / "l", **options), UsageError)
    assert not read_ledger(tmp_path / "l").fits


def test_options_from_the_command_line_are_no_surprise(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"x,c\n1,{CANARY}\n")
    SCHEMA.write(tmp_path / "t.toml")
    for option in (
        "depth=x",
        "groups=5",
        "shares=[]",
        "shares={}",
        "calibration=1",
        "nope=1",
        "target=q",
        "depth=1e99",
    ):
        ended = run("fit", tmp_path / "t.csv", "-s", tmp_path / "t.toml", "-e", 1, "-o", tmp_path / "m", "-O", option)
        assert ended.code in (1, 2) and "unexpected" not in ended.err and "Traceback" not in ended.err


@pytest.mark.parametrize("data", [None, 5, [1, 2], b"x", object(), np.zeros(3), {"x": 1}, (), "", "no.csv"], ids=named)
def test_data_that_is_none(data: Any) -> None:
    refused(lambda: sklar.fit(data, SCHEMA, **QUICK))


@pytest.mark.parametrize("schema", [None, 5, {}, [], "", ".", "\0", "no.toml", "/dev/zero", "/dev/null"], ids=repr)
def test_schemas_that_are_none(schema: Any) -> None:
    refused(lambda: sklar.fit(ROWS, schema, **QUICK))


SCHEMAS: dict[str, bytes] = {
    "empty": b"",
    "no columns": b"[columns]\n",
    "binary": bytes(range(256)),
    "UTF-16": "[columns]\n".encode("utf-16"),
    "deep": b"a = " + b"[" * 5000 + b"]" * 5000,
    "digits": b"version = " + b"1" * 5000,
    "another version": b'version = 2\n[columns.x]\nkind = "boolean"\n',
    "unknown kind": b'[columns.x]\nkind = "\xf0\x9f\x98\x80"\n',
    "infinite bound": b'[columns.x]\nkind = "real"\nlower = -inf\nupper = inf\n',
    "NaN bound": b'[columns.x]\nkind = "real"\nlower = nan\nupper = 1\n',
    "bounds beyond 64 bits": b'[columns.x]\nkind = "integer"\nlower = 0\nupper = 9223372036854775807\n',
    "billions of cells": b'[columns.x]\nkind = "real"\nlower = 0\nupper = 1\nbins = 4000000000\n',
    "no such day": b'[columns.x]\nkind = "datetime"\nlower = "2020-02-30"\nupper = "2021-01-01"\n',
    "blank name": b'[columns." "]\nkind = "boolean"\n',
    "keys only": b'[columns.x]\nkind = "id"\n',
    "twice": b'[columns.x]\nkind = "boolean"\n[columns.x]\nkind = "boolean"\n',
    "a list for a table": b"columns = [1, 2]\n",
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEMAS)
def test_schema_files_that_are_none(case: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_bytes(SCHEMAS[case])
    refused(lambda: sklar.Schema.read(tmp_path / "t.toml"), SchemaError)
    ended = run("schema", "check", tmp_path / "t.toml")
    assert ended.code == 1 and ended.err.startswith("Error: ") and "unexpected" not in ended.err


def test_schema_of_100_000_columns() -> None:
    assert "20,000" in refused(lambda: sklar.Schema({f"v{i}": sklar.Boolean() for i in range(100_000)}), SchemaError)


class TestLedgers:
    def test_places_that_are_no_ledgers(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text(f"{CANARY}\n")
        (tmp_path / "empty").touch()
        os.mkfifo(tmp_path / "pipe")
        for name in ("folder", "file", "empty", "pipe", "no/where", "a\0b", "n" * 300):
            for asked in ({}, {"new_ledger": True}):
                given = {**QUICK, "ledger": f"{tmp_path}/{name}", **asked}
                refused(lambda given=given: sklar.fit(ROWS, SCHEMA, **given), LedgerError)
        assert names_in(tmp_path) == {"folder", "file", "empty", "pipe"}

    def test_cut_anywhere(self, tmp_path: Path) -> None:
        """A ledger that lost its end still reads, or says that it is damaged; a fit never makes it worse."""
        ledger = tmp_path / "l"
        sklar.fit(ROWS, SCHEMA, ledger=ledger, new_ledger=True, **QUICK)
        whole = ledger.read_bytes()
        for cut in range(0, len(whole), max(len(whole) // 25, 1)):
            ledger.write_bytes(whole[:cut])
            try:
                sklar.fit(ROWS, SCHEMA, ledger=ledger, **QUICK)
            except LedgerError:
                assert cut < whole.index(b"\n") + 1 and ledger.read_bytes() == whole[:cut]
            except (
                OverspendError
            ):  # the fit is unfinished again, all of its budget is charged, and its releases are gone
                assert not read_ledger(ledger).fits[0].closed
            else:
                assert read_ledger(ledger).fits

    def test_any_changed_byte_is_noticed(self, tmp_path: Path) -> None:
        ledger = tmp_path / "l"
        sklar.fit(ROWS, SCHEMA, ledger=ledger, new_ledger=True, **QUICK)
        whole = ledger.read_bytes()
        last = whole.rindex(b"\n", 0, -1)
        for place in range(0, last, max(last // 60, 1)):
            ledger.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            refused(lambda: sklar.fit(ROWS, SCHEMA, ledger=ledger, **QUICK), LedgerError)

    def test_overspending_reads_nothing(self, tmp_path: Path) -> None:
        create_ledger(tmp_path / "l", "t", epsilon=1.0, delta=0.0)
        sklar.fit(ROWS, SCHEMA, ledger=tmp_path / "l", **{**QUICK, "epsilon": 0.7})
        before = (tmp_path / "l").read_bytes()
        refused(lambda: sklar.fit(ROWS, SCHEMA, ledger=tmp_path / "l", **{**QUICK, "epsilon": 0.4}), OverspendError)
        assert (tmp_path / "l").read_bytes() == before
        sklar.fit(ROWS, SCHEMA, ledger=tmp_path / "l", **{**QUICK, "epsilon": 0.3})


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(ROWS, SCHEMA, **QUICK)


@pytest.mark.parametrize("rows", [0, -1, 10**12, 10**30, 1e12, 2.0, math.nan, "5", True, [5]], ids=repr)
def test_senseless_numbers_of_rows(rows: Any, model: sklar.Model) -> None:
    refused(lambda: model.sample(rows), UsageError)
    if not isinstance(rows, int) or rows < 2:
        refused(lambda: model.stream(rows), UsageError)


def test_endless_streams_begin_at_once(model: sklar.Model) -> None:
    assert next(model.stream(10**12, seed=1, batch_rows=10)).num_rows == 10


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True, math.nan], ids=repr)
def test_senseless_seeds(seed: Any, model: sklar.Model) -> None:
    refused(lambda: model.sample(5, seed=seed), UsageError)


@pytest.mark.parametrize("given", [
    {"nope": 1}, {"x": "q"}, {"x": (5, 1)}, {"x": ()}, {"x": []}, {"x": math.nan}, {"x": 99}, {"x": 1.5},
    {"x": 10**400},
    {"x": (1, 2, 3)}, {"c": 5}, {"c": "zzz"}, {"c": None}, {"c": {"a": 1}}, {"c": b"a"}, {"x": object()}, {5: 5},
    {"x": (None, None)}, {"c": ("a", "b")},
], ids=named)  # fmt: skip
def test_senseless_conditions(given: dict[Any, Any], model: sklar.Model) -> None:
    try:
        table = model.sample(5, given=given, seed=1)
    except sklar.errors.SklarError as error:
        assert 10 < len(str(error)) < 400
    else:
        assert table.num_rows == 5


def test_what_is_told_as_json_is_json(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    ended = run("inspect", tmp_path / "m.sklar", "--json")
    assert ended.code == 0 and json.loads(ended.out) and CANARY not in ended.out
    assert_sane(sklar.load(tmp_path / "m.sklar"))

"""Small releases for the tests of the page, and the program of the page run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sklar
from sklar.export.write import csv_header, csv_lines
from sklar.lab.people import people_schema, people_table
from sklar.pipeline.model import Model
from sklar.pipeline.release_page.facts import describe_schema

NODE = Path(__file__).parent / "node"
STATIC = Path(str(files("sklar.page").joinpath("static")))
CANARY = "CANARY5d1eZ"


def run_node(script: str, *words: str) -> str:
    node = shutil.which("node")
    assert node is not None, "the page tests need Node: apt-get install nodejs"
    ended = subprocess.run([node, str(NODE / script), str(STATIC), *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def draw_by_node(
    model: Model, folder: Path, rows: int, seed: int, conditions: list[dict[str, Any]] | None = None
) -> str:
    """Rows of a model as CSV, drawn by the program of the page."""
    file, facts = folder / "drawn.sklar", folder / "facts.json"
    model.save(file, force=True)
    found = describe_schema(model._stored)
    assert found["unsupported"] == ""
    facts.write_text(json.dumps(found))
    return run_node("rows.mjs", str(file), str(facts), str(rows), str(seed), json.dumps(conditions or []))


def draw_by_python(model: Model, rows: int, seed: int) -> str:
    """The same rows from Python's stream."""
    table = pa.Table.from_batches(list(model.stream(rows, seed=seed)))
    return (csv_header(table.column_names) + b"".join(csv_lines(table, model.schema))).decode()


def fit_people(**settings: Any) -> Model:
    """A release of the demo's people: dates, nulls, round incomes and a forbidden combination."""
    return sklar.fit(people_table(4_000), people_schema(), **{"epsilon": 3.0, "delta": 1e-9, **settings})


def fit_odd(method: str) -> Model:
    """A release of odd columns: labels that need quotes, whole labels, spellings, steps, decimals, a function."""
    rng = np.random.default_rng(3)
    rows = 3_000
    town = rng.choice(["A, B", 'say "x"', " c", "d"], rows)
    data = {
        "key": np.arange(rows),
        "town": town,
        "country": np.where(np.isin(town, ["A, B", " c"]), "north", "south"),
        "grade": rng.integers(1, 6, rows),
        "member": rng.choice(["yes", "no"], rows),
        "price": np.round(rng.gamma(2.0, 30.0, rows), 2),
        "size": 0.25 * rng.integers(0, 40, rows),
        "year": rng.integers(1900, 2021, rows),
        "big": rng.integers(0, 5_000_000, rows),
        "plain": rng.normal(0, 1, rows),
        "day": np.datetime64("2020-01-01") + rng.integers(0, 900, rows),
        "secret": np.array([f"{CANARY}{i}" for i in range(rows)]),
    }
    country = {"A, B": "north", " c": "north", 'say "x"': "south", "d": "south"}
    schema = sklar.Schema(
        {
            "key": sklar.Id(prefix="K"),
            "town": sklar.Category(["A, B", 'say "x"', " c", "d"]),
            "country": sklar.Category(["north", "south"]),
            "grade": sklar.Category([1, 2, 3, 4, 5], other=9),
            "member": sklar.Boolean(spelling=["no", "yes"], nullable=True),
            "price": sklar.Real(0, 500, decimals=2, nullable=True),
            "size": sklar.Real(0, 10, step=0.25),
            "year": sklar.Integer(1900, 2020),
            "big": sklar.Integer(0, 5_000_000),
            "plain": sklar.Real(-6, 6, atoms=[0.0]),
            "day": sklar.Datetime("2020-01-01", "2022-06-18"),
            "secret": sklar.Ignore(),
        },
        rules=[sklar.rules.Function(column="country", of="town", table=country)],
    )
    return sklar.fit(data, schema, method=method, epsilon=3.0, **({"delta": 1e-9} if method == "vine" else {}))


def fit_ruled() -> Model:
    """A release with differences of dates and of amounts, sums, dummy columns, and columns that are null together."""
    rng = np.random.default_rng(4)
    rows = 3_000
    start = np.datetime64("2021-01-01") + rng.integers(0, 3_000, rows)
    net, kind = np.round(rng.gamma(2.0, 100.0, rows), 2), rng.integers(0, 4, rows)
    gross = np.round(np.minimum(net + rng.gamma(1.5, 20.0, rows), 4_999.0), 2)
    men, women = rng.integers(0, 30, rows), rng.integers(0, 40, rows)
    filled = rng.random(rows) < 0.7
    data = {
        "start": start,
        "end": start + rng.integers(0, 40, rows),
        "net": net,
        "gross": gross,
        "men": men,
        "women": women,
        "people": men + women + 1,
        "bus": kind == 0,
        "car": kind == 1,
        "bike": kind == 2,
        "size": [float(x) if ok else None for x, ok in zip(rng.integers(1, 9, rows), filled, strict=True)],
        "colour": [str(x) if ok else None for x, ok in zip(rng.choice(["red", "blue"], rows), filled, strict=True)],
    }
    last = "2030-12-31"
    schema = sklar.Schema(
        {
            "start": sklar.Datetime("2021-01-01", last, calendar=[]),
            "end": sklar.Datetime("2021-01-01", last, calendar=[]),
            "net": sklar.Real(0, 5_000, decimals=2),
            "gross": sklar.Real(0, 5_000, decimals=2),
            "men": sklar.Integer(0, 30),
            "women": sklar.Integer(0, 40),
            "people": sklar.Integer(0, 80),
            "bus": sklar.Boolean(),
            "car": sklar.Boolean(),
            "bike": sklar.Boolean(),
            "size": sklar.Integer(1, 9, nullable=True),
            "colour": sklar.Category(["red", "blue"], nullable=True),
        },
        rules=[
            sklar.rules.AtMost(low="start", high="end"),
            sklar.rules.AtMost(low="net", high="gross"),
            sklar.rules.Sum(total="people", parts=["men", "women"], offset=1),
            sklar.rules.OneHot(columns=["bus", "car", "bike"], at_most_one=True),
            sklar.rules.Together(columns=["size", "colour"]),
        ],
    )
    return sklar.fit(data, schema, epsilon=5.0, delta=1e-9)


def fit_skipped() -> Model:
    """A release with columns that are filled for some values of others only, and dates in formats of their own."""
    rng = np.random.default_rng(5)
    rows = 3_000
    treated = rng.choice(["nein", "ja", "k.A."], rows, p=[0.5, 0.4, 0.1])
    admitted = np.datetime64("2019-01-01") + rng.integers(0, 900, rows)
    again, smoker, seen = treated == "ja", rng.random(rows) < 0.4, rng.random(rows) < 0.7

    def written(days: Any, form: str, filled: Any) -> list[str | None]:
        return [day.strftime(form) if ok else None for day, ok in zip(days.tolist(), filled, strict=True)]

    data = {
        "treated": treated,
        "admitted": written(admitted, "%d.%m.%Y", np.ones(rows, bool)),
        "again": written(admitted + rng.integers(1, 400, rows), "%d/%m/%y", again),
        "smoker": smoker,
        "since": [int(x) if ok else None for x, ok in zip(rng.integers(1950, 2020, rows), smoker & seen, strict=True)],
        "pack": [float(x) if ok else None for x, ok in zip(rng.integers(1, 40, rows), smoker & seen, strict=True)],
        "called": written(admitted, "%Y%m%d", seen),
        "answer": [str(x) if ok else None for x, ok in zip(rng.choice(["a", "b"], rows), seen, strict=True)],
    }
    schema = sklar.Schema(
        {
            "treated": sklar.Category(["nein", "ja", "k.A."]),
            "admitted": sklar.Datetime("2019-01-01", "2022-12-31", format="%d.%m.%Y"),
            "again": sklar.Datetime("2019-01-01", "2022-12-31", format="%d/%m/%y", nullable=True),
            "smoker": sklar.Boolean(spelling=["no", "yes"]),
            "since": sklar.Integer(1950, 2020, nullable=True),
            "pack": sklar.Real(1, 40, decimals=0, nullable=True),
            "called": sklar.Datetime("2019-01-01", "2022-12-31", format="%Y%m%d", nullable=True),
            "answer": sklar.Category(["a", "b"], nullable=True),
        },
        rules=[
            sklar.rules.AtMost(low="admitted", high="again"),
            sklar.rules.Together(columns=["again"], only_if={"treated": "ja"}),
            sklar.rules.Expression("`again` is not null or `treated` != 'ja'"),
            sklar.rules.Together(columns=["since", "pack"], only_if={"smoker": True}),
            sklar.rules.Together(columns=["called", "answer"]),
        ],
    )
    return sklar.fit(data, schema, epsilon=5.0, delta=1e-9)
